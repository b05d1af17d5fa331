//! Results in memory that the caller has already: `f.call_into(args, &mut out)`.
//!
//! The arrays of an earlier result give their memory, in order, and each array of the new result takes that of its own place if it
//! is large enough. What a kernel allocates besides is not affected.

use std::any::Any;
use std::mem::MaybeUninit;

use bytemuck::Zeroable;
use ndarray::{Array, Dimension};

use crate::cpu;

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

    /// The memory at a position, without elements, if there are `len` of them in it.
    fn take<T: 'static>(&mut self, position: usize, len: i64) -> Option<Vec<T>> {
        let held = self.0.get_mut(position)?.take()?;
        let mut x =
            held.downcast::<Vec<T>>().ok().filter(|x| i64::try_from(x.capacity()).is_ok_and(|c| c >= len))?;
        x.clear();
        Some(*x)
    }

    /// As [`cpu::alloc`].
    #[doc(hidden)]
    pub fn alloc<T: Zeroable + Clone + 'static>(&mut self, position: usize, len: i64) -> Vec<T> {
        match self.take(position, len) {
            Some(mut x) => {
                x.resize(usize::try_from(len).unwrap_or(0), T::zeroed());
                x
            }
            None => cpu::alloc(len),
        }
    }

    /// As [`cpu::alloc_unset`].
    #[doc(hidden)]
    pub fn alloc_unset<T: 'static>(&mut self, position: usize, len: i64) -> Vec<MaybeUninit<T>> {
        match self.take::<T>(position, len) {
            Some(x) => cpu::unset(x, len),
            None => cpu::alloc_unset(len),
        }
    }

    /// A copy of the elements.
    #[doc(hidden)]
    pub fn copied<T: Copy + Send + Sync + 'static>(&mut self, position: usize, from: &[T]) -> Vec<T> {
        match self.take(position, i64::try_from(from.len()).unwrap_or(i64::MAX)) {
            Some(mut x) => {
                x.extend_from_slice(from);
                x
            }
            None => cpu::copied(from),
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
        to.0.push(Some(Box::new(array.into_raw_vec_and_offset().0)));
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

scalars!(f32 f64 i32 i64 u32 bool);

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
    use ndarray::{Array1, Array2, array};

    #[test]
    fn memory_is_taken_where_it_fits() {
        let mut out = (array![1.0f64, 2.0, 3.0], 7i64, Array2::<f32>::ones((2, 2)));
        let (a, b) = (out.0.as_ptr(), out.2.as_ptr());
        let mut given = Given::by(&mut out);
        assert!(out.0.is_empty() && out.2.is_empty());
        let x: Vec<f64> = given.alloc(0, 2);
        assert!(x == [0.0, 0.0] && x.as_ptr() == a);
        let y: Vec<f32> = given.copied(2, &[5.0, 6.0]);
        assert!(y == [5.0, 6.0] && y.as_ptr() == b);
    }

    #[test]
    fn else_it_is_allocated() {
        let mut given = Given::by(&mut (Array1::<f32>::ones(4), 5.0f64, Array1::<f64>::ones(4)));
        assert_eq!(given.alloc_unset::<f32>(0, 5).len(), 5, "too little");
        assert_eq!(given.alloc::<f32>(0, 2), [0.0; 2], "it is gone");
        assert_eq!(given.copied(1, &[1.0f64, 2.0]), [1.0, 2.0], "a scalar");
        assert_eq!(given.copied(2, &[1i64, 2]), [1, 2], "another type");
        assert_eq!(given.copied(7, &[1.0f32]), [1.0], "beyond the last");
    }
}
