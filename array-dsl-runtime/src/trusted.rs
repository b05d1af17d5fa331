//! What generated code is trusted with: reads and writes without a check of their own, and rows of one array, or elements
//! ([`Owned`]), for many threads.
//!
//! All of it is `unsafe`, so that nobody calls it who writes safe Rust, and nothing else in this crate can be made to
//! touch foreign memory by safe code. Generated code does call it, in `unsafe` blocks of one access each, on the strength of what
//! the compiler has proven; the lint `unsafe_code` passes over what macros of other crates expand to, so that users may
//! forbid it.
//!
//! ```compile_fail,E0133
//! array_dsl_runtime::trusted::get(&[1.0, 2.0], 1 << 40);
//! ```
//!
//! ```compile_fail,E0133
//! array_dsl_runtime::trusted::set(&mut [1, 2], 1 << 40, 7);
//! ```
//!
//! ```compile_fail,E0133
//! let shared = array_dsl_runtime::trusted::Shared::new(&mut [1, 2]);
//! let _ = (shared.rows(0, 2, 1), shared.rows(0, 2, 1));
//! ```
//!
//! ```compile_fail,E0133
//! array_dsl_runtime::trusted::all_set(array_dsl_runtime::cpu::alloc_unset::<bool>(8).unwrap());
//! ```
//!
//! With the feature `assert-trusted` every contract is asserted: indices, that no element of a shared array is given out twice,
//! that every element of an array was set. The tests across crates are run with it. Builds with debug assertions, and without the
//! feature, assert indices.

mod lanes;
mod owned;

pub use lanes::Lanes;
pub use owned::Owned;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::NoUninit;

use crate::buffer::Buffer;
use crate::cpu;

/// Whether indices are asserted.
const ASSERTED: bool = cfg!(any(debug_assertions, feature = "assert-trusted"));

/// Asserts that an index is inside.
#[inline(always)]
fn inside(i: i64, len: usize) {
    if ASSERTED {
        assert!(0 <= i && (i as usize) < len, "index {i} of {len}");
    }
}

/// `x[i]`.
///
/// # Safety
/// `0 <= i < x.len()`: `i` was compared with the length, or is affine in loop variables whose extents imply it.
#[inline(always)]
pub unsafe fn get<T: Copy>(x: &[T], i: i64) -> T {
    inside(i, x.len());
    // SAFETY: the contract.
    unsafe { *x.get_unchecked(i as usize) }
}

/// `x[i] = value`.
///
/// # Safety
/// As for [`get`].
#[inline(always)]
pub unsafe fn set<T: Copy>(x: &mut [T], i: i64, value: T) {
    inside(i, x.len());
    // SAFETY: the contract.
    unsafe { *x.get_unchecked_mut(i as usize) = value };
}

/// `x[i..]`.
///
/// # Safety
/// `0 <= i <= x.len()`: a row of the array begins there.
#[inline(always)]
pub unsafe fn tail<T>(x: &[T], i: i64) -> &[T] {
    inside(i, x.len() + 1);
    // SAFETY: the contract.
    unsafe { x.get_unchecked(i as usize..) }
}

/// [`tail`] for an array that is written.
///
/// # Safety
/// As for [`tail`].
#[inline(always)]
pub unsafe fn tail_mut<T>(x: &mut [T], i: i64) -> &mut [T] {
    inside(i, x.len() + 1);
    // SAFETY: the contract.
    unsafe { x.get_unchecked_mut(i as usize..) }
}

/// [`set`] for an array whose elements were not set before.
///
/// # Safety
/// As for [`get`].
#[inline(always)]
pub unsafe fn init<T: Copy>(x: &mut [MaybeUninit<T>], i: i64, value: T) {
    // SAFETY: the contract.
    unsafe { set(x, i, MaybeUninit::new(value)) };
}

/// The array, every element of which was set.
///
/// # Safety
/// That is so.
pub unsafe fn all_set<T: NoUninit>(x: Buffer<MaybeUninit<T>>) -> Buffer<T> {
    #[cfg(feature = "assert-trusted")]
    unset::check(&x);
    // SAFETY: the contract.
    unsafe { cpu::assume_set(x).all_bytes_set() }
}

/// Called where an array is made whose elements are to be set: with the feature, [`all_set`] finds those that were not.
pub(crate) fn mark_unset<T>(x: &mut [MaybeUninit<T>]) {
    #[cfg(feature = "assert-trusted")]
    unset::mark(x);
    #[cfg(not(feature = "assert-trusted"))]
    let _ = x;
}

/// Elements that were not set hold a pattern that no kernel computes: no truth value, and NaNs that are signaling.
#[cfg(feature = "assert-trusted")]
mod unset {
    use super::MaybeUninit;
    use bytemuck::NoUninit;

    /// The bytes of the pattern, the sign first; longer elements have it again and again.
    const PATTERN: u64 = 0xfff5_a3c7_fff5_a3c7;

