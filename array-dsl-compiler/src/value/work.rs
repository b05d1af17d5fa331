//! How much work an interpreter may do. Programs that nobody wrote need not end, and may make arrays of any size: a run
//! that has done its share ends with [`Fault::Exhausted`] instead.
//!
//! The limit belongs to the thread and holds for each run alone. There is none unless [`limited`] sets one.

use std::cell::Cell;

use super::Fault;

thread_local! {
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Runs `f`, in which every run of an interpreter may execute so many scalar functions and make so many elements.
pub fn limited<T>(limit: u64, f: impl FnOnce() -> T) -> T {
    let before = LIMIT.replace(limit);
    let result = f();
    LIMIT.set(before);
    result
}

/// A run begins.
pub(crate) fn begin() {
    LEFT.set(LIMIT.get());
}

/// What is left of the limit after some work.
///
/// # Errors
/// If that is more than was left.
pub(crate) fn spend(work: u64) -> Result<(), Fault> {
    let left = LEFT.get().checked_sub(work).ok_or(Fault::Exhausted)?;
    LEFT.set(left);
    Ok(())
}

/// As [`spend`], for the elements of an array that is to be made.
pub(crate) fn spend_elements(shape: &[usize]) -> Result<(), Fault> {
    let elements = shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n as u64));
    spend(elements.unwrap_or(if shape.contains(&0) { 0 } else { u64::MAX }))
}
