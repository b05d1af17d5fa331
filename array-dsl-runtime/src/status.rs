//! Failures inside loops.
//!
//! A loop does not stop at a failure: it records it and goes on with a harmless value. But it ends soon after: it looks at
//! the status now and then and leaves, and the call returns the error when the step is done.
//!
//! **The report does not depend on the timing of threads.** Each chunk of a parallel loop records for itself, and looks at
//! nothing else; a chunk is left out only if one before it has failed. So the first chunk that fails is always executed,
//! and its smallest failure by (site, kind, index, length) is the one that is reported.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cpu::OutOfMemory;
use crate::error::Error;
use crate::program::{Signature, Site};

/// What failed; the order breaks ties between failures at one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    Index { index: i64, length: i64 },
    Division,
    Empty,
}

/// A failure with its place in the order: the chunk, and the site.
type Placed = ((usize, usize), u32, Failure);

/// Collects the failures of one call of a kernel, or of one chunk of a parallel loop.
#[derive(Debug, Default)]
pub struct Status {
    /// Whether there is one, for those who look often.
    failed: AtomicBool,
    first: Mutex<Option<Placed>>,
    /// The largest buffer that a task could not have, and its array.
    refused: Mutex<Option<(u64, &'static str)>>,
}

impl Status {
    /// No failure so far.
    pub fn new() -> Status {
        Status::default()
    }

    /// Records an index outside an axis of that length.
    #[cold]
    #[inline(never)]
    pub fn index(&self, site: u32, index: i64, length: i64) {
        self.record(((0, 0), site, Failure::Index { index, length }));
    }

    /// Records an integer division by zero.
    #[cold]
    #[inline(never)]
    pub fn division(&self, site: u32) {
        self.record(((0, 0), site, Failure::Division));
    }

    /// Records `argmin` or `argmax` of nothing.
    #[cold]
    #[inline(never)]
    pub fn empty(&self, site: u32) {
        self.record(((0, 0), site, Failure::Empty));
    }

    /// Records that a task could not have its buffer for rows of an array. The task does nothing then.
    #[cold]
    #[inline(never)]
    pub fn memory(&self, array: &'static str, OutOfMemory { bytes }: OutOfMemory) {
        self.refuse((bytes, array));
    }

    /// Whether all tasks had their buffers; else nothing can go on, as what they should have set is not.
    pub fn allocated(&self, signature: &'static Signature) -> Result<(), Error> {
        match *self.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((bytes, array)) => signature.owner(array).got(Err(OutOfMemory { bytes })),
        }
    }

    fn refuse(&self, new: (u64, &'static str)) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = (*refused).max(Some(new));
    }

    fn first(&self) -> MutexGuard<'_, Option<Placed>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, new: Placed) {
        let mut first = self.first();
        *first = Some(first.map_or(new, |old| old.min(new)));
        self.failed.store(true, Relaxed);
    }

    /// Whether something has failed.
    #[inline(always)]
    pub fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Runs a chunk of a parallel loop, unless one before it has failed; what it gives does not matter then. Chunks are
    /// ordered by `at`.
    #[inline]
    pub fn chunk<T>(
        &self,
        at: (usize, usize),
        left_out: impl FnOnce() -> T,
        run: impl FnOnce(&Status) -> T,
    ) -> T {
        if self.has_failed() && self.has_failed_before(at) {
            return left_out();
        }
        let own = Status::new();
        let given = run(&own);
        self.take_over(&own, at);
        given
    }

    #[cold]
    fn has_failed_before(&self, at: (usize, usize)) -> bool {
        self.first().is_some_and(|(failed, ..)| failed < at)
    }

