//! Memory: allocation, bulk filling and copying, element access that is proven in range by the compiler, and writing to
//! disjoint parts of one array from many threads.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

use bytemuck::Zeroable;
use rayon::prelude::*;

/// Elements in a task of a parallel fill or copy.
const PART: usize = 1 << 17;

/// A new array of zeros (`false` for `bool`) whose pages are touched only when written. Earlier checks guarantee
/// that `len` is not negative and can be addressed; a negative one gives an empty array.
pub fn alloc<T: Zeroable + Clone>(len: i64) -> Vec<T> {
    debug_assert!(len >= 0, "a negative length: {len}");
    let mut x = vec![T::zeroed(); usize::try_from(len).unwrap_or(0)];
    advise_huge_pages(&mut x);
    x
}

/// Asks for large pages behind a large array that has hardly been touched yet: where memory is new, its first use costs
/// more than most loops over it, and that cost is one for each page.
#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(x: &mut [T]) {
    use std::ffi::{c_int, c_void};

    const LARGE: usize = 1 << 22;
    const PAGE: usize = 4096;
    /// The same number on all architectures.
    const MADV_HUGEPAGE: c_int = 14;

    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    if size_of_val(x) >= LARGE {
        let start = x.as_mut_ptr().cast::<u8>();
        let offset = start.align_offset(PAGE);
        // SAFETY: a range of whole pages inside the array, whose contents the advice does not affect. If it is refused, or
        // pages are larger than assumed, nothing happens.
        let _ = unsafe {
            madvise(start.wrapping_add(offset).cast(), (size_of_val(x) - offset) / PAGE * PAGE, MADV_HUGEPAGE)
        };
    }
}

/// Other systems decide for themselves.
#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<T>(_: &mut [T]) {}

/// A new array whose elements are to be set by [`init`], each of them, before [`all_set`] makes it an ordinary one.
/// `len` as for [`alloc`].
pub fn alloc_unset<T>(len: i64) -> Vec<MaybeUninit<T>> {
    debug_assert!(len >= 0, "a negative length: {len}");
    let len = usize::try_from(len).unwrap_or(0);
    let mut x = Vec::with_capacity(len);
    // SAFETY: the capacity is `len`, and elements that may be uninitialized need no initialization.
    unsafe { x.set_len(len) };
    advise_huge_pages(&mut x);
    x
}

/// The memory of `x` as an array whose elements are to be set, as [`alloc_unset`] makes it anew. It must be large enough.
pub fn unset<T>(x: Vec<T>, len: i64) -> Vec<MaybeUninit<T>> {
    let mut x = ManuallyDrop::new(x);
    let len = usize::try_from(len).unwrap_or(0).min(x.capacity());
    // SAFETY: the same allocation; elements that may be uninitialized need no initialization, and the capacity has room.
    unsafe { Vec::from_raw_parts(x.as_mut_ptr().cast(), len, x.capacity()) }
}

/// The array, every element of which was set.
///
/// Contract, upheld by the compiler: that is so.
#[doc(hidden)]
#[must_use]
pub fn all_set<T: Zeroable>(x: Vec<MaybeUninit<T>>) -> Vec<T> {
    let mut x = ManuallyDrop::new(x);
    // SAFETY: the same allocation, with elements of the same layout; the contract.
    unsafe { Vec::from_raw_parts(x.as_mut_ptr().cast(), x.len(), x.capacity()) }
}

/// Sets every element.
pub fn fill<T: Copy + Send + Sync>(x: &mut [T], value: T) {
    if x.len() <= PART {
        x.fill(value);
    } else {
        x.par_chunks_mut(PART).for_each(|part| part.fill(value));
    }
}

