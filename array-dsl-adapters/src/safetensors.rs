//! Records as files of [`safetensors`](::safetensors): the format in which weights of networks are passed on.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use ::safetensors::{Dtype, SafeTensors, View, serialize_to_file};
use array_dsl::Record;
use array_dsl_runtime::stored::{At, Put, Store, Stored, Take};
use ndarray::{Array, ArrayRef, Dimension};

use crate::files::{self, Error, Named, format};

/// Writes every array of a record, and replaces a file that is there.
///
/// # Errors
/// [`Error::Format`] for a file that cannot be written.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::safetensors::{load, load_like, save};
/// use ndarray::{Array1, Array2, array};
///
/// #[derive(Record)]
/// struct Net {
///     #[shape(inputs, outputs)]
///     w: Array2<f32>,
///     #[shape(outputs)]
///     b: Array1<f32>,
///     scale: f32,
/// }
///
/// let file = std::env::temp_dir().join(format!("array-dsl-net-{}.safetensors", std::process::id()));
/// save(&Net { w: array![[1.0, 2.0]], b: array![3.0, 4.0], scale: 0.5 }, &file)?;
///
/// let net: Net = load(&file)?;
/// assert_eq!((net.w, net.b, net.scale), (array![[1.0, 2.0]], array![3.0, 4.0], 0.5));
///
/// let other = Net { w: Array2::zeros((2, 2)), b: Array1::zeros(2), scale: 1.0 };
/// let error = load_like(&other, &file).err().unwrap().to_string();
/// assert!(error.ends_with("field `w`: expected the dimensions [2, 2], found [1, 2]"));
/// # std::fs::remove_file(&file).unwrap();
/// # Ok::<(), array_dsl_adapters::files::Error>(())
/// ```
pub fn save<R: Record + Stored>(record: &R, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let mut tensors = Tensors::default();
    match files::put_all(record, &mut tensors) {
        Ok(()) => {}
        Err(never) => match never {},
    }
    serialize_to_file(tensors.0, None, path).map_err(|source| format(path, source))
}

/// Reads a record, with the sizes that the file has.
///
/// # Errors
/// An array that is missing, or has other elements or another number of dimensions; a file that cannot be read.
pub fn load<R: Record + Stored>(path: impl AsRef<Path>) -> Result<R, Error> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|source| format(path, source))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|source| format(path, source))?;
    files::take_all(&mut Opened { file: path.display().to_string(), tensors })
}

/// Reads a record whose arrays have the sizes of those of another one.
///
/// # Errors
/// As for [`load`]; [`Error::Shape`] for an array of other sizes.
pub fn load_like<R: Record + Stored>(like: &R, path: impl AsRef<Path>) -> Result<R, Error> {
    files::same_sizes(path.as_ref(), like, load(path.as_ref())?)
}

/// Elements as they are in a file, where the lowest byte comes first.
trait Element: Named + Copy {
    const DTYPE: Dtype;
    /// From as many bytes as it has.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;
    /// Puts its bytes at the end.
    fn put_bytes(self, to: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($t:ident $dtype:ident)*) => {$(
        impl Element for $t {
            const DTYPE: Dtype = Dtype::$dtype;
            fn of_bytes(bytes: &[u8]) -> Option<$t> {
                bytes.try_into().ok().map($t::from_le_bytes)
            }
            fn put_bytes(self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
        }
    )*};
}

numbers!(f32 F32 f64 F64 i32 I32 i64 I64 u32 U32);

impl Element for bool {
    const DTYPE: Dtype = Dtype::BOOL;
    fn of_bytes(bytes: &[u8]) -> Option<bool> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
    fn put_bytes(self, to: &mut Vec<u8>) {
        to.push(u8::from(self));
    }
}

/// Arrays on their way to a file.
#[derive(Default)]
struct Tensors(Vec<(String, Tensor)>);

struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

impl Store for Tensors {
    type Error = std::convert::Infallible;
}

impl<T: Element> Put<T> for Tensors {
    fn put<D: Dimension>(&mut self, at: &At<'_>, array: &ArrayRef<T, D>) -> Result<(), Self::Error> {
        let mut bytes = Vec::with_capacity(array.len() * size_of::<T>());
        array.iter().for_each(|x| x.put_bytes(&mut bytes));
        let tensor = Tensor { dtype: T::DTYPE, shape: array.shape().to_vec(), bytes };
        self.0.push((at.to_string(), tensor));
        Ok(())
    }
}

/// A file that was read.
struct Opened<'a> {
    file: String,
    tensors: SafeTensors<'a>,
}

impl Store for Opened<'_> {
    type Error = Error;
}

impl<T: Element> Take<T> for Opened<'_> {
    fn take<D: Dimension>(&mut self, at: &At<'_>) -> Result<Array<T, D>, Error> {
        let (file, field) = (self.file.clone(), at.to_string());
        let Ok(tensor) = self.tensors.tensor(&field) else {
            let mut there: Vec<String> = self.tensors.names().into_iter().map(str::to_owned).collect();
            there.sort();
            return Err(Error::Missing { file, field, there });
        };
        if tensor.dtype() != T::DTYPE {
            let found = tensor.dtype().to_string();
            return Err(Error::Element { file, field, expected: T::NAME, found });
        }
        let mut dim = D::zeros(D::NDIM.unwrap_or(tensor.shape().len()));
        if dim.ndim() != tensor.shape().len() {
            return Err(Error::Dimensions {
                file,
                field,
                expected: dim.ndim(),
                found: tensor.shape().to_vec(),
            });
        }
        dim.slice_mut().copy_from_slice(tensor.shape());
        let elements: Option<Vec<T>> = tensor.data().chunks_exact(size_of::<T>()).map(T::of_bytes).collect();
        let array = elements.and_then(|elements| Array::from_shape_vec(dim, elements).ok());
        array.ok_or_else(|| Error::Format {
            file,
            source: format!("field `{field}`: the bytes are no elements `{}`", T::NAME).into(),
        })
    }
}
