//! Complex numbers at the host: arrays of `Complex<T>` in and out, of which the code of kernels knows the parts alone, in one more
//! dimension of 2.

use std::ops::Neg;

use bytemuck::allocation::try_cast_vec;
use bytemuck::{Pod, cast_slice};
use ndarray::{Array, ArrayRef, ArrayView, ArrayView1, Axis, CowArray, Dimension, Ix1, RemoveAxis};
pub use num_complex::Complex;

use crate::cpu;
use crate::error::Error;
use crate::program::Signature;

/// The parts of complex numbers, by the argument of this position; a copy where these do not stand one after the other.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[doc(hidden)]
pub fn parts<'a, T, D>(
    z: &'a ArrayRef<Complex<T>, D>,
    sig: &'static Signature,
    position: usize,
) -> Result<CowArray<'a, T, D::Larger>, Error>
where
    T: Pod + Send + Sync,
    Complex<T>: Pod,
    D: Dimension,
{
    let dim = with_parts::<D>(z.shape());
    let owner = sig.owner(sig.arrays.get(position).map_or("", |a| a.name));
    let in_order = match z.as_slice() {
        Some(z) => ArrayView::from_shape(dim, cast_slice(z)).map(CowArray::from),
        None => {
            let numbers = owner.got(cpu::collected(z.iter().copied()))?;
            Array::from_shape_vec(dim, in_parts(numbers)).map(CowArray::from)
        }
    };
    in_order.map_err(|e| Error::Internal { kernel: sig.kernel, message: e.to_string() })
}

/// A shape with the dimension of parts.
pub(crate) fn with_parts<D: Dimension>(shape: &[usize]) -> D::Larger {
    let mut dim = D::Larger::zeros(shape.len() + 1);
    dim.slice_mut()[..shape.len()].copy_from_slice(shape);
    dim.slice_mut()[shape.len()] = 2;
    dim
}

/// The parts of one complex number.
#[doc(hidden)]
pub fn parts_of_one<T: Pod>(z: &Complex<T>) -> ArrayView1<'_, T>
where
    Complex<T>: Pod,
{
    ArrayView1::from(cast_slice(std::slice::from_ref(z)))
}

/// Numbers as their parts, in the same memory where that is possible.
fn in_parts<T: Pod>(numbers: Vec<Complex<T>>) -> Vec<T>
where
    Complex<T>: Pod,
{
    try_cast_vec(numbers).unwrap_or_else(|(_, numbers)| cast_slice(&numbers).to_vec())
}

/// Complex numbers of parts, in the same memory where that is possible.
///
/// # Errors
/// [`Error::Internal`] if there are not two parts for each.
#[doc(hidden)]
pub fn array<T: Pod, L: RemoveAxis>(
    parts: Array<T, L>,
    sig: &'static Signature,
) -> Result<Array<Complex<T>, L::Smaller>, Error>
where
    Complex<T>: Pod,
{
    let last = Axis(parts.ndim() - 1);
    let dim = parts.raw_dim().remove_axis(last);
    // The arrays of a kernel are in row-major order, from their first element on.
    let numbers = try_cast_vec(parts.into_raw_vec_and_offset().0).unwrap_or_else(|(_, parts)| {
        parts.chunks_exact(2).map(|part| Complex::new(part[0], part[1])).collect()
    });
    Array::from_shape_vec(dim, numbers)
        .map_err(|e| Error::Internal { kernel: sig.kernel, message: e.to_string() })
}

/// One complex number of its parts.
///
/// # Errors
/// [`Error::Internal`] if there are not two.
#[doc(hidden)]
pub fn one<T: Copy>(parts: &ArrayRef<T, Ix1>, sig: &'static Signature) -> Result<Complex<T>, Error> {
    let part = |k| parts.get(k).copied();
    part(0).zip(part(1)).map(|(re, im)| Complex::new(re, im)).ok_or_else(|| Error::Internal {
        kernel: sig.kernel,
        message: "a complex number without parts".into(),
    })
}

/// The conjugates: what cotangents are beside tangents, of whose products the real parts are added up.
#[doc(hidden)]
pub trait Conjugate {
    /// The conjugate of each number.
    #[must_use]
    fn conjugate(&self) -> Self;
}

impl<T: Copy + Neg<Output = T>> Conjugate for Complex<T> {
    fn conjugate(&self) -> Self {
        Complex::new(self.re, -self.im)
    }
}

impl<T: Copy + Neg<Output = T>, D: Dimension> Conjugate for Array<Complex<T>, D> {
    fn conjugate(&self) -> Self {
        self.map(Conjugate::conjugate)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array, s};

    use super::*;
    use crate::program::testing::SIGNATURE;

    #[test]
    fn numbers_there_and_back() {
        let z: Array2<Complex<f64>> = Array::from_shape_fn((3, 4), |(i, j)| Complex::new(i as f64, j as f64));
        let there = parts(&z, &SIGNATURE, 0).unwrap();
        assert_eq!(there.as_ptr(), z.as_ptr().cast(), "a view");
        assert_eq!((there.shape(), there[[2, 1, 0]], there[[2, 1, 1]]), (&[3, 4, 2][..], 2.0, 1.0));
        assert_eq!(array(there.into_owned(), &SIGNATURE).unwrap(), z);
        for view in [z.t(), z.slice(s![..;-1, 1..3])] {
            let there = parts(&view, &SIGNATURE, 0).unwrap().into_owned();
            assert_eq!(array(there, &SIGNATURE).unwrap(), view);
        }
        let mut odd = Vec::with_capacity(5);
        odd.extend([1.0f32, 2.0, 3.0, 4.0]);
        let odd = Array::from_shape_vec((2, 2), odd).unwrap();
        assert_eq!(array(odd, &SIGNATURE).unwrap(), array![Complex::new(1.0, 2.0), Complex::new(3.0, 4.0)]);
    }
}
