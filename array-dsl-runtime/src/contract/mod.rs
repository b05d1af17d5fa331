//! Sums of products of two arrays, `out[out_axes] = sum over the other axes of a[a_axes] * b[b_axes]`, by matrix
//! multiplication.
//!
//! * `plan`: what is one matrix product is taken as it is. Else axes are classified by where they occur; axes of one class
//!   that are contiguous in all arrays are merged; the longest of the rows, of the columns and of the summed axes make one
//!   matrix product, whose strides make transposed operands cost nothing; loops run over the rest.
//! * `product`: one matrix product, in whichever of several ways suits its sizes.
//!
//! An operand is a whole array, or a [`Part`] of one: the axes of the contraction move along some of its dimensions, and begin somewhere.
//!
//! How the work is cut into pieces depends on sizes only, and the terms of a sum are added in an order that does
//! not depend on threads, so results have the same bits for any number of threads.

mod plan;
mod product;

use std::mem::MaybeUninit;

use crate::buffer::Buffer;
use crate::cpu::{fill, for_chunks};
use crate::trusted::all_set;
use plan::{Plan, Shape};
use product::{Elem, Operands};

/// Element types that can be contracted: `f32` and `f64`. Nothing else can be: what `Elem` is cannot be named outside.
pub trait ContractElem: Elem {}

impl ContractElem for f32 {}
impl ContractElem for f64 {}

/// `out[out_axes] = sum over the other axes of a[a_axes] * b[b_axes]`.
///
/// Arrays are contiguous and row-major; each list names the axes of an array, outermost first, as positions in
/// `extents`, each axis at most once. Axes in `out` and both operands are batch axes; in `out` and `a` rows; in `out`
/// and `b` columns; those that `out` lacks are summed. A sum of no terms is zero.
///
/// ```
/// use array_dsl_runtime::contract::contract;
/// // A matrix times a transposed one: axes i, j, k.
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
/// let mut out = [0.0f64; 4];
/// contract(&mut out, &a, &b, &[2, 2, 2], &[0, 1], &[0, 2], &[1, 2]);
/// assert_eq!(out, [17.0, 23.0, 39.0, 53.0]);
/// ```
///
/// # Panics
/// If the length of an array is not the product of its axes' extents, or a list names an axis that is not there.
pub fn contract<T: ContractElem>(
    out: &mut [T],
    a: &[T],
    b: &[T],
    extents: &[i64],
    out_axes: &[usize],
    a_axes: &[usize],
    b_axes: &[usize],
) {
    // SAFETY: `T` has no destructor and nothing but values of `T` is written.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    run(out, a, b, extents, out_axes, a_axes, b_axes);
}

/// The axis of a dimension along which no axis moves.
pub const NO_AXIS: usize = usize::MAX;

/// An operand that is part of an array: at each dimension, outermost first, how long it is, the axis that moves along it (or
/// [`NO_AXIS`]), and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a, T> {
    /// The elements of the whole array.
    pub data: &'a [T],
    /// Its dimensions.
    pub dims: &'a [i64],
    /// An axis for each, as a position in the extents.
    pub axes: &'a [usize],
    /// The position of the axis's first point, or the only one.
    pub from: &'a [i64],
}

/// As [`contract`], of parts of arrays.
///
/// ```
/// use array_dsl_runtime::contract::{NO_AXIS, Part, contract_parts};
/// // The second of two matrices times a vector: axes i, k.
/// let (all, x) = ([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.0]);
/// let a = Part { data: &all, dims: &[2, 2, 2], axes: &[NO_AXIS, 0, 1], from: &[1, 0, 0] };
/// let b = Part { data: &x, dims: &[2], axes: &[1], from: &[0] };
/// let mut out = [0.0f64; 2];
/// contract_parts(&mut out, a, b, &[2, 2], &[0]);
/// assert_eq!(out, [3.0, 7.0]);
/// ```
///
/// # Panics
/// As [`contract`], and if a part is not within its array.
pub fn contract_parts<T: ContractElem>(
    out: &mut [T],
    a: Part<'_, T>,
    b: Part<'_, T>,
    extents: &[i64],
    out_axes: &[usize],
) {
    // SAFETY: `T` has no destructor and nothing but values of `T` is written.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    run_parts(out, a, b, extents, out_axes);
}

/// [`contract_parts`] into memory whose elements were not set before: the array of the result.
///
/// # Panics
/// As [`contract_parts`].
#[must_use]
pub fn contract_parts_into<T: ContractElem>(
    mut out: Buffer<MaybeUninit<T>>,
    a: Part<'_, T>,
    b: Part<'_, T>,
    extents: &[i64],
    out_axes: &[usize],
) -> Buffer<T> {
    run_parts(&mut out, a, b, extents, out_axes);
    // SAFETY: a contraction sets every element of its result.
    unsafe { all_set(out) }
}

fn run_parts<T: ContractElem>(
    out: &mut [MaybeUninit<T>],
    a: Part<'_, T>,
    b: Part<'_, T>,
    extents: &[i64],
    out_axes: &[usize],
) {
    let extents: Vec<usize> = extents.iter().map(|e| usize::try_from(*e).unwrap_or(0)).collect();
    assert_eq!(Some(out.len()), count(&extents, out_axes), "the result's length");
    if out.is_empty() || extents.contains(&0) {
        return fill(out, MaybeUninit::new(T::ZERO));
    }
    let [(a_dims, a_start), (b_dims, b_start)] = [a.within(&extents), b.within(&extents)];
    let operands = Operands {
        out: out.as_mut_ptr().cast(),
        a: a.data.as_ptr().wrapping_add(a_start),
        b: b.data.as_ptr().wrapping_add(b_start),
    };
    let shapes = [
        Shape::whole(out_axes),
        Shape { axes: a.axes, dims: Some(&a_dims) },
        Shape { axes: b.axes, dims: Some(&b_dims) },
    ];
    // SAFETY: each element that the extents and strides give is within its array: that was checked above.
    unsafe { execute(operands, &extents, shapes) };
}

