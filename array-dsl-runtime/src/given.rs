//! Results in memory that the caller has already: `f.call_into(args, &mut out)`.
//!
//! The arrays of an earlier result give their memory, in order, and each array of the new result takes that of its own place if it
//! is large enough. What a kernel allocates besides is not affected.

use std::any::Any;
use std::mem::MaybeUninit;

use bytemuck::allocation::try_cast_vec;
use bytemuck::{NoUninit, Pod, Zeroable};
use ndarray::{Array, Dimension};
use num_complex::Complex;

use crate::allocate::Owner;
use crate::buffer::Buffer;
use crate::cpu;
use crate::error::Error;

/// Memory for the arrays of a result, by their positions.
#[derive(Debug, Default)]
pub struct Given(Vec<Option<Box<dyn Any>>>);

impl Given {
    /// The memory of a result, which is left with empty arrays.
    pub fn by(out: &mut impl Reuse) -> Given {
        let mut given = Given::default();
        out.give(&mut given);
        given
    }

    /// The memory for a result of which this one is all but the first so many arrays.
    #[doc(hidden)]
    #[must_use]
    pub fn after(mut self, arrays: usize) -> Given {
        self.0.splice(0..0, (0..arrays).map(|_| None));
        self
    }

    /// The memory at a position, with the elements that it has, if there is room for `len`.
    fn held<T: 'static>(&mut self, position: usize, len: usize) -> Option<Vec<T>> {
        let held = self.0.get_mut(position)?.take()?;
        held.downcast::<Vec<T>>().ok().filter(|x| x.capacity() >= len).map(|x| *x)
    }

    /// The same without elements.
    fn take<T: 'static>(&mut self, position: usize, len: usize) -> Option<Vec<T>> {
        let mut x = self.held(position, len)?;
        x.clear();
        Some(x)
    }

    /// As [`Owner::alloc`].
    #[doc(hidden)]
    pub fn alloc<T: Zeroable + Copy + 'static>(
        &mut self,
        position: usize,
        owner: Owner,
        dims: &[i64],
    ) -> Result<Buffer<T>, Error> {
        let len = owner.elements::<T>(dims)?;
        match self.take(position, len as usize) {
            Some(mut x) => {
                x.resize(len as usize, T::zeroed());
                Ok(x.into())
            }
            None => owner.zeros(dims),
        }
    }

    /// As [`Owner::alloc_any`].
    #[doc(hidden)]
    pub fn alloc_any<T: Pod>(
        &mut self,
        position: usize,
        owner: Owner,
        dims: &[i64],
    ) -> Result<Buffer<T>, Error> {
        let len = owner.elements::<T>(dims)? as usize;
        match self.held::<T>(position, len) {
            Some(mut x) => {
                x.resize(len, T::zeroed());
                Ok(x.into())
            }
            None => owner.zeros(dims),
        }
    }

    /// As [`Owner::alloc_unset`].
    #[doc(hidden)]
    pub fn alloc_unset<T: Copy + 'static>(
        &mut self,
        position: usize,
        owner: Owner,
        dims: &[i64],
    ) -> Result<Buffer<MaybeUninit<T>>, Error> {
        let len = owner.elements::<T>(dims)?;
        match self.take::<T>(position, len as usize) {
            Some(x) => Ok(cpu::unset(x, len as usize)),
            None => owner.got(cpu::room_unset(len)),
        }
    }

    /// A copy of the elements.
    #[doc(hidden)]
    pub fn copied<T: NoUninit + Send + Sync>(
        &mut self,
        position: usize,
        owner: Owner,
        from: &[T],
    ) -> Result<Buffer<T>, Error> {
        match self.take(position, from.len()) {
            Some(mut x) => {
                x.extend_from_slice(from);
                Ok(x.into())
            }
            None => owner.got(cpu::copied_out(from)),
        }
    }
}

/// Results whose memory later results may take: arrays, scalars, records of these, and tuples of up to twelve.
pub trait Reuse {
    /// Gives the memory of every array; the arrays are empty then.
    fn give(&mut self, to: &mut Given);
}

impl<T: Zeroable + Clone + 'static, D: Dimension> Reuse for Array<T, D> {
    fn give(&mut self, to: &mut Given) {
        let empty = Array::from_elem(D::zeros(self.ndim()), T::zeroed());
        let array = std::mem::replace(self, empty);
        to.0.push(Some(in_parts(Box::new(array.into_raw_vec_and_offset().0))));
    }
}

macro_rules! scalars {
    ($($t:ty)*) => {$(
        impl Reuse for $t {
            fn give(&mut self, to: &mut Given) {
                to.0.push(None);
            }
        }
    )*};
}

scalars!(f32 f64 i32 i64 u32 bool Complex<f32> Complex<f64>);

/// The memory of complex numbers as that of their parts, which the code of kernels has arrays of.
fn in_parts(memory: Box<dyn Any>) -> Box<dyn Any> {
    fn cast<T: Pod>(memory: Box<dyn Any>) -> Result<Box<dyn Any>, Box<dyn Any>>
    where
        Complex<T>: Pod,
    {
        let numbers = memory.downcast::<Vec<Complex<T>>>()?;
        Ok(match try_cast_vec::<Complex<T>, T>(*numbers) {
            Ok(parts) => Box::new(parts),
            Err((_, numbers)) => Box::new(numbers),
        })
    }
    cast::<f64>(memory).or_else(cast::<f32>).unwrap_or_else(|memory| memory)
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Reuse),*> Reuse for ($($name,)*) {
            #[allow(non_snake_case, reason = "the types' names serve as the variables'")]
            fn give(&mut self, to: &mut Given) {
                let ($($name,)*) = self;
                $($name.give(to);)*
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::testing::SIGNATURE;
    use ndarray::{Array1, Array2, array};

    #[test]
    fn memory_is_taken_where_it_fits() {
        let mut out = (array![1.0f64, 2.0, 3.0], 7i64, Array2::<f32>::ones((2, 2)));
        let (a, b) = (out.0.as_ptr(), out.2.as_ptr());
        let mut given = Given::by(&mut out);
        assert!(out.0.is_empty() && out.2.is_empty());
        let owner = SIGNATURE.owner("out");
        let x: Buffer<f64> = given.alloc(0, owner, &[2]).unwrap();
        assert!(x[..] == [0.0, 0.0] && x.as_ptr() == a);
        let y: Buffer<f32> = given.copied(2, owner, &[5.0, 6.0]).unwrap();
        assert!(y[..] == [5.0, 6.0] && y.as_ptr() == b);
    }

    #[test]
    fn else_it_is_allocated() {
        let mut given = Given::by(&mut (Array1::<f32>::ones(4), 5.0f64, Array1::<f64>::ones(4)));
        let owner = SIGNATURE.owner("out");
        assert_eq!(given.alloc_unset::<f32>(0, owner, &[5]).unwrap().len(), 5, "too little");
        assert_eq!(given.alloc::<f32>(0, owner, &[2]), Ok(vec![0.0; 2].into()), "it is gone");
        assert_eq!(given.copied(1, owner, &[1.0f64, 2.0]), Ok(vec![1.0, 2.0].into()), "a scalar");
        assert_eq!(given.copied(2, owner, &[1i64, 2]), Ok(vec![1, 2].into()), "another type");
        assert_eq!(given.copied(7, owner, &[1.0f32]), Ok(vec![1.0].into()), "beyond the last");
        let refused = given.alloc::<f32>(0, owner, &[1 << 58]);
        assert!(matches!(refused, Err(Error::OutOfMemory { kernel: "f", array: "out", .. })));
    }
}
