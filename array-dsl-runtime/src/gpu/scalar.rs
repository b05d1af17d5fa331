//! Scalars that kernels take from the device: fields of records. A kernel may have computed them, and reading them back
//! would mean waiting.

use std::fmt;

use ndarray::Ix0;

use super::array::GpuArray;
use super::elem::GpuNumber;
use super::execute::GpuInput;
use crate::error::Error;

/// A scalar field of a record on a device: a number that the host knows, or one that a kernel has computed there.
#[derive(Clone)]
pub struct GpuScalar<T>(Home<T>);

#[derive(Clone)]
enum Home<T> {
    Host(T),
    Device(GpuArray<T, Ix0>),
}

impl<T: GpuNumber> GpuScalar<T> {
    /// The number. One that the host does not know is downloaded, which waits for the work that it depends on; see
    /// [`GpuArray::download`].
    ///
    /// # Errors
    /// As for a download.
    pub fn item(&self) -> Result<T, Error> {
        match &self.0 {
            Home::Host(value) => Ok(*value),
            Home::Device(array) => array.item(),
        }
    }

    /// As [`GpuScalar::item`], without holding up a thread.
    ///
    /// # Errors
    /// See [`GpuArray::download_async`].
    pub async fn item_async(&self) -> Result<T, Error> {
        match &self.0 {
            Home::Host(value) => Ok(*value),
            Home::Device(array) => array.item_async().await,
        }
    }

    /// As an argument of a kernel, where it stays on the device if it is there.
    #[doc(hidden)]
    pub fn input(&self) -> GpuInput<'_> {
        match &self.0 {
            Home::Host(value) => GpuInput::scalar(*value),
            Home::Device(array) => GpuInput::Computed(array.buffer()),
        }
    }
}

impl<T> From<T> for GpuScalar<T> {
    fn from(value: T) -> GpuScalar<T> {
        GpuScalar(Home::Host(value))
    }
}

impl<T: GpuNumber> From<GpuArray<T, Ix0>> for GpuScalar<T> {
    fn from(array: GpuArray<T, Ix0>) -> GpuScalar<T> {
        GpuScalar(Home::Device(array))
    }
}

impl<T: GpuNumber + fmt::Debug> fmt::Debug for GpuScalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Home::Host(value) => value.fmt(f),
            Home::Device(array) => array.fmt(f),
        }
    }
}
