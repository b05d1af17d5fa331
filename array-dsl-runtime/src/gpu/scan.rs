//! Prefixes along one axis. Which way suits the sizes:
//!
//! * a short axis, or one that outer points lie across of and these are many: one thread per outer point (`points`);
//! * many outer points, each contiguous and not long: some threads of a workgroup for each (`rows`);
//! * else three passes, see [`GpuStep::Scan`](crate::program::GpuStep::Scan): chunks are folded, their totals become the
//!   states that chunks begin with, and chunks are run from these.

use super::execute::{Run, WORKGROUP};
use crate::error::Error;
use crate::program::{Elem, Poly, Shader};

/// From so many outer points on there is a thread's worth of work for the whole device in each.
const MANY_POINTS: u32 = 16_384;

/// From so many threads in rows on one pass is better than three that read twice.
const MANY_THREADS: u64 = 1 << 16;

/// Up to so many points of the axis three dispatches take longer than one thread.
const SHORT: u32 = 64;

/// Three passes are as fast beyond so many points: on an H200 5000 rows of 20,000 took 700 microseconds, and 740 in rows.
const LONGEST: u32 = 4096;

/// Up to so many points, which are within what a device reads at once, are one thread's.
const SHORTEST: u32 = 8;

/// The most points of a thread: threads side by side read as many words apart, and four are one access of a device. With 16 a
/// prefix sum took half as long again.
const MOST_EACH: u32 = 4;

/// The three passes.
pub(super) struct Passes {
    pub(super) fold: &'static Shader,
    pub(super) starts: &'static Shader,
    pub(super) run: &'static Shader,
    pub(super) rows: Option<&'static Shader>,
    pub(super) states: u32,
    pub(super) scratch: usize,
    pub(super) ends: bool,
}

/// How prefixes are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// One thread per outer point.
    Points,
    /// So many threads per outer point, each with so many points at a time.
    Rows { lanes: u32, each: u32 },
    /// So many points of a thread, and so many chunks of an outer point.
    Chunks { each: u32, chunks: u32 },
}

impl Division {
    /// `rows`: whether outer points are contiguous.
    fn new(outer: u32, length: u32, rows: bool) -> Division {
        if rows && (SHORTEST + 1..=LONGEST).contains(&length) {
            let lanes = length.div_ceil(MOST_EACH).min(WORKGROUP).next_power_of_two();
            // Half the threads, if one time along the axis leaves fewer of them without work.
            let half = lanes / 2;
            let lanes = if length <= half * (MOST_EACH + 2) { half } else { lanes };
            if length <= SHORT || u64::from(outer) * u64::from(lanes) >= MANY_THREADS {
                let each = length.div_ceil(lanes);
                return Division::Rows { lanes, each: if each > MOST_EACH + 2 { MOST_EACH } else { each } };
            }
        }
        if outer >= MANY_POINTS || length <= SHORT {
            return Division::Points;
        }
        let each = length.div_ceil(WORKGROUP).clamp(1, MOST_EACH);
        Division::Chunks { each, chunks: length.div_ceil(WORKGROUP * each) }
    }
}

impl Run<'_> {
    /// See the module header.
    pub(super) async fn scan(
        &mut self,
        points: &'static Shader,
        outer: &'static [Poly],
        length: &'static Poly,
        passes: &Passes,
    ) -> Result<(), Error> {
        let (rows, length) =
            (self.points_of(outer).await?, self.points_of(std::slice::from_ref(length)).await?);
        let (each, chunks) = match (Division::new(rows, length, passes.rows.is_some()), passes.rows) {
            (Division::Chunks { each, chunks }, _) => (each, chunks),
            (Division::Rows { lanes, each }, Some(shader)) if rows > 0 => {
                let buffers = self.bound(shader).await?;
                let words = self.words(shader, [lanes, each, 0, 0]).await?;
                let groups = rows.div_ceil(WORKGROUP / lanes);
                return self.dispatch_shader(shader, &words, &buffers, groups).await;
            }
            _ => return self.points(points, outer).await,
        };
        let groups = u64::from(rows) * u64::from(chunks);
        let elements = groups * u64::from(WORKGROUP + 1) * u64::from(passes.states);
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        if elements > self.gpu.pool.most_elements(Elem::U32.bytes()) || rows == 0 {
            return self.points(points, outer).await;
        }
        let groups = groups as u32;
        let (scratch, _) =
            self.gpu.allocate(elements, Elem::U32, self.program.name, "scratch memory of a scan")?;
        self.buffers[passes.scratch] = Some(scratch);
        let run_groups = if passes.ends { rows.div_ceil(WORKGROUP) } else { groups };
        for (shader, groups) in [(passes.fold, groups), (passes.starts, rows), (passes.run, run_groups)] {
            let buffers = self.bound(shader).await?;
            let words = self.words(shader, [chunks, each, 0, 0]).await?;
            self.dispatch_shader(shader, &words, &buffers, groups).await?;
        }
        self.buffers[passes.scratch] = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_suits_the_sizes() {
        let columns = |outer, length| Division::new(outer, length, false);
        let rows = |outer, length| Division::new(outer, length, true);
        for division in [columns, rows] {
            assert_eq!(division(1, 8), Division::Points);
            assert_eq!(division(1, 65), Division::Chunks { each: 1, chunks: 1 });
            assert_eq!(division(3, 257), Division::Chunks { each: 2, chunks: 1 });
            assert_eq!(division(1, 1024), Division::Chunks { each: 4, chunks: 1 });
            assert_eq!(division(1, 4097), Division::Chunks { each: 4, chunks: 5 });
        }
        assert_eq!(columns(1, 64), Division::Points);
        assert_eq!(columns(20_000, 1000), Division::Points);
        assert_eq!(rows(1, 64), Division::Rows { lanes: 16, each: 4 });
        assert_eq!(rows(1_000_000, 32), Division::Rows { lanes: 8, each: 4 });
        assert_eq!(rows(100_000, 300), Division::Rows { lanes: 64, each: 5 });
        assert_eq!(rows(5000, 2000), Division::Rows { lanes: 256, each: 4 });
        assert_eq!(rows(5000, 20_000), columns(5000, 20_000));
    }

    /// No thread goes along the axis in empty steps, and none is beyond its workgroup.
    #[test]
    fn rows_use_their_threads() {
        for length in 9..3000 {
            let Division::Rows { lanes, each } = Division::new(1 << 20, length, true) else {
                panic!("{length}: no rows");
            };
            assert!(lanes.is_power_of_two() && lanes <= WORKGROUP && each >= 1, "{length}");
            assert!(length > lanes * each / 2, "{length}: {lanes} threads with {each} each");
        }
    }
}
