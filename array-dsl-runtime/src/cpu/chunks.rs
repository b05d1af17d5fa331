//! Parallel loops in chunks whose boundaries depend on sizes only.
//!
//! A chunk has about 2^16 scalar operations, some tens of microseconds, which makes the cost of a task negligible and
//! leaves enough chunks to balance many cores; there are never more than 1024 of them.

use super::tasks::{both, each, gathered};

/// Scalar operations in a chunk.
const CHUNK_WORK: usize = 1 << 16;
/// The greatest number of chunks.
const MAX_CHUNKS: usize = 1024;

/// The greatest number of columns that are folded together: states of this many fit the first-level cache.
pub const COLUMNS: usize = 1024;
/// So many numbers fill a vector.
const VECTOR: usize = 8;
/// The greatest number of sets of states that are combined in [`fold_columns`].
const MAX_PARTS: usize = 64;

/// Iterations `0..n` cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    n: usize,
    /// Iterations in every chunk but the last.
    size: usize,
    pub count: usize,
}

impl Chunks {
    /// Chunks for `n` iterations of `work` scalar operations each, at most `max` of them.
    pub fn new(n: usize, work: usize, max: usize) -> Chunks {
        let size = (CHUNK_WORK / work.max(1)).max(n.div_ceil(max.max(1))).max(1);
        // Long chunks start at multiples of 64: no two of them then write to one cache line.
        let size = if size >= 64 { size.next_multiple_of(64) } else { size };
        Chunks { n, size, count: n.div_ceil(size) }
    }

    /// The same where so many iterations go together: chunks of whole blocks, no more than `max`, or of whole vectors where they
    /// are shorter than a block.
    pub fn of_blocks(self, width: usize, max: usize) -> Chunks {
        let least = VECTOR.min(width).max(1);
        let whole = self.size / width.max(1) * width;
        let size = match whole {
            0 => self.size.next_multiple_of(least),
            _ if self.n.div_ceil(whole) <= max => whole,
            _ => self.size.next_multiple_of(width),
        };
        Chunks { n: self.n, size, count: self.n.div_ceil(size) }
    }

    /// The iterations of a chunk.
    pub fn bounds(&self, chunk: usize) -> (usize, usize) {
        let lo = chunk * self.size;
        (lo, (lo + self.size).min(self.n))
    }

    /// Whether threads are worth their while, or there at all. Not for choices that affect results.
    pub(super) fn sequential(&self) -> bool {
        self.count <= 1 || rayon::current_num_threads() == 1
    }
}

/// Calls `f(lo, hi)` for chunks that cover `0..n`, in parallel where that pays. `work` is an estimate of the scalar
/// operations in one iteration; the chunks depend on `n` and `work` only.
pub fn for_chunks(n: usize, work: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    let chunks = Chunks::new(n, work, MAX_CHUNKS);
    let run = |c| {
        let (lo, hi) = chunks.bounds(c);
        f(lo, hi);
    };
    if chunks.sequential() {
        (0..chunks.count).for_each(run);
    } else {
        each(chunks.count, &run);
    }
}

/// As [`for_chunks`], with the chunks' results combined in the order of the chunks; `None` if there are none.
/// The result has the same bits whatever the number of threads.
pub fn fold_chunks<T: Send>(
    n: usize,
    work: usize,
    f: &(dyn Fn(usize, usize) -> T + Sync),
    combine: &dyn Fn(T, T) -> T,
) -> Option<T> {
    let chunks = Chunks::new(n, work, MAX_CHUNKS);
    let run = |c| {
        let (lo, hi) = chunks.bounds(c);
        f(lo, hi)
    };
    if chunks.sequential() {
        return (0..chunks.count).map(run).reduce(combine);
    }
    gathered(chunks.count, &run).into_iter().reduce(combine)
}

