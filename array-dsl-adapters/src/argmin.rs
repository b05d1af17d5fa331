//! Kernels as the problems of [`argmin`](::argmin).
//!
//! Parameters are `Vec<f64>` and matrices `Vec<Vec<f64>>`, which argmin's own arithmetic (the crate `argmin-math`) has for all
//! solvers that need no inverse: line searches, conjugate gradients, BFGS, trust regions, Newton-CG. Its arithmetic of ndarray is that of an
//! older version of ndarray.

use ::argmin::core::{CostFunction, Error, Gradient, Hessian, Operator};
use array_dsl::{HasGrad, HasHessian, Kernel};
use ndarray::{Array1, Array2, ArrayView1};

use crate::bound::OfVector;

/// A kernel `f(x: [f64; n], ..)` with its other arguments.
///
/// Whose value is one `f64` is a [`CostFunction`]; it is a [`Gradient`] too, and with `#[kernel(hessian)]` a [`Hessian`]. Whose value is
/// an array is an [`Operator`].
///
/// ```
/// use argmin::core::{Executor, State};
/// use argmin::solver::trustregion::{Steihaug, TrustRegion};
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::argmin::Problem;
/// use ndarray::array;
///
/// #[kernel(hessian)]
/// fn distance(x: [f64; n], #[no_grad] from: [f64; n]) -> f64 {
///     sum((x - from).powi(4) + (x - from).powi(2))
/// }
///
/// let from = array![1.0, -2.0, 3.0];
/// let found = Executor::new(Problem::new(distance, (&from,)), TrustRegion::new(Steihaug::new()))
///     .configure(|state| state.param(vec![0.0; 3]).max_iters(50))
///     .run()
///     .unwrap();
/// let best = found.state().get_best_param().unwrap();
/// assert!(best.iter().zip(&from).all(|(a, b)| (a - b).abs() < 1e-6));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Problem<K, B = ()> {
    kernel: K,
    bound: B,
}

impl<K: Kernel, B> Problem<K, B> {
    /// The kernel with the arguments after its first one.
    pub fn new(kernel: K, bound: B) -> Problem<K, B> {
        Problem { kernel, bound }
    }

    /// The kernel.
    pub fn kernel(&self) -> K {
        self.kernel
    }

    /// The arguments that are bound.
    pub fn bound(&self) -> &B {
        &self.bound
    }
}

impl<K: OfVector<B, f64>, B> CostFunction for Problem<K, B> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(K::at(&ArrayView1::from(x), &self.bound)?)
    }
}

impl<K: HasGrad, B> Gradient for Problem<K, B>
where
    K::Grad: OfVector<B, Array1<f64>>,
{
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(K::Grad::at(&ArrayView1::from(x), &self.bound)?.to_vec())
    }
}

impl<K: HasHessian, B> Hessian for Problem<K, B>
where
    K::Hessian: OfVector<B, Array2<f64>>,
{
    type Param = Vec<f64>;
    type Hessian = Vec<Vec<f64>>;

    fn hessian(&self, x: &Vec<f64>) -> Result<Vec<Vec<f64>>, Error> {
        let matrix = K::Hessian::at(&ArrayView1::from(x), &self.bound)?;
        Ok(matrix.rows().into_iter().map(|row| row.to_vec()).collect())
    }
}

impl<K: OfVector<B, Array1<f64>>, B> Operator for Problem<K, B> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(K::at(&ArrayView1::from(x), &self.bound)?.to_vec())
    }
}
