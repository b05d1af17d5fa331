//! Sums of products: `out[..] = sum over the other axes of a[..] * b[..]` for any axes in any order.
//!
//! Every axis has a stride in each of the three arrays, 0 where it is missing. By these the axes fall into
//! classes:
//!
//! | class | in `a` | in `b` | in `out` |
//! |---|---|---|---|
//! | rows | yes | no | yes |
//! | columns | no | yes | yes |
//! | sums | | | no |
//! | batch | both or none | | yes |
//!
//! Neighbors of a class that are evenly spaced in all arrays merge into one axis, so a plain matrix product,
//! whatever is transposed, has one axis per class and its shader no division. The shaders are generated for
//! the number of axes that are left (`contract_shader`).
//!
//! * **Tiled**: a workgroup makes a tile of results, square or narrow, from pieces of `a` and `b` in
//!   workgroup memory.
//! * **Thin**, for few rows or columns: threads side by side fold one result, as in a product of matrix and
//!   vector.
//!
//! Where that gives too few workgroups, the sums are split into parts, which a second dispatch adds up.

use super::builtin::Builtin;
use super::contract_shader::{Counts, Float, THIN_LANES};
use super::contract_tile::Tile;
use super::execute::{Part, Run};
use crate::error::Error;
use crate::program::Poly;

/// With fewer rows or columns, most of any tile would be empty.
const THIN: u64 = 4;

/// With no more rows or columns, most of a square tile would be empty.
const NARROW: u64 = 16;

/// With no more columns half of a square tile would be.
const TALL: u64 = 32;

/// The workgroups that keep a large device busy, and so many that parts cost more than they gain: on an H200 a product of 2048 took 454
/// microseconds in one part, 486 in two; a step of an LSTM, of 128 tiles, 139 in four parts, 200 in two.
const BUSY: u64 = 512;
const ENOUGH: u64 = 256;

/// With at least so many tiles of 128 x 128 the larger tiles pay off.
const MANY_LARGE_TILES: u64 = 64;

/// The fewest sums in a part.
const SUMS_PER_PART: u64 = 512;

/// The most elements that the parts together may take.
const MOST_IN_PARTS: u64 = 1 << 26;

/// An axis: its extent and its strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: u64,
    a: u64,
    b: u64,
    out: u64,
}

impl Axis {
    /// This axis with the faster one `inner` as one, if the elements are evenly spaced in all arrays.
    fn merge(&self, inner: &Axis) -> Option<Axis> {
        let even = self.a == inner.extent * inner.a
            && self.b == inner.extent * inner.b
            && self.out == inner.extent * inner.out;
        even.then_some(Axis { extent: self.extent * inner.extent, ..*inner })
    }
}

/// The axes of a contraction by class, each class from slow to fast.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Classes {
    rows: Vec<Axis>,
    columns: Vec<Axis>,
    sums: Vec<Axis>,
    batch: Vec<Axis>,
    /// Whether `a` and `b` have changed places.
    swapped: bool,
}

fn total(axes: &[Axis]) -> u64 {
    axes.iter().fold(1, |n, axis| n.saturating_mul(axis.extent))
}

impl Classes {
    /// From positive extents and the axes of the arrays, outermost first.
    fn new(extents: &[u64], out: &[usize], a: &[usize], b: &[usize]) -> Classes {
        let mut axes: Vec<Axis> = extents.iter().map(|e| Axis { extent: *e, a: 0, b: 0, out: 0 }).collect();
        let mut strides = |array: &[usize], of: fn(&mut Axis) -> &mut u64| {
            let mut stride = 1;
            for &at in array.iter().rev() {
                // An axis that occurs twice walks along a diagonal.
                *of(&mut axes[at]) += stride;
                stride *= extents[at];
            }
        };
        strides(out, |axis| &mut axis.out);
        strides(a, |axis| &mut axis.a);
        strides(b, |axis| &mut axis.b);

        let mut classes =
            Classes { rows: vec![], columns: vec![], sums: vec![], batch: vec![], swapped: false };
        // An axis of one point moves nothing.
        for axis in axes.into_iter().filter(|axis| axis.extent != 1) {
            let class = match (axis.out != 0, axis.a != 0, axis.b != 0) {
                (false, _, _) => &mut classes.sums,
                (true, true, false) => &mut classes.rows,
                (true, false, true) => &mut classes.columns,
                (true, _, _) => &mut classes.batch,
            };
            class.push(axis);
        }
        for class in [&mut classes.rows, &mut classes.columns, &mut classes.sums, &mut classes.batch] {
            class.sort_by_key(|axis| std::cmp::Reverse((axis.out, axis.a.max(axis.b), axis.a)));
            merge(class);
        }
        classes
    }

    /// Exchanges the roles of `a` and `b`; the product is the same.
    fn swap(&mut self) {
        std::mem::swap(&mut self.rows, &mut self.columns);
        for class in [&mut self.rows, &mut self.columns, &mut self.sums, &mut self.batch] {
            for axis in class {
                std::mem::swap(&mut axis.a, &mut axis.b);
            }
        }
        self.swapped = !self.swapped;
    }

