//! Systems of linear equations, inverses and determinants.

use super::factors::{lu, qr};
use super::triangular::{identity, solve_upper};
use crate::prelude::*;

/// `solve(a, b)`: the vector `x` with `a x = b`.
///
/// Of a singular matrix it is not finite. Cost: 2 n^3 / 3 operations, by `lu`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::solve;
///
/// #[kernel]
/// fn solution(a: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
///     solve(a, b)
/// }
///
/// assert_eq!(solution(&array![[0.0, 2.0], [4.0, 0.0]], &array![6.0, 8.0]), array![2.0, 3.0]);
/// ```
#[kernel]
pub fn solve<T: Float>(a: [[T; n]; n], b: [T; n]) -> [T; n] {
    let (m, rows, _) = lu(a);
    let mut x = gather(b, rows);
    for i in 0..n {
        for j in 0..i {
            x[i] -= m[i][j] * x[j];
        }
    }
    solve_upper(m, x)
}

/// `solve_matrix(a, b)`: the matrix `x` with `a x = b`, whose columns are the solutions for the columns of `b`.
///
/// Cost: 2 n^3 / 3 operations, and 2 n^2 for each column.
#[kernel]
pub fn solve_matrix<T: Float>(a: [[T; n]; n], b: [[T; k]; n]) -> [[T; k]; n] {
    let (m, rows, _) = lu(a);
    let mut x = gather(b, rows);
    for i in 0..n {
        for c in 0..k {
            let mut s = x[i][c];
            for j in 0..i {
                s -= m[i][j] * x[j][c];
            }
            x[i][c] = s;
        }
    }
    for i in (0..n).rev() {
        for c in 0..k {
            let mut s = x[i][c];
            for j in i + 1..n {
                s -= m[i][j] * x[j][c];
            }
            x[i][c] = s / m[i][i];
        }
    }
    x
}

/// `inverse(a)`: the matrix whose product with `a` is the identity; not finite if there is none.
///
/// Cost: 8 n^3 / 3 operations. To solve equations `solve` is faster and more accurate.
#[kernel]
pub fn inverse<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    solve_matrix(a, identity(a))
}

/// `det(a)`: the determinant; 1 of a matrix without rows.
///
/// Cost: 2 n^3 / 3 operations, by `lu`. Of a singular matrix it is 0 or NaN, and has no derivative.
#[kernel]
pub fn det<T: Float>(a: [[T; n]; n]) -> T {
    let (m, _, sign) = lu(a);
    sign * prod(build(n, |i| m[i][i]))
}

/// `slogdet(a)`: the sign of the determinant, and the logarithm of its size, which large matrices' determinants themselves are too
/// large or too small for.
#[kernel]
pub fn slogdet<T: Float>(a: [[T; n]; n]) -> (T, T) {
    let (m, _, sign) = lu(a);
    (sign * prod(build(n, |i| signum(m[i][i]))), sum(build(n, |i| ln(abs(m[i][i])))))
}

/// `logdet(a)`: the logarithm of the size of the determinant: `slogdet` without the sign. Its gradient is the transposed inverse.
#[kernel]
pub fn logdet<T: Float>(a: [[T; n]; n]) -> T {
    let (m, _, _) = lu(a);
    sum(build(n, |i| ln(abs(m[i][i]))))
}

/// `lstsq(a, b)`: the vector `x` for which the sum of the squares of `a x - b` is least.
///
/// For `a` with at least as many rows as columns, which are independent; where they are not, it is not finite. Cost: 8 m n^2
/// operations, by `qr`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::lstsq;
///
/// /// The straight line through points.
/// #[kernel]
/// fn line(x: [f64; m], y: [f64; m]) -> [f64; 2] {
///     lstsq(map(|x| [1.0, x], x), y)
/// }
///
/// let fitted = line(&array![0.0, 1.0, 2.0], &array![1.0, 3.0, 5.0]);
/// assert!((fitted - array![1.0, 2.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn lstsq<T: Float>(a: [[T; n]; m], b: [T; m]) -> [T; n] {
    let (q, r) = qr(a);
    solve_upper(r, matvec(transpose(q), b))
}