    /// The bytes of the numbers that an element consists of.
    const fn width<T>() -> usize {
        match size_of::<T>() {
            0 => 8,
            n if n % 8 == 0 => 8,
            n if n % 4 == 0 => 4,
            n if n % 2 == 0 => 2,
            _ => 1,
        }
    }

    /// The number at `place`, and what the pattern has there.
    ///
    /// # Safety
    /// There are so many bytes, and all of them are set.
    unsafe fn number<T>(place: *const u8) -> (u64, u64) {
        // SAFETY: the contract.
        unsafe {
            match width::<T>() {
                8 => (place.cast::<u64>().read_unaligned(), PATTERN),
                4 => (place.cast::<u32>().read_unaligned().into(), PATTERN >> 32),
                2 => (place.cast::<u16>().read_unaligned().into(), PATTERN >> 48),
                _ => (place.read().into(), PATTERN >> 56),
            }
        }
    }

    pub fn mark<T>(x: &mut [MaybeUninit<T>]) {
        let start = x.as_mut_ptr().cast::<u8>();
        for at in (0..size_of_val(x)).step_by(width::<T>()) {
            // SAFETY: inside, where any bytes may stand.
            unsafe {
                let place = start.add(at);
                match width::<T>() {
                    8 => place.cast::<u64>().write_unaligned(PATTERN),
                    4 => place.cast::<u32>().write_unaligned((PATTERN >> 32) as u32),
                    2 => place.cast::<u16>().write_unaligned((PATTERN >> 48) as u16),
                    _ => place.write((PATTERN >> 56) as u8),
                }
            }
        }
    }

    pub fn check<T: NoUninit>(x: &[MaybeUninit<T>]) {
        for (i, element) in x.iter().enumerate() {
            let start = element.as_ptr().cast::<u8>();
            let mut numbers = (0..size_of::<T>()).step_by(width::<T>());
            let is_pattern = |at| {
                // SAFETY: inside; the element was marked, or set to a value without uninitialized bytes.
                let (found, pattern) = unsafe { number::<T>(start.add(at)) };
                found == pattern
            };
            let unset = size_of::<T>() > 0 && numbers.all(is_pattern);
            assert!(!unset, "element {i} of {} was never set", x.len());
        }
    }
}

/// An array that several threads write disjoint parts of.
pub struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
    #[cfg(feature = "assert-trusted")]
    given: std::sync::Arc<given::Elements>,
}

impl<T> Clone for Shared<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Shared {
            start: self.start,
            len: self.len,
            array: PhantomData,
            #[cfg(feature = "assert-trusted")]
            given: self.given.clone(),
        }
    }
}

// SAFETY: it only hands out disjoint parts (the contracts of `rows` and `set`), which may go to other threads if `T` may.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares an array for as long as it is borrowed.
    #[inline]
    pub fn new(array: &'a mut [T]) -> Shared<'a, T> {
        Shared {
            start: array.as_mut_ptr(),
            len: array.len(),
            array: PhantomData,
            #[cfg(feature = "assert-trusted")]
            given: given::Elements::new(array.len()).into(),
        }
    }

    /// Elements `lo * stride .. hi * stride`; panics if they are outside.
    ///
    /// # Safety
    /// No element is given out twice, here or by [`Shared::set`]. Chunks of one [`for_chunks`](crate::cpu::for_chunks) with
    /// one stride are disjoint.
    #[inline]
    #[must_use]
    pub unsafe fn rows(&self, lo: usize, hi: usize, stride: usize) -> &'a mut [T] {
        let (from, to) = match (lo.checked_mul(stride), hi.checked_mul(stride)) {
            (Some(from), Some(to)) if from <= to && to <= self.len => (from, to),
            _ => panic!("rows {lo}..{hi} of {stride} elements are outside an array of {}", self.len),
        };
        #[cfg(feature = "assert-trusted")]
        self.given.give(from, to);
        // SAFETY: inside the array; by the contract nothing else refers to these elements.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), to - from) }
    }
}

impl<T: Copy> Shared<'_, T> {
    /// Sets one element.
    ///
    /// # Safety
    /// `0 <= i < len`, and while the array is shared nothing reads it, and no element is given out twice.
    #[inline(always)]
    pub unsafe fn set(&self, i: i64, value: T) {
        inside(i, self.len);
        #[cfg(feature = "assert-trusted")]
        self.given.give(i as usize, i as usize + 1);
        // SAFETY: inside the array; by the contract nothing else refers to this element.
        unsafe { self.start.add(i as usize).write(value) };
    }
}

/// Which elements of a shared array were given out.
#[cfg(feature = "assert-trusted")]
mod given {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// One bit for each.
    pub struct Elements(Vec<AtomicU64>);

