//! Rows in bands: what is handed on from step to step is memory of a band, near the processor, and not of all rows.
//!
//! There are so many bands that several cores have some, but a band is no smaller than what is worth preparing a product for, and no larger
//! than a cache. Bands add up arrays: a group of bands after each other in one sum, the groups in their order. What a band adds should
//! not cost more traffic than its rows, so bands are larger where sums are. **All of it depends on sizes only**, and so do the bits of
//! the sums.

use super::tasks::gathered;
use crate::error::Error;

/// The bytes of the memory of a band: of a core's share in the nearest caches.
const NEAR: i64 = if MANY { 1 << 9 } else { 1 << 21 };
/// A product of fewer rows with a matrix takes longer to prepare than to compute.
const FEWEST_ROWS: i64 = if MANY { 3 } else { 128 };
/// With the feature, which the tests across crates have, few rows are several bands.
const MANY: bool = cfg!(feature = "assert-trusted");
/// So many bands keep cores busy, together with the tasks that their steps are divided among.
const BANDS: i64 = 16;
/// So many bytes of rows are worth one byte that is added.
const PER_SUM: i64 = 2;
/// The greatest number of sums at a time.
const MAX_GROUPS: usize = 64;

/// How rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    total: usize,
    /// The rows of a band.
    rows: usize,
    /// The bands of a group.
    bands: usize,
}

impl Plan {
    /// For so many rows, of which each has `row` bytes to be handed on, and so many bytes of sums.
    fn new(total: i64, row: i64, sums: i64) -> Plan {
        let (total, row, sums) = (total.max(0), row.max(1), sums.max(0));
        let least = FEWEST_ROWS.max(sums.saturating_mul(PER_SUM) / row);
        let rows = (total / BANDS).min(NEAR / row).max(least);
        // Two bands are no better than one.
        let rows = if rows >= total / 2 { total } else { rows };
        let (total, rows) = (total as usize, rows.max(1) as usize);
        Plan { total, rows, bands: total.div_ceil(rows).div_ceil(MAX_GROUPS).max(1) }
    }

    fn groups(&self) -> usize {
        self.total.div_ceil(self.rows * self.bands).max(1)
    }

    /// The bands of a group, of which there is one at least.
    fn of_group(self, group: usize) -> impl Iterator<Item = (usize, usize)> {
        let count = self.total.div_ceil(self.rows).max(1);
        let from = group * self.bands;
        let bounds = move |band: usize| (band * self.rows, ((band + 1) * self.rows).min(self.total));
        (from..(from + self.bands).min(count)).map(bounds)
    }
}

/// Calls `f(lo, hi)` for bands of rows that cover `0..total`, in parallel; there is at least one. The sums of what it gives by `add(x, y)`,
/// which adds `y` to `x`, or the error. `None` if one of several bands has failed: with `at_once` there is one of all rows, of which the
/// error is that of the first step that fails.
pub fn in_bands<S: Send>(
    total: i64,
    [row, sums]: [i64; 2],
    at_once: bool,
    f: &(dyn Fn(usize, usize) -> Result<S, Error> + Sync),
    add: &(dyn Fn(&mut S, S) + Sync),
) -> Option<Result<S, Error>> {
    let plan = Plan::new(total, row, sums);
    if at_once || plan.rows >= plan.total {
        return Some(f(0, plan.total));
    }
    let group = |group: usize| {
        let sum = |sum: Option<S>, (lo, hi)| {
            let addend = f(lo, hi).ok()?;
            Some(match sum {
                Some(mut sum) => {
                    add(&mut sum, addend);
                    sum
                }
                None => addend,
            })
        };
        let mut bands = plan.of_group(group);
        let first = sum(None, bands.next()?)?;
        bands.try_fold(first, |all, band| sum(Some(all), band))
    };
    let groups = plan.groups();
    let mut all = if rayon::current_num_threads() == 1 {
        (0..groups).map(group).collect::<Vec<_>>()
    } else {
        gathered(groups, &group)
    }
    .into_iter();
    let mut sum = all.next()??;
    for other in all {
        add(&mut sum, other?);
    }
    Some(Ok(sum))
}

/// Rows `lo..hi` of an array, each of `row` elements.
#[must_use]
pub fn rows_of<T>(x: &[T], lo: usize, hi: usize, row: usize) -> &[T] {
    &x[lo * row..hi * row]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is in one band, whatever the sizes.
    #[test]
    fn bands_cover_all_rows() {
        for total in [-1, 0, 1, 5, 31, 64, 65, 1000, 12345] {
            for row in [0, 1, 8, 4096, 1 << 20, i64::MAX] {
                for sums in [0, 8, 1 << 18, 1 << 30, i64::MAX] {
                    let plan = Plan::new(total, row, sums);
                    let bands: Vec<_> = (0..plan.groups()).flat_map(|g| plan.of_group(g)).collect();
                    assert!(plan.groups() <= MAX_GROUPS, "{plan:?}");
                    let ends = bands.iter().map(|(_, hi)| *hi);
                    assert!(
                        bands.iter().map(|(lo, _)| *lo).eq(std::iter::once(0).chain(ends).take(bands.len()))
                    );
                    assert_eq!(bands.last().map(|(_, hi)| *hi), Some(total.max(0) as usize), "{plan:?}");
                }
            }
        }
    }

    #[test]
    #[cfg(not(feature = "assert-trusted"))]
    fn bands_are_worth_their_while() {
        let rows = |total, row, sums| Plan::new(total, row, sums).rows as i64;
        assert_eq!([rows(255, 100, 0), rows(257, 100, 0), rows(1000, 100, 0)], [255, 257, 128]);
        // Some for each of several cores, of a cache's size.
        assert_eq!(rows(1 << 16, 100, 0), 1 << 12);
        assert_eq!(rows(1 << 20, 100, 0), NEAR / 100);
        assert_eq!(rows(1 << 20, 1024, 0), 2048);
        assert_eq!(rows(1 << 20, 1 << 20, 0), FEWEST_ROWS);
        // What is added is half of what rows have.
        assert_eq!(rows(1 << 20, 1024, 1 << 22), 8192);
        assert_eq!(rows(1000, 1024, 1 << 20), 1000);
    }

    #[test]
    fn sums_are_those_of_all_rows_and_errors_are_told() {
        let sum = in_bands(100_000, [4096, 8], false, &|lo, hi| Ok((lo..hi).sum::<usize>()), &|x, y| *x += y);
        assert_eq!(sum, Some(Ok(100_000 * 99_999 / 2)));
        let none = in_bands(0, [8, 8], false, &|lo, hi| Ok(hi - lo), &|x, y| *x += y);
        assert_eq!(none, Some(Ok(0)));
        let error = |row: usize| Error::Internal { kernel: "f", message: row.to_string() };
        let fails = |lo: usize, hi: usize| match (lo..hi).find(|row| row % 40_000 == 39_999) {
            Some(row) => Err(error(row)),
            None => Ok(hi - lo),
        };
        let run = |at_once| in_bands(100_000, [4096, 8], at_once, &fails, &|x, y| *x += y);
        assert_eq!((run(false), run(true)), (None, Some(Err(error(39_999)))));
    }
}
