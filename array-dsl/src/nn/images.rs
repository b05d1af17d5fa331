//! Filters and pooling, over lines and images of several channels.
//!
//! A filter is a matrix product of its elements and of what it sees at each place, which is written out: so much faster is
//! a product in blocks than the same sum in loops.

use crate::prelude::*;

/// At how many places something of this size fits into `extent`, with `step`, at least 1, from one to the next.
#[kernel]
fn places(extent: usize, size: usize, step: usize) -> i64 {
    max(extent - size + step, 0) / max(step, 1)
}

/// `conv2d(x, k, stride, padding)`: the filters `k` slid along the image `x`, an image for each filter: element `(i, j)` of image
/// `o` is the sum of `k[o][c][a][b] * x[c][i * stride + a - padding][j * stride + b - padding]`, where `x` is zero outside. The
/// filter is not reversed, as networks have it.
///
/// The result has `(h + 2 * padding - kh) / stride + 1` rows, rounded down, and columns likewise; where the filter does not fit, it
/// is empty. `stride` is at least 1. Cost: as the matrix product of `o` rows by the places, and memory for what the filter sees at
/// each of them: `c * kh * kw` times the size of an image of the result.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::conv2d;
///
/// /// The sum of each block.
/// #[kernel]
/// fn blocks(x: [[[f64; w]; h]; c]) -> [[[f64; _]; _]; _] {
///     conv2d(x, build((1, c, 2, 2), |_, _, _, _| 1.0), 2, 0)
/// }
///
/// let x = array![[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]];
/// assert_eq!(blocks(&x), array![[[14.0, 22.0]]]);
/// ```
#[kernel]
pub fn conv2d<T: Float>(
    x: [[[T; w]; h]; c],
    k: [[[[T; kw]; kh]; c]; o],
    stride: usize,
    padding: usize,
) -> [[[T; _]; _]; o] {
    let rows = places(h + 2 * padding, kh, stride);
    let columns = places(w + 2 * padding, kw, stride);
    let seen = build((c, kh, kw, rows, columns), |f, a, b, i, j| {
        let (y, z) = (i * stride + a - padding, j * stride + b - padding);
        if y >= 0 && y < h && z >= 0 && z < w { x[f][y][z] } else { 0.0 }
    });
    einsum!("ocab,cabij->oij", k, seen)
}

/// `conv1d(x, k, stride, padding)`: the same along a line: `x` has a row for each channel, the result one for each filter.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::conv1d;
///
/// #[kernel]
/// fn slopes(x: [[f64; w]; 1]) -> [[f64; _]; _] {
///     conv1d(x, [[[-1.0, 1.0]]], 1, 0)
/// }
///
/// assert_eq!(slopes(&array![[1.0, 4.0, 9.0]]), array![[3.0, 5.0]]);
/// ```
#[kernel]
pub fn conv1d<T: Float>(x: [[T; w]; c], k: [[[T; kw]; c]; o], stride: usize, padding: usize) -> [[T; _]; o] {
    let columns = places(w + 2 * padding, kw, stride);
    let seen = build((c, kw, columns), |f, b, j| {
        let z = j * stride + b - padding;
        if z >= 0 && z < w { x[f][z] } else { 0.0 }
    });
    einsum!("ocb,cbj->oj", k, seen)
}

/// `conv2d_transpose(x, k, stride, padding)`: what goes back through `conv2d` with these filters: each element of image `o` of `x`
/// adds `k[o]` times itself to the images of the result at the place that it was computed from.
///
/// The result has `(h - 1) * stride + kh - 2 * padding` rows, and columns likewise: those that are read for such an `x`. Cost: that
/// of a `conv2d` on an image of the size of the result, with all its zeros.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::conv2d_transpose;
///
/// #[kernel]
/// fn enlarged(x: [[[f64; w]; h]; 1]) -> [[[f64; _]; _]; _] {
///     conv2d_transpose(x, [[[[1.0, 1.0]]]], 2, 0)
/// }
///
/// assert_eq!(enlarged(&array![[[1.0, 2.0]]]), array![[[1.0, 1.0, 2.0, 2.0]]]);
/// ```
#[kernel]
pub fn conv2d_transpose<T: Float>(
    x: [[[T; w]; h]; o],
    k: [[[[T; kw]; kh]; c]; o],
    stride: usize,
    padding: usize,
) -> [[[T; _]; _]; c] {
    let rows = max((h - 1) * stride + kh - 2 * padding, 0);
    let columns = max((w - 1) * stride + kw - 2 * padding, 0);
    let seen = build((o, kh, kw, rows, columns), |f, a, b, i, j| {
        let (y, z) = (i + padding - a, j + padding - b);
        let inside = y >= 0 && z >= 0 && y < h * stride && z < w * stride;
        if inside && y % stride == 0 && z % stride == 0 { x[f][y / stride][z / stride] } else { 0.0 }
    });
    einsum!("ocab,oabij->cij", k, seen)
}

/// `max_pool2d(x, size, stride)`: the largest element of each square of `size` by `size`, one at every `stride`-th row and column.
///
/// The result has `(h - size) / stride + 1` rows, rounded down, and columns likewise; where no square fits, it is empty. Of equal
/// elements the first one has the derivative. Images of several channels are mapped over. Cost: a pass for each element of a
/// square.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::max_pool2d;
///
/// #[kernel]
/// fn halved(x: [[f64; w]; h]) -> [[f64; _]; _] {
///     max_pool2d(x, 2, 2)
/// }
///
/// assert_eq!(halved(&array![[1.0, 2.0, 9.0], [4.0, 3.0, 9.0]]), array![[4.0]]);
/// ```
#[kernel]
pub fn max_pool2d<T: Float>(x: [[T; w]; h], size: usize, stride: usize) -> [[T; _]; _] {
    pooled(|square| maximum(square), x, size, stride)
}

/// `avg_pool2d(x, size, stride)`: the mean of each square, as `max_pool2d` has the largest.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::avg_pool2d;
///
/// #[kernel]
/// fn halved(x: [[f64; w]; h]) -> [[f64; _]; _] {
///     avg_pool2d(x, 2, 2)
/// }
///
/// assert_eq!(halved(&array![[1.0, 2.0, 9.0], [4.0, 3.0, 9.0]]), array![[2.5]]);
/// ```
#[kernel]
pub fn avg_pool2d<T: Float>(x: [[T; w]; h], size: usize, stride: usize) -> [[T; _]; _] {
    pooled(|square| mean(square), x, size, stride)
}

/// `f` of the elements of each square.
#[kernel]
fn pooled<T: Float>(f: impl Fn([T; _]) -> T, x: [[T; w]; h], size: usize, stride: usize) -> [[T; _]; _] {
    let rows = places(h, size, stride);
    let columns = places(w, size, stride);
    build((rows, columns), |i, j| f(flatten(build((size, size), |a, b| x[i * stride + a][j * stride + b]))))
}

/// `upsample(x, factor)`: every element as a square of `factor` by `factor`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::upsample;
///
/// #[kernel]
/// fn doubled(x: [[f64; w]; h]) -> [[f64; 2 * w]; 2 * h] {
///     upsample(x, 2)
/// }
///
/// assert_eq!(doubled(&array![[1.0, 2.0]]), array![[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]);
/// ```
#[kernel]
pub fn upsample<T: Float>(x: [[T; w]; h], factor: usize) -> [[T; factor * w]; factor * h] {
    build((factor * h, factor * w), |i, j| x[i / factor][j / factor])
}
