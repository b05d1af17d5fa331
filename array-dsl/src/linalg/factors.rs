//! Matrices as products of triangular and orthogonal ones.

use crate::prelude::*;

/// `cholesky(a)`: the lower triangular `l` with `l lᵀ = a`, for a symmetric, positive definite matrix `a`.
///
/// Of a matrix that is not symmetric it is the factor of `(a + aᵀ) / 2`, so that gradients by `a` are symmetric. Where that is not
/// positive definite some elements are NaN. Cost: n^3 / 3 operations. Golub and Van Loan, *Matrix Computations*, 4.2.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::cholesky;
///
/// #[kernel]
/// fn factor(a: [[f64; n]; n]) -> [[f64; n]; n] {
///     cholesky(a)
/// }
///
/// assert_eq!(factor(&array![[4.0, 2.0], [2.0, 10.0]]), array![[2.0, 0.0], [1.0, 3.0]]);
/// ```
#[kernel]
pub fn cholesky<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    let mut l = build((n, n), |i, j| if j > i { 0.0 } else { 0.5 * (a[i][j] + a[j][i]) });
    for j in 0..n {
        for k in 0..j {
            l[j][j] -= l[j][k] * l[j][k];
        }
        l[j][j] = sqrt(l[j][j]);
        for i in j + 1..n {
            for k in 0..j {
                l[i][j] -= l[i][k] * l[j][k];
            }
            l[i][j] /= l[j][j];
        }
    }
    l
}

/// `lu(a)`: `(lu, rows, sign)`, the factors of the matrix whose i-th row is `a[rows[i]]`.
///
/// The upper triangle of `lu` is `u`, and below its diagonal stands `l`, whose own diagonal is all ones. `sign` is 1 or -1, the sign
/// of the permutation `rows`. Each pivot is the largest of what is left of its column; of equal ones it is the first. Where a pivot is
/// zero the matrix is singular, and what comes after it is not finite. Cost: 2 n^3 / 3 operations. Golub and Van Loan, 3.4.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::lu;
///
/// #[kernel]
/// fn factors(a: [[f64; n]; n]) -> ([[f64; n]; n], [i64; n], f64) {
///     lu(a)
/// }
///
/// let (both, rows, sign) = factors(&array![[1.0, 2.0], [4.0, 4.0]]);
/// assert_eq!((both, rows, sign), (array![[4.0, 4.0], [0.25, 1.0]], array![1, 0], -1.0));
/// ```
#[kernel]
pub fn lu<T: Float>(a: [[T; n]; n]) -> ([[T; n]; n], [i64; n], T) {
    // The rows of what is left of `a`, with those of `l`, and the columns of `u`: an element is written when it is known, once.
    let mut m = a;
    let mut u = zeros((n, n));
    let mut rows = iota(n);
    let mut sign = 1.0;
    for j in 0..n {
        for i in 0..j {
            let mut x = m[i][j];
            for k in 0..i {
                x -= m[i][k] * u[j][k];
            }
            u[j][i] = x;
        }
        for i in j..n {
            let mut x = m[i][j];
            for k in 0..j {
                x -= m[i][k] * u[j][k];
            }
            m[i][j] = x;
        }
        let mut best = j;
        for i in j + 1..n {
            if abs(m[i][j]) > abs(m[best][j]) {
                best = i;
            }
        }
        if best != j {
            sign = -sign;
        }
        let row = rows[j];
        rows[j] = rows[best];
        rows[best] = row;
        for k in 0..n {
            let x = m[j][k];
            m[j][k] = m[best][k];
            m[best][k] = x;
        }
        let pivot = m[j][j];
        u[j][j] = pivot;
        for i in j + 1..n {
            m[i][j] /= pivot;
        }
    }
    (build((n, n), |i, j| if i > j { m[i][j] } else { u[j][i] }), rows, sign)
}

/// `qr(a)`: `(q, r)` with `q r = a`, where the columns of `q` are orthogonal and of length one, and `r` is upper triangular with a
/// diagonal that is not negative.
///
/// For `a` with at least as many rows as columns, which are independent; where they are not, some elements are not finite. By
/// Gram and Schmidt, each column made orthogonal to those before twice, so that `qᵀ q` is the identity to a few roundings (Giraud and
/// others, 2005). Cost: 8 m n^2 operations.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::qr;
///
/// #[kernel]
/// fn factors(a: [[f64; n]; m]) -> ([[f64; n]; m], [[f64; n]; n]) {
///     qr(a)
/// }
///
/// let (q, r) = factors(&array![[3.0, 1.0], [4.0, 3.0]]);
/// assert!((q.dot(&r) - array![[3.0, 1.0], [4.0, 3.0]]).iter().all(|d| d.abs() < 1e-14));
/// assert!((q.t().dot(&q) - array![[1.0, 0.0], [0.0, 1.0]]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn qr<T: Float>(a: [[T; n]; m]) -> ([[T; n]; m], [[T; n]; n]) {
    // Its columns, as rows; those before the j-th are finished.
    let mut q = transpose(a);
    let mut r = zeros((n, n));
    for j in 0..n {
        let x = q[j];
        let c = build(n, |k| if k < j { dot(q[k], x) } else { 0.0 });
        let y = x - matvec(transpose(q), c);
        let d = build(n, |k| if k < j { dot(q[k], y) } else { 0.0 });
        let z = y - matvec(transpose(q), d);
        let length = sqrt(dot(z, z));
        for k in 0..n {
            r[k][j] = if k == j { length } else { c[k] + d[k] };
        }
        for i in 0..m {
            q[j][i] = z[i] / length;
        }
    }
    (transpose(q), r)
}
