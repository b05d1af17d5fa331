//! Records as NumPy's archives of arrays, by [`ndarray_npy`]: what `numpy.load("net.npz")` reads and `numpy.savez` writes.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use array_dsl::Record;
use array_dsl_runtime::stored::{At, Put, Store, Stored, Take};
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpyError, ReadNpzError, ReadableElement, WritableElement};

use crate::files::{self, Error, Named, format};

/// Writes every array of a record, and replaces a file that is there.
///
/// # Errors
/// [`Error::Format`] for a file that cannot be written.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::npz::{load, save};
/// use ndarray::{Array1, array};
///
/// #[derive(Record)]
/// struct Layer {
///     weights: Array1<f64>,
///     degree: i64,
/// }
///
/// #[derive(Record)]
/// struct Wide {
///     weights: Array1<f64>,
///     bias: f64,
/// }
///
/// let file = std::env::temp_dir().join(format!("array-dsl-layer-{}.npz", std::process::id()));
/// save(&Layer { weights: array![1.0, 2.0], degree: 3 }, &file)?;
/// let layer: Layer = load(&file)?;
/// assert_eq!((layer.weights, layer.degree), (array![1.0, 2.0], 3));
///
/// let error = load::<Wide>(&file).err().unwrap().to_string();
/// assert!(error.ends_with("field `bias`: there is no array of this name, but `degree`, `weights`"));
/// # std::fs::remove_file(&file).unwrap();
/// # Ok::<(), array_dsl_adapters::files::Error>(())
/// ```
pub fn save<R: Record + Stored>(record: &R, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let to = File::create(path).map_err(|source| format(path, source))?;
    let mut archive = Written { path, archive: NpzWriter::new(BufWriter::new(to)) };
    files::put_all(record, &mut archive)?;
    archive.archive.finish().map_err(|source| format(path, source))?;
    Ok(())
}

/// Reads a record, with the sizes that the file has.
///
/// # Errors
/// An array that is missing, or has other elements or another number of dimensions; a file that cannot be read.
pub fn load<R: Record + Stored>(path: impl AsRef<Path>) -> Result<R, Error> {
    let path = path.as_ref();
    let from = File::open(path).map_err(|source| format(path, source))?;
    let mut archive = NpzReader::new(BufReader::new(from)).map_err(|source| format(path, source))?;
    let mut there = archive.names().map_err(|source| format(path, source))?;
    there.sort();
    files::take_all(&mut Opened { path, archive, there })
}

/// Reads a record whose arrays have the sizes of those of another one.
///
/// # Errors
/// As for [`load`]; [`Error::Shape`] for an array of other sizes.
pub fn load_like<R: Record + Stored>(like: &R, path: impl AsRef<Path>) -> Result<R, Error> {
    files::same_sizes(path.as_ref(), like, load(path.as_ref())?)
}

/// A file that is being written.
struct Written<'a> {
    path: &'a Path,
    archive: NpzWriter<BufWriter<File>>,
}

impl Store for Written<'_> {
    type Error = Error;
}

impl<T: WritableElement> Put<T> for Written<'_> {
    fn put<D: Dimension>(&mut self, at: &At<'_>, array: &ArrayRef<T, D>) -> Result<(), Error> {
        self.archive.add_array(at.to_string(), array).map_err(|source| format(self.path, source))
    }
}

/// A file that is being read.
struct Opened<'a> {
    path: &'a Path,
    archive: NpzReader<BufReader<File>>,
    there: Vec<String>,
}

impl Store for Opened<'_> {
    type Error = Error;
}

impl<T: ReadableElement + Named> Take<T> for Opened<'_> {
    fn take<D: Dimension>(&mut self, at: &At<'_>) -> Result<Array<T, D>, Error> {
        let (file, field) = (self.path.display().to_string(), at.to_string());
        if !self.there.contains(&field) {
            return Err(Error::Missing { file, field, there: self.there.clone() });
        }
        let array: Array<T, IxDyn> = match self.archive.by_name(&field) {
            Ok(array) => array,
            Err(ReadNpzError::Npy(ReadNpyError::WrongDescriptor(found))) => {
                let found = found.to_string();
                return Err(Error::Element { file, field, expected: T::NAME, found });
            }
            Err(source) => return Err(format(self.path, source)),
        };
        let found = array.shape().to_vec();
        let expected = D::NDIM.unwrap_or(found.len());
        array.into_dimensionality().map_err(|_| Error::Dimensions { file, field, expected, found })
    }
}
