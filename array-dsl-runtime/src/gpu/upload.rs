//! What can be copied to a device: arrays and records.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayRef, Data, Dimension};

use super::Gpu;
use super::array::GpuArray;
use super::elem::GpuElem;
use super::wait::{Call, block_on};
use crate::error::Error;
use crate::record::Record;

/// What [`Gpu::upload`] takes: arrays and views of them, and records.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be uploaded",
    note = "arrays of ndarray can, and structures with `#[derive(Record)]`; scalars are passed to kernels by value"
)]
pub trait Upload {
    /// What it is on the device.
    type OnGpu;

    /// See [`Gpu::upload`].
    ///
    /// # Errors
    /// See [`Gpu::upload`].
    fn upload_to(&self, gpu: &Gpu) -> Result<Self::OnGpu, Error>;
}

impl<T: GpuElem, D: Dimension> Upload for ArrayRef<T, D> {
    type OnGpu = GpuArray<T, D>;

    fn upload_to(&self, gpu: &Gpu) -> Result<GpuArray<T, D>, Error> {
        gpu.upload_array(self)
    }
}

impl<T: GpuElem, S: Data<Elem = T>, D: Dimension> Upload for ArrayBase<S, D, T> {
    type OnGpu = GpuArray<T, D>;

    fn upload_to(&self, gpu: &Gpu) -> Result<GpuArray<T, D>, Error> {
        gpu.upload_array(self)
    }
}

impl<X: Upload + ?Sized> Upload for &X {
    type OnGpu = X::OnGpu;

    fn upload_to(&self, gpu: &Gpu) -> Result<X::OnGpu, Error> {
        (**self).upload_to(gpu)
    }
}

impl<X: Upload + ?Sized> Upload for Box<X> {
    type OnGpu = X::OnGpu;

    fn upload_to(&self, gpu: &Gpu) -> Result<X::OnGpu, Error> {
        (**self).upload_to(gpu)
    }
}

impl<X: Upload + ?Sized> Upload for Arc<X> {
    type OnGpu = X::OnGpu;

    fn upload_to(&self, gpu: &Gpu) -> Result<X::OnGpu, Error> {
        (**self).upload_to(gpu)
    }
}

impl Gpu {
    /// Copies an array or a record to the device. Arrays, views of them and references to either are accepted; the
    /// elements need not be contiguous. A record gets a structure with the same fields, [`GpuRecord`].
    ///
    /// Errors: [`Error::UnsupportedOnGpu`] for element types that have no place there,
    /// [`Error::TooLargeForGpu`] beyond 2^31 - 1 elements or what the device can bind, [`Error::Gpu`].
    pub fn upload<X: Upload + ?Sized>(&self, x: &X) -> Result<X::OnGpu, Error> {
        x.upload_to(self)
    }
}

/// Records as they are on a device. Derived with [`Record`], never written by hand.
pub trait DeviceRecord: Record {
    /// A structure with the same fields, which are [`GpuArray`]s, [`GpuScalar`](super::GpuScalar)s, tuples of these, and
    /// records on the device. It has `download` and `download_async`.
    type Device;
    /// Its fields in order, those of records as tuples.
    type DeviceParts;
    /// The same as references.
    type DeviceView<'a>;

    /// Copies every array to the device.
    ///
    /// # Errors
    /// See [`Gpu::upload`].
    fn to_device(&self, gpu: &Gpu) -> Result<Self::Device, Error>;

    /// Copies every array to the host.
    ///
    /// # Errors
    /// See [`GpuArray::download`].
    fn from_device(device: &Self::Device) -> Result<Self, Error> {
        block_on(Call("GpuArray::download", "use `download_async`"), Self::from_device_async(device))
    }

    /// Copies every array to the host, without holding up a thread.
    ///
    /// # Errors
    /// See [`GpuArray::download_async`].
    fn from_device_async(device: &Self::Device) -> impl Future<Output = Result<Self, Error>>;

    /// The fields as a kernel reads them.
    fn device_view(device: &Self::Device) -> Self::DeviceView<'_>;

    /// The structure with these fields.
    fn device_from_parts(parts: Self::DeviceParts) -> Self::Device;
}

/// What [`Gpu::upload`] gives for a record `R`, and what kernels on a GPU take and give: a structure with the fields of
/// `R`, on the device, that has `clone()`, `download()` and `download_async()`.
pub type GpuRecord<R> = <R as DeviceRecord>::Device;