    /// Records what has failed in a chunk.
    fn take_over(&self, chunk: &Status, at: (usize, usize)) {
        if let Some((_, site, failure)) = *chunk.first() {
            self.record((at, site, failure));
        }
        if let Some(refused) = *chunk.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            self.refuse(refused);
        }
    }

    /// The first failure as an error; a site number is a position in `sites`.
    #[inline]
    pub fn finish(&self, sites: &[Site]) -> Result<(), Error> {
        if self.has_failed() { self.error(sites) } else { Ok(()) }
    }

    #[cold]
    fn error(&self, sites: &[Site]) -> Result<(), Error> {
        let Some((_, site, failure)) = *self.first() else { return Ok(()) };
        let Some(&Site { kernel, file, line }) = sites.get(site as usize) else {
            return Err(Error::Internal {
                kernel: sites.first().map_or("", |s| s.kernel),
                message: format!("a loop failed at place {site}, and there are {}", sites.len()),
            });
        };
        Err(match failure {
            Failure::Index { index, length } => Error::IndexOutOfRange { kernel, index, length, file, line },
            Failure::Division => Error::DivisionByZero { kernel, file, line },
            Failure::Empty => Error::EmptyExtremum { kernel, file, line },
        })
    }
}

/// Whether `0 <= i < n`; an index outside is recorded.
#[inline(always)]
pub fn in_range(i: i64, n: i64, status: &Status, site: u32) -> bool {
    let inside = 0 <= i && i < n;
    if !inside {
        status.index(site, i, n);
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITES: [Site; 2] =
        [Site { kernel: "f", file: "a.rs", line: 1 }, Site { kernel: "g", file: "b.rs", line: 2 }];

    #[test]
    fn nothing_recorded_is_success() {
        let status = Status::new();
        assert!(in_range(0, 1, &status, 0));
        assert_eq!(status.finish(&SITES), Ok(()));
    }

    #[test]
    fn the_smallest_failure_is_reported() {
        let status = Status::new();
        status.division(1);
        status.empty(1);
        assert_eq!(status.finish(&SITES), Err(Error::DivisionByZero { kernel: "g", file: "b.rs", line: 2 }));
        assert!(!in_range(7, 3, &status, 0));
        assert!(!in_range(3, 3, &status, 0));
        assert!(!in_range(5, 3, &status, 0));
        let smallest = Error::IndexOutOfRange { kernel: "f", index: 3, length: 3, file: "a.rs", line: 1 };
        assert_eq!(status.finish(&SITES), Err(smallest));
        assert!(!in_range(-2, 3, &status, 0));
        let smallest = Error::IndexOutOfRange { kernel: "f", index: -2, length: 3, file: "a.rs", line: 1 };
        assert_eq!(status.finish(&SITES), Err(smallest));
    }

    #[test]
    fn the_first_chunk_that_fails_is_the_one_reported() {
        use rayon::prelude::*;
        for round in 0..50 {
            let status = Status::new();
            (0..100usize).into_par_iter().for_each(|c| {
                let run = |own: &Status| {
                    if c >= 30 + round {
                        own.index(u32::from(c % 2 == 0), c as i64, 10);
                        own.index(1, 1000, 10);
                    }
                };
                status.chunk((c * 64, 0), || (), run);
            });
            let c = 30 + round as i64;
            let (kernel, file, line) = [("g", "b.rs", 2), ("f", "a.rs", 1)][(c % 2) as usize];
            let first = Error::IndexOutOfRange { kernel, index: c, length: 10, file, line };
            assert_eq!(status.finish(&SITES), Err(first));
        }
    }

    #[test]
    fn chunks_after_a_failure_are_left_out() {
        let status = Status::new();
        let left_out = |at| status.chunk(at, || true, |_| false);
        assert!(!left_out((5, 0)));
        status.chunk((4, 7), || (), |own| own.division(0));
        assert!(!left_out((4, 6)) && !left_out((4, 7)) && !left_out((0, 9)));
        assert!(left_out((4, 8)) && left_out((5, 0)));
    }

    #[test]
    fn the_report_does_not_depend_on_threads() {
        use rayon::prelude::*;
        let status = Status::new();
        (0..1000i64).into_par_iter().for_each(|i| status.index((i % 2) as u32, 10 + i, 10));
        let smallest = Error::IndexOutOfRange { kernel: "f", index: 10, length: 10, file: "a.rs", line: 1 };
        assert_eq!(status.finish(&SITES), Err(smallest));
    }
}
