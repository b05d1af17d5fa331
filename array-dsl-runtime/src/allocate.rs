//! The arrays of a run: each is allocated for an [`Owner`], whose names an error has if the memory cannot be had.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use bytemuck::{NoUninit, Pod, Zeroable};
use ndarray::{Array, ArrayRef, Dimension};

use crate::buffer::Buffer;
use crate::cpu::{self, OutOfMemory};
use crate::error::Error;
use crate::program::Signature;
use crate::status::Status;

/// An array of a kernel, as errors name it.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// The kernel.
    pub signature: &'static Signature,
    /// The array's name.
    pub array: &'static str,
}

impl Signature {
    /// An array of this kernel.
    pub const fn owner(&'static self, array: &'static str) -> Owner {
        Owner { signature: self, array }
    }
}

impl Owner {
    /// What needed memory, or [`Error::OutOfMemory`].
    #[inline]
    pub fn got<T>(self, x: Result<T, OutOfMemory>) -> Result<T, Error> {
        x.map_err(|refused| self.refused(refused))
    }

    #[cold]
    fn refused(self, OutOfMemory { bytes }: OutOfMemory) -> Error {
        let Signature { kernel, file, line, .. } = *self.signature;
        Error::OutOfMemory { kernel, array: self.array, bytes, file, line }
    }

    /// The number of elements of an array of `T` with these dimensions. Earlier checks guarantee that they are not negative where
    /// that is an error.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if the array would not fit an address space.
    #[inline]
    pub fn elements<T>(self, dims: &[i64]) -> Result<i64, Error> {
        self.elements_of(size_of::<T>(), dims)
    }

