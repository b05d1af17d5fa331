//! Rows in ascending order, stably: positions, or the elements themselves.
//!
//! Every element has a **key**, an unsigned integer with the same order: the zeros have one key, and so has every NaN, the
//! greatest. Keys are sorted digit by digit, the least significant first:
//!
//! ```text
//! for each digit    count its values in each part;   where each part's elements of each value begin;   move them there
//! ```
//!
//! A digit that all elements share is left out, and few elements are sorted by comparison. The order is unique, as equal elements
//! keep theirs; so parts may depend on the number of threads.

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::memory::{OutOfMemory, alloc};
use crate::buffer::Buffer;

/// Fewer elements are sorted by comparison.
const FEW: usize = 1 << 9;
/// Rows of at least this length are sorted by all threads together.
const LONG: usize = 1 << 15;
/// Values of a digit.
const VALUES: usize = 256;

/// An element type with an order. Only this module has any: sorting relies on digits that stay the same.
///
/// ```compile_fail,E0277
/// # #[derive(Clone, Copy)]
/// struct Mine(u64);
/// impl array_dsl_runtime::cpu::Sortable for Mine {
///     type Key = u64;
///     fn key(self) -> u64 {
///         self.0
///     }
///     fn of_key(key: u64) -> Mine {
///         Mine(key)
///     }
/// }
/// ```
pub trait Sortable: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Keys.
    #[doc(hidden)]
    type Key: Digits + Into<u64>;

    /// The element's place in the order.
    #[doc(hidden)]
    fn key(self) -> Self::Key;

    /// The element, or the usual one of those with its key.
    #[doc(hidden)]
    fn of_key(key: Self::Key) -> Self;

    /// Whether other elements have the same key.
    #[doc(hidden)]
    fn is_lossy(self) -> bool {
        false
    }
}

mod sealed {
    /// What others cannot implement.
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for bool {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for super::Short {}
    impl Sealed for super::Long {}
}

macro_rules! integers {
    ($($t:ty, $key:ty, $flip:expr;)*) => {$(
        impl Sortable for $t {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                self as $key ^ $flip
            }

            #[inline(always)]
            fn of_key(key: $key) -> $t {
                (key ^ $flip) as $t
            }
        }
    )*};
}

integers! {
    u32, u32, 0;
    i32, u32, 1 << 31;
    i64, u64, 1 << 63;
}

impl Sortable for bool {
    type Key = u32;

    #[inline(always)]
    fn key(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn of_key(key: u32) -> bool {
        key != 0
    }
}

macro_rules! floats {
    ($($t:ty, $key:ty;)*) => {$(
        impl Sortable for $t {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                // One zero.
                let bits = (self + 0.0).to_bits();
                let key = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if self.is_nan() { <$key>::MAX } else { key }
            }

            #[inline(always)]
            fn of_key(key: $key) -> $t {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                if key == <$key>::MAX {
                    return <$t>::NAN;
                }
                <$t>::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
            }

            #[inline(always)]
            fn is_lossy(self) -> bool {
                self.is_nan() || self.to_bits() == (-0.0 as $t).to_bits()
            }
        }
    )*};
}

floats! {
    f32, u32;
    f64, u64;
}

/// What is sorted digit by digit. Its order is that of its digits first.
pub trait Digits: sealed::Sealed + Copy + Ord + Send + Sync + Zeroable {
    /// How many digits there are.
    const COUNT: usize;

    /// A digit, the least significant being number 0.
    fn digit(self, number: usize) -> usize;
}

impl Digits for u32 {
    const COUNT: usize = 4;

    #[inline(always)]
    fn digit(self, number: usize) -> usize {
        (self >> (8 * number)) as usize % VALUES
    }
}

impl Digits for u64 {
    const COUNT: usize = 8;

    #[inline(always)]
    fn digit(self, number: usize) -> usize {
        (self >> (8 * number)) as usize % VALUES
    }
}

/// A key with the position of its element.
trait Placed: Digits {
    fn new(key: u64, position: usize) -> Self;
    fn position(self) -> i64;
}

/// A key and a position of 32 bits each, the key on top.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Short(u64);

// SAFETY: an integer.
unsafe impl Zeroable for Short {}

impl Digits for Short {
    const COUNT: usize = 4;

    #[inline(always)]
    fn digit(self, number: usize) -> usize {
        self.0.digit(number + 4)
    }
}

impl Placed for Short {
    #[inline(always)]
    fn new(key: u64, position: usize) -> Short {
        Short(key << 32 | position as u64)
    }

    #[inline(always)]
    fn position(self) -> i64 {
        i64::from(self.0 as u32)
    }
}

/// A key and a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Long(u64, u64);

// SAFETY: integers.
unsafe impl Zeroable for Long {}

impl Digits for Long {
    const COUNT: usize = 8;

    #[inline(always)]
    fn digit(self, number: usize) -> usize {
        self.0.digit(number)
    }
}

impl Placed for Long {
    #[inline(always)]
    fn new(key: u64, position: usize) -> Long {
        Long(key, position as u64)
    }

