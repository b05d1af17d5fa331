//! Memory: allocation, bulk filling and copying.
//!
//! **An array that cannot be had is an error and no abort.** That is so for all memory that grows with sizes; what is bounded by
//! constants (lists of chunks, their partial results) is allocated as usual.

use std::mem::{ManuallyDrop, MaybeUninit};

use bytemuck::{NoUninit, Pod, Zeroable};

use super::tasks::each;
use crate::buffer::Buffer;
use crate::pool::{self, Room};
use crate::trusted::{Shared, all_set, mark_unset};

/// Elements in a task of a parallel fill or copy.
const PART: usize = 1 << 17;

/// Memory that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// How much of it was asked for.
    pub bytes: u64,
}

impl OutOfMemory {
    /// That of `len` elements.
    fn of<T>(len: usize) -> OutOfMemory {
        OutOfMemory { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) }
    }
}

/// An array of zeros (`false` for `bool`); pages of new memory are touched only when written. Earlier checks guarantee
/// that `len` is not negative; a negative one gives an empty array.
pub fn alloc<T: Zeroable + Copy + Send + Sync>(len: i64) -> Result<Buffer<T>, OutOfMemory> {
    let len = length(len);
    let Room { memory, is_new, is_zero, .. } = pool::room::<T>(len, true).ok_or(OutOfMemory::of::<T>(len))?;
    let mut x = with_length(memory, len, is_new);
    if !is_zero {
        fill(&mut x, MaybeUninit::zeroed());
    }
    // SAFETY: every element is zero, which is a value of `T`.
    Ok(unsafe { assume_set(x) })
}

/// An array of whatever was in its memory before: of which each element is written before it is read. `len` as for [`alloc`].
pub fn alloc_any<T: Pod + Send + Sync>(len: i64) -> Result<Buffer<T>, OutOfMemory> {
    let len = length(len);
    let Room { memory, is_new, is_set, .. } = pool::room::<T>(len, true).ok_or(OutOfMemory::of::<T>(len))?;
    let mut x = with_length(memory, len, is_new);
    if !is_set {
        fill(&mut x, MaybeUninit::zeroed());
    }
    mark_unset(&mut x);
    // SAFETY: every byte is set, and any bytes are a value of `T`, which has no others.
    Ok(unsafe { assume_set(x).all_bytes_set() })
}

/// A new array of zeros that is the caller's for good.
pub fn zeros<T: Zeroable>(len: i64) -> Result<Vec<T>, OutOfMemory> {
    let len = length(len);
    let allocated = || bytemuck::allocation::try_zeroed_vec(len).ok();
    let mut x = pool::under_pressure(allocated).ok_or(OutOfMemory::of::<T>(len))?;
    advise_huge_pages(&mut x);
    Ok(x)
}

/// An empty vector as an array of `len` elements.
fn with_length<T: Copy>(x: Vec<T>, len: usize, is_new: bool) -> Buffer<MaybeUninit<T>> {
    let mut x = ManuallyDrop::new(x);
    debug_assert!(len <= x.capacity());
    let len = len.min(x.capacity());
    // SAFETY: the same allocation, which has room; elements that may be uninitialized need no initialization.
    let mut x = unsafe { Vec::from_raw_parts(x.as_mut_ptr().cast::<MaybeUninit<T>>(), len, x.capacity()) };
    if is_new {
        advise_huge_pages(&mut x);
    }
    x.into()
}

/// The array, every element of which is a value.
///
/// # Safety
/// That is so.
pub(crate) unsafe fn assume_set<T: Copy>(x: Buffer<MaybeUninit<T>>) -> Buffer<T> {
    let mut x = ManuallyDrop::new(x.into_vec());
    // SAFETY: the same allocation, with elements of the same layout; the contract.
    unsafe { Vec::from_raw_parts(x.as_mut_ptr().cast::<T>(), x.len(), x.capacity()) }.into()
}

fn length(len: i64) -> usize {
    debug_assert!(len >= 0, "a negative length: {len}");
    usize::try_from(len).unwrap_or(0)
}

/// An empty vector with room for `len` elements that is the caller's for good.
fn room<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let reserved = || {
        let mut x = Vec::new();
        x.try_reserve_exact(len).ok().map(|()| x)
    };
    pool::under_pressure(reserved).ok_or(OutOfMemory::of::<T>(len))
}

/// `len` copies of a value.
pub fn repeated<T: Copy>(value: T, len: usize) -> Result<Buffer<T>, OutOfMemory> {
    let Room { memory: mut x, .. } = pool::room(len, false).ok_or(OutOfMemory::of::<T>(len))?;
    x.resize(len, value);
    Ok(x.into())
}

/// The elements of an iterator that knows how many there are.
pub fn collected<T>(from: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut x = room(from.len())?;
    x.extend(from);
    Ok(x)
}

/// Asks for large pages behind a large array that has hardly been touched yet: where memory is new, its first use costs
/// more than most loops over it, and that cost is one for each page.
#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(x: &mut [T]) {
    // SAFETY: the bytes of an array.
    unsafe { advise(x.as_mut_ptr().cast(), size_of_val(x)) };
}