    fn elements_of(self, bytes: usize, dims: &[i64]) -> Result<i64, Error> {
        elements(bytes, dims).ok_or_else(|| {
            let Signature { kernel, file, line, .. } = *self.signature;
            Error::SizeOverflow { kernel, array: self.array, file, line }
        })
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`].
    pub fn alloc<T: Zeroable + Copy + Send + Sync>(self, dims: &[i64]) -> Result<Buffer<T>, Error> {
        self.got(cpu::alloc(self.elements::<T>(dims)?))
    }

    /// An array of any elements, each of which is written before it is read.
    ///
    /// # Errors
    /// As for [`Owner::alloc`].
    pub fn alloc_any<T: Pod + Send + Sync>(self, dims: &[i64]) -> Result<Buffer<T>, Error> {
        self.got(cpu::alloc_any(self.elements::<T>(dims)?))
    }

    /// An array of zeros that leaves as a result.
    ///
    /// # Errors
    /// As for [`Owner::alloc`].
    pub fn zeros<T: Zeroable + Copy>(self, dims: &[i64]) -> Result<Buffer<T>, Error> {
        self.got(cpu::zeros(self.elements::<T>(dims)?)).map(Buffer::from)
    }

    /// An array whose elements are to be set.
    ///
    /// # Errors
    /// As for [`Owner::alloc`].
    pub fn alloc_unset<T: Copy>(self, dims: &[i64]) -> Result<Buffer<MaybeUninit<T>>, Error> {
        self.got(cpu::alloc_unset(self.elements::<T>(dims)?))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn copied<T: NoUninit + Send + Sync>(self, from: &[T]) -> Result<Buffer<T>, Error> {
        self.got(cpu::copied(from))
    }

    /// A copy of a matrix whose rows are the columns, if it pays to execute a loop over the rows so often across them; else nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn columns<T: Zeroable + Copy + Send + Sync>(
        self,
        from: &[T],
        dims: [i64; 2],
        around: i64,
    ) -> Result<Buffer<T>, Error> {
        let [rows, columns] = dims;
        if !cpu::pays(dims, around) || from.len() as i64 != rows.saturating_mul(columns) {
            return Ok(Buffer::default());
        }
        let mut to = self.alloc(&[columns, rows])?;
        cpu::transpose(&mut to, from, rows as usize, columns as usize);
        Ok(to)
    }

    /// A copy of a view under these dimensions: see [`cpu::copy`].
    ///
    /// # Errors
    /// As for [`Owner::alloc`].
    pub fn copied_view<T: Copy + Zeroable + Send + Sync>(
        self,
        from: &[T],
        dims: &[i64],
    ) -> Result<Buffer<T>, Error> {
        let mut to = self.alloc(dims)?;
        cpu::copy(&mut to, from);
        Ok(to)
    }

    /// The elements of an argument in row-major order, copied only if they are not so in memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn dense<T: Clone, D: Dimension>(self, x: &ArrayRef<T, D>) -> Result<Cow<'_, [T]>, Error> {
        match x.as_slice() {
            Some(s) => Ok(Cow::Borrowed(s)),
            None => self.got(cpu::collected(x.iter().cloned())).map(Cow::Owned),
        }
    }

    /// A result as an ndarray.
    ///
    /// # Errors
    /// [`Error::Internal`] if there are more or fewer elements than the dimensions say.
    pub fn shaped<T: Copy, D: Dimension>(self, data: Buffer<T>, dims: &[i64]) -> Result<Array<T, D>, Error> {
        let data = data.into_vec();
        let found = data.len();
        let mut shape = D::zeros(dims.len());
        for (s, d) in shape.slice_mut().iter_mut().zip(dims) {
            *s = usize::try_from(*d).unwrap_or(0);
        }
        Array::from_shape_vec(shape, data).map_err(|_| self.misshapen(found, dims))
    }

    #[cold]
    fn misshapen(self, found: usize, dims: &[i64]) -> Error {
        let Signature { kernel, file, line, .. } = *self.signature;
        let array = self.array;
        let message = format!("{found} elements for the dimensions {dims:?} of `{array}` ({file}:{line})");
        Error::Internal { kernel, message }
    }

    /// An array of zeros with the shape of another.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn zeros_like<T: Zeroable + Copy, U, D: Dimension>(
        self,
        like: &ArrayRef<U, D>,
    ) -> Result<Array<T, D>, Error> {
        let dims: Vec<i64> = like.shape().iter().map(|n| *n as i64).collect();
        self.shaped(self.zeros(&dims)?, &dims)
    }
}

/// The number of elements of so many bytes in an array with these dimensions; `None` if it would not fit an address space. An array
/// without elements must not be too long in its other dimensions either: ndarray counts those, too.
fn elements(bytes: usize, dims: &[i64]) -> Option<i64> {
    let (mut count, mut bytes) = (1i64, i64::try_from(bytes).ok()?);
    for d in dims {
        count = count.checked_mul((*d).max(0))?;
        bytes = bytes.checked_mul((*d).max(1))?;
    }
    isize::try_from(bytes).is_ok().then_some(count)
}

/// The buffer of a task for a row with these dimensions, of zeros; `None`, and a record, if it cannot be had.
pub fn row<T: Zeroable + Copy + Send + Sync>(
    dims: &[i64],
    array: &'static str,
    status: &Status,
) -> Option<Buffer<T>> {
    let refused = match elements(size_of::<T>(), dims).map(cpu::alloc) {
        Some(Ok(x)) => return Some(x),
        Some(Err(refused)) => refused,
        None => OutOfMemory { bytes: u64::MAX },
    };
    status.memory(array, refused);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::testing::SIGNATURE;
    use ndarray::{Array2, Ix2, array};

    #[test]
    fn what_cannot_be_had_is_an_error_that_names_it() {
        let t = SIGNATURE.owner("t");
        let text = |e: Error| e.to_string();
        assert_eq!(
            t.alloc::<f64>(&[1 << 30, 1 << 25]).map_err(text),
            Err("kernel `f`: no memory for `t`, which takes 288230376151711744 bytes (src/lib.rs:12)".into())
        );
        assert_eq!(
            t.alloc_unset::<f32>(&[1 << 58]).map(|x| x.len()).map_err(text),
            Err("kernel `f`: no memory for `t`, which takes 1152921504606846976 bytes (src/lib.rs:12)".into())
        );
        for dims in [&[1 << 32, 1 << 32][..], &[1 << 60], &[i64::MAX, 0, 2], &[0, i64::MAX]] {
            assert_eq!(
                t.alloc::<f64>(dims).map_err(text),
                Err("kernel `f`: the size of `t` is too large to be represented (src/lib.rs:12)".into())
            );
        }
        assert_eq!(t.alloc::<f64>(&[3, -1]), Ok(Buffer::default()));
        assert_eq!(t.alloc::<f64>(&[]), Ok(vec![0.0].into()));
    }

    #[test]
    fn results_have_as_many_elements_as_their_dimensions_say() {
        let t = SIGNATURE.owner("t");
        assert_eq!(t.shaped::<_, Ix2>(vec![1.0, 2.0].into(), &[1, 2]), Ok(array![[1.0, 2.0]]));
        let error = t.shaped::<_, Ix2>(vec![1.0, 2.0].into(), &[2, 2]).unwrap_err().to_string();
        assert!(error.contains("2 elements for the dimensions [2, 2] of `t`"), "{error}");
        let zeros: Array2<f64> = t.zeros_like(&*array![[1i64, 2], [3, 4]]).unwrap();
        assert_eq!(zeros, array![[0.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn rows_that_cannot_be_had_are_recorded() {
        let status = Status::new();
        assert_eq!(row::<f64>(&[2], "t", &status), Some(vec![0.0; 2].into()));
        assert_eq!(status.allocated(&SIGNATURE), Ok(()));
        assert_eq!(row::<f64>(&[1 << 58], "t", &status), None);
        assert!(matches!(status.allocated(&SIGNATURE), Err(Error::OutOfMemory { array: "t", .. })));
    }
}