    /// Thin, narrow or tall: rows are the longer side. Else columns are what is contiguous in the result. The result
    /// is whether it is thin.
    fn orient(&mut self) -> bool {
        let (rows, columns) = (total(&self.rows), total(&self.columns));
        let least = rows.min(columns);
        let fastest = |axes: &[Axis]| axes.last().map_or(u64::MAX, |axis| axis.out);
        let is_better_swapped =
            if least <= TALL { rows < columns } else { fastest(&self.rows) < fastest(&self.columns) };
        if is_better_swapped {
            self.swap();
        }
        least < THIN
    }

    fn counts(&self) -> Counts {
        let [rows, columns, sums, batch] =
            [&self.rows, &self.columns, &self.sums, &self.batch].map(|class| class.len());
        Counts { rows, columns, sums, batch }
    }

    /// Whether an operand's elements are closer together along the sums than along `side`.
    fn along_sums(&self, side: &[Axis], stride: fn(&Axis) -> u64) -> bool {
        let closest = |axes: &[Axis]| axes.iter().map(stride).filter(|s| *s != 0).min().unwrap_or(u64::MAX);
        closest(&self.sums) < closest(side)
    }

    /// How the shaders want the axes: four words each, class by class.
    fn words(&self) -> impl Iterator<Item = u32> {
        let classes = [&self.rows, &self.columns, &self.sums, &self.batch];
        // All are below 2^31, as the arrays are.
        classes.into_iter().flatten().flat_map(|x| [x.extent as u32, x.a as u32, x.b as u32, x.out as u32])
    }
}

fn merge(axes: &mut Vec<Axis>) {
    let mut merged: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes.drain(..) {
        match merged.last_mut().and_then(|outer| Some((outer.merge(&axis)?, outer))) {
            Some((both, outer)) => *outer = both,
            None => merged.push(axis),
        }
    }
    *axes = merged;
}

/// How often the sums are split so that there are enough workgroups: parts and sums per part, a multiple of
/// `step`.
fn split(groups: u64, sums: u64, results: u64, step: u64) -> (u64, u64) {
    let most = sums.div_ceil(SUMS_PER_PART).min(MOST_IN_PARTS / results.max(1));
    let wanted = if groups >= ENOUGH { 1 } else { BUSY / groups.max(1) };
    let parts = wanted.min(most).max(1);
    let length = sums.div_ceil(parts).next_multiple_of(step);
    (sums.div_ceil(length).max(1), length)
}

