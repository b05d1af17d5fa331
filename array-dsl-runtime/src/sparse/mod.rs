//! Jacobians and Hessians that are mostly zeros: a product for each color of their pattern instead of one for each column.
//!
//! | file | subject |
//! |---|---|
//! | `pattern` | where entries may be |
//! | `coloring` | which columns are taken together, and where entries are then found |
//! | `mod` | kernels: products with the seeds, one color after the other |

mod coloring;
mod pattern;

use std::ops::Deref;
use std::sync::Arc;

use ndarray::Array2;

pub use coloring::{Coloring, Side};
pub use pattern::Sparsity;

use crate::Error;
use crate::directional::{Directional, Flat, HasSparseHessian, Visit};

/// A matrix as a list of its entries, row by row, in each row by columns: coordinate form, and with
/// [`row_starts`](SparseMatrix::row_starts) also compressed rows (CSR).
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix {
    /// The numbers of rows and columns.
    pub shape: (usize, usize),
    /// The row of each entry.
    pub rows: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<usize>,
    /// The entries. Those of f32 are exact.
    pub values: Vec<f64>,
    /// Where each row begins among the entries, and where the last one ends.
    pub row_starts: Vec<usize>,
}

impl SparseMatrix {
    fn zeros(pattern: &Sparsity) -> SparseMatrix {
        let (rows, columns) = pattern.iter().unzip();
        SparseMatrix {
            shape: (pattern.rows(), pattern.columns()),
            rows,
            columns,
            values: vec![0.0; pattern.len()],
            row_starts: pattern.row_starts().to_vec(),
        }
    }

    /// With its zeros.
    pub fn to_dense(&self) -> Array2<f64> {
        let mut dense = Array2::zeros(self.shape);
        for ((i, j), value) in self.rows.iter().zip(&self.columns).zip(&self.values) {
            dense[[*i, *j]] = *value;
        }
        dense
    }
}

/// The Jacobian of a kernel whose zeros are known: `sparse_jacobian(f, &pattern)(args..)`. Rows are the entries of all float
/// results in order, columns those of all differentiable arguments, each in row-major order. There are as many
/// executions of `jvp(f)` (or of `vjp(f)`, if that takes fewer) as the pattern has colors: three for a
/// tridiagonal matrix of any size.
///
/// The coloring is made once, so keep the value where the Jacobian is taken at many points. A call panics with the error's
/// message; [`run`](SparseDerivative::run) returns it.
///
/// **The pattern is believed**: where it lacks a place that is not zero, other entries are wrong.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl::{Sparsity, sparse_jacobian};
/// use ndarray::Array1;
///
/// #[kernel]
/// fn residual(u: [f64; n]) -> [f64; n] {
///     build(n, |i| {
///         let left = if i > 0 { u[i - 1] } else { 0.0 };
///         let right = if i + 1 < n { u[i + 1] } else { 0.0 };
///         left - 2.0 * u[i] + right + u[i] * u[i]
///     })
/// }
///
/// let jacobian = sparse_jacobian(residual, &Sparsity::banded(1000, 1000, 1, 1));
/// assert_eq!(jacobian.colors(), 3);
/// let j = jacobian(&Array1::ones(1000));
/// assert_eq!((j.rows[0], j.columns[0], j.values[0]), (0, 0, 0.0));
/// assert_eq!((j.rows[1], j.columns[1], j.values[1]), (0, 1, 1.0));
/// assert_eq!(j.values.len(), 2998);
/// ```
#[must_use]
pub fn sparse_jacobian<F: Directional>(_: F, pattern: &Sparsity) -> SparseDerivative<F> {
    SparseDerivative::new(Coloring::smaller(pattern), |coloring, args| F::visit(args, Products(coloring)))
}

/// The Hessian of a kernel whose value is one float, and whose zeros are known: `sparse_hessian(f, &pattern)(args..)`. Rows and
/// columns are the entries of all differentiable arguments in order, each in row-major order; places on one side of the
/// diagonal are enough. There are as many executions of `hvp(f)`, which `#[kernel(hvp)]` asks for, as the pattern has
/// colors: two where one variable meets all others. As for [`sparse_jacobian`], the pattern is believed.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl::{Sparsity, sparse_hessian};
/// use ndarray::array;
///
/// #[kernel(hvp)]
/// fn chain(x: [f64; n]) -> f64 {
///     build(n - 1, |i| x[i] * x[i + 1] * x[i + 1]).sum()
/// }
///
/// let hessian = sparse_hessian(chain, &Sparsity::banded(4, 4, 0, 1));
/// let h = hessian(&array![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(h.rows, [0, 0, 1, 1, 2, 2, 3]);
/// assert_eq!(h.columns, [0, 1, 1, 2, 2, 3, 3]);
/// assert_eq!(h.values, [0.0, 4.0, 2.0, 6.0, 4.0, 8.0, 6.0]);
/// ```
#[must_use]
pub fn sparse_hessian<F: HasSparseHessian>(_: F, pattern: &Sparsity) -> SparseDerivative<F> {
    SparseDerivative::new(Coloring::symmetric(pattern), |coloring, args| F::products(coloring, args))
}

