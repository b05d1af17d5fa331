//! The memory of an array while a kernel runs: elements that go back to the [pool](crate::pool) when nothing needs them any more.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::pool;

/// The elements of an array. What becomes a result leaves as a `Vec`.
pub struct Buffer<T: Copy>(ManuallyDrop<Vec<T>>);

impl<T: Copy> Buffer<T> {
    /// The elements as a vector of their own.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Copy> From<Vec<T>> for Buffer<T> {
    fn from(x: Vec<T>) -> Self {
        Buffer(ManuallyDrop::new(x))
    }
}

impl<T: Copy> Drop for Buffer<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken once, as it is being dropped.
        pool::give(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

impl<T: Copy> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Copy> Default for Buffer<T> {
    #[inline]
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Copy + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}