impl Run<'_> {
    /// See the module header.
    pub(super) async fn contract(
        &mut self,
        label: &'static str,
        extents: &'static [Poly],
        out: (usize, &'static [usize]),
        a: (usize, &'static [usize]),
        b: (usize, &'static [usize]),
    ) -> Result<(), Error> {
        let (mut first, mut second) = (self.buffer(a.0).await?, self.buffer(b.0).await?);
        let result = self.buffer(out.0).await?;
        let extents: Vec<u64> = self.exact_extents(extents).await?.into_iter().map(u64::from).collect();
        if result.is_empty() {
            return Ok(());
        }
        if extents.contains(&0) {
            // Nothing is summed.
            return self.fill(&result, 0).await;
        }
        for (buffer, axes) in [(&result, out.1), (&first, a.1), (&second, b.1)] {
            // There are more where only a bound was known when the array was made.
            if axes.iter().map(|at| extents[*at]).product::<u64>() > buffer.len() as u64 {
                return Err(self.internal("a contraction's extents are not those of its arrays".into()));
            }
        }
        let mut classes = Classes::new(&extents, out.1, a.1, b.1);
        let is_thin = classes.orient();
        if classes.swapped {
            std::mem::swap(&mut first, &mut second);
        }
        let [rows, columns, sums, batch] =
            [&classes.rows, &classes.columns, &classes.sums, &classes.batch].map(|class| total(class));
        if sums > i32::MAX as u64 {
            return Err(
                self.wrong(format!("a contraction sums {sums} products, which needs more than 31 bits"))
            );
        }

        let float = if result.width() == 8 { Float::F64 } else { Float::F32 };
        let counts = classes.counts();
        let results = out.1.iter().map(|at| extents[*at]).product::<u64>();
        let a_along_sums = classes.along_sums(&classes.rows, |axis| axis.a);
        let (builtin, tiles, parts, length) = if is_thin {
            let lanes = THIN_LANES[usize::from(a_along_sums)];
            let blocks = results.div_ceil(u64::from(256 / lanes));
            let (parts, length) = split(blocks, sums, results, u64::from(lanes) * 4);
            (Builtin::Thin { float, counts, a_along_sums }, [blocks, 1], parts, length)
        } else {
            let (tile, tiles) = tiles(rows, columns, batch);
            let b_along_sums = classes.along_sums(&classes.columns, |axis| axis.b);
            let (parts, length) = split(tiles[0] * tiles[1] * batch, sums, results, 16);
            (Builtin::Tiled { float, counts, tile, a_along_sums, b_along_sums }, tiles, parts, length)
        };
        // A thin block may hold results of several batches.
        let groups = tiles[0] * tiles[1] * parts * if is_thin { 1 } else { batch };
        let Ok(group_count) = u32::try_from(groups) else {
            return Err(self.internal(format!("a contraction needs {groups} workgroups")));
        };
        // All below 2^32: no more than results, sums or workgroups.
        let mut words: Vec<u32> =
            [rows, columns, sums, groups, tiles[0], tiles[1], parts, length, results, batch, 0, 0]
                .map(|n| n as u32)
                .to_vec();
        words.extend(classes.words());
        let part = Part { step: Some(label), operations: Some(2 * results.saturating_mul(sums)) };
        if parts == 1 {
            return self
                .dispatch_builtin(builtin, &words, &[&first, &second, &result], group_count, part)
                .await;
        }
        let elements = (results * parts) as usize;
        let (scratch, _) =
            self.gpu.allocate(elements, float.elem(), self.program.name, "parts of a contraction")?;
        self.dispatch_builtin(builtin, &words, &[&first, &second, &scratch], group_count, part).await?;
        let Some(groups) = self.groups_of(results as usize)? else { return Ok(()) };
        self.dispatch_builtin(
            Builtin::SumParts(float),
            &[results as u32, parts as u32],
            &[&scratch, &result],
            groups,
            Part { operations: None, ..part },
        )
        .await
    }
}

/// The tile for a product that is not thin, and how many there are down and across.
fn tiles(rows: u64, columns: u64, batch: u64) -> (Tile, [u64; 2]) {
    let divided = |tile: Tile| {
        let [down, across] = tile.sides();
        [rows.div_ceil(down), columns.div_ceil(across)]
    };
    let [down, across] = divided(Tile::Large);
    let tile = if columns <= NARROW {
        Tile::Narrow
    } else if columns <= TALL && rows > columns {
        Tile::Tall
    } else if rows.min(columns) >= 128 && down * across * batch >= MANY_LARGE_TILES {
        Tile::Large
    } else {
        Tile::Medium
    };
    (tile, divided(tile))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(extent: u64, a: u64, b: u64, out: u64) -> Axis {
        Axis { extent, a, b, out }
    }

    #[test]
    fn a_matrix_product_has_one_axis_per_class() {
        // Axes i, j, k: out[i, j] = a[i, k] * b[k, j].
        let c = Classes::new(&[4, 5, 6], &[0, 1], &[0, 2], &[2, 1]);
        assert_eq!(c.rows, [axis(4, 6, 0, 5)]);
        assert_eq!(c.columns, [axis(5, 0, 1, 1)]);
        assert_eq!(c.sums, [axis(6, 1, 5, 0)]);
        assert_eq!(c.batch, []);
        assert!(c.along_sums(&c.rows, |x| x.a) && !c.along_sums(&c.columns, |x| x.b));
    }

    #[test]
    fn evenly_spaced_axes_merge() {
        // out[i, j, l] = a[i, j, k] * b[k, l]: rows i and j are one axis.
        let c = Classes::new(&[2, 3, 6, 5], &[0, 1, 3], &[0, 1, 2], &[2, 3]);
        assert_eq!(c.rows, [axis(6, 6, 0, 5)]);
        // out[j, i, l]: they are not.
        let c = Classes::new(&[2, 3, 6, 5], &[1, 0, 3], &[0, 1, 2], &[2, 3]);
        assert_eq!(c.rows, [axis(3, 6, 0, 10), axis(2, 18, 0, 5)]);
        // An axis of extent 1 between them does not matter.
        let c = Classes::new(&[2, 1, 6, 5], &[0, 1, 3], &[1, 0, 2], &[2, 3]);
        assert_eq!(c.rows, [axis(2, 6, 0, 5)]);
    }

    #[test]
    fn the_contiguous_side_of_the_result_is_the_columns() {
        // out[j, i] = a[i, k] * b[k, j]
        let mut c = Classes::new(&[40, 50, 6], &[1, 0], &[0, 2], &[2, 1]);
        assert!(!c.orient() && c.swapped);
        assert_eq!(c.columns, [axis(40, 0, 6, 1)]);
        assert_eq!(c.rows, [axis(50, 1, 0, 40)]);
        assert_eq!(c.sums, [axis(6, 50, 1, 0)]);
        // A row vector times a matrix is thin, and the matrix comes first.
        let mut c = Classes::new(&[50, 6], &[0], &[1], &[1, 0]);
        assert!(c.orient() && c.swapped);
        assert_eq!((c.rows.len(), c.columns.len()), (1, 0));
    }

    #[test]
    fn sums_are_split_only_for_want_of_workgroups() {
        assert_eq!(split(10_000, 4096, 1 << 20, 16), (1, 4096));
        assert_eq!(split(1, 100, 1, 16), (1, 112));
        let (parts, length) = split(2, 60_000, 7840, 16);
        assert!(parts > 100 && parts * length >= 60_000 && length % 16 == 0);
        assert_eq!(split(4, 1 << 20, 1 << 26, 16).0, 1);
    }
}
