//! Discrete Fourier transforms.

use super::transform::{fft_32, fft_64};
use crate::prelude::*;

/// `fft(re, im)`: the discrete Fourier transform, `X_k = sum_j x_j e^(-2 pi i j k / n)` for `k` from 0 to `n - 1`, as real and
/// imaginary parts. It is NumPy's `fft.fft`.
///
/// `n` is any number, 0 and primes too. Of both arrays the size is the same. The relative error is a few roundings. Cost: O(n log n)
/// operations; derivatives by either argument cost one transform more, to the second order. On the CPU each vector is transformed by the
/// crate `rustfft` on one thread, and those of a batch by several. On a GPU a step is a loop over all elements (Cooley and Tukey, 1965, in
/// Stockham's order), and where `n` is no power of two the operations are some 10 times as many (Bluestein, 1970).
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::fft;
///
/// #[kernel]
/// fn spectrum(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) {
///     fft(re, im)
/// }
///
/// let (re, im) = spectrum(&array![1.0, 2.0, 3.0, 4.0], &array![0.0, 0.0, 0.0, 0.0]);
/// assert!((re - array![10.0, -2.0, -2.0, -2.0]).iter().all(|d| d.abs() < 1e-14));
/// assert!((im - array![0.0, 2.0, 0.0, -2.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn fft<T: Float>(re: [T; n], im: [T; n]) -> ([T; n], [T; n]) {
    let one: T = 1.0;
    if one + 1e-10 == one {
        let (p, q) = fft_32(re as f32, im as f32);
        (p as _, q as _)
    } else {
        let (p, q) = fft_64(re as f64, im as f64);
        (p as _, q as _)
    }
}

/// `ifft(re, im)`: the inverse of `fft`, with the factor `1 / n`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::ifft;
///
/// #[kernel]
/// fn wave(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) {
///     ifft(re, im)
/// }
///
/// let (re, im) = wave(&array![3.0, -1.0], &array![0.0, 0.0]);
/// assert_eq!((re, im), (array![1.0, 2.0], array![0.0, 0.0]));
/// ```
#[kernel]
pub fn ifft<T: Float>(re: [T; n], im: [T; n]) -> ([T; n], [T; n]) {
    let (q, p) = fft(im, re);
    let scale = 1.0 / (n as _);
    (scale * p, scale * q)
}

/// `rfft(x)`: the first `n / 2 + 1` elements of the transform of real numbers, which are all that there is to know: element `n - k`
/// is the conjugate of element `k`. It is NumPy's `fft.rfft`. Without elements the result is one zero.
///
/// Cost: that of `fft`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::rfft;
///
/// /// How much of each frequency there is.
/// #[kernel]
/// fn powers(x: [f64; n]) -> [f64; _] {
///     let (re, im) = rfft(x);
///     re * re + im * im
/// }
///
/// assert_eq!(powers(&array![1.0, -1.0, 1.0, -1.0]), array![0.0, 0.0, 16.0]);
/// ```
#[kernel]
pub fn rfft<T: Float>(x: [T; n]) -> ([T; _], [T; _]) {
    let (re, im) = fft(x, zeros(n));
    build(n / 2 + 1, |k| if k < n { (re[k], im[k]) } else { (0.0, 0.0) })
}

/// `irfft(re, im, n)`: the `n` real numbers of which `rfft` gives this.
///
/// It is NumPy's `fft.irfft`: of `re` and `im` the first `n / 2 + 1` elements count, and what is missing of them is zero; the
/// imaginary part of the first one, and if `n` is even of the last one, does not count.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::irfft;
///
/// #[kernel]
/// fn wave(re: [f64; m], im: [f64; m]) -> [f64; 4] {
///     irfft(re, im, 4)
/// }
///
/// assert_eq!(wave(&array![4.0, 2.0, 0.0], &array![0.0, 0.0, 0.0]), array![2.0, 1.0, 0.0, 1.0]);
/// ```
#[kernel]
pub fn irfft<T: Float>(re: [T; m], im: [T; m], n: usize) -> [T; n] {
    let (a, b) = build(n, |k| {
        let j = min(k, n - k);
        let sign = if j == k { 1.0 } else { -1.0 };
        if j < m { (re[j], sign * im[j]) } else { (0.0, 0.0) }
    });
    let (x, _) = ifft(a, b);
    x
}

/// `fft2(re, im)`: the transform of the rows, and then of the columns, of a matrix. It is NumPy's `fft.fft2`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::fft2;
///
/// #[kernel]
/// fn spectrum(re: [[f64; w]; h], im: [[f64; w]; h]) -> ([[f64; w]; h], [[f64; w]; h]) {
///     fft2(re, im)
/// }
///
/// let (re, _) = spectrum(&array![[1.0, 2.0], [3.0, 4.0]], &array![[0.0, 0.0], [0.0, 0.0]]);
/// assert_eq!(re, array![[10.0, -2.0], [-4.0, 0.0]]);
/// ```
#[kernel]
pub fn fft2<T: Float>(re: [[T; w]; h], im: [[T; w]; h]) -> ([[T; w]; h], [[T; w]; h]) {
    let (a, b) = fft(re, im);
    let (p, q) = fft(transpose(a), transpose(b));
    (transpose(p), transpose(q))
}

/// `ifft2(re, im)`: the inverse of `fft2`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::ifft2;
///
/// #[kernel]
/// fn image(re: [[f64; w]; h], im: [[f64; w]; h]) -> ([[f64; w]; h], [[f64; w]; h]) {
///     ifft2(re, im)
/// }
///
/// let (re, _) = image(&array![[10.0, -2.0], [-4.0, 0.0]], &array![[0.0, 0.0], [0.0, 0.0]]);
/// assert_eq!(re, array![[1.0, 2.0], [3.0, 4.0]]);
/// ```
#[kernel]
pub fn ifft2<T: Float>(re: [[T; w]; h], im: [[T; w]; h]) -> ([[T; w]; h], [[T; w]; h]) {
    let (a, b) = ifft(re, im);
    let (p, q) = ifft(transpose(a), transpose(b));
    (transpose(p), transpose(q))
}