/// The same of so many bytes, whatever they are.
///
/// # Safety
/// They are those of an array.
#[cfg(target_os = "linux")]
unsafe fn advise(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};

    const LARGE: usize = 1 << 22;
    const PAGE: usize = 4096;
    /// The same number on all architectures.
    const MADV_HUGEPAGE: c_int = 14;

    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    if bytes >= LARGE {
        let offset = start.align_offset(PAGE);
        // SAFETY: a range of whole pages inside the array, whose contents the advice does not affect. If it is refused, or
        // pages are larger than assumed, nothing happens.
        let _ = unsafe {
            madvise(
                start.wrapping_add(offset).cast::<c_void>(),
                (bytes - offset) / PAGE * PAGE,
                MADV_HUGEPAGE,
            )
        };
    }
}

/// Other systems decide for themselves.
#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<T>(_: &mut [T]) {}

/// An array whose elements are to be set, each of them, before [`all_set`] makes it an ordinary one. `len` as for [`alloc`].
pub fn alloc_unset<T: Copy>(len: i64) -> Result<Buffer<MaybeUninit<T>>, OutOfMemory> {
    let len = length(len);
    let Room { memory, is_new, .. } = pool::room::<T>(len, false).ok_or(OutOfMemory::of::<T>(len))?;
    Ok(to_be_set(memory, len, is_new))
}

/// [`alloc_unset`] in memory that is the caller's for good.
pub fn room_unset<T: Copy>(len: i64) -> Result<Buffer<MaybeUninit<T>>, OutOfMemory> {
    let len = length(len);
    Ok(to_be_set(room(len)?, len, true))
}

/// The memory of `x` as an array whose elements are to be set, as [`alloc_unset`] makes it anew. It must be large enough.
pub fn unset<T: Copy>(x: Vec<T>, len: usize) -> Buffer<MaybeUninit<T>> {
    to_be_set(x, len, false)
}

fn to_be_set<T: Copy>(x: Vec<T>, len: usize, is_new: bool) -> Buffer<MaybeUninit<T>> {
    let mut x = with_length(x, len, is_new);
    mark_unset(&mut x);
    x
}

/// Sets every element.
pub fn fill<T: Copy + Send + Sync>(x: &mut [T], value: T) {
    if x.len() <= PART {
        x.fill(value);
    } else {
        in_parts(x, &|_, part| part.fill(value));
    }
}

/// Copies all elements of an array of the same length. A view of an array of two negative dimensions, which nobody has refused in a
/// branch that is not taken, is as long as their product says, and there are no elements: then there are zeros.
pub fn copy<T: Copy + Zeroable + Send + Sync>(to: &mut [T], from: &[T]) {
    if from.is_empty() {
        fill(to, T::zeroed());
    } else if to.len() <= PART || to.len() != from.len() {
        to.copy_from_slice(from);
    } else {
        in_parts(to, &|at, to| to.copy_from_slice(&from[at..at + to.len()]));
    }
}

/// Calls `f(at, part)` for parts of an array, on all cores; they begin at `at`.
fn in_parts<T: Send>(x: &mut [T], f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let len = x.len();
    let x = Shared::new(x);
    each(len.div_ceil(PART), &|i| {
        let at = i * PART;
        // SAFETY: parts of different numbers are disjoint.
        f(at, unsafe { x.rows(at, (at + PART).min(len), 1) });
    });
}

/// A copy of all elements.
pub fn copied<T: NoUninit + Send + Sync>(from: &[T]) -> Result<Buffer<T>, OutOfMemory> {
    copied_to(alloc_unset(from.len() as i64)?, from)
}

/// A copy of all elements that is the caller's for good.
pub fn copied_out<T: NoUninit + Send + Sync>(from: &[T]) -> Result<Buffer<T>, OutOfMemory> {
    copied_to(room_unset(from.len() as i64)?, from)
}

fn copied_to<T: NoUninit + Send + Sync>(
    mut to: Buffer<MaybeUninit<T>>,
    from: &[T],
) -> Result<Buffer<T>, OutOfMemory> {
    let set = |at: usize, to: &mut [MaybeUninit<T>]| {
        to.iter_mut().zip(&from[at..]).for_each(|(to, from)| {
            to.write(*from);
        });
    };
    if from.len() <= PART {
        set(0, &mut to);
    } else {
        in_parts(&mut to, &set);
    }
    // SAFETY: the parts cover the array, and of each every element was set.
    Ok(unsafe { all_set(to) })
}

/// Combines the elements of `y` into those of `x`.
pub fn combine<T: Copy>(x: &mut [T], y: &[T], f: impl Fn(T, T) -> T) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_start_as_zeros() {
        assert_eq!(alloc::<f64>(3), Ok(vec![0.0; 3].into()));
        assert_eq!(alloc::<bool>(2), Ok(vec![false; 2].into()));
        assert_eq!(alloc::<i64>(0), Ok(Buffer::default()));
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
            assert_eq!(copied(&y), Ok(y.into()));
        }
        let mut x = [7i64; 2];
        copy(&mut x, &[]);
        assert_eq!(x, [0, 0]);
    }

    #[test]
    fn memory_that_is_refused_is_an_error() {
        // More than any address space has, and more than any array may have.
        for len in [1i64 << 58, i64::MAX] {
            let refused = OutOfMemory { bytes: (len as u64).saturating_mul(8) };
            assert_eq!(alloc::<f64>(len), Err(refused));
            assert_eq!(alloc_unset::<f64>(len).map(|x| x.len()), Err(refused));
            assert_eq!(alloc_any::<f64>(len).map(|x| x.len()), Err(refused));
            assert_eq!(repeated(1.0f64, len as usize), Err(refused));
        }
        assert_eq!(collected(0..3), Ok(vec![0, 1, 2]));
    }
}
