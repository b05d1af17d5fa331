//! Records in files: what the formats share.
//!
//! Every array of a record is kept under the path of its fields, `w`, `layer.w`, `pair.0`, and every scalar as an array without
//! dimensions. What else is in a file is not looked at. A file gives a record its sizes, of which kernels check that they fit each other;
//! `load_like` checks that all are those of a record that is there.

use std::fmt;
use std::path::Path;

use array_dsl::Record;
use array_dsl_runtime::stored::{At, Put, Reader, Store, Stored, Writer};
use ndarray::{ArrayRef, Dimension};

/// Why a record cannot be put into a file, or be taken from one.
///
/// ```
/// # use array_dsl_adapters::files::Error;
/// let error = Error::Shape { file: "net.npz".into(), field: "layer.w".into(), expected: vec![64, 10], found: vec![10, 64] };
/// assert_eq!(error.to_string(), "net.npz: field `layer.w`: expected the dimensions [64, 10], found [10, 64]");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are described by their names and by the messages")]
pub enum Error {
    /// A file that lacks an array of the record.
    #[error("{file}: field `{field}`: there is no array of this name, but {}", Names(there))]
    Missing { file: String, field: String, there: Vec<String> },

    /// An array of another element type.
    #[error("{file}: field `{field}`: expected elements `{expected}`, found `{found}`")]
    Element { file: String, field: String, expected: &'static str, found: String },

    /// An array of another number of dimensions.
    #[error(
        "{file}: field `{field}`: expected {expected} dimension{}, found {}{}",
        if *expected == 1 { "" } else { "s" }, found.len(), Sizes(found)
    )]
    Dimensions { file: String, field: String, expected: usize, found: Vec<usize> },

    /// An array of other sizes than the one that it is to replace.
    #[error("{file}: field `{field}`: expected the dimensions {expected:?}, found {found:?}")]
    Shape { file: String, field: String, expected: Vec<usize>, found: Vec<usize> },

    /// A file that cannot be read or written, or is not of the format.
    #[error("{file}: {source}")]
    Format { file: String, source: Box<dyn std::error::Error + Send + Sync> },
}

/// A list of names in a sentence.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Names(names) = self;
        if names.is_empty() {
            return f.write_str("the file has no arrays");
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        f.write_str(&quoted.join(", "))
    }
}

/// Sizes after their number.
struct Sizes<'a>(&'a [usize]);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " {:?}", self.0) }
    }
}

/// Element types as messages and files name them.
pub(crate) trait Named {
    /// In Rust.
    const NAME: &'static str;
}

macro_rules! named {
    ($($t:ident)*) => {$(
        impl Named for $t {
            const NAME: &'static str = stringify!($t);
        }
    )*};
}

named!(f32 f64 i32 i64 u32 bool);

/// Puts all arrays of a record.
pub(crate) fn put_all<R: Record + Stored, W: Writer>(record: &R, to: &mut W) -> Result<(), W::Error> {
    record.put(&At::default(), to)
}

/// Takes all arrays of a record.
pub(crate) fn take_all<R: Record + Stored, S: Reader>(from: &mut S) -> Result<R, S::Error> {
    R::take(&At::default(), from)
}

/// What a file is not, or cannot be.
pub(crate) fn format(path: &Path, source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Format { file: path.display().to_string(), source: source.into() }
}

/// A record from a file, if its arrays have the sizes of those of another one.
pub(crate) fn same_sizes<R: Stored>(path: &Path, like: &R, record: R) -> Result<R, Error> {
    let [expected, found] = [like, &record].map(|record| {
        let mut sizes = AllSizes::default();
        match record.put(&At::default(), &mut sizes) {
            Ok(()) => sizes.0,
            Err(never) => match never {},
        }
    });
    match expected.into_iter().zip(found).find(|(e, f)| e != f) {
        None => Ok(record),
        Some(((field, expected), (_, found))) => {
            Err(Error::Shape { file: path.display().to_string(), field, expected, found })
        }
    }
}

/// The sizes of every array.
#[derive(Default)]
struct AllSizes(Vec<(String, Vec<usize>)>);

impl Store for AllSizes {
    type Error = std::convert::Infallible;
}

impl<T> Put<T> for AllSizes {
    fn put<D: Dimension>(&mut self, at: &At<'_>, array: &ArrayRef<T, D>) -> Result<(), Self::Error> {
        self.0.push((at.to_string(), array.shape().to_vec()));
        Ok(())
    }
}
