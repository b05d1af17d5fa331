//! The memory of an array while a kernel runs: elements that go back to the [pool](crate::pool) when nothing needs them any more.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::pool;

/// The elements of an array. What becomes a result leaves as a `Vec`.
pub struct Buffer<T: Copy> {
    elements: ManuallyDrop<Vec<T>>,
    /// Whether the bytes of all elements are known to have been set.
    is_set: bool,
}

impl<T: Copy> Buffer<T> {
    /// Says that the bytes of all elements have been set, so that later arrays in this memory may begin with them.
    ///
    /// # Safety
    /// They have been, now and after every change of the elements: `T` has no bytes that may be uninitialized.
    pub(crate) unsafe fn all_bytes_set(mut self) -> Buffer<T> {
        self.is_set = true;
        self
    }

    /// The elements as a vector of their own.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.elements) }
    }
}

impl<T: Copy> From<Vec<T>> for Buffer<T> {
    fn from(x: Vec<T>) -> Self {
        Buffer { elements: ManuallyDrop::new(x), is_set: false }
    }
}

impl<T: Copy> Drop for Buffer<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken once, as it is being dropped.
        pool::give(unsafe { ManuallyDrop::take(&mut self.elements) }, self.is_set);
    }
}

impl<T: Copy> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Copy> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
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
        self.elements.fmt(f)
    }
}

impl<T: Copy + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}
