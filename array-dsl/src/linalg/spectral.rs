//! Eigenvalues and singular values.
//!
//! The vectors are found by rotations (Jacobi's method), which are not differentiated. Two steps of Newton's method follow, which are, and
//! which change nothing but the derivatives: with `x` the vectors as columns,
//!
//! ```text
//! r = 1 - xᵀ x;   s = xᵀ a x;   λ_i = s_ii / (1 - r_ii)
//! e_ij = (s_ij + λ_j r_ij) / (λ_j - λ_i),   r_ij / 2 where λ_i and λ_j are equal to rounding;   x' = x + x e
//! ```
//!
//! Each step doubles the number of derivatives that are right: one gives the first, two those to the third order. Source: Ogita and
//! Aishima, *Iterative refinement for symmetric eigenvalue decomposition*, 2018; derivatives of iterations by a step at the solution:
//! Griewank and Walther, *Evaluating Derivatives*, 15.

use crate::prelude::*;

/// `eigh(a)`: `(values, vectors)`, the eigenvalues of a symmetric matrix in ascending order, and the vectors of length one as columns.
///
/// Of a matrix that is not symmetric it is that of `(a + aᵀ) / 2`. The sign of a vector is not determined: its largest element is
/// positive. **Equal eigenvalues** determine a space and no vectors; derivatives of the vectors within that space are zero, which is
/// right for all that does not depend on the choice of the vectors, such as sums over equal eigenvalues. Derivatives are right to the third
/// order. Cost: some 8 sweeps of 6 n^3 operations.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::eigh;
///
/// #[kernel]
/// fn largest(a: [[f64; n]; n]) -> f64 {
///     let (values, _) = eigh(a);
///     values[n - 1]
/// }
///
/// let a = array![[2.0, 1.0], [1.0, 2.0]];
/// assert!((largest(&a) - 3.0).abs() < 1e-14);
/// // The vector of the largest, times itself.
/// assert!((grad(largest)(&a) - 0.5).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn eigh<T: Float>(a: [[T; n]; n]) -> ([T; n], [[T; n]; n]) {
    let b = 0.5 * (a + transpose(a));
    let x = eigenvectors(stop_gradient(b));
    let y = with_derivatives(b, x);
    (build(n, |i| dot(y[i], matvec(b, y[i])) / dot(y[i], y[i])), transpose(y))
}

/// `svd(a)`: `(u, values, v)` with `a = u diag(values) vᵀ`: the singular values in descending order, the vectors of length one as
/// columns.
///
/// For `a` with at least as many rows as columns. By rotations of the columns (one-sided Jacobi), so that small values are as accurate
/// as large ones. The sign of a vector is not determined: the largest element of each column of `v` is positive. Of equal values
/// what `eigh` says holds; a column of `u` for the value zero is not finite. Derivatives are right to the third order.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::svd;
///
/// #[kernel]
/// fn values(a: [[f64; n]; m]) -> [f64; n] {
///     let (_, s, _) = svd(a);
///     s
/// }
///
/// let s = values(&array![[3.0, 0.0], [0.0, -2.0], [0.0, 0.0]]);
/// assert!((s - array![3.0, 2.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn svd<T: Float>(a: [[T; n]; m]) -> ([[T; n]; m], [T; n], [[T; n]; n]) {
    let x = right_vectors(stop_gradient(a));
    let y = with_derivatives(matmul(transpose(a), a), x);
    // The columns of `a v`, as rows.
    let w = matmul(y, transpose(a));
    let s = map(|r| sqrt(dot(r, r)), w);
    (build((m, n), |i, j| w[j][i] / s[j]), s, transpose(y))
}

/// The eigenvectors of a symmetric matrix as rows, in ascending order of their values, with the largest element positive.
#[kernel]
fn eigenvectors<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    let mut m = a;
    let mut x = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
    let mut sweeps = 0;
    let mut turned = true;
    while turned && sweeps < 60 {
        turned = false;
        sweeps += 1;
        for p in 0..n {
            for q in p + 1..n {
                let (mp, mq, mpq) = (m[p][p], m[q][q], m[p][q]);
                // What adds nothing to either diagonal element is zero.
                if abs(mp) + abs(mpq) != abs(mp) || abs(mq) + abs(mpq) != abs(mq) {
                    turned = true;
                    let (c, s) = turn(mp, mq, mpq);
                    m = rows_turned(m, p, q, c, s);
                    for i in 0..n {
                        let (u, v) = (m[i][p], m[i][q]);
                        m[i][p] = c * u - s * v;
                        m[i][q] = s * u + c * v;
                    }
                    m[p][q] = 0.0;
                    m[q][p] = 0.0;
                    x = rows_turned(x, p, q, c, s);
                }
            }
        }
    }
    let order = argsort(build(n, |i| m[i][i]));
    with_signs(gather(x, order))
}