/// As [`for_chunks`], with chunks of no fewer than [`COLUMNS`] / 8 iterations: those of neighbors that are done together.
pub fn for_wide_chunks(n: usize, work: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    const WIDTH: usize = COLUMNS / 8;
    for_chunks(n.div_ceil(WIDTH), work.saturating_mul(WIDTH), &|lo, hi| f(lo * WIDTH, (hi * WIDTH).min(n)));
}

/// As [`for_chunks`], with chunks of whole blocks: `width` points go together, or fewer where there are few points, so that there are
/// blocks for many threads, but enough for a vector.
pub fn for_blocks(width: usize, n: usize, work: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    const BLOCKS: usize = 64;
    let block = (n / BLOCKS / VECTOR * VECTOR).clamp(VECTOR.min(width), width);
    for_chunks(n.div_ceil(block), work.saturating_mul(block), &|lo, hi| f(lo * block, (hi * block).min(n)));
}

/// Folds `trips` values for each of `columns` columns, each value of about `work` scalar operations.
///
/// `body(lo, hi, from, to)` folds trips `from..to` for columns `lo..hi`, no more than [`COLUMNS`] of them;
/// `combine(x, y)` combines the states `y` of later trips into `x`; `finish(lo, hi, states)` takes the states of all trips.
/// Columns are cut into blocks; where these are few, so are the trips. How depends on sizes only, and states are combined
/// in order, as a tree.
pub fn fold_columns<T: Send>(
    columns: usize,
    trips: usize,
    work: usize,
    body: &(dyn Fn(usize, usize, usize, usize) -> T + Sync),
    combine: &(dyn Fn(&mut T, T) + Sync),
    finish: &(dyn Fn(usize, usize, T) + Sync),
) {
    let blocks = columns.div_ceil(COLUMNS);
    if blocks == 0 {
        return;
    }
    // A task should have many times more trips than it takes to make and combine its states.
    let most = (MAX_PARTS / blocks).min(trips / 8).max(1);
    let chunks = Chunks::new(trips, work.saturating_mul(columns.min(COLUMNS)), most);
    let parts = chunks.count.max(1);
    let parallel = blocks * parts > 1 && rayon::current_num_threads() > 1;
    let block = |block: usize| {
        let (lo, hi) = (block * COLUMNS, ((block + 1) * COLUMNS).min(columns));
        let part = |part: usize| {
            let (from, to) = chunks.bounds(part);
            body(lo, hi, from, to)
        };
        finish(lo, hi, combined(0, parts, parallel, &part, combine));
    };
    if parallel {
        each(blocks, &block);
    } else {
        (0..blocks).for_each(block);
    }
}

