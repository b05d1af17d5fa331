//! Kernels as the problems of [`levenberg_marquardt`](::levenberg_marquardt), over dynamic vectors of nalgebra.

use std::sync::OnceLock;

use ::levenberg_marquardt::LeastSquaresProblem;
use array_dsl::{Error, HasJacobian};
use nalgebra::{DMatrix, DVector, Dyn, Owned};
use ndarray::{Array1, Array2, ArrayView1};

use crate::bound::OfVector;

/// Least squares of the residuals that a kernel `f(x: [f64; n], ..) -> [f64; m]` gives, with the Jacobian of `#[kernel(jacobian)]`.
///
/// An error of the kernel ends the minimization as `TerminationReason::User`; [`LeastSquares::error`] tells it.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::levenberg_marquardt::LeastSquares;
/// use levenberg_marquardt::LevenbergMarquardt;
/// use ndarray::array;
///
/// #[kernel(jacobian)]
/// fn decay(x: [f64; 2], #[no_grad] t: [f64; m], #[no_grad] y: [f64; m]) -> [f64; m] {
///     x[0] * exp(-x[1] * t) - y
/// }
///
/// let t = array![0.0, 1.0, 2.0, 3.0];
/// let y = t.mapv(|t: f64| 2.0 * (-0.5 * t).exp());
/// let problem = LeastSquares::new(decay, (t, y), vec![1.0, 1.0]);
/// let (found, report) = LevenbergMarquardt::new().minimize(problem);
/// assert!(report.termination.was_successful());
/// assert!((found.x()[0] - 2.0).abs() < 1e-8 && (found.x()[1] - 0.5).abs() < 1e-8);
/// ```
#[derive(Clone, Debug)]
pub struct LeastSquares<K, B = ()> {
    kernel: K,
    bound: B,
    x: DVector<f64>,
    /// The first that there was.
    error: OnceLock<Error>,
}

impl<K, B> LeastSquares<K, B>
where
    K: OfVector<B, Array1<f64>> + HasJacobian,
    K::Jacobian: OfVector<B, Array2<f64>>,
{
    /// The kernel with the arguments after its first one, and where the search begins.
    pub fn new(kernel: K, bound: B, x: Vec<f64>) -> LeastSquares<K, B> {
        LeastSquares { kernel, bound, x: x.into(), error: OnceLock::new() }
    }
}

impl<K: Copy, B> LeastSquares<K, B> {
    /// The kernel.
    pub fn kernel(&self) -> K {
        self.kernel
    }

    /// The parameters: after the minimization what it has found.
    pub fn x(&self) -> &[f64] {
        self.x.as_slice()
    }

    /// The first error of the kernel since it became a problem.
    pub fn error(&self) -> Option<&Error> {
        self.error.get()
    }

    /// A result, where there is one.
    fn noted<T>(&self, result: Result<T, Error>) -> Option<T> {
        // Only the first is kept.
        result.map_err(|error| self.error.set(error)).ok()
    }
}

impl<K, B> LeastSquaresProblem<f64, Dyn, Dyn> for LeastSquares<K, B>
where
    K: OfVector<B, Array1<f64>> + HasJacobian,
    K::Jacobian: OfVector<B, Array2<f64>>,
{
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, x: &DVector<f64>) {
        self.x.copy_from(x);
    }

    fn params(&self) -> DVector<f64> {
        self.x.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let residuals = self.noted(K::at(&ArrayView1::from(self.x()), &self.bound))?;
        Some(residuals.to_vec().into())
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let matrix = self.noted(K::Jacobian::at(&ArrayView1::from(self.x()), &self.bound))?;
        // Rows of ndarray are columns of nalgebra.
        Some(DMatrix::from_row_iterator(matrix.nrows(), matrix.ncols(), matrix.iter().copied()))
    }
}
