//! Reductions over inner points for each outer point.
//!
//! A workgroup's 256 threads are divided among so many outer points that each has `lanes` of them, a power of two, which stride over
//! its inner points and then combine as a tree. Neighboring threads read neighboring elements:
//!
//! | the arrays are contiguous along | side by side are | lanes |
//! |---|---|---|
//! | inner points, as in sums of rows | the lanes of a point | one for every [`EACH`] inner points, more where there are few outer points |
//! | outer points, as in sums of columns | points | as many as leave [`SIDE`] points side by side |
//!
//! Where outer points are those of a matrix whose rows and columns have much in common, workgroups make tiles of results, if tiles are many
//! and not empty for the larger part.
//!
//! Where that gives too few workgroups, the inner points are split into parts, whose results go to scratch memory that a
//! second dispatch of the same shader folds. One thread for each outer point has the shader without workgroup memory
//! (`points`). All of this depends on sizes only.
//!
//! Where only the device knows the sizes, threads beyond the outer points, planned for by a bound, write nothing.

use super::execute::{Run, WORKGROUP};
use super::pipeline::storage_buffers;
use crate::error::Error;
use crate::program::{Elem, Poly, Shader};

/// The inner points of a thread, where there are enough outer ones.
const EACH: u32 = 8;

/// The points side by side that use whole lines of memory.
const SIDE: u32 = 32;

/// The fewest inner points of a thread that are worth a part.
const EACH_OF_PART: u32 = 16;

/// The threads that keep a large device busy.
const BUSY: u32 = 1 << 18;

/// How a reduction is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// The threads of an outer point, in each part.
    pub(super) lanes: u32,
    /// The parts of the inner points.
    parts: u32,
}

impl Division {
    pub(super) fn new(outer: u32, inner: u32, across: bool) -> Division {
        // Greater numbers make no difference, and do not overflow.
        let power = |n: u32| n.clamp(1, WORKGROUP).next_power_of_two();
        let wanted = power((BUSY / outer.max(1)).max(inner / EACH)).min(power(inner));
        let lanes = if across { wanted.min(WORKGROUP / power(outer.min(SIDE))) } else { wanted };
        let threads = u64::from(outer).max(u64::from(WORKGROUP / lanes)) * u64::from(lanes);
        let most = inner / lanes.saturating_mul(EACH_OF_PART);
        let parts = u64::from(BUSY).div_ceil(threads.max(1)).min(most.into());
        Division { lanes, parts: (parts as u32).max(1) }
    }

    /// The workgroups.
    fn groups(self, outer: u32) -> u64 {
        u64::from(outer.div_ceil(WORKGROUP / self.lanes)) * u64::from(self.parts)
    }
}

/// The rows and columns of a tile.
const TILE: [u32; 2] = [128, 32];

/// The fewest workgroups, and the fewest inner points, for which tiles are worth it.
const TILES: u64 = 64;
const LONG: u32 = 8;

/// The tiles across and down, if they are worth it.
fn tiles(rows: u32, columns: u32, batch: u32, inner: u32) -> Option<[u32; 2]> {
    let [down, across] = [rows.div_ceil(TILE[0]), columns.div_ceil(TILE[1])];
    let [made, wanted] = [(down * TILE[0], across * TILE[1]), (rows, columns)]
        .map(|(rows, columns)| u64::from(rows) * u64::from(columns));
    let groups = u64::from(down) * u64::from(across) * u64::from(batch);
    (groups >= TILES && inner >= LONG && 2 * wanted >= made).then_some([across, down])
}

