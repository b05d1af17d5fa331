//! Running kernels on a device.

use ndarray::Dimension;

use super::{Gpu, GpuArray, GpuBuffer};
use crate::Error;
use crate::host::Kernel;

use super::elem::GpuElem;
use super::wait::{Call, block_on};

/// Kernels as the GPU runs them.
pub trait GpuKernel: Kernel {
    /// The arguments: references to device arrays and records, host scalars by value, tuples of these.
    type GpuArgs<'a>;
    /// The result: device arrays (of rank 0 for scalars), device records, tuples of these.
    type GpuOutput;

    /// Records the kernel's work and returns without waiting for it, but see [`Gpu::run_async`].
    ///
    /// # Errors
    /// Sizes that do not fit, types or sizes that the device lacks.
    fn run_gpu(gpu: &Gpu, args: Self::GpuArgs<'_>) -> impl Future<Output = Result<Self::GpuOutput, Error>>;
}

impl Gpu {
    /// Runs a kernel on device arrays; the results stay on the device. Nothing is transferred and nothing is
    /// waited for: an index out of range is reported when one of the results is downloaded, or of what is computed from them,
    /// by whatever thread. Only a number that data decide and the host needs
    /// is: the length of a filtered array that is a result, the condition of a `while`. For that this thread waits, as it does
    /// where the device is far behind; since it cannot in a browser, there is [`Gpu::run_async`].
    ///
    /// # Errors
    /// Sizes that do not fit, types or sizes that the device lacks. The error of an argument, if it is known that the run that
    /// made it failed. [`Error::CannotBlock`] in a browser.
    pub fn run<K: GpuKernel>(&self, kernel: K, args: K::GpuArgs<'_>) -> Result<K::GpuOutput, Error> {
        let _ = kernel;
        block_on(Call("Gpu::run", "use `run_async`"), K::run_gpu(self, args))
    }

    /// As [`Gpu::run`], without holding up a thread. The results are there soon: they are awaited only as far as `run` waits.
    ///
    /// Several runs may be under way at once, also on one thread; each is executed as if it were alone. One that is dropped
    /// before its end has recorded a part of its work, which nobody can see.
    ///
    /// ```no_run
    /// # use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuKernel};
    /// # type Vector = GpuArray<f32, ndarray::Ix1>;
    /// # async fn step<K>(gpu: &Gpu, kernel: K, x: &Vector) -> Result<(), array_dsl_runtime::Error>
    /// # where for<'a> K: GpuKernel<GpuArgs<'a> = (&'a Vector,), GpuOutput = Vector> {
    /// let y = gpu.run_async(kernel, (x,)).await?;
    /// println!("{}", y.download_async().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Gpu::run`], but for [`Error::CannotBlock`].
    // No `async fn`: of one with such arguments the compiler cannot see that its future may change threads.
    pub fn run_async<'a, K: GpuKernel>(
        &'a self,
        kernel: K,
        args: K::GpuArgs<'a>,
    ) -> impl Future<Output = Result<K::GpuOutput, Error>> + use<'a, K> {
        let _ = kernel;
        K::run_gpu(self, args)
    }
}

/// An array of zeros, the derivative of what has none.
#[doc(hidden)]
pub fn zeros<T: GpuElem, D: Dimension>(gpu: &Gpu, dim: D) -> Result<GpuArray<T, D>, Error> {
    Ok(GpuArray::from_buffer(gpu, gpu.zero_buffer(dim.size() * T::PARTS, T::ELEM)?, dim))
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
