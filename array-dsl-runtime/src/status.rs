//! Failures inside parallel loops. A loop does not stop at a failure: it records it and goes on with a harmless
//! value, and the call reports the smallest failure by (site, kind, index, length) when the loops are done. The
//! report therefore never depends on the timing of threads.

use std::sync::{Mutex, PoisonError};

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

/// Collects the failures of one call of a kernel.
#[derive(Debug, Default)]
pub struct Status {
    smallest: Mutex<Option<(u32, Failure)>>,
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
        self.record(site, Failure::Index { index, length });
    }

    /// Records an integer division by zero.
    #[cold]
    #[inline(never)]
    pub fn division(&self, site: u32) {
        self.record(site, Failure::Division);
    }

    /// Records `argmin` or `argmax` of nothing.
    #[cold]
    #[inline(never)]
    pub fn empty(&self, site: u32) {
        self.record(site, Failure::Empty);
    }

    /// Records that a task could not have its buffer for rows of an array. The task does nothing then.
    #[cold]
    #[inline(never)]
    pub fn memory(&self, array: &'static str, OutOfMemory { bytes }: OutOfMemory) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = (*refused).max(Some((bytes, array)));
    }

    /// Whether all tasks had their buffers; else nothing can go on, as what they should have set is not.
    pub fn allocated(&self, signature: &'static Signature) -> Result<(), Error> {
        match *self.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((bytes, array)) => signature.owner(array).got(Err(OutOfMemory { bytes })),
        }
    }

    fn record(&self, site: u32, failure: Failure) {
        let mut smallest = self.smallest.lock().unwrap_or_else(PoisonError::into_inner);
        let new = (site, failure);
        *smallest = Some(smallest.map_or(new, |old| old.min(new)));
    }

    /// The smallest failure as an error; a site number is a position in `sites`.
    pub fn finish(&self, sites: &[Site]) -> Result<(), Error> {
        let smallest = *self.smallest.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((site, failure)) = smallest else { return Ok(()) };
        let Site { kernel, file, line } = sites[site as usize];
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
    fn the_report_does_not_depend_on_threads() {
        use rayon::prelude::*;
        let status = Status::new();
        (0..1000i64).into_par_iter().for_each(|i| status.index((i % 2) as u32, 10 + i, 10));
        let smallest = Error::IndexOutOfRange { kernel: "f", index: 10, length: 10, file: "a.rs", line: 1 };
        assert_eq!(status.finish(&SITES), Err(smallest));
    }
}
