//! Fourier transforms and convolutions for kernels.
//!
//! ```
//! use array_dsl::prelude::*;
//! use array_dsl::signal::{irfft, rfft};
//! use ndarray::array;
//!
//! /// The periodic function of these samples, without what changes faster than `highest` times.
//! #[kernel]
//! fn smoothed(x: [f64; n], highest: usize) -> [f64; n] {
//!     let (re, im) = rfft(x);
//!     let keep = build(dim(re, 0), |k| if k <= highest { 1.0 } else { 0.0 });
//!     irfft(re * keep, im * keep, n)
//! }
//!
//! let y = smoothed(&array![1.0, 3.0, 1.0, 3.0], 1);
//! assert!((y - 2.0).iter().all(|d| d.abs() < 1e-15));
//! ```
//!
//! | file | functions |
//! |---|---|
//! | `fourier` | [`fft`], [`ifft`], [`rfft`], [`irfft`], [`fft2`], [`ifft2`] |
//! | [`complex`] | the same for arrays of complex numbers |
//! | `convolution` | [`convolve`], [`convolve_same`], [`convolve_valid`], [`correlate`], [`correlate_same`], [`correlate_valid`], [`fft_convolve`] |
//!
//! All are generic kernels over `f32` and `f64`, on the CPU and on GPUs, with derivatives of both modes and of any order. They work
//! on vectors; an argument of one more dimension is a batch, each row by itself. Points of a `build` or a `map` may call them too.
//! From the host they are called through a kernel.
//!
//! **Complex numbers** are two arrays here, of real and of imaginary parts; in [`complex`] they are what they are.

pub mod complex;
mod convolution;
mod fourier;
mod transform;

pub use self::convolution::{
    convolve, convolve_same, convolve_valid, correlate, correlate_same, correlate_valid, fft_convolve,
};
pub use self::fourier::{fft, fft2, ifft, ifft2, irfft, rfft};
