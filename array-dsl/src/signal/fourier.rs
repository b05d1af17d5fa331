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
/// Cost: for an even `n` that of `fft` for half as many elements, else that of `fft`.
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
    // Two neighbors of an even number of elements are the parts of one number: see `transform`.
    let even = 1 - n % 2;
    let m = n / (1 + even);
    let (a, b) = build(m, |j| if even == 1 { (x[2 * j], x[2 * j + 1]) } else { (x[j], 0.0) });
    let (p, q) = fft(a, b);
    build(n / 2 + 1, |k| {
        if n == 0 {
            (0.0, 0.0)
        } else if even == 0 {
            (p[k], q[k])
        } else {
            let (i, j) = (k % m, (m - k) % m);
            let (u, v) = (0.5 * (p[i] + p[j]), 0.5 * (q[i] - q[j]));
            let (s, t) = (0.5 * (q[i] + q[j]), 0.5 * (p[j] - p[i]));
            let angle = -6.283185307179586 * ((k as _) / (n as _));
            let (re, im) = (cos(angle), sin(angle));
            (u + re * s - im * t, v + re * t + im * s)
        }
    })
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
    let even = 1 - n % 2;
    let h = n / (1 + even);
    let (a, b) = build(h, |k| {
        if even == 1 {
            let j = h - k;
            let (p, q) = if k < m { (re[k], if k > 0 { im[k] } else { 0.0 }) } else { (0.0, 0.0) };
            let (u, v) = if j < m { (re[j], if j < h { im[j] } else { 0.0 }) } else { (0.0, 0.0) };
            let (s, t) = (0.5 * (p - u), 0.5 * (q + v));
            let angle = 6.283185307179586 * ((k as _) / (n as _));
            let (c, d) = (cos(angle), sin(angle));
            (0.5 * (p + u) - (c * t + d * s), 0.5 * (q - v) + (c * s - d * t))
        } else {
            let j = min(k, n - k);
            let sign = if j == k { 1.0 } else { -1.0 };
            if j < m { (re[j], sign * im[j]) } else { (0.0, 0.0) }
        }
    });
    let (x, y) = ifft(a, b);
    build(n, |j| {
        if even == 0 {
            x[j]
        } else if j % 2 == 0 {
            x[j / 2]
        } else {
            y[j / 2]
        }
    })
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
