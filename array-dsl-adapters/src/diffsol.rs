//! Kernels as right-hand sides of the differential equations that [`diffsol`](::diffsol) solves.
//!
//! A right-hand side is a kernel `f(x: [f64; n], p: [f64; m], #[no_grad] t: f64, ..) -> [f64; n]`: state, parameters and time in diffsol's
//! order, then what is bound. It has the products that diffsol's builder takes as closures, over matrices of any kind:
//!
//! | builder | closures |
//! |---|---|
//! | `rhs_implicit` | [`value`](Rhs::value), [`jacobian`](Rhs::jacobian) |
//! | `rhs_sens_implicit` | these and [`by_parameters`](Rhs::by_parameters) |
//! | `rhs_adjoint_implicit` | `value`, `jacobian`, [`adjoint`](Rhs::adjoint), [`adjoint_by_parameters`](Rhs::adjoint_by_parameters) |
//!
//! Of a sparse matrix diffsol finds the pattern by products with NaN, and colors it: a kernel's products keep to what each element is
//! computed from, so a stencil gives the pattern of a stencil.
//!
//! A closure cannot fail. **Where the kernel does, what it would give is NaN**, with which no step succeeds, and [`Rhs::error`] tells why.

use std::sync::{Arc, OnceLock};

use array_dsl::{Error, HasJvp, HasVjp, Kernel};
use ndarray::{Array1, ArrayRef1, ArrayView1};

use crate::bound::{Arguments, Gives};

/// A vector as an argument.
type Vector<'a> = &'a ArrayRef1<f64>;

/// What diffsol gives: state, parameters, time.
type Given<'a> = (Vector<'a>, Vector<'a>, f64);

/// A kernel `f(x, p, t, ..)` with its other arguments.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::diffsol::Rhs;
/// use diffsol::{NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod, OdeSolverState};
///
/// #[kernel]
/// fn logistic(x: [f64; n], p: [f64; 2], #[no_grad] _t: f64) -> [f64; n] {
///     p[0] * x * (1.0 - x / p[1])
/// }
///
/// let rhs = Rhs::new(logistic, ());
/// let problem = OdeBuilder::<NalgebraMat<f64>>::new()
///     .p([1.0, 10.0])
///     .rhs_implicit(rhs.value(), rhs.jacobian())
///     .init(|_, _, x| x.fill(0.1), 1)
///     .build()
///     .unwrap();
/// let mut solver = problem.bdf::<NalgebraLU<f64>>().unwrap();
/// let (x, _) = solver.solve_dense(&[1.0, 5.0]).unwrap();
/// let expected = 10.0 / (1.0 + 99.0 * (-5.0f64).exp());
/// assert!((x[(0, 1)] - expected).abs() < 1e-4 * expected);
/// assert!(rhs.error().is_none());
/// ```
#[derive(Debug)]
pub struct Rhs<K, B = ()> {
    kernel: K,
    /// Every closure has it.
    shared: Arc<Shared<B>>,
}

#[derive(Debug)]
struct Shared<B> {
    bound: B,
    /// The first that there was.
    error: OnceLock<Error>,
}

impl<K: Copy, B> Clone for Rhs<K, B> {
    fn clone(&self) -> Rhs<K, B> {
        Rhs { kernel: self.kernel, shared: self.shared.clone() }
    }
}

/// Kernels that are the right-hand side of a differential equation, with what is bound.
pub trait OfState<B>: Kernel {
    /// Runs it.
    ///
    /// # Errors
    /// Those of the kernel.
    fn derivative(given: Given<'_>, bound: &B) -> Result<Array1<f64>, Error>;
}

impl<K, B> OfState<B> for K
where
    K: Kernel,
    K::Output: Gives<Array1<f64>>,
    for<'a> K::Args<'a>: Arguments<'a, Given<'a>, B, ()>,
{
    fn derivative((x, p, t): Given<'_>, bound: &B) -> Result<Array1<f64>, Error> {
        K::run(Arguments::together((x, p, t), bound, ())).map(Gives::same)
    }
}

/// Those with products with the Jacobians by the state and the parameters.
pub trait HasTangents<B>: HasJvp {
    /// The sum of the products with directions of the state and of the parameters.
    ///
    /// # Errors
    /// Those of the kernel.
    fn tangent(given: Given<'_>, bound: &B, along: [Vector<'_>; 2]) -> Result<Array1<f64>, Error>;
}

impl<K, B> HasTangents<B> for K
where
    K: HasJvp,
    <K::Jvp as Kernel>::Output: Gives<(Array1<f64>, Array1<f64>)>,
    for<'a> <K::Jvp as Kernel>::Args<'a>: Arguments<'a, Given<'a>, B, (Vector<'a>, Vector<'a>)>,
{
    fn tangent((x, p, t): Given<'_>, bound: &B, [dx, dp]: [Vector<'_>; 2]) -> Result<Array1<f64>, Error> {
        Ok(K::Jvp::run(Arguments::together((x, p, t), bound, (dx, dp)))?.same().1)
    }
}