/// The states of parts `lo..hi` combined in order, as a tree: few of them exist at a time, whatever the number of parts.
fn combined<T: Send>(
    lo: usize,
    hi: usize,
    parallel: bool,
    part: &(dyn Fn(usize) -> T + Sync),
    combine: &(dyn Fn(&mut T, T) + Sync),
) -> T {
    if hi - lo <= 1 {
        return part(lo);
    }
    let middle = lo + (hi - lo) / 2;
    let left = || combined(lo, middle, parallel, part, combine);
    let right = || combined(middle, hi, parallel, part, combine);
    let (mut x, y) = if parallel {
        let (mut x, mut y) = (None, None);
        both(&mut || x = Some(left()), &mut || y = Some(right()));
        match (x, y) {
            (Some(x), Some(y)) => (x, y),
            _ => unreachable!("both have been called"),
        }
    } else {
        (left(), right())
    };
    combine(&mut x, y);
    x
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn blocks_cover_everything_once_and_are_whole() {
        for (width, n) in [(64, 0), (64, 1), (16, 100), (64, 513), (16, 20_000), (64, 1_000_003)] {
            let seen = Mutex::new(Vec::new());
            for_blocks(width, n, 1 << 12, &|lo, hi| seen.lock().unwrap().push((lo, hi)));
            let mut seen = seen.into_inner().unwrap();
            seen.sort();
            assert!(seen.iter().all(|(lo, hi)| lo % 8 == 0 && lo < hi));
            let ends: Vec<usize> = seen.iter().map(|(_, hi)| *hi).collect();
            let starts: Vec<usize> = seen.iter().map(|(lo, _)| *lo).collect();
            assert_eq!(
                starts,
                [0].into_iter().chain(ends.iter().copied()).take(ends.len()).collect::<Vec<_>>()
            );
            assert_eq!(ends.last().copied().unwrap_or(0), n);
        }
    }

    #[test]
    fn chunks_cover_everything_once() {
        for n in [0, 1, 63, 64, 65, 1000, 1 << 16, (1 << 16) + 1, 200_000] {
            for work in [0, 1, 7, 1000, 1 << 16, usize::MAX] {
                let seen: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
                for_chunks(n, work, &|lo, hi| {
                    assert!(lo < hi);
                    seen[lo..hi].iter().for_each(|s| {
                        s.fetch_add(1, Relaxed);
                    });
                });
                assert!(seen.iter().all(|s| s.load(Relaxed) == 1), "n = {n}, work = {work}");
            }
        }
    }

    #[test]
    fn chunk_counts() {
        let count = |n, work| Chunks::new(n, work, MAX_CHUNKS).count;
        assert_eq!(count(0, 1), 0);
        assert_eq!(count(1 << 16, 1), 1);
        assert_eq!(count(1 << 22, 1), 64);
        assert_eq!(count(100, 1 << 20), 100);
        assert_eq!(count(1 << 40, 1), MAX_CHUNKS);
        assert!(count(100_000, 1 << 30) <= MAX_CHUNKS);
    }

    #[test]
    fn columns_are_folded_whatever_the_threads() {
        for (columns, trips) in
            [(0, 5), (1, 0), (3, 100_000), (COLUMNS, 1000), (COLUMNS + 1, 3000), (50_000, 9)]
        {
            let sums = || {
                let out: Vec<AtomicU32> = (0..columns).map(|_| AtomicU32::new(0)).collect();
                fold_columns(
                    columns,
                    trips,
                    2,
                    &|lo, hi, from, to| {
                        assert!(hi - lo <= COLUMNS);
                        (lo..hi)
                            .map(|j| (from..to).map(|k| 1.0 / (1 + k + j) as f32).sum::<f32>())
                            .collect::<Vec<f32>>()
                    },
                    &|x, y| x.iter_mut().zip(y).for_each(|(x, y)| *x += y),
                    &|lo, hi, s| (lo..hi).zip(s).for_each(|(j, s)| out[j].store(s.to_bits(), Relaxed)),
                );
                out.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>()
            };
            let with =
                |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(sums);
            let found = with(1);
            assert_eq!(found, with(4));
            for (j, bits) in found.into_iter().enumerate() {
                let expected = (0..trips).map(|k| 1.0 / (1 + k + j) as f64).sum::<f64>();
                assert!((f64::from(f32::from_bits(bits)) - expected).abs() <= 1e-4 * expected);
            }
        }
    }

    #[test]
    fn wide_chunks_cover_everything_once() {
        for n in [0, 1, 63, 64, 1000] {
            let seen: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
            for_wide_chunks(n, 1 << 20, &|lo, hi| {
                (lo..hi).for_each(|i| {
                    seen[i].fetch_add(1, Relaxed);
                })
            });
            assert!(seen.iter().all(|s| s.load(Relaxed) == 1), "n = {n}");
        }
    }

    #[test]
    fn folds_do_not_depend_on_threads() {
        let xs: Vec<f32> = (0..500_000).map(|i| (i as f32 * 0.37).sin()).collect();
        let sum = || fold_chunks(xs.len(), 1, &|lo, hi| xs[lo..hi].iter().sum::<f32>(), &|a, b| a + b);
        let with = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
                .install(sum)
                .unwrap()
                .to_bits()
        };
        assert_eq!(with(1), with(4));
        assert_eq!(fold_chunks(0, 1, &|_, _| 1, &|a, b| a + b), None);
    }
}