/// The right singular vectors of a matrix as rows, in descending order of their values, with the largest element positive.
#[kernel]
fn right_vectors<T: Float>(a: [[T; n]; m]) -> [[T; n]; n] {
    // Its columns, as rows.
    let mut w = transpose(a);
    let mut x = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
    let mut sweeps = 0;
    let mut turned = true;
    while turned && sweeps < 60 {
        turned = false;
        sweeps += 1;
        for p in 0..n {
            for q in p + 1..n {
                let (wp, wq, wpq) = (dot(w[p], w[p]), dot(w[q], w[q]), dot(w[p], w[q]));
                // The cosine of their angle is zero to rounding.
                let size = sqrt(wp) * sqrt(wq);
                if size + 0.25 * abs(wpq) != size {
                    turned = true;
                    let (c, s) = turn(wp, wq, wpq);
                    w = rows_turned(w, p, q, c, s);
                    x = rows_turned(x, p, q, c, s);
                }
            }
        }
    }
    let order = argsort(map(|r| -dot(r, r), w));
    with_signs(gather(x, order))
}

/// The cosine and the sine of the smaller turn that makes the matrix of `p`, `pq`, `pq` and `q` diagonal (Golub and Van Loan, 8.5).
#[kernel]
fn turn<T: Float>(p: T, q: T, pq: T) -> (T, T) {
    let tau = (q - p) / (2.0 * pq);
    let t = (if tau < 0.0 { -1.0 } else { 1.0 }) / (abs(tau) + sqrt(1.0 + tau * tau));
    let c = 1.0 / sqrt(1.0 + t * t);
    (c, t * c)
}

/// A matrix with rows `p` and `q` turned by this.
#[kernel]
fn rows_turned<T: Float>(a: [[T; m]; n], p: i64, q: i64, c: T, s: T) -> [[T; m]; n] {
    let mut x = a;
    for i in 0..m {
        let (u, v) = (x[p][i], x[q][i]);
        x[p][i] = c * u - s * v;
        x[q][i] = s * u + c * v;
    }
    x
}

/// Vectors, as rows, each with the sign by which its largest element is positive.
#[kernel]
fn with_signs<T: Float>(x: [[T; n]; n]) -> [[T; n]; n] {
    map(|r| r * (if r[argmax(abs(r))] < 0.0 { -1.0 } else { 1.0 }), x)
}

/// The eigenvectors `x` of a symmetric matrix, as rows, with their derivatives: see the head of this file.
#[kernel]
fn with_derivatives<T: Float>(a: [[T; n]; n], x: [[T; n]; n]) -> [[T; n]; n] {
    let y = refined(a, refined(a, x));
    x + (y - stop_gradient(y))
}

/// A step of Newton's method.
#[kernel]
fn refined<T: Float>(a: [[T; n]; n], x: [[T; n]; n]) -> [[T; n]; n] {
    let s = matmul(matmul(x, a), transpose(x));
    let g = matmul(x, transpose(x));
    let values = build(n, |i| s[i][i] / g[i][i]);
    // Of constants alone it would be a question about `f64`.
    let one: T = 1.0;
    let rounding = if one + 1e-10 == one { 1.2e-7 } else { 2.3e-16 };
    let least = 64.0 * rounding * stop_gradient(reduce(|x, y| max(x, y), 0.0, abs(values)));
    // By row of the result.
    let e = build((n, n), |j, i| {
        let r = (if i == j { 1.0 } else { 0.0 }) - g[i][j];
        let gap = values[j] - values[i];
        let apart = abs(gap) > least;
        if i != j && apart { (s[i][j] + values[j] * r) / (if apart { gap } else { 1.0 }) } else { 0.5 * r }
    });
    x + matmul(e, x)
}