/// A kernel's derivative as a sparse matrix: callable like the kernel. See [`sparse_jacobian`] and [`sparse_hessian`].
pub struct SparseDerivative<F: Directional> {
    coloring: Arc<Coloring>,
    evaluate: Evaluate<F>,
    call: Box<F::SparseCall>,
}

/// The matrix at some arguments.
type Evaluate<F> = for<'a> fn(&Coloring, <F as crate::host::Kernel>::Args<'a>) -> Result<SparseMatrix, Error>;

impl<F: Directional> SparseDerivative<F> {
    fn new(coloring: Coloring, evaluate: Evaluate<F>) -> SparseDerivative<F> {
        let coloring = Arc::new(coloring);
        let shared = coloring.clone();
        let call = F::sparse_call(Box::new(move |args| evaluate(&shared, args)));
        SparseDerivative { coloring, evaluate, call }
    }

    /// The matrix at these arguments, in a tuple (one argument: `(&x,)`).
    ///
    /// # Errors
    /// [`Error::PatternShape`] if the pattern has another shape than the matrix; those of running the kernel.
    pub fn run(&self, args: F::Args<'_>) -> Result<SparseMatrix, Error> {
        (self.evaluate)(&self.coloring, args)
    }

    /// How many products with seeds a matrix takes.
    pub fn colors(&self) -> usize {
        self.coloring.colors()
    }

    /// Which directions are taken together.
    pub fn coloring(&self) -> &Coloring {
        &self.coloring
    }
}

impl<F: Directional> Deref for SparseDerivative<F> {
    type Target = F::SparseCall;
    fn deref(&self) -> &F::SparseCall {
        &self.call
    }
}

/// The Jacobian of a kernel, from what is known of it.
struct Products<'a>(&'a Coloring);

impl Visit for Products<'_> {
    type Output = SparseMatrix;
    fn visit<A: Flat, Y: Flat>(
        self,
        kernel: &'static str,
        _: &[&'static str],
        at: &A,
        value: impl Fn(&A) -> Result<Y, Error>,
        vjp: impl Fn(&A, &Y) -> Result<A, Error>,
        jvp: impl Fn(&A, &A) -> Result<Y, Error>,
    ) -> Result<SparseMatrix, Error> {
        let Products(coloring) = self;
        // The numbers of rows and columns are known before any product is computed.
        let results = value(at)?;
        let found = (length(&results), length(at));
        fits(kernel, "Jacobian", coloring, found)?;
        match coloring.side() {
            Side::Columns => products(kernel, coloring, at, |t| jvp(at, t)),
            Side::Rows => products(kernel, coloring, &results, |c| vjp(at, c)),
        }
    }
}

/// The Hessian of a kernel, from its products; generated code calls this.
///
/// # Errors
/// See [`SparseDerivative::run`].
#[doc(hidden)]
pub fn hessian<A: Flat>(
    kernel: &'static str,
    coloring: &Coloring,
    at: &A,
    hvp: impl Fn(&A) -> Result<A, Error>,
) -> Result<SparseMatrix, Error> {
    fits(kernel, "Hessian", coloring, (length(at), length(at)))?;
    products(kernel, coloring, at, hvp)
}

fn length<T: Flat>(x: &T) -> usize {
    x.lists().iter().map(Vec::len).sum()
}

fn fits(
    kernel: &'static str,
    matrix: &'static str,
    coloring: &Coloring,
    expected: (usize, usize),
) -> Result<(), Error> {
    let found = (coloring.pattern().rows(), coloring.pattern().columns());
    if found == expected {
        return Ok(());
    }
    Err(Error::PatternShape { kernel, matrix, expected, found })
}

/// The matrix from its product with each seed; seeds are like `like`.
fn products<S: Flat, P: Flat>(
    kernel: &'static str,
    coloring: &Coloring,
    like: &S,
    product: impl Fn(&S) -> Result<P, Error>,
) -> Result<SparseMatrix, Error> {
    let other_length = || Error::Internal {
        kernel,
        message: "a seed or a product of a sparse matrix has another length".into(),
    };
    let mut matrix = SparseMatrix::zeros(coloring.pattern());
    let lengths: Vec<usize> = like.lists().iter().map(Vec::len).collect();
    for color in 0..coloring.colors() {
        let seed = coloring.seed(color);
        let mut rest = seed.as_slice();
        let mut lists = lengths.iter().map_while(|n| {
            let (list, after) = rest.split_at_checked(*n)?;
            rest = after;
            Some(list.to_vec())
        });
        let seed = like.with(&mut lists).ok_or_else(other_length)?;
        let found = product(&seed)?.lists().concat();
        coloring.read(color, &found, &mut matrix).ok_or_else(other_length)?;
    }
    Ok(matrix)
}
