//! Prefixes in chunks whose boundaries depend on sizes only.
//!
//! ```text
//! fold each chunk alone;   start of a chunk = all folds before it, combined in order;   run each chunk from its start
//! ```
//!
//! A chunk that one thread has folded is soon run, while it is in a cache: chunks are taken in batches. That decides when
//! a chunk is run, not what is computed.

use super::chunks::Chunks;
use super::tasks::gathered;

/// The greatest number of chunks.
const MAX_CHUNKS: usize = 1024;
/// Chunks of a batch for each thread.
const BATCH: usize = 4;

/// Runs `0..n` in chunks, each from the state that the chunks before it lead to.
///
/// `fold(lo, hi)` is the state of a chunk from `neutral`; `combine(x, y)` the state of two neighbors;
/// `run(lo, hi, start)` executes a chunk from the state before it; `join` combines what chunks give, in order. `work` is an
/// estimate of the scalar operations of one iteration. `None` if there are no iterations. The result has the same bits
/// whatever the number of threads.
pub fn scan_chunks<S: Send + Sync, T: Send>(
    n: usize,
    work: usize,
    neutral: S,
    fold: &(dyn Fn(usize, usize) -> S + Sync),
    combine: &dyn Fn(&S, &S) -> S,
    run: &(dyn Fn(usize, usize, &S) -> T + Sync),
    join: &dyn Fn(T, T) -> T,
) -> Option<T> {
    let chunks = Chunks::new(n, work, MAX_CHUNKS);
    let batch = if chunks.sequential() { 1 } else { BATCH * rayon::current_num_threads() };
    let (mut state, mut out) = (neutral, None);
    let mut first = 0;
    while first < chunks.count {
        let last = (first + batch).min(chunks.count);
        // Nothing comes after the last chunk, so its fold is not needed.
        let folded = last.min(chunks.count - 1) - first;
        let one = |c: usize| {
            let (lo, hi) = chunks.bounds(first + c);
            fold(lo, hi)
        };
        let folds: Vec<S> = if batch == 1 { (0..folded).map(one).collect() } else { gathered(folded, &one) };
        let mut starts = vec![state];
        for f in &folds {
            starts.push(combine(&starts[starts.len() - 1], f));
        }
        let one = |c: usize| {
            let (lo, hi) = chunks.bounds(first + c);
            run(lo, hi, &starts[c])
        };
        let parts: Vec<T> =
            if batch == 1 { (0..last - first).map(one).collect() } else { gathered(last - first, &one) };
        for part in parts {
            out = Some(match out {
                Some(before) => join(before, part),
                None => part,
            });
        }
        let Some(next) = starts.pop() else { break };
        state = next;
        first = last;
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

    use super::*;

    fn threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
    }

    #[test]
    fn prefix_sums_of_any_length() {
        for n in [0usize, 1, 63, 64, 65, 255, 256, 257, 100_000] {
            for work in [1, 1 << 10, 1 << 20] {
                let out: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
                let total = threads(3, || {
                    scan_chunks(
                        n,
                        work,
                        0u64,
                        &|lo, hi| (lo..hi).map(|i| i as u64).sum(),
                        &|x, y| x + y,
                        &|lo, hi, start| {
                            let mut s = *start;
                            for (i, place) in out.iter().enumerate().take(hi).skip(lo) {
                                s += i as u64;
                                place.store(s, Relaxed);
                            }
                            s
                        },
                        &|_, y| y,
                    )
                });
                let expected = |i: u64| i * (i + 1) / 2;
                assert!(out.iter().enumerate().all(|(i, s)| s.load(Relaxed) == expected(i as u64)));
                assert_eq!(total, n.checked_sub(1).map(|i| expected(i as u64)));
            }
        }
    }

    #[test]
    fn the_operator_need_not_commute() {
        // Affine functions, composed: (a, b) then (c, d) is x -> c (a x + b) + d.
        let n = 5000usize;
        let f = |i: usize| (1.0 + (i % 3) as f64 * 0.01, i as f64 * 0.1);
        let then = |x: &(f64, f64), y: &(f64, f64)| (x.0 * y.0, x.1 * y.0 + y.1);
        let fold = |lo: usize, hi: usize| (lo..hi).fold((1.0, 0.0), |s, i| then(&s, &f(i)));
        let all = threads(2, || {
            scan_chunks(n, 1 << 12, (1.0, 0.0), &fold, &then, &|lo, hi, s| then(s, &fold(lo, hi)), &|_, y| y)
        });
        let expected = fold(0, n);
        let found = all.unwrap_or_default();
        assert!((found.1 / expected.1 - 1.0).abs() < 1e-9, "{found:?} {expected:?}");
    }

    #[test]
    fn prefixes_do_not_depend_on_threads() {
        let xs: Vec<f32> = (0..300_000).map(|i| (i as f32 * 0.37).sin()).collect();
        let scan = || {
            let out: Vec<AtomicU32> = xs.iter().map(|_| AtomicU32::new(0)).collect();
            scan_chunks(
                xs.len(),
                8,
                0.0f32,
                &|lo, hi| xs[lo..hi].iter().sum::<f32>(),
                &|x, y| x + y,
                &|lo, hi, start| {
                    let mut s = *start;
                    for i in lo..hi {
                        s += xs[i];
                        out[i].store(s.to_bits(), Relaxed);
                    }
                },
                &|_, ()| (),
            );
            out.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>()
        };
        assert_eq!(threads(1, scan), threads(4, scan));
    }
}