    #[inline(always)]
    fn position(self) -> i64 {
        self.1 as i64
    }
}

/// Writes the positions of the elements of each row in ascending order; equal elements keep their order. Rows have `row` elements;
/// both arrays are equally long.
///
/// # Errors
/// The memory of the keys is refused.
pub fn argsort<T: Sortable>(out: &mut [i64], x: &[T], row: i64) -> Result<(), OutOfMemory> {
    let short = size_of::<T::Key>() == 4 && u32::try_from(row).is_ok();
    each_row(out, x, row, if short { positions::<T, Short> } else { positions::<T, Long> })
}

/// Writes each row in ascending order; equal elements keep their order. Arrays and errors as for [`argsort`].
pub fn sort<T: Sortable>(out: &mut [T], x: &[T], row: i64) -> Result<(), OutOfMemory> {
    each_row(out, x, row, elements)
}

/// Calls `f(out, x, whether to use all threads)` for each row.
fn each_row<T: Sync, U: Send>(
    out: &mut [U],
    x: &[T],
    row: i64,
    f: impl Fn(&mut [U], &[T], bool) -> Result<(), OutOfMemory> + Sync,
) -> Result<(), OutOfMemory> {
    let n = usize::try_from(row).unwrap_or(0);
    if n == 0 || x.is_empty() {
        return Ok(());
    }
    let (rows, threads) = (x.len() / n, rayon::current_num_threads());
    let in_order = |out: &mut [U], x: &[T], parallel: bool| {
        out.chunks_mut(n).zip(x.chunks(n)).try_for_each(|(out, x)| f(out, x, parallel))
    };
    if threads == 1 || x.len() < LONG {
        in_order(out, x, false)
    } else if n >= LONG && rows < 4 * threads {
        in_order(out, x, true)
    } else {
        let few = (LONG / n / 4).max(1);
        let tasks = out.par_chunks_mut(n * few).zip(x.par_chunks(n * few));
        tasks.try_for_each(|(out, x)| in_order(out, x, false))
    }
}

fn positions<T: Sortable, P: Placed>(out: &mut [i64], x: &[T], parallel: bool) -> Result<(), OutOfMemory> {
    let mut keys = alloc::<P>(x.len() as i64)?;
    zipped(&mut keys, x, parallel, |first, keys, x| {
        for (i, (key, x)) in keys.iter_mut().zip(x).enumerate() {
            *key = P::new(x.key().into(), first + i);
        }
    });
    ordered(&mut keys, parallel)?;
    zipped(out, &keys, parallel, |_, out, keys| {
        out.iter_mut().zip(keys).for_each(|(o, k)| *o = k.position());
    });
    Ok(())
}

