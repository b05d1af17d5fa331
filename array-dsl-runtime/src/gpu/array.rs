//! Typed arrays on a device.

use std::fmt;
use std::marker::PhantomData;

use ndarray::{Array, ArrayRef, Dimension, Ix0};

use super::Gpu;
use super::elem::GpuElem;
use super::pool::GpuBuffer;
use super::wait::{Call, block_on};
use crate::error::Error;

/// An array on a device, in row-major order. A clone shares the elements, which never change.
pub struct GpuArray<T, D> {
    gpu: Gpu,
    buffer: GpuBuffer,
    dim: D,
    elem: PhantomData<fn() -> T>,
}

impl<T, D: Clone> Clone for GpuArray<T, D> {
    fn clone(&self) -> Self {
        GpuArray {
            gpu: self.gpu.clone(),
            buffer: self.buffer.clone(),
            dim: self.dim.clone(),
            elem: PhantomData,
        }
    }
}

impl<T: GpuElem, D: Dimension> fmt::Debug for GpuArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuArray<{}>{:?} on {}", T::NAME, self.shape(), self.gpu.info().name)
    }
}

impl<T: GpuElem, D: Dimension> GpuArray<T, D> {
    /// An array whose elements are those of `buffer`, which has as many as `dim` says.
    pub fn from_buffer(gpu: &Gpu, buffer: GpuBuffer, dim: D) -> GpuArray<T, D> {
        debug_assert_eq!(buffer.len(), dim.size() * T::PARTS);
        GpuArray { gpu: gpu.clone(), buffer, dim, elem: PhantomData }
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[usize] {
        self.dim.slice()
    }

    /// The lengths of the dimensions, as ndarray has them.
    pub fn raw_dim(&self) -> D {
        self.dim.clone()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.buffer.len() / T::PARTS
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The elements without their type.
    pub fn buffer(&self) -> &GpuBuffer {
        &self.buffer
    }

    /// The device it is on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Copies the elements to the host, after all work that they depend on is done. This thread waits for it, which it cannot
    /// in a browser: see [`GpuArray::download_async`].
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] and its like if the kernel that made the array met one, or one of those that made
    /// its arguments, every time and for every clone; [`Error::Gpu`] if the device failed; [`Error::CannotBlock`] in a browser.
    pub fn download(&self) -> Result<Array<T, D>, Error> {
        block_on(Call("GpuArray::download", "use `download_async`"), self.download_async())
    }

    /// As [`GpuArray::download`], without holding up a thread.
    ///
    /// ```no_run
    /// # use array_dsl_runtime::gpu::GpuArray;
    /// # async fn show(x: GpuArray<f32, ndarray::Ix1>) -> Result<(), array_dsl_runtime::Error> {
    /// println!("{}", x.download_async().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`GpuArray::download`], but for [`Error::CannotBlock`].
    pub async fn download_async(&self) -> Result<Array<T, D>, Error> {
        // Memory is taken once: appending piece by piece would move large arrays.
        let mut elements: Vec<T> = on_host(self.len())?;
        let mut read = |bytes: &[u8]| T::extend(&mut elements, bytes);
        self.gpu.shared.read_back(&self.buffer, &mut read).await?;
        Array::from_shape_vec(self.dim.clone(), elements).map_err(|e| Error::Gpu { message: e.to_string() })
    }
}

impl<T: GpuElem> GpuArray<T, Ix0> {
    /// The one element.
    ///
    /// # Errors
    /// See [`GpuArray::download`].
    pub fn item(&self) -> Result<T, Error> {
        block_on(Call("GpuArray::item", "use `item_async`"), self.item_async())
    }

    /// As [`GpuArray::item`], without holding up a thread.
    ///
    /// # Errors
    /// See [`GpuArray::download_async`].
    pub async fn item_async(&self) -> Result<T, Error> {
        self.download_async().await.map(Array::into_scalar)
    }
}

/// Room for so many elements on the host.
fn on_host<E>(elements: usize) -> Result<Vec<E>, Error> {
    let mut room = Vec::new();
    room.try_reserve_exact(elements).map_err(|e| {
        let bytes = elements.saturating_mul(size_of::<E>());
        Error::Gpu { message: format!("no memory on the host for an array of {bytes} bytes: {e}") }
    })?;
    Ok(room)
}

impl Gpu {
    /// See [`Gpu::upload`].
    pub(super) fn upload_array<T: GpuElem, D: Dimension>(
        &self,
        array: &ArrayRef<T, D>,
    ) -> Result<GpuArray<T, D>, Error> {
        self.shared.can.check_elem(T::ELEM, "", || format!("{} arrays", T::NAME))?;
        let (buffer, is_in_use) = self.shared.allocate(array.len() * T::PARTS, T::ELEM, "upload", "array")?;
        match array.as_slice().and_then(T::as_bytes) {
            Some(bytes) => self.shared.write(&buffer, is_in_use, bytes)?,
            None => {
                let mut bytes: Vec<u8> = on_host(array.len() * T::PARTS * T::ELEM.bytes() as usize)?;
                array.iter().for_each(|x| x.append(&mut bytes));
                self.shared.write(&buffer, is_in_use, &bytes)?;
            }
        }
        Ok(GpuArray::from_buffer(self, buffer, array.raw_dim()))
    }
}