/// Those with products with the transposed Jacobians.
pub trait HasCotangents<B>: HasVjp {
    /// The products by the state and by the parameters.
    ///
    /// # Errors
    /// Those of the kernel.
    fn cotangents(
        given: Given<'_>,
        bound: &B,
        along: Vector<'_>,
    ) -> Result<(Array1<f64>, Array1<f64>), Error>;
}

impl<K, B> HasCotangents<B> for K
where
    K: HasVjp,
    <K::Vjp as Kernel>::Output: Gives<(Array1<f64>, (Array1<f64>, Array1<f64>))>,
    for<'a> <K::Vjp as Kernel>::Args<'a>: Arguments<'a, Given<'a>, B, (Vector<'a>,)>,
{
    fn cotangents(
        (x, p, t): Given<'_>,
        bound: &B,
        along: Vector<'_>,
    ) -> Result<(Array1<f64>, Array1<f64>), Error> {
        Ok(K::Vjp::run(Arguments::together((x, p, t), bound, (along,)))?.same().1)
    }
}

impl<K: OfState<B>, B> Rhs<K, B> {
    /// The kernel with the arguments after state, parameters and time.
    pub fn new(kernel: K, bound: B) -> Rhs<K, B> {
        Rhs { kernel, shared: Arc::new(Shared { bound, error: OnceLock::new() }) }
    }

    /// The kernel.
    pub fn kernel(&self) -> K {
        self.kernel
    }

    /// The first error of the kernel in any of the closures.
    pub fn error(&self) -> Option<&Error> {
        self.shared.error.get()
    }

    /// The derivative of the state by time.
    pub fn value(&self) -> impl Fn(&[f64], &[f64], f64, &mut [f64]) + use<K, B> {
        let shared = self.shared.clone();
        move |x, p, t, y| {
            let (x, p) = (ArrayView1::from(x), ArrayView1::from(p));
            shared.put(K::derivative((&x, &p, t), &shared.bound), y);
        }
    }

    /// The product of its Jacobian with a vector.
    pub fn jacobian(&self) -> impl Fn(&[f64], &[f64], f64, &[f64], &mut [f64]) + use<K, B>
    where
        K: HasTangents<B>,
    {
        self.shared
            .clone()
            .products(|given, bound, v| K::tangent(given, bound, [v, &Array1::zeros(given.1.len())]))
    }

    /// The product of its derivative by the parameters with a vector.
    pub fn by_parameters(&self) -> impl Fn(&[f64], &[f64], f64, &[f64], &mut [f64]) + use<K, B>
    where
        K: HasTangents<B>,
    {
        self.shared
            .clone()
            .products(|given, bound, v| K::tangent(given, bound, [&Array1::zeros(given.0.len()), v]))
    }

    /// The product of the transposed Jacobian with a vector, with the sign that diffsol has for it: `-J' v`.
    pub fn adjoint(&self) -> impl Fn(&[f64], &[f64], f64, &[f64], &mut [f64]) + use<K, B>
    where
        K: HasCotangents<B>,
    {
        self.shared
            .clone()
            .products(|given, bound, v| K::cotangents(given, bound, v).map(|(by_state, _)| -by_state))
    }

    /// The product of the transposed derivative by the parameters with a vector, with the same sign.
    pub fn adjoint_by_parameters(&self) -> impl Fn(&[f64], &[f64], f64, &[f64], &mut [f64]) + use<K, B>
    where
        K: HasCotangents<B>,
    {
        self.shared.clone().products(|given, bound, v| {
            K::cotangents(given, bound, v).map(|(_, by_parameters)| -by_parameters)
        })
    }
}

impl<B> Shared<B> {
    /// The closure of a product with a vector.
    fn products<F>(
        self: Arc<Self>,
        product: F,
    ) -> impl Fn(&[f64], &[f64], f64, &[f64], &mut [f64]) + use<B, F>
    where
        F: Fn(Given<'_>, &B, Vector<'_>) -> Result<Array1<f64>, Error>,
    {
        move |x, p, t, v, y| {
            let [x, p, v] = [x, p, v].map(ArrayView1::from);
            self.put(product((&x, &p, t), &self.bound, &v), y);
        }
    }

    /// Puts a result where diffsol wants it.
    fn put(&self, result: Result<Array1<f64>, Error>, to: &mut [f64]) {
        match result {
            Ok(found) if found.len() == to.len() => {
                to.iter_mut().zip(found).for_each(|(to, from)| *to = from);
            }
            Ok(_) => to.fill(f64::NAN),
            Err(error) => {
                to.fill(f64::NAN);
                // Only the first is kept.
                let _ = self.error.set(error);
            }
        }
    }
}
