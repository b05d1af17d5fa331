//! Arrays under names: how a record is written to a file and read from one, whatever the file's format.
//!
//! A format implements [`Put`] and [`Take`] once for all types of elements. A record shows it each of its arrays with the path of its
//! fields, in the order of the definition: `w`, `layer.w`, `pair.0`. **A scalar is an array without dimensions.**

use std::fmt;

use ndarray::{Array, ArrayRef, Dimension, Ix0};

/// Where a value stands in a record: the path of its fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// The record around it, and the field there; of the whole value nothing.
    inner: Option<(&'a At<'a>, &'a str)>,
}

impl<'a> At<'a> {
    /// The place of a field in the value at this one.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> At<'a> {
        At { inner: Some((self, name)) }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inner {
            None => Ok(()),
            Some((At { inner: None }, name)) => f.write_str(name),
            Some((around, name)) => write!(f, "{around}.{name}"),
        }
    }
}

/// Something that keeps arrays under names, and what can go wrong there.
pub trait Store {
    /// The error.
    type Error;
}

/// Puts arrays of one element type under names.
pub trait Put<T>: Store {
    /// Puts an array there.
    ///
    /// # Errors
    /// Those of the format.
    fn put<D: Dimension>(&mut self, at: &At<'_>, array: &ArrayRef<T, D>) -> Result<(), Self::Error>;
}

/// Takes arrays of one element type by their names.
pub trait Take<T>: Store {
    /// The array there.
    ///
    /// # Errors
    /// Those of the format; no array of that name, or one of another element type or number of dimensions.
    fn take<D: Dimension>(&mut self, at: &At<'_>) -> Result<Array<T, D>, Self::Error>;
}

/// What puts arrays of all element types of kernels.
pub trait Writer: Put<f32> + Put<f64> + Put<i32> + Put<i64> + Put<u32> + Put<bool> {}
impl<S: Put<f32> + Put<f64> + Put<i32> + Put<i64> + Put<u32> + Put<bool>> Writer for S {}

/// What takes arrays of all element types of kernels.
pub trait Reader: Take<f32> + Take<f64> + Take<i32> + Take<i64> + Take<u32> + Take<bool> {}
impl<S: Take<f32> + Take<f64> + Take<i32> + Take<i64> + Take<u32> + Take<bool>> Reader for S {}

/// Values whose arrays have names: records, and the arrays, scalars and tuples in them. Derived with `Record`.
pub trait Stored: Sized {
    /// Puts every array.
    ///
    /// # Errors
    /// Those of the format.
    fn put<S: Writer>(&self, at: &At<'_>, to: &mut S) -> Result<(), S::Error>;

    /// The value of the arrays that are there.
    ///
    /// # Errors
    /// Those of the format.
    fn take<S: Reader>(at: &At<'_>, from: &mut S) -> Result<Self, S::Error>;
}

macro_rules! elements {
    ($($t:ty)*) => {$(
        impl<D: Dimension> Stored for Array<$t, D> {
            fn put<S: Writer>(&self, at: &At<'_>, to: &mut S) -> Result<(), S::Error> {
                Put::<$t>::put(to, at, self)
            }
            fn take<S: Reader>(at: &At<'_>, from: &mut S) -> Result<Self, S::Error> {
                Take::<$t>::take(from, at)
            }
        }

        impl Stored for $t {
            fn put<S: Writer>(&self, at: &At<'_>, to: &mut S) -> Result<(), S::Error> {
                Put::<$t>::put(to, at, &*ndarray::arr0(*self))
            }
            fn take<S: Reader>(at: &At<'_>, from: &mut S) -> Result<Self, S::Error> {
                Ok(Take::<$t>::take::<Ix0>(from, at)?.into_scalar())
            }
        }
    )*};
}

elements!(f32 f64 i32 i64 u32 bool);

macro_rules! tuples {
    ($($name:ident $i:tt)*) => {
        impl<$($name: Stored),*> Stored for ($($name,)*) {
            fn put<Z: Writer>(&self, at: &At<'_>, to: &mut Z) -> Result<(), Z::Error> {
                $(self.$i.put(&at.field(stringify!($i)), to)?;)*
                Ok(())
            }
            fn take<Z: Reader>(at: &At<'_>, from: &mut Z) -> Result<Self, Z::Error> {
                Ok(($($name::take(&at.field(stringify!($i)), from)?,)*))
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0 B 1);
tuples!(A 0 B 1 C 2);
tuples!(A 0 B 1 C 2 D 3);
tuples!(A 0 B 1 C 2 D 3 E 4);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    /// Keeps nothing but names and shapes.
    #[derive(Default)]
    struct Listed(Vec<(String, Vec<usize>)>);

    impl Store for Listed {
        type Error = ();
    }

    impl<T> Put<T> for Listed {
        fn put<D: Dimension>(&mut self, at: &At<'_>, array: &ArrayRef<T, D>) -> Result<(), ()> {
            self.0.push((at.to_string(), array.shape().to_vec()));
            Ok(())
        }
    }

    #[test]
    fn every_array_has_the_path_of_its_fields() {
        let value = (array![1.0f64, 2.0], (Array2::<bool>::default((2, 3)), 7i64));
        let mut listed = Listed::default();
        value.put(&At::default().field("pair"), &mut listed).unwrap();
        let names: Vec<_> = listed.0.iter().map(|(name, shape)| (&**name, &**shape)).collect();
        assert_eq!(names, [("pair.0", &[2][..]), ("pair.1.0", &[2, 3]), ("pair.1.1", &[])]);
    }
}
