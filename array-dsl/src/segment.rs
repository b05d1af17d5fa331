//! Reductions of the elements that belong together, for kernels: sums, extremes, means and softmax by segment.
//!
//! ```
//! use array_dsl::prelude::*;
//! use array_dsl::segment::{segment_softmax, segment_sum};
//! use ndarray::array;
//!
//! /// For each node of a graph the mean of its neighbors' values, weighted by how well they fit.
//! #[kernel]
//! fn attended(value: [f64; n], score: [f64; e], from: [i64; e], to: [i64; e]) -> [f64; n] {
//!     segment_sum(segment_softmax(score, to, n) * gather(value, from), to, n)
//! }
//!
//! let (from, to) = (array![0, 1, 2], array![1, 2, 2]);
//! assert_eq!(attended(&array![2.0, 4.0, 8.0], &array![5.0, 1.0, 1.0], &from, &to), array![0.0, 2.0, 6.0]);
//! ```
//!
//! `segment[i]` is the number of the segment that element `i` belongs to, of `count` segments. The numbers need not be in order,
//! and a segment may be empty. An element whose number is outside `0..count` belongs to none: **reductions drop it**, as `hist`
//! does.
//!
//! All are generic kernels over `f32` and `f64`, with derivatives of both modes and of any order. Several vectors with the same
//! segments are the rows of a matrix: `segment_sum(rows, segment, count)` has a row of sums for each; where the vectors are
//! columns, transpose before and after. Cost: a pass over the elements.

use crate::prelude::*;

/// `segment_sum(x, segment, count)`: the sum of each segment; 0 of an empty one.
///
/// On GPUs the elements of a segment are added in no fixed order. The cotangent of an element is that of its segment, 0 if it has
/// none.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::segment::segment_sum;
///
/// #[kernel]
/// fn sums(x: [f64; n], segment: [i64; n]) -> [f64; 3] {
///     segment_sum(x, segment, 3)
/// }
///
/// // 7 is outside.
/// assert_eq!(sums(&array![1.0, 2.0, 4.0, 8.0], &array![2, 0, 2, 7]), array![2.0, 0.0, 5.0]);
/// ```
#[kernel]
pub fn segment_sum<T: Float>(x: [T; n], segment: [i64; n], count: usize) -> [T; count] {
    hist(add, 0.0, count, segment, x)
}

/// `segment_mean(x, segment, count)`: the mean of each segment; NaN of an empty one.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::segment::segment_mean;
///
/// #[kernel]
/// fn means(x: [f64; n], segment: [i64; n]) -> [f64; 2] {
///     segment_mean(x, segment, 2)
/// }
///
/// assert_eq!(means(&array![1.0, 2.0, 6.0], &array![1, 0, 1]), array![2.0, 3.5]);
/// ```
#[kernel]
pub fn segment_mean<T: Float>(x: [T; n], segment: [i64; n], count: usize) -> [T; count] {
    let (sums, sizes) = hist(|(s, n), (t, m)| (s + t, n + m), (0.0, 0), count, segment, (x, replicate(n, 1)));
    map(|s, n| s / (n as _), sums, sizes)
}

/// `segment_max(x, segment, count)`: the largest element of each segment; minus infinity of an empty one.
///
/// Of equal elements the first one has the derivative.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::segment::segment_max;
///
/// #[kernel]
/// fn tops(x: [f64; n], segment: [i64; n]) -> [f64; 2] {
///     segment_max(x, segment, 2)
/// }
///
/// assert_eq!(tops(&array![1.0, 2.0, 6.0], &array![1, 1, 1]), array![f64::NEG_INFINITY, 6.0]);
/// ```
#[kernel]
pub fn segment_max<T: Float>(x: [T; n], segment: [i64; n], count: usize) -> [T; count] {
    hist(max, -1.0 / 0.0, count, segment, x)
}

/// `segment_min(x, segment, count)`: the smallest element of each segment; infinity of an empty one.
///
/// Of equal elements the first one has the derivative.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::segment::segment_min;
///
/// #[kernel]
/// fn lowest(x: [f64; n], segment: [i64; n]) -> [f64; 2] {
///     segment_min(x, segment, 2)
/// }
///
/// assert_eq!(lowest(&array![1.0, 2.0, 6.0], &array![1, 1, 1]), array![f64::INFINITY, 1.0]);
/// ```
#[kernel]
pub fn segment_min<T: Float>(x: [T; n], segment: [i64; n], count: usize) -> [T; count] {
    hist(min, 1.0 / 0.0, count, segment, x)
}

/// `segment_softmax(x, segment, count)`: the exponential of each element as a share of its segment's, so that those of a segment
/// add up to 1. As many elements as `x` has.
///
/// The largest of a segment is subtracted first, so that nothing overflows. **A segment outside `0..count` is an error** here.
/// Cost: three passes.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::segment::segment_softmax;
///
/// #[kernel]
/// fn shares(x: [f64; n], segment: [i64; n]) -> [f64; n] {
///     segment_softmax(x, segment, 2)
/// }
///
/// assert_eq!(shares(&array![1000.0, 3.0, 1000.0], &array![1, 0, 1]), array![0.5, 1.0, 0.5]);
/// ```
#[kernel]
pub fn segment_softmax<T: Float>(x: [T; n], segment: [i64; n], count: usize) -> [T; n] {
    let top = stop_gradient(segment_max(x, segment, count));
    let e = build(n, |i| {
        let m = top[segment[i]];
        // All of a segment may be minus infinity.
        exp(x[i] - if m.is_finite() { m } else { 0.0 })
    });
    let sums = segment_sum(e, segment, count);
    build(n, |i| e[i] / sums[segment[i]])
}
