//! Triangular systems, and what is said of diagonals.

use crate::prelude::*;

/// `identity(a)`: the identity matrix with as many rows and columns as the square matrix `a` has.
#[kernel]
pub fn identity<T: Float>(_a: [[T; n]; n]) -> [[T; n]; n] {
    build((n, n), |i, j| if i == j { 1.0 } else { 0.0 })
}

/// `diagonal(a)`: the elements of a square matrix whose indices are equal.
#[kernel]
pub fn diagonal<T: Number>(a: [[T; n]; n]) -> [T; n] {
    build(n, |i| a[i][i])
}

/// `trace(a)`: their sum.
#[kernel]
pub fn trace<T: Number>(a: [[T; n]; n]) -> T {
    sum(build(n, |i| a[i][i]))
}

/// `solve_lower(l, b)`: the vector `x` with `l x = b`, where `l` is lower triangular; what is above its diagonal is not read.
///
/// Where the diagonal has a zero the result is not finite. Cost: n^2 operations.
#[kernel]
pub fn solve_lower<T: Float>(l: [[T; n]; n], b: [T; n]) -> [T; n] {
    let mut x = b;
    for i in 0..n {
        for j in 0..i {
            x[i] -= l[i][j] * x[j];
        }
        x[i] /= l[i][i];
    }
    x
}

/// `solve_upper(u, b)`: the vector `x` with `u x = b`, where `u` is upper triangular; what is below its diagonal is not read.
///
/// Where the diagonal has a zero the result is not finite. Cost: n^2 operations.
#[kernel]
pub fn solve_upper<T: Float>(u: [[T; n]; n], b: [T; n]) -> [T; n] {
    let mut x = b;
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= u[i][j] * x[j];
        }
        x[i] /= u[i][i];
    }
    x
}
