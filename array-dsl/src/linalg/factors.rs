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
/// let (lu, rows, sign) = factors(&array![[1.0, 2.0], [4.0, 4.0]]);
/// assert_eq!((lu, rows, sign), (array![[4.0, 4.0], [0.25, 1.0]], array![1, 0], -1.0));
/// ```
#[kernel]
pub fn lu<T: Float>(a: [[T; n]; n]) -> ([[T; n]; n], [i64; n], T) {
    let mut m = a;
    let mut rows = iota(n);
    let mut sign = 1.0;
    for k in 0..n {
        let mut best = k;
        for i in k + 1..n {
            if abs(m[i][k]) > abs(m[best][k]) {
                best = i;
            }
        }
        if best != k {
            sign = -sign;
        }
        let row = rows[k];
        rows[k] = rows[best];
        rows[best] = row;
        for j in 0..n {
            let x = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = x;
        }
        for i in k + 1..n {
            m[i][k] /= m[k][k];
            for j in k + 1..n {
                m[i][j] -= m[i][k] * m[k][j];
            }
        }
    }
    (m, rows, sign)
}

/// `qr(a)`: `(q, r)` with `q r = a`, where the columns of `q` are orthogonal and of length one, and `r` is upper triangular with a
/// diagonal that is not negative.
///
/// For `a` with at least as many rows as columns, which are independent; where they are not, some elements are not finite. By
/// Gram and Schmidt, each column made orthogonal twice, so that `qᵀ q` is the identity to a few roundings (Giraud and others, 2005).
/// Cost: 4 m n^2 operations.
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
    // Its columns, as rows.
    let mut q = transpose(a);
    let mut r = zeros((n, n));
    for j in 0..n {
        for _ in 0..2 {
            for k in 0..j {
                let c = dot(q[k], q[j]);
                r[k][j] += c;
                for i in 0..m {
                    q[j][i] -= c * q[k][i];
                }
            }
        }
        let length = sqrt(dot(q[j], q[j]));
        r[j][j] = length;
        for i in 0..m {
            q[j][i] /= length;
        }
    }
    (transpose(q), r)
}