fn elements<T: Sortable>(out: &mut [T], x: &[T], parallel: bool) -> Result<(), OutOfMemory> {
    let mut keys = alloc::<T::Key>(x.len() as i64)?;
    let lossy = std::sync::atomic::AtomicBool::new(false);
    zipped(&mut keys, x, parallel, |_, keys, x| {
        let mut any = false;
        for (key, x) in keys.iter_mut().zip(x) {
            *key = x.key();
            any |= x.is_lossy();
        }
        if any {
            lossy.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    ordered(&mut keys, parallel)?;
    zipped(out, &keys, parallel, |_, out, keys| {
        out.iter_mut().zip(keys).for_each(|(o, k)| *o = T::of_key(*k));
    });
    if lossy.into_inner() {
        restore(out, x, &keys);
    }
    Ok(())
}

/// Puts elements that share a key with others, in their order, where that key is.
fn restore<T: Sortable>(out: &mut [T], x: &[T], keys: &[T::Key]) {
    let mut found: Vec<T::Key> = Vec::new();
    for x in x.iter().filter(|x| x.is_lossy()) {
        if !found.contains(&x.key()) {
            found.push(x.key());
        }
    }
    for key in found {
        let first = keys.partition_point(|k| *k < key);
        let same = x.iter().filter(|x| x.key() == key);
        out[first..].iter_mut().zip(same).for_each(|(o, x)| *o = *x);
    }
}

/// Calls `f(first, part of to, part of from)` for parts of two equally long arrays.
fn zipped<A: Send, B: Sync>(
    to: &mut [A],
    from: &[B],
    parallel: bool,
    f: impl Fn(usize, &mut [A], &[B]) + Sync,
) {
    if !parallel {
        return f(0, to, from);
    }
    let parts = to.par_chunks_mut(LONG).zip(from.par_chunks(LONG)).enumerate();
    parts.for_each(|(i, (to, from))| f(i * LONG, to, from));
}

/// Where the parts write to.
struct Target<I>(*mut I);

// SAFETY: parts write different elements, see `moved`.
unsafe impl<I: Send> Sync for Target<I> {}

/// Sorts by digits; equal ones keep their order.
fn ordered<I: Digits>(x: &mut Buffer<I>, parallel: bool) -> Result<(), OutOfMemory> {
    if x.len() < FEW {
        // Positions make equal keys differ; without them equal keys cannot be told apart.
        x.sort_unstable();
        return Ok(());
    }
    let mut other = alloc::<I>(x.len() as i64)?;
    let parts = if parallel { 4 * rayon::current_num_threads() } else { 1 };
    let size = x.len().div_ceil(parts);
    for number in 0..I::COUNT {
        let count = |part: &[I]| {
            let mut counts = [0usize; VALUES];
            part.iter().for_each(|x| counts[x.digit(number)] += 1);
            counts
        };
        let mut starts: Vec<[usize; VALUES]> =
            if parallel { x.par_chunks(size).map(count).collect() } else { vec![count(x)] };
        let total = |value: usize| starts.iter().map(|c| c[value]).sum::<usize>();
        if x.first().is_some_and(|x| total(x.digit(number)) == other.len()) {
            continue;
        }
        let mut at = 0;
        for value in 0..VALUES {
            for part in &mut starts {
                at += std::mem::replace(&mut part[value], at);
            }
        }
        let target = Target(other.as_mut_ptr());
        if parallel {
            x.par_chunks(size).zip(starts).for_each(|(part, starts)| moved(part, starts, number, &target));
        } else {
            starts.into_iter().for_each(|starts| moved(x, starts, number, &target));
        }
        std::mem::swap(x, &mut other);
    }
    Ok(())
}

/// Moves the elements of one part to where those of each value of a digit begin.
fn moved<I: Digits>(part: &[I], mut starts: [usize; VALUES], number: usize, target: &Target<I>) {
    for x in part {
        let at = &mut starts[x.digit(number)];
        // SAFETY: the counts of all parts and values add up to the array's length, so that each part has its own elements for
        // each value, as many as it has counted.
        unsafe { target.0.add(*at).write(*x) };
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize) -> Vec<u64> {
        let mut s = 1u64;
        let next = |_| {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            s ^ (s >> 29)
        };
        (0..n).map(next).collect()
    }

    fn before<T: PartialOrd>(x: &T, y: &T) -> std::cmp::Ordering {
        // What cannot be compared with itself is NaN.
        let nan = |x: &T| x.partial_cmp(x).is_none();
        x.partial_cmp(y).unwrap_or_else(|| nan(x).cmp(&nan(y)))
    }

    fn check<T: Sortable + PartialOrd + Default + std::fmt::Debug>(x: &[T], row: usize) {
        let mut expected: Vec<i64> = Vec::new();
        for x in x.chunks(row.max(1)) {
            let mut order: Vec<i64> = (0..x.len() as i64).collect();
            order.sort_by(|i, j| before(&x[*i as usize], &x[*j as usize]));
            expected.extend(order);
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut positions, mut sorted) = (vec![-1; x.len()], vec![T::default(); x.len()]);
            pool.install(|| {
                argsort(&mut positions, x, row as i64).unwrap();
                sort(&mut sorted, x, row as i64).unwrap();
            });
            assert_eq!(positions, expected);
            let rows = x.chunks(row.max(1)).zip(positions.chunks(row.max(1)));
            let gathered: Vec<T> =
                rows.flat_map(|(x, at)| at.iter().map(|i| x[*i as usize]).collect::<Vec<_>>()).collect();
            // Signs of zeros are shown.
            assert_eq!(format!("{sorted:?}"), format!("{gathered:?}"));
        }
    }

    #[test]
    fn every_type_and_length() {
        for (n, row) in [
            (0, 0),
            (0, 5),
            (1, 1),
            (6, 2),
            (700, 700),
            (3 * FEW, FEW),
            (LONG + 5, LONG + 5),
            (8 * 1000, 8),
            (40 * 1500, 1500),
            (2 * LONG, LONG),
        ] {
            let r = random(n);
            check(&r.iter().map(|x| *x as i64).collect::<Vec<_>>(), row);
            check(&r.iter().map(|x| *x as i32 % 100).collect::<Vec<_>>(), row);
            check(&r.iter().map(|x| *x as u32).collect::<Vec<_>>(), row);
            check(&r.iter().map(|x| x % 3 == 0).collect::<Vec<_>>(), row);
            check(&r.iter().map(|x| (*x as i64) as f64 * 1e-9).collect::<Vec<_>>(), row);
            check(&r.iter().map(|x| (*x as i32 % 1000) as f32 * 0.5).collect::<Vec<_>>(), row);
        }
    }

    #[test]
    fn zeros_and_nans_keep_their_order() {
        let x = [f32::NAN, 0.0, -0.0, f32::INFINITY, -f32::NAN, f32::NEG_INFINITY, 1e-45, -1e-45, 0.0];
        check(&x, x.len());
        let many: Vec<f32> = x.iter().copied().cycle().take(5 * LONG).collect();
        check(&many, many.len());
        let wide: Vec<f64> = many.iter().map(|x| f64::from(*x)).collect();
        check(&wide, wide.len());
        let (mut sorted, payload) = ([0.0; 2], f32::from_bits(0x7fc0_0001));
        sort(&mut sorted, &[f32::NAN, payload], 2).unwrap();
        assert_eq!(sorted.map(f32::to_bits), [f32::NAN, payload].map(f32::to_bits));
    }
}
