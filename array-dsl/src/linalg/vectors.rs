//! Vectors.

use crate::prelude::*;

/// `norm(x)`: the length of a vector, the root of the sum of its squares.
///
/// The gradient is `x / norm(x)`, and zero where all elements are. Of no elements it is zero. Squares must not overflow: elements are
/// smaller than 1e154 (`f64`), 1e19 (`f32`). Cost: one pass.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::norm;
///
/// #[kernel]
/// fn distance(a: [f64; n], b: [f64; n]) -> f64 {
///     norm(a - b)
/// }
///
/// let (a, b) = (array![3.0, 0.0], array![0.0, 4.0]);
/// assert_eq!(distance(&a, &b), 5.0);
/// let (slope, _) = grad(distance)(&a, &b);
/// assert!((slope - array![0.6, -0.8]).iter().all(|d| d.abs() < 1e-15));
/// ```
#[kernel]
pub fn norm<T: Float>(x: [T; n]) -> T {
    let squares = dot(x, x);
    // The root has no slope at zero.
    if squares > 0.0 { sqrt(squares) } else { squares }
}

/// `cross(a, b)`: the vector that is orthogonal to both, as long as the parallelogram between them is large.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::cross;
///
/// /// The forces of a magnetic field on charges, by their velocities.
/// #[kernel]
/// fn forces(v: [[f64; 3]; n], field: [f64; 3]) -> [[f64; 3]; n] {
///     map(|v| cross(v, field), v)
/// }
///
/// assert_eq!(forces(&array![[1.0, 0.0, 0.0]], &array![0.0, 2.0, 0.0]), array![[0.0, 0.0, 2.0]]);
/// ```
#[kernel]
pub fn cross<T: Float>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    let [ax, ay, az] = a;
    let [bx, by, bz] = b;
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}
