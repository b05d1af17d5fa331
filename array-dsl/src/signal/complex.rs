//! The transforms of [`signal`](super) for arrays of complex numbers, under the same names.
//!
//! ```
//! use array_dsl::prelude::*;
//! use array_dsl::signal::complex::{fft, ifft};
//! use ndarray::Array1;
//!
//! /// The periodic function of these samples, turned by so many steps.
//! #[kernel]
//! fn turned(z: [Complex<f64>; n], steps: f64) -> [Complex<f64>; n] {
//!     let angle = -6.283185307179586 * steps / (n as f64);
//!     let factors = build(n, |k| Complex::cis(angle * ((if 2 * k < n { k } else { k - n }) as f64)));
//!     ifft(factors * fft(z))
//! }
//!
//! let wave = Array1::from_shape_fn(8, |i| Complex::cis(std::f64::consts::TAU * i as f64 / 8.0));
//! let later = turned(&wave, 1.0);
//! assert!((later[3] - wave[2]).norm() < 1e-14);
//! ```
//!
//! Conventions, costs and derivatives are those of the functions of parts.

use crate::prelude::*;
use crate::signal;

/// `fft(z)`: the discrete Fourier transform, `Z_k = sum_j z_j e^(-2 pi i j k / n)`. It is NumPy's `fft.fft`.
#[kernel]
pub fn fft<T: Float>(z: [Complex<T>; n]) -> [Complex<T>; n] {
    let (re, im) = signal::fft(z.re, z.im);
    Complex::new(re, im)
}

/// `ifft(z)`: the inverse of `fft`, with the factor `1 / n`.
#[kernel]
pub fn ifft<T: Float>(z: [Complex<T>; n]) -> [Complex<T>; n] {
    let (re, im) = signal::ifft(z.re, z.im);
    Complex::new(re, im)
}

/// `rfft(x)`: the first `n / 2 + 1` elements of the transform of real numbers; element `n - k` is the conjugate of element `k`. It is
/// NumPy's `fft.rfft`. Without elements the result is one zero.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::complex::{irfft, rfft};
///
/// /// The samples without their mean.
/// #[kernel]
/// fn centered(x: [f64; n]) -> [f64; n] {
///     let z = rfft(x);
///     irfft(build(dim(z, 0), |k| if k > 0 { z[k] } else { Complex::new(0.0, 0.0) }), n)
/// }
///
/// let y = centered(&array![1.0, 2.0, 6.0]);
/// assert!((y - array![-2.0, -1.0, 3.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn rfft<T: Float>(x: [T; n]) -> [Complex<T>; _] {
    let (re, im) = signal::rfft(x);
    Complex::new(re, im)
}

/// `irfft(z, n)`: the `n` real numbers of which `rfft` gives this. It is NumPy's `fft.irfft`: the first `n / 2 + 1` elements count, and
/// what is missing of them is zero.
#[kernel]
pub fn irfft<T: Float>(z: [Complex<T>; m], n: usize) -> [T; n] {
    signal::irfft(z.re, z.im, n)
}

/// `fft2(z)`: the transform of the rows, and then of the columns, of a matrix. It is NumPy's `fft.fft2`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::Array2;
/// use array_dsl::signal::complex::fft2;
///
/// #[kernel]
/// fn spectrum(z: [[Complex<f64>; w]; h]) -> [[Complex<f64>; w]; h] {
///     fft2(z)
/// }
///
/// let z = spectrum(&Array2::from_elem((2, 3), Complex::new(0.0, 1.0)));
/// assert!((z[[0, 0]] - Complex::new(0.0, 6.0)).norm() < 1e-14 && z[[1, 2]].norm() < 1e-14);
/// ```
#[kernel]
pub fn fft2<T: Float>(z: [[Complex<T>; w]; h]) -> [[Complex<T>; w]; h] {
    let (re, im) = signal::fft2(z.re, z.im);
    Complex::new(re, im)
}

/// `ifft2(z)`: the inverse of `fft2`.
#[kernel]
pub fn ifft2<T: Float>(z: [[Complex<T>; w]; h]) -> [[Complex<T>; w]; h] {
    let (re, im) = signal::ifft2(z.re, z.im);
    Complex::new(re, im)
}
