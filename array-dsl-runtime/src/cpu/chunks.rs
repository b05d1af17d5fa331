//! Parallel loops in chunks whose boundaries depend on sizes only.
//!
//! A chunk has about 2^16 scalar operations, some tens of microseconds, which makes the cost of a task negligible and
//! leaves enough chunks to balance many cores; there are never more than 1024 of them.

use rayon::prelude::*;

/// Scalar operations in a chunk.
const CHUNK_WORK: usize = 1 << 16;
/// The greatest number of chunks.
const MAX_CHUNKS: usize = 1024;

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

    /// The iterations of a chunk.
    pub fn bounds(&self, chunk: usize) -> (usize, usize) {
        let lo = chunk * self.size;
        (lo, (lo + self.size).min(self.n))
    }

    /// Whether threads are worth their while, or there at all. Not for choices that affect results.
    fn sequential(&self) -> bool {
        self.count <= 1 || rayon::current_num_threads() == 1
    }
}

/// Calls `f(lo, hi)` for chunks that cover `0..n`, in parallel where that pays. `work` is an estimate of the scalar
/// operations in one iteration; the chunks depend on `n` and `work` only.
pub fn for_chunks(n: usize, work: usize, f: impl Fn(usize, usize) + Sync) {
    let chunks = Chunks::new(n, work, MAX_CHUNKS);
    let run = |c| {
        let (lo, hi) = chunks.bounds(c);
        f(lo, hi);
    };
    if chunks.sequential() {
        (0..chunks.count).for_each(run);
    } else {
        (0..chunks.count).into_par_iter().for_each(run);
    }
}

/// As [`for_chunks`], with the chunks' results combined in the order of the chunks; `None` if there are none.
/// The result has the same bits whatever the number of threads.
pub fn fold_chunks<T: Send>(
    n: usize,
    work: usize,
    f: impl Fn(usize, usize) -> T + Sync,
    combine: impl Fn(T, T) -> T,
) -> Option<T> {
    let chunks = Chunks::new(n, work, MAX_CHUNKS);
    let run = |c| {
        let (lo, hi) = chunks.bounds(c);
        f(lo, hi)
    };
    if chunks.sequential() {
        return (0..chunks.count).map(run).reduce(combine);
    }
    let parts: Vec<T> = (0..chunks.count).into_par_iter().map(run).collect();
    parts.into_iter().reduce(combine)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn chunks_cover_everything_once() {
        for n in [0, 1, 63, 64, 65, 1000, 1 << 16, (1 << 16) + 1, 200_000] {
            for work in [0, 1, 7, 1000, 1 << 16, usize::MAX] {
                let seen: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
                for_chunks(n, work, |lo, hi| {
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
    fn folds_do_not_depend_on_threads() {
        let xs: Vec<f32> = (0..500_000).map(|i| (i as f32 * 0.37).sin()).collect();
        let sum = || fold_chunks(xs.len(), 1, |lo, hi| xs[lo..hi].iter().sum::<f32>(), |a, b| a + b);
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
        assert_eq!(fold_chunks(0, 1, |_, _| 1, |a, b| a + b), None);
    }
}
