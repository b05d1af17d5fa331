//! Complex numbers on a device: the same buffer as one of floats, with one dimension more.

use ndarray::{Axis, Dimension, Ix1, RemoveAxis};
use num_complex::Complex;

use super::Gpu;
use super::array::GpuArray;
use super::elem::GpuElem;
use crate::complex::with_parts;
use crate::error::Error;

/// The parts of complex numbers.
pub fn parts<T, D: Dimension>(z: &GpuArray<Complex<T>, D>) -> GpuArray<T, D::Larger>
where
    T: GpuElem,
    Complex<T>: GpuElem,
{
    GpuArray::from_buffer(z.gpu(), z.buffer().clone(), with_parts::<D>(z.shape()))
}

/// The parts of a number that the host has.
///
/// # Errors
/// See [`Gpu::upload`].
pub fn parts_of_one<T>(gpu: &Gpu, z: Complex<T>) -> Result<GpuArray<T, Ix1>, Error>
where
    T: GpuElem + bytemuck::Pod,
    Complex<T>: bytemuck::Pod,
{
    gpu.upload_array(&crate::complex::parts_of_one(&z))
}

/// Complex numbers of parts.
pub fn array<T, L: RemoveAxis>(parts: &GpuArray<T, L>) -> GpuArray<Complex<T>, L::Smaller>
where
    T: GpuElem,
    Complex<T>: GpuElem,
{
    let last = Axis(parts.shape().len() - 1);
    GpuArray::from_buffer(parts.gpu(), parts.buffer().clone(), parts.raw_dim().remove_axis(last))
}