    impl Elements {
        pub fn new(len: usize) -> Elements {
            Elements((0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
        }

        /// Gives out elements `from..to`.
        pub fn give(&self, from: usize, to: usize) {
            let mut at = from;
            while at < to {
                let count = (64 - at % 64).min(to - at);
                let bits = (u64::MAX >> (64 - count)) << (at % 64);
                let before = self.0[at / 64].fetch_or(bits, Relaxed) & bits;
                assert!(
                    before == 0,
                    "element {} is given out twice",
                    at / 64 * 64 + before.trailing_zeros() as usize
                );
                at += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{alloc_unset, for_chunks};

    #[test]
    fn threads_write_disjoint_rows() {
        let (n, m) = (1000, 3);
        let mut x = vec![0; n * m];
        let shared = Shared::new(&mut x);
        for_chunks(n, 1 << 12, &|lo, hi| {
            // SAFETY: chunks are disjoint.
            for (offset, v) in unsafe { shared.rows(lo, hi, m) }.iter_mut().enumerate() {
                *v = lo * m + offset;
            }
        });
        assert!(x.iter().enumerate().all(|(i, v)| i == *v));
        // SAFETY: inside.
        unsafe { set(&mut x, 4, 40) };
        // SAFETY: inside.
        assert_eq!(unsafe { get(&x, 4) }, 40);
    }

    #[test]
    fn threads_write_different_elements() {
        let n = 100_000;
        let mut x = vec![0; n];
        let shared = Shared::new(&mut x);
        // SAFETY: every element once.
        for_chunks(n, 1 << 6, &|lo, hi| (lo..hi).for_each(|i| unsafe { shared.set((n - 1 - i) as i64, i) }));
        assert!(x.iter().enumerate().all(|(i, v)| n - 1 - i == *v));
    }

    #[test]
    fn unset_arrays_become_ordinary_ones() {
        let mut x = alloc_unset::<i64>(100).unwrap();
        // SAFETY: inside.
        (0..100).for_each(|i| unsafe { init(&mut x, i, i * i) });
        // SAFETY: all of them were set.
        assert!(unsafe { all_set(x) }.iter().copied().eq((0..100).map(|i| i * i)));
        // SAFETY: there are none.
        assert!(unsafe { all_set(alloc_unset::<f32>(0).unwrap()) }.is_empty());
    }

    #[test]
    #[should_panic(expected = "rows 0..2 of 9223372036854775808 elements are outside an array of 4")]
    fn rows_whose_ends_wrap_are_outside() {
        let mut x = [0u8; 4];
        // SAFETY: asserted.
        let _ = unsafe { Shared::new(&mut x).rows(0, 2, 1 << 63) };
    }

    #[test]
    #[cfg(any(debug_assertions, feature = "assert-trusted"))]
    fn indices_outside_are_asserted() {
        fn index(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
            let payload = std::panic::catch_unwind(f).expect_err("an index outside");
            payload.downcast::<String>().map_or_else(|_| String::new(), |s| *s)
        }
        // SAFETY: asserted, here and below.
        assert_eq!(index(|| _ = unsafe { get(&[1.0; 2], 1 << 40) }), "index 1099511627776 of 2");
        assert_eq!(index(|| _ = unsafe { get(&[1.0; 2], -1) }), "index -1 of 2");
        assert_eq!(index(|| unsafe { set(&mut [1u32; 2], 1 << 40, 7) }), "index 1099511627776 of 2");
        assert_eq!(index(|| unsafe { init(&mut [MaybeUninit::new(1u32); 2], 2, 7) }), "index 2 of 2");
        assert_eq!(index(|| unsafe { Shared::new(&mut [1u32; 2]).set(2, 7) }), "index 2 of 2");
    }

    #[test]
    #[cfg(feature = "assert-trusted")]
    #[should_panic(expected = "element 1 is given out twice")]
    fn rows_that_overlap_are_asserted() {
        let mut x = [0; 6];
        let shared = Shared::new(&mut x);
        // SAFETY: asserted.
        let _ = unsafe { (shared.rows(0, 2, 1), shared.clone().rows(1, 3, 1)) };
    }

    #[test]
    #[cfg(feature = "assert-trusted")]
    #[should_panic(expected = "element 3 is given out twice")]
    fn elements_that_are_set_twice_are_asserted() {
        let mut x = [0; 6];
        let shared = Shared::new(&mut x);
        // SAFETY: asserted.
        unsafe { (shared.set(3, 1), shared.set(3, 2)) };
    }

    #[test]
    #[cfg(feature = "assert-trusted")]
    #[should_panic(expected = "element 70 of 100 was never set")]
    fn elements_that_were_never_set_are_asserted() {
        let mut x = alloc_unset::<bool>(100).unwrap();
        // SAFETY: inside, and asserted.
        unsafe {
            (0..70).for_each(|i| init(&mut x, i, true));
            all_set(x);
        }
    }
}
