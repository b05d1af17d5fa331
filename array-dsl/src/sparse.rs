//! Products with sparse matrices, for kernels.
//!
//! ```
//! use array_dsl::prelude::*;
//! use array_dsl::sparse::csr_matvec;
//! use ndarray::array;
//!
//! /// How far `x` is from solving `a x = b`.
//! #[kernel]
//! fn off(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], x: [f64; n], b: [f64; m]) -> f64 {
//!     let r = csr_matvec(a, columns, starts, x) - b;
//!     dot(r, r)
//! }
//!
//! // [1 0 2]
//! // [0 3 0]
//! let (a, columns, starts) = (array![1.0, 2.0, 3.0], array![0, 2, 1], array![0, 2, 3]);
//! let (x, b) = (array![1.0, 1.0, 1.0], array![2.0, 3.0]);
//! assert_eq!(off(&a, &columns, &starts, &x, &b), 1.0);
//! let (da, dx, _) = grad(off)(&a, &columns, &starts, &x, &b);
//! assert_eq!((da, dx), (array![2.0, 2.0, 0.0], array![2.0, 0.0, 4.0]));
//! ```
//!
//! A matrix of `m` rows is given by **compressed rows** (CSR): the entries `values` row by row, the column of each in `columns`,
//! and in `starts`, of `m + 1` integers, where each row begins among them, and last where all end. A row's columns need not be in
//! order; entries at one place add up. The rows may leave entries out, at the beginning or the end, which then count as zero.
//! `array_dsl::sparse_jacobian` gives derivatives in this form.
//!
//! **What is not such a matrix**: a column, or a row's entry, outside of its array is the error that any such index is, which names the
//! line. Where `starts` falls, results mean nothing.
//!
//! All are generic kernels over `f32` and `f64`, with derivatives of both modes and of any order by `values` and by the dense
//! operand; that by `values` has an element for each entry and no more. Several vectors are the rows of a matrix,
//! `csr_matvec(values, columns, starts, rows)`. Cost: a multiplication for each entry, and for each column of a dense matrix; going
//! back some five times that.

use crate::prelude::*;

/// `csr_matvec(values, columns, starts, x)`: the product of the matrix with the vector `x`, an element for each row; 0 for an empty
/// one.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::sparse::csr_matvec;
///
/// #[kernel]
/// fn product(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], x: [f64; n]) -> [f64; m] {
///     csr_matvec(a, columns, starts, x)
/// }
///
/// let y = product(&array![1.0, 2.0, 3.0], &array![0, 2, 1], &array![0, 2, 2, 3], &array![1.0, 10.0, 100.0]);
/// assert_eq!(y, array![201.0, 0.0, 30.0]);
/// ```
#[kernel]
pub fn csr_matvec<T: Float>(values: [T; k], columns: [i64; k], starts: [i64; s], x: [T; n]) -> [T; s - 1] {
    build(s - 1, |i| {
        let mut sum = 0.0;
        for e in starts[i]..starts[i + 1] {
            sum += values[e] * x[columns[e]];
        }
        sum
    })
}

/// `csr_matmat(values, columns, starts, b)`: the product of the matrix with the dense matrix `b`, a row for each row.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::sparse::csr_matmat;
///
/// #[kernel]
/// fn product(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], b: [[f64; c]; n]) -> [[f64; c]; m] {
///     csr_matmat(a, columns, starts, b)
/// }
///
/// let y = product(&array![1.0, 2.0, 3.0], &array![0, 1, 1], &array![0, 2, 3], &array![[1.0, 2.0], [10.0, 20.0]]);
/// assert_eq!(y, array![[21.0, 42.0], [30.0, 60.0]]);
/// ```
#[kernel]
pub fn csr_matmat<T: Float>(
    values: [T; k],
    columns: [i64; k],
    starts: [i64; s],
    b: [[T; c]; n],
) -> [[T; c]; s - 1] {
    build((s - 1, c), |i, j| {
        let mut sum = 0.0;
        for e in starts[i]..starts[i + 1] {
            sum += values[e] * b[columns[e]][j];
        }
        sum
    })
}

/// `csr_transposed_matvec(values, columns, starts, y, n)`: the product of the transposed matrix, which has `n` rows, with the
/// vector `y`, an element for each column of the matrix.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::sparse::csr_transposed_matvec;
///
/// #[kernel]
/// fn product(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], y: [f64; m]) -> [f64; 3] {
///     csr_transposed_matvec(a, columns, starts, y, 3)
/// }
///
/// let x = product(&array![1.0, 2.0, 3.0], &array![0, 2, 0], &array![0, 2, 3], &array![1.0, 10.0]);
/// assert_eq!(x, array![31.0, 0.0, 2.0]);
/// ```
#[kernel]
pub fn csr_transposed_matvec<T: Float>(
    values: [T; k],
    columns: [i64; k],
    starts: [i64; m + 1],
    y: [T; m],
    n: usize,
) -> [T; n] {
    // The row of each entry, from -1 for what is before the first one.
    let rows = cumsum(hist(add, 0, k, starts, replicate(m + 1, 1))) - 1;
    let mut x = zeros(n);
    for e in 0..k {
        let row = rows[e];
        x[columns[e]] += if row >= 0 && row < m { values[e] * y[row] } else { 0.0 };
    }
    x
}