impl<T> Part<'_, T> {
    /// The dimensions, and the position of the first element in the data.
    ///
    /// # Panics
    /// If an element that the axes move to is outside, or the data are no array of these dimensions.
    fn within(&self, extents: &[usize]) -> (Vec<usize>, usize) {
        let dims: Vec<usize> = self.dims.iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
        let all: Vec<usize> = (0..dims.len()).collect();
        assert_eq!(Some(self.data.len()), count(&dims, &all), "an operand's length");
        assert!(self.axes.len() == dims.len() && self.from.len() == dims.len(), "an operand's dimensions");
        let mut start = 0;
        for (k, (dim, axis)) in dims.iter().zip(self.axes).enumerate() {
            let extent = if *axis == NO_AXIS { 1 } else { extents[*axis] };
            let from = usize::try_from(self.from[k]).ok();
            let from = from.filter(|from| from.checked_add(extent).is_some_and(|end| end <= *dim));
            let once = *axis == NO_AXIS || !self.axes[..k].contains(axis);
            let (Some(from), true) = (from, once) else { panic!("a part that is not within its operand") };
            start = start * dim + from;
        }
        (dims, start)
    }
}

/// [`contract`] into memory whose elements were not set before: the array of the result.
///
/// # Panics
/// As [`contract`].
#[must_use]
pub fn contract_into<T: ContractElem>(
    mut out: Buffer<MaybeUninit<T>>,
    a: &[T],
    b: &[T],
    extents: &[i64],
    out_axes: &[usize],
    a_axes: &[usize],
    b_axes: &[usize],
) -> Buffer<T> {
    run(&mut out, a, b, extents, out_axes, a_axes, b_axes);
    // SAFETY: a contraction sets every element of its result.
    unsafe { all_set(out) }
}

/// Sets every element of `out`.
fn run<T: ContractElem>(
    out: &mut [MaybeUninit<T>],
    a: &[T],
    b: &[T],
    extents: &[i64],
    out_axes: &[usize],
    a_axes: &[usize],
    b_axes: &[usize],
) {
    let mut few = [0usize; 8];
    let mut many = Vec::new();
    let extents: &[usize] = match few.get_mut(..extents.len()) {
        Some(few) => {
            few.iter_mut().zip(extents).for_each(|(e, x)| *e = usize::try_from(*x).unwrap_or(0));
            few
        }
        None => {
            many.extend(extents.iter().map(|e| usize::try_from(*e).unwrap_or(0)));
            &many
        }
    };
    assert_eq!(Some(out.len()), count(extents, out_axes), "the result's length");
    assert_eq!(Some(a.len()), count(extents, a_axes), "the first operand's length");
    assert_eq!(Some(b.len()), count(extents, b_axes), "the second operand's length");
    if out.is_empty() || a.is_empty() || b.is_empty() {
        return fill(out, MaybeUninit::new(T::ZERO));
    }
    let operands = Operands { out: out.as_mut_ptr().cast(), a: a.as_ptr(), b: b.as_ptr() };
    // SAFETY: the lengths were checked above.
    unsafe { execute(operands, extents, [out_axes, a_axes, b_axes].map(Shape::whole)) };
}

/// Sets every element of a result.
///
/// # Safety
/// The elements that the extents and the shapes give are within the arrays, of which the result is nobody else's; no extent is zero.
unsafe fn execute<T: ContractElem>(operands: Operands<T>, extents: &[usize], shapes: [Shape<'_>; 3]) {
    if let Some(product) = plan::single(extents, shapes) {
        // SAFETY: as the caller says.
        return unsafe { product.run(operands, false, true) };
    }
    let Plan { product, free, summed } = Plan::new(extents, shapes);
    let (pieces, repeats) = (free.count(), summed.count());
    let work = product.work().saturating_mul(repeats);
    let piece = |piece: usize, parallel: bool| {
        let at = operands.offset(free.offsets(piece));
        for repeat in 0..repeats {
            // SAFETY: as the caller says, and different pieces write different elements of `out`.
            unsafe { product.run(at.offset(summed.offsets(repeat)), repeat > 0, parallel) };
        }
    };
    if pieces < 64 && work > product::PARALLEL_WORK {
        // Few long products: threads share each of them.
        (0..pieces).for_each(|p| piece(p, true));
    } else {
        for_chunks(pieces, product::cost(work), &|lo, hi| (lo..hi).for_each(|p| piece(p, false)));
    }
}

/// The number of elements of an array with these axes; `None` if there is no such number, or an axis occurs twice.
///
/// In arrays with elements every product of extents of different axes of one array is then within its length: what follows
/// computes with them without checks.
fn count(extents: &[usize], axes: &[usize]) -> Option<usize> {
    let once = (1..axes.len()).all(|i| !axes[..i].contains(&axes[i]));
    let mut known = axes.iter().map(|x| extents[*x]);
    match known.clone().any(|e| e == 0) {
        _ if !once => None,
        true => Some(0),
        false => known.try_fold(1usize, |n, e| n.checked_mul(e)),
    }
}

#[cfg(test)]
mod tests;
