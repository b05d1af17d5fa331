//! Running kernels on a device.

use ndarray::Dimension;

use super::{Gpu, GpuArray, GpuBuffer};
use crate::Error;
use crate::host::Kernel;

use super::elem::GpuElem;

/// Kernels as the GPU runs them.
pub trait GpuKernel: Kernel {
    /// The arguments: references to device arrays and records, host scalars by value, tuples of these.
    type GpuArgs<'a>;
    /// The result: device arrays (of rank 0 for scalars), device records, tuples of these.
    type GpuOutput;

    /// Records the kernel's work and returns without waiting for it, but see [`Gpu::run`].
    ///
    /// # Errors
    /// Sizes that do not fit, types or sizes that the device lacks.
    fn run_gpu(gpu: &Gpu, args: Self::GpuArgs<'_>) -> Result<Self::GpuOutput, Error>;
}

impl Gpu {
    /// Runs a kernel on device arrays; the results stay on the device. Nothing is transferred and nothing is
    /// waited for: an index out of range is reported when one of the results is downloaded, or of what is computed from them,
    /// by whatever thread. Only a number that data decide and the host needs
    /// is: the length of a filtered array that is a result, the condition of a `while`.
    ///
    /// # Errors
    /// Sizes that do not fit, types or sizes that the device lacks. The error of an argument, if it is known that the run that
    /// made it failed.
    pub fn run<K: GpuKernel>(&self, kernel: K, args: K::GpuArgs<'_>) -> Result<K::GpuOutput, Error> {
        let _ = kernel;
        K::run_gpu(self, args)
    }
}

/// An array of zeros, the derivative of what has none.
#[doc(hidden)]
pub fn zeros<T: GpuElem, D: Dimension>(gpu: &Gpu, dim: D) -> Result<GpuArray<T, D>, Error> {
    Ok(GpuArray::from_buffer(gpu, gpu.zero_buffer(dim.size(), T::ELEM)?, dim))
}

/// A result buffer as a typed array.
#[doc(hidden)]
pub fn result<T: GpuElem, D: Dimension>(
    gpu: &Gpu,
    result: Option<(GpuBuffer, Vec<usize>)>,
) -> Result<GpuArray<T, D>, Error> {
    match result {
        Some((buffer, lengths)) => {
            let mut shape = D::zeros(D::NDIM.unwrap_or(lengths.len()));
            if shape.ndim() != lengths.len() {
                let message =
                    format!("a result on a GPU has {} dimensions, not {}", lengths.len(), shape.ndim());
                return Err(Error::Internal { kernel: "", message });
            }
            shape.slice_mut().copy_from_slice(&lengths);
            Ok(GpuArray::from_buffer(gpu, buffer, shape))
        }
        None => {
            Err(Error::Internal { kernel: "", message: "a result of a program on a GPU is missing".into() })
        }
    }
}
