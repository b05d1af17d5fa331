//! Prefixes along an axis. Which way suits the sizes:
//!
//! * many outer points, or a short axis: one thread per outer point (`points`);
//! * else three passes, see [`GpuStep::Scan`](crate::program::GpuStep::Scan): chunks are folded, their totals become the
//!   states that chunks begin with, and chunks are run from these.

use super::execute::{Run, WORKGROUP};
use crate::error::Error;
use crate::program::{Elem, Poly, Shader};

/// From so many outer points on there is a thread's worth of work for the whole device in each.
const MANY_POINTS: u32 = 16_384;

/// Up to so many points of the axis three dispatches take longer than one thread.
const SHORT: u32 = 64;

/// The most points of a thread: threads side by side read as many words apart, and four are one access of a device. With 16 a
/// prefix sum took half as long again.
const MOST_EACH: u32 = 4;

/// The three passes.
pub(super) struct Passes {
    pub(super) fold: &'static Shader,
    pub(super) starts: &'static Shader,
    pub(super) run: &'static Shader,
    pub(super) states: u32,
    pub(super) scratch: usize,
    pub(super) ends: bool,
}

/// The points of a thread and the chunks of an outer point; `None` for one thread per outer point.
fn division(outer: u32, length: u32) -> Option<(u32, u32)> {
    if outer >= MANY_POINTS || length <= SHORT {
        return None;
    }
    let each = length.div_ceil(WORKGROUP).clamp(1, MOST_EACH);
    Some((each, length.div_ceil(WORKGROUP * each)))
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
        let Some((each, chunks)) = division(rows, length) else { return self.points(points, outer).await };
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
        assert_eq!(division(1, 64), None);
        assert_eq!(division(20_000, 1000), None);
        assert_eq!(division(1, 65), Some((1, 1)));
        assert_eq!(division(3, 257), Some((2, 1)));
        assert_eq!(division(1, 1024), Some((4, 1)));
        assert_eq!(division(1, 4097), Some((4, 5)));
    }
}
