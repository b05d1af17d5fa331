//! Memory: allocation, bulk filling and copying.
//!
//! **An array that cannot be had is an error and no abort.** That is so for all memory that grows with sizes; what is bounded by
//! constants (lists of chunks, their partial results) is allocated as usual.

use std::mem::{ManuallyDrop, MaybeUninit};

use bytemuck::{NoUninit, Zeroable};

use super::tasks::each;
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

/// A new array of zeros (`false` for `bool`) whose pages are touched only when written. Earlier checks guarantee
/// that `len` is not negative; a negative one gives an empty array.
pub fn alloc<T: Zeroable>(len: i64) -> Result<Vec<T>, OutOfMemory> {
    let len = length(len);
    let mut x = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| OutOfMemory::of::<T>(len))?;
    advise_huge_pages(&mut x);
    Ok(x)
}

fn length(len: i64) -> usize {
    debug_assert!(len >= 0, "a negative length: {len}");
    usize::try_from(len).unwrap_or(0)
}

/// An empty array with room for `len` elements.
fn room<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut x = Vec::new();
    x.try_reserve_exact(len).map_err(|_| OutOfMemory::of::<T>(len))?;
    Ok(x)
}

/// `len` copies of a value.
pub fn repeated<T: Clone>(value: T, len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut x = room(len)?;
    x.resize(len, value);
    Ok(x)
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

/// A new array whose elements are to be set, each of them, before [`all_set`](crate::trusted::all_set) makes it an ordinary one.
/// `len` as for [`alloc`].
pub fn alloc_unset<T>(len: i64) -> Result<Vec<MaybeUninit<T>>, OutOfMemory> {
    let len = length(len);
    let mut x = room(len)?;
    // SAFETY: the capacity is at least `len`, and elements that may be uninitialized need no initialization.
    unsafe { x.set_len(len) };
    advise_huge_pages(&mut x);
    mark_unset(&mut x);
    Ok(x)
}

/// The memory of `x` as an array whose elements are to be set, as [`alloc_unset`] makes it anew. It must be large enough.
pub fn unset<T>(x: Vec<T>, len: i64) -> Vec<MaybeUninit<T>> {
    let mut x = ManuallyDrop::new(x);
    let len = usize::try_from(len).unwrap_or(0).min(x.capacity());
    // SAFETY: the same allocation; elements that may be uninitialized need no initialization, and the capacity has room.
    let mut x = unsafe { Vec::from_raw_parts(x.as_mut_ptr().cast(), len, x.capacity()) };
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
pub fn copied<T: NoUninit + Send + Sync>(from: &[T]) -> Result<Vec<T>, OutOfMemory> {
    if from.len() <= PART {
        let mut to = room(from.len())?;
        to.extend_from_slice(from);
        return Ok(to);
    }
    let mut to = alloc_unset(from.len() as i64)?;
    in_parts(&mut to, &|at, to| {
        to.iter_mut().zip(&from[at..]).for_each(|(to, from)| {
            to.write(*from);
        });
    });
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
        assert_eq!(alloc::<f64>(3), Ok(vec![0.0; 3]));
        assert_eq!(alloc::<bool>(2), Ok(vec![false; 2]));
        assert_eq!(alloc::<i64>(0), Ok(Vec::new()));
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
            assert_eq!(copied(&y), Ok(y));
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
            assert_eq!(repeated(1.0f64, len as usize), Err(refused));
        }
        assert_eq!(collected(0..3), Ok(vec![0, 1, 2]));
    }
}