/// Copies all elements of an array of the same length.
pub fn copy<T: Copy + Send + Sync>(to: &mut [T], from: &[T]) {
    if to.len() <= PART || to.len() != from.len() {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// A copy of all elements.
pub fn copied<T: Copy + Send + Sync>(from: &[T]) -> Vec<T> {
    if from.len() <= PART {
        return from.to_vec();
    }
    let mut to = Vec::with_capacity(from.len());
    from.par_iter().copied().collect_into_vec(&mut to);
    to
}

/// `x[i]` without a bounds check.
///
/// Contract, upheld by the compiler: `0 <= i < x.len()`, because `i` was compared with the length or is affine in
/// loop variables whose extents imply it. Debug builds assert it.
#[doc(hidden)]
#[inline(always)]
pub fn get<T: Copy>(x: &[T], i: i64) -> T {
    debug_assert!(0 <= i && (i as usize) < x.len(), "index {i} of {}", x.len());
    // SAFETY: the contract.
    unsafe { *x.get_unchecked(i as usize) }
}

/// `x[i] = value` without a bounds check. Contract as for [`get`].
#[doc(hidden)]
#[inline(always)]
pub fn set<T>(x: &mut [T], i: i64, value: T) {
    debug_assert!(0 <= i && (i as usize) < x.len(), "index {i} of {}", x.len());
    // SAFETY: the contract.
    unsafe { *x.get_unchecked_mut(i as usize) = value };
}

/// [`set`] for an array from [`alloc_unset`].
#[doc(hidden)]
#[inline(always)]
pub fn init<T>(x: &mut [MaybeUninit<T>], i: i64, value: T) {
    set(x, i, MaybeUninit::new(value));
}

/// Combines the elements of `y` into those of `x`.
pub fn combine<T: Copy>(x: &mut [T], y: &[T], f: impl Fn(T, T) -> T) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
}

/// An array that several threads write disjoint parts of.
pub struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: it only hands out disjoint `&mut [T]` (the contract of `rows`), which may go to other threads if `T` may.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares an array for as long as it is borrowed.
    #[inline]
    pub fn new(array: &'a mut [T]) -> Shared<'a, T> {
        Shared { start: array.as_mut_ptr(), len: array.len(), array: PhantomData }
    }

    /// Elements `lo * stride .. hi * stride`; panics if they are outside.
    ///
    /// Contract, upheld by the compiler: of the slices that are alive at one time no two overlap; chunks of one
    /// [`for_chunks`](super::for_chunks) with one stride do not.
    #[doc(hidden)]
    #[inline]
    pub fn rows(&self, lo: usize, hi: usize, stride: usize) -> &'a mut [T] {
        let (from, to) = (lo * stride, hi * stride);
        assert!(from <= to && to <= self.len, "elements {from}..{to} of {}", self.len);
        // SAFETY: inside the array; by the contract nothing else refers to these elements.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), to - from) }
    }
}

impl<T: Copy> Shared<'_, T> {
    /// Sets one element.
    ///
    /// Contract, upheld by the compiler: `0 <= i < len`, and while the array is shared nothing reads it and no other call is
    /// for the same element. Debug builds assert the first part.
    #[doc(hidden)]
    #[inline(always)]
    pub fn set(&self, i: i64, value: T) {
        debug_assert!(0 <= i && (i as usize) < self.len, "index {i} of {}", self.len);
        // SAFETY: inside the array; by the contract nothing else refers to this element.
        unsafe { self.start.add(i as usize).write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::for_chunks;
    use super::*;

    #[test]
    fn arrays_start_as_zeros() {
        assert_eq!(alloc::<f64>(3), [0.0; 3]);
        assert_eq!(alloc::<bool>(2), [false; 2]);
        assert!(alloc::<i64>(0).is_empty());
    }

    #[test]
    fn fill_and_copy() {
        for n in [0, 5, PART + 3, 3 * PART] {
            let mut x = vec![0i64; n];
            fill(&mut x, 7);
            assert!(x.iter().all(|v| *v == 7));
            let y: Vec<i64> = (0..n as i64).collect();
            copy(&mut x, &y);
            assert_eq!(x, y);
        }
    }

    #[test]
    fn threads_write_disjoint_rows() {
        let (n, m) = (1000, 3);
        let mut x = vec![0; n * m];
        let shared = Shared::new(&mut x);
        for_chunks(n, 1 << 12, |lo, hi| {
            for (offset, v) in shared.rows(lo, hi, m).iter_mut().enumerate() {
                *v = lo * m + offset;
            }
        });
        assert!(x.iter().enumerate().all(|(i, v)| i == *v));
        set(&mut x, 4, 40);
        assert_eq!(get(&x, 4), 40);
    }

    #[test]
    fn threads_write_different_elements() {
        let n = 100_000;
        let mut x = vec![0; n];
        let shared = Shared::new(&mut x);
        for_chunks(n, 1 << 6, |lo, hi| (lo..hi).for_each(|i| shared.set((n - 1 - i) as i64, i)));
        assert!(x.iter().enumerate().all(|(i, v)| n - 1 - i == *v));
    }

    #[test]
    fn unset_arrays_become_ordinary_ones() {
        let mut x = alloc_unset::<i64>(100);
        (0..100).for_each(|i| init(&mut x, i, i * i));
        assert!(all_set(x).into_iter().eq((0..100).map(|i| i * i)));
        assert!(all_set(alloc_unset::<f32>(0)).is_empty());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "index 3 of 3")]
    fn debug_builds_assert_the_contract() {
        get(&[1, 2, 3], 3);
    }
}