impl Run<'_> {
    /// A reduction in tiles, if these are worth it; whether they are.
    pub(super) async fn tiles(
        &mut self,
        shader: &'static Shader,
        (outer, inner): (&'static [Poly], &'static [Poly]),
    ) -> Result<bool, Error> {
        let [batch @ .., row, column] = outer else { return Ok(false) };
        // The points all together are within bounds, which they are in a reduction too.
        let (points, inners) = (self.points_of(outer).await?, self.points_of(inner).await?);
        let [rows, columns] = [row, column].map(std::slice::from_ref);
        let (rows, columns) = (self.points_of(rows).await?, self.points_of(columns).await?);
        let batch = self.points_of(batch).await?;
        let most = self.gpu.can.limits.max_storage_buffers_per_shader_stage as usize;
        let Some([across, down]) = tiles(rows, columns, batch, inners) else { return Ok(false) };
        let Ok(groups) = u32::try_from(u64::from(across) * u64::from(down) * u64::from(batch)) else {
            return Ok(false);
        };
        if points == 0 || storage_buffers(shader) > most {
            return Ok(false);
        }
        let buffers = self.bound(shader).await?;
        let words = self.words(shader, [across, down, 0, 0]).await?;
        self.dispatch_shader(shader, &words, &buffers, groups).await?;
        Ok(true)
    }

    /// See the module header.
    pub(super) async fn reduce(
        &mut self,
        points: &'static Shader,
        (outer, inner): (&'static [Poly], &'static [Poly]),
        (groups, across): (&'static Shader, bool),
        (words, scratch): (u32, usize),
    ) -> Result<(), Error> {
        // First, since to make them may be to read a size: then there are no more points than they have elements.
        self.bound(points).await?;
        let (outers, inners) = (self.points_of(outer).await?, self.points_of(inner).await?);
        let division = Division::new(outers, inners, across);
        let Division { lanes, parts } = division;
        if outers == 0 || (lanes == 1 && parts == 1) {
            return self.points(points, outer).await;
        }
        let elements = if parts == 1 { 1 } else { u64::from(outers) * u64::from(parts) * u64::from(words) };
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        let kept = self.gpu.allocate(elements, Elem::U32, self.program.name, "parts of a reduction")?.0;
        self.buffers[scratch] = Some(kept);
        let buffers = self.bound(groups).await?;
        self.buffers[scratch] = None;
        let workgroups = u32::try_from(division.groups(outers))
            .map_err(|_| self.internal("a reduction needs too many workgroups".into()))?;
        let first = self.words(groups, [parts, lanes, outers, 0]).await?;
        self.dispatch_shader(groups, &first, &buffers, workgroups).await?;
        if parts == 1 {
            return Ok(());
        }
        let lanes = parts.next_power_of_two().min(WORKGROUP / outers.clamp(1, SIDE).next_power_of_two());
        let second = self.words(groups, [parts, lanes, outers, 1]).await?;
        self.dispatch_shader(groups, &second, &buffers, outers.div_ceil(WORKGROUP / lanes)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_suits_the_sizes() {
        let rows = |outer, inner| {
            let d = Division::new(outer, inner, false);
            (d.lanes, d.parts)
        };
        let columns = |outer, inner| {
            let d = Division::new(outer, inner, true);
            (d.lanes, d.parts)
        };
        assert_eq!((rows(5, 0), columns(5, 0)), ((1, 1), (1, 1)));
        assert_eq!(rows(10_000_000, 3), (1, 1));
        assert_eq!(rows(1_000_000, 32), (4, 1));
        assert_eq!(rows(5000, 20_000), (256, 1));
        assert_eq!(rows(1, 1 << 25), (256, 1024));
        assert_eq!(rows(3, 10_000_000), (256, 342));
        assert_eq!(rows(1000, 30), (32, 1));
        // A line of columns side by side; few columns and several lanes make a line.
        assert_eq!(columns(20_000, 5000), (8, 2));
        assert_eq!(columns(3, 10_000_000), (64, 1024));
        assert_eq!(columns(10_000_000, 3), (1, 1));
        assert_eq!(columns(32, 1_000_000), (8, 1024));
        assert_eq!(rows(0, 100), (128, 1));
    }

    #[test]
    fn tiles_are_many_and_full() {
        assert_eq!(tiles(100_000, 25, 1, 32), Some([1, 782]));
        assert_eq!(tiles(100_000, 100, 1, 16), Some([4, 782]));
        assert_eq!(tiles(100_000, 10, 1, 16), None);
        assert_eq!(tiles(1000, 100, 1, 16), None);
        assert_eq!(tiles(1000, 100, 3, 16), Some([4, 8]));
        assert_eq!(tiles(100_000, 100, 1, 3), None);
        assert_eq!(tiles(0, 100, 1, 16), None);
    }

    /// Every inner point has a thread, none has two, whatever the sizes.
    #[test]
    fn no_division_leaves_anything_out() {
        for outer in [1, 2, 3, 31, 33, 255, 5000, 1 << 20, 1 << 30] {
            for inner in [1, 2, 7, 8, 9, 255, 1000, 1 << 20, 1 << 30] {
                for across in [false, true] {
                    let d = Division::new(outer, inner, across);
                    assert!(d.lanes.is_power_of_two() && d.lanes <= 256 && d.parts >= 1, "{d:?}");
                    assert!(d.lanes * d.parts < 2 * inner.max(1), "{outer} {inner} {d:?}");
                    assert!(d.groups(outer) * u64::from(256 / d.lanes) >= u64::from(outer), "{d:?}");
                    assert!(u64::from(outer) * u64::from(d.parts) < 1 << 31, "{outer} {inner} {d:?}");
                }
            }
        }
    }
}
