//! Convolutions and correlations of vectors.

use super::fourier::{irfft, rfft};
use super::transform::exponent;
use crate::prelude::*;

/// `convolve(x, k)`: the whole convolution, `y_i = sum_j k_j x_(i - j)` with zeros around `x`: NumPy's `convolve` with the mode
/// `full`.
///
/// One of both must not be empty; the other may be, and then the result is all zeros. Cost: a multiplication for each pair of
/// elements, so for `k` of up to some thousands of elements; for longer ones there is [`fft_convolve`](super::fft_convolve).
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::convolve;
///
/// /// The product of two polynomials.
/// #[kernel]
/// fn product(a: [f64; n], b: [f64; m]) -> [f64; n + m - 1] {
///     convolve(a, b)
/// }
///
/// assert_eq!(product(&array![1.0, 1.0], &array![1.0, 2.0, 3.0]), array![1.0, 3.0, 5.0, 3.0]);
/// ```
#[kernel]
pub fn convolve<T: Float>(x: [T; n], k: [T; m]) -> [T; n + m - 1] {
    build(n + m - 1, |i| sum(build(m, |j| if i - j >= 0 && i - j < n { k[j] * x[i - j] } else { 0.0 })))
}

/// `convolve_same(x, k)`: the middle `n` elements of the whole convolution, one for each of `x`: NumPy's mode `same`, for `k` no
/// longer than `x`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::convolve_same;
///
/// #[kernel]
/// fn smooth(x: [f64; n]) -> [f64; n] {
///     convolve_same(x, [1.0, 1.0, 1.0])
/// }
///
/// assert_eq!(smooth(&array![1.0, 2.0, 3.0]), array![3.0, 6.0, 5.0]);
/// ```
#[kernel]
pub fn convolve_same<T: Float>(x: [T; n], k: [T; m]) -> [T; n] {
    let first = (m - 1) / 2;
    build(n, |i| {
        sum(build(m, |j| {
            let at = i + first - j;
            if at >= 0 && at < n { k[j] * x[at] } else { 0.0 }
        }))
    })
}

/// `convolve_valid(x, k)`: those elements of the whole convolution to which no zeros around `x` contribute: NumPy's mode `valid`,
/// for `k` no longer than `x`; a longer one, by two elements and more, is an error.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::convolve_valid;
///
/// #[kernel]
/// fn pairs(x: [f64; n]) -> [f64; n - 1] {
///     convolve_valid(x, [1.0, 1.0])
/// }
///
/// assert_eq!(pairs(&array![1.0, 2.0, 3.0, 4.0]), array![3.0, 5.0, 7.0]);
/// ```
#[kernel]
pub fn convolve_valid<T: Float>(x: [T; n], k: [T; m]) -> [T; n - m + 1] {
    build(n - m + 1, |i| sum(build(m, |j| k[m - 1 - j] * x[i + j])))
}

/// `correlate(x, k)`: the sums `sum_j k_j x_(i + j)` for each shift `i` from `1 - m` on for which both overlap: NumPy's `correlate`
/// with the mode `full`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::correlate;
///
/// #[kernel]
/// fn shifted(x: [f64; n], k: [f64; m]) -> [f64; n + m - 1] {
///     correlate(x, k)
/// }
///
/// assert_eq!(shifted(&array![1.0, 2.0, 3.0], &array![0.0, 1.0]), array![1.0, 2.0, 3.0, 0.0]);
/// ```
#[kernel]
pub fn correlate<T: Float>(x: [T; n], k: [T; m]) -> [T; n + m - 1] {
    convolve(x, reverse(k))
}

/// `correlate_same(x, k)`: the middle `n` of them, for `k` no longer than `x`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::correlate_same;
///
/// #[kernel]
/// fn slopes(x: [f64; n]) -> [f64; n] {
///     correlate_same(x, [1.0, 0.0, -1.0])
/// }
///
/// assert_eq!(slopes(&array![1.0, 2.0, 3.0]), array![-2.0, -2.0, 2.0]);
/// ```
#[kernel]
pub fn correlate_same<T: Float>(x: [T; n], k: [T; m]) -> [T; n] {
    convolve_same(x, reverse(k))
}

/// `correlate_valid(x, k)`: those for shifts at which `k` lies within `x`: what neural networks call a convolution.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::correlate_valid;
///
/// /// Differences of neighbors.
/// #[kernel]
/// fn slopes(x: [f64; n]) -> [f64; n - 1] {
///     correlate_valid(x, [-1.0, 1.0])
/// }
///
/// assert_eq!(slopes(&array![1.0, 4.0, 9.0]), array![3.0, 5.0]);
/// ```
#[kernel]
pub fn correlate_valid<T: Float>(x: [T; n], k: [T; m]) -> [T; n - m + 1] {
    build(n - m + 1, |i| sum(build(m, |j| k[j] * x[i + j])))
}

/// `fft_convolve(x, k)`: what `convolve` gives, by Fourier transforms of the next power of two.
///
/// Cost: three transforms, whatever the sizes. The error of every element is a few roundings of the largest, not of its own.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::signal::fft_convolve;
///
/// #[kernel]
/// fn product(a: [f64; n], b: [f64; m]) -> [f64; n + m - 1] {
///     fft_convolve(a, b)
/// }
///
/// let p = product(&array![1.0, 2.0], &array![1.0, 1.0]);
/// assert!((p - array![1.0, 3.0, 2.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn fft_convolve<T: Float>(x: [T; n], k: [T; m]) -> [T; n + m - 1] {
    let size = 1 << exponent(n + m - 1);
    let (a, b) = rfft(build(size, |i| if i < n { x[i] } else { 0.0 }));
    let (c, d) = rfft(build(size, |i| if i < m { k[i] } else { 0.0 }));
    let y = irfft(a * c - b * d, a * d + b * c, size);
    build(n + m - 1, |i| y[i])
}
