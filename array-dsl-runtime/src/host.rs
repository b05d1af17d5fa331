//! The host interface: kernels as values, their derivatives, and running them on the CPU.
//!
//! A `#[kernel]` function is a unit struct that implements [`Kernel`]. It derefs to a plain `fn`, so it is called
//! by name. Derivatives are kernels again.

use crate::Error;
use crate::entry;
use crate::given::{Given, Reuse};
use crate::program::Signature;

/// A compiled function over arrays.
#[diagnostic::on_unimplemented(
    message = "[AD0012] `{Self}` is not a kernel",
    label = "expected a `#[kernel]` function",
    note = "put `#[kernel]` on its definition; of a generic kernel take one for an element type, `f.of::<f64>()`, and ask for it where it is defined: `#[kernel(f64)]`"
)]
pub trait Kernel: Copy + Default + 'static {
    /// The name, with that of the derivative around it: `grad(f)`.
    const NAME: &'static str;
    /// The parts of the text that [`Kernel::explain`] gives.
    #[doc(hidden)]
    const EXPLAIN: &'static [&'static str];
    /// The arguments: references to arrays, scalars by value, tuples of these.
    type Args<'a>: Copy;
    /// The result: owned arrays, scalars, tuples of these.
    type Output;

    /// Runs on all cores, the results in the memory that is given where it is large enough.
    #[doc(hidden)]
    fn run_with(args: Self::Args<'_>, given: Given) -> Result<Self::Output, Error>;

    /// The signature and the values of its sizes, for [`Kernel::shape`].
    #[doc(hidden)]
    fn sizes(args: Self::Args<'_>) -> Result<(&'static Signature, Vec<i64>), Error>;

    /// Runs on all cores.
    ///
    /// # Errors
    /// Sizes that do not fit, indices out of range, integer division by zero, memory that cannot be had.
    fn run(args: Self::Args<'_>) -> Result<Self::Output, Error> {
        Self::run_with(args, Given::default())
    }

    /// Runs on all cores and puts the result in the place of an earlier one, whose memory it takes: no memory is allocated for
    /// results that are not larger than those. Where sizes do not fit `out` stays as it is; after any other error its arrays are empty.
    ///
    /// # Errors
    /// As for a run.
    ///
    /// ```
    /// # use array_dsl::prelude::*;
    /// # use ndarray::array;
    /// #[kernel]
    /// fn step(x: [f64; n], v: [f64; n], dt: f64) -> ([f64; n], [f64; n]) {
    ///     (x + dt * v, v - dt * x)
    /// }
    ///
    /// let (mut now, mut next) = ((array![1.0], array![0.0]), (array![0.0], array![0.0]));
    /// for _ in 0..10 {
    ///     step.call_into((&now.0, &now.1, 0.1), &mut next).unwrap();
    ///     std::mem::swap(&mut now, &mut next);
    /// }
    /// assert!((now.0[0] - 1.0f64.cos()).abs() < 0.1);
    /// ```
    fn call_into(self, args: Self::Args<'_>, out: &mut Self::Output) -> Result<(), Error>
    where
        Self::Output: Reuse,
    {
        Self::sizes(args)?;
        let given = Given::by(out);
        *out = Self::run_with(args, given)?;
        Ok(())
    }

    /// The shape of each array of the result for these arguments, in order, without running the kernel; scalars have no
    /// dimensions, and `None` stands for a size that only data tell. What running checks besides the arguments' shapes is not
    /// checked.
    ///
    /// # Errors
    /// Sizes that do not fit.
    ///
    /// ```
    /// # use array_dsl::prelude::*;
    /// # use ndarray::Array2;
    /// #[kernel]
    /// fn f(a: [[f64; m]; n], b: [[f64; k]; m]) -> ([[f64; k]; n], f64, [f64; _]) {
    ///     let c = matmul(a, b);
    ///     (c, c.flatten().sum(), filter(|x| x > 0.0, c.flatten()))
    /// }
    ///
    /// let (a, b) = (Array2::zeros((2, 3)), Array2::zeros((3, 4)));
    /// assert_eq!(f.shape((&a, &b)).unwrap(), [vec![Some(2), Some(4)], vec![], vec![None]]);
    /// assert!(f.shape((&a, &a)).is_err());
    /// ```
    fn shape(self, args: Self::Args<'_>) -> Result<Vec<Vec<Option<usize>>>, Error> {
        let (signature, atoms) = Self::sizes(args)?;
        entry::results(signature, &atoms)
    }

    /// The text of the program after every stage, each section under a title between `==`: notes on what may not be meant, the
    /// typed program with what rank lifting inserted, the checks that remain and why, what each step on the CPU costs (operations, and
    /// bytes that are read and written, by sizes), the flat program, its loops, Rust, WGSL.
    ///
    /// ```
    /// # use array_dsl::prelude::*;
    /// #[kernel]
    /// fn steps(x: [f64; n]) -> f64 {
    ///     let whole = x.floor();
    ///     whole.sum()
    /// }
    ///
    /// let text = steps.explain();
    /// assert!(text.contains("the gradient by `x` is zero"));
    /// println!("{text}");
    /// ```
    fn explain(self) -> String {
        Self::EXPLAIN.concat()
    }
}

/// Generic kernels that are made for the element type `T`.
///
/// ```
/// # use array_dsl::prelude::*;
/// #[kernel(f32, f64)]
/// fn leaky<T: Float>(x: T) -> T {
///     if x > 0.0 { x } else { 0.1 * x }
/// }
///
/// assert_eq!(leaky.of::<f32>()(-2.0f32), -0.2);
/// assert_eq!(grad(leaky.of::<f64>())(3.0), 1.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "[AD0012] the generic kernel `{Self}` is not made for `{T}`",
    label = "not made for `{T}`",
    note = "ask for it where the kernel is defined: `#[kernel({T})]`"
)]
pub trait Instance<T> {
    /// The kernel for that type.
    type Kernel: Kernel;
}

/// Kernels with [`grad`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no gradient",
    label = "not a kernel with a gradient",
    note = "`grad` needs a `#[kernel]` function whose value is one f32 or f64, with a float argument that is not `#[no_grad]`; for array values use `vjp`; a `#[kernel(value)]` has only the derivatives that it names; where a gradient is too long to have one unasked, `#[kernel(hvp)]` and `hvp` give the second derivative"
)]
pub trait HasGrad: Kernel {
    /// The derived kernel.
    type Grad: Kernel;
}

/// Kernels with [`value_and_grad`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no gradient",
    label = "not a kernel with a gradient",
    note = "`value_and_grad` needs a `#[kernel]` function whose value is one f32 or f64, with a float argument that is not `#[no_grad]`; for array values use `vjp`; a `#[kernel(value)]` has only the derivatives that it names"
)]
pub trait HasValueAndGrad: Kernel {
    /// The derived kernel.
    type ValueAndGrad: Kernel;
}

/// Kernels with [`vjp`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no derivative",
    label = "not a kernel with a derivative",
    note = "`vjp` needs a `#[kernel]` function with a float in its value and a float argument that is not `#[no_grad]`; a `#[kernel(value)]` has only the derivatives that it names"
)]
pub trait HasVjp: Kernel {
    /// The derived kernel.
    type Vjp: Kernel;
}

/// Kernels with [`jvp`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no derivative",
    label = "not a kernel with a derivative",
    note = "`jvp` needs a `#[kernel]` function with a float in its value and a float argument that is not `#[no_grad]`; a `#[kernel(value)]` has only the derivatives that it names"
)]
pub trait HasJvp: Kernel {
    /// The derived kernel.
    type Jvp: Kernel;
}

/// Kernels with [`hvp`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no `hvp`",
    label = "not a kernel with `hvp`",
    note = "ask for it where the kernel is defined: `#[kernel(hvp)]`; the value must be one f32 or f64"
)]
pub trait HasHvp: Kernel {
    /// The derived kernel.
    type Hvp: Kernel;
}

/// Kernels with [`jacobian`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no `jacobian`",
    label = "not a kernel with `jacobian`",
    note = "ask for it where the kernel is defined: `#[kernel(jacobian)]`; it needs a float in its value and a float argument that is not `#[no_grad]`"
)]
pub trait HasJacobian: Kernel {
    /// The derived kernel.
    type Jacobian: Kernel;
}

/// Kernels with [`hessian`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no `hessian`",
    label = "not a kernel with `hessian`",
    note = "ask for it where the kernel is defined: `#[kernel(hessian)]`; the value must be one f32 or f64"
)]
pub trait HasHessian: Kernel {
    /// The derived kernel.
    type Hessian: Kernel;
}

/// Kernels with [`vmap`].
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no `vmap`",
    label = "not a kernel with `vmap`",
    note = "ask for it where the kernel is defined: `#[kernel(vmap)]`; sizes and `while` loops must not depend on the arguments' values"
)]
pub trait HasVmap: Kernel {
    /// The kernel over batches.
    type Vmap: Kernel;
}

/// The gradient of a kernel whose value is one float: `grad(f)(args..)` has the derivatives by every float argument
/// that is not marked `#[no_grad]`; one such argument bare, several as a tuple. Shapes and units are those of the
/// arguments (per unit of the value).
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel]
/// fn energy(x: [f64; n], #[no_grad] w: [f64; n]) -> f64 {
///     sum(w * x * x)
/// }
///
/// assert_eq!(grad(energy)(&array![1.0, 2.0], &array![3.0, 4.0]), array![6.0, 16.0]);
/// ```
#[must_use]
pub fn grad<F: HasGrad>(_: F) -> F::Grad {
    F::Grad::default()
}

/// Value and gradient in one pass: `value_and_grad(f)(args..)` is `(value, gradient)`; see [`grad`].
///
/// ```
/// # use array_dsl::prelude::*;
/// #[kernel]
/// fn area(width: f64, height: f64) -> f64 {
///     width * height
/// }
///
/// assert_eq!(value_and_grad(area)(2.0, 3.0), (6.0, (3.0, 2.0)));
/// ```
#[must_use]
pub fn value_and_grad<F: HasValueAndGrad>(_: F) -> F::ValueAndGrad {
    F::ValueAndGrad::default()
}

/// Reverse mode: `vjp(f)(args.., cotangents..)` is `(value, cotangents of the arguments)`, with one cotangent
/// argument for each float component of the value.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel]
/// fn squares(x: [f64; n]) -> [f64; n] {
///     x * x
/// }
///
/// let (x, cotangent) = (array![1.0, 2.0], array![1.0, 10.0]);
/// assert_eq!(vjp(squares)(&x, &cotangent), (array![1.0, 4.0], array![2.0, 40.0]));
/// ```
#[must_use]
pub fn vjp<F: HasVjp>(_: F) -> F::Vjp {
    F::Vjp::default()
}

/// Forward mode: `jvp(f)(args.., tangents..)` is `(value, tangent)`, with one tangent argument for each differentiable
/// argument.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel]
/// fn square(x: [f64; n]) -> f64 {
///     dot(x, x)
/// }
///
/// assert_eq!(jvp(square)(&array![3.0, 4.0], &array![1.0, 0.0]), (25.0, 6.0));
/// ```
#[must_use]
pub fn jvp<F: HasJvp>(_: F) -> F::Jvp {
    F::Jvp::default()
}

/// Hessian times vector of a kernel whose value is one float: `hvp(f)(args.., tangents..)`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel(hvp)]
/// fn cubes(x: [f64; n]) -> f64 {
///     sum(x * x * x)
/// }
///
/// assert_eq!(hvp(cubes)(&array![1.0, 2.0], &array![1.0, 0.5]), array![6.0, 6.0]);
/// ```
#[must_use]
pub fn hvp<F: HasHvp>(_: F) -> F::Hvp {
    F::Hvp::default()
}

/// All first derivatives: `jacobian(f)(args..)` has, for each float result `r` and each differentiable argument `a`, an
/// array of shape `[r's shape.., a's shape..]` (per unit of the argument). Several arguments make a tuple, several results a
/// tuple of those. Asked for by `#[kernel(jacobian)]`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel(jacobian)]
/// fn polar(r: f64, angle: f64) -> [f64; 2] {
///     [r * angle.cos(), r * angle.sin()]
/// }
///
/// let (by_r, by_angle) = jacobian(polar)(2.0, 0.0);
/// assert_eq!((by_r, by_angle), (array![1.0, 0.0], array![0.0, 2.0]));
/// ```
#[must_use]
pub fn jacobian<F: HasJacobian>(_: F) -> F::Jacobian {
    F::Jacobian::default()
}

/// All second derivatives of a kernel whose value is one float: `hessian(f)(args..)` has, for differentiable arguments `a` and
/// `b`, an array of shape `[a's shape.., b's shape..]`. Several arguments make a tuple of tuples. Asked for by
/// `#[kernel(hessian)]`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel(hessian)]
/// fn product(x: [f64; n]) -> f64 {
///     prod(x)
/// }
///
/// let expected = array![[0.0, 4.0, 3.0], [4.0, 0.0, 2.0], [3.0, 2.0, 0.0]];
/// assert_eq!(hessian(product)(&array![2.0, 3.0, 4.0]), expected);
/// ```
#[must_use]
pub fn hessian<F: HasHessian>(_: F) -> F::Hessian {
    F::Hessian::default()
}

/// The kernel at each element of a batch: `vmap(f)(args..)` takes every argument with one more leading dimension, of one
/// length, and gives results with it. Asked for by `#[kernel(vmap)]`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel(vmap)]
/// fn dot_product(x: [f64; n], y: [f64; n]) -> f64 {
///     dot(x, y)
/// }
///
/// let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 1.0], [2.0, 2.0]]);
/// assert_eq!(vmap(dot_product)(&x, &y), array![3.0, 14.0]);
/// ```
#[must_use]
pub fn vmap<F: HasVmap>(_: F) -> F::Vmap {
    F::Vmap::default()
}

/// The CPU as something to run kernels on; unlike a plain call, `run` returns errors instead of panicking.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Cpu {
    /// Runs a kernel on all cores. Arguments as for a call, in a tuple (one argument: `(&x,)`).
    ///
    /// # Errors
    /// Sizes that do not fit, indices out of range, integer division by zero, memory that cannot be had.
    ///
    /// ```
    /// # use array_dsl::prelude::*;
    /// # use ndarray::array;
    /// #[kernel]
    /// fn product(x: [f64; n], y: [f64; n]) -> f64 {
    ///     dot(x, y)
    /// }
    ///
    /// assert_eq!(Cpu.run(product, (&array![1.0, 2.0], &array![3.0, 4.0])).unwrap(), 11.0);
    /// let error = Cpu.run(product, (&array![1.0, 2.0], &array![3.0])).unwrap_err();
    /// assert!(error.to_string().contains("argument `y`, dimension 0: expected n = 2"));
    /// ```
    #[allow(clippy::unused_self, reason = "the device is named where it is used, as for a GPU")]
    pub fn run<K: Kernel>(&self, kernel: K, args: K::Args<'_>) -> Result<K::Output, Error> {
        let _ = kernel;
        K::run(args)
    }
}

/// Expands to its tokens if the runtime was built with GPU support.
#[cfg(feature = "gpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! if_gpu {
    ($($t:tt)*) => { $($t)* };
}

/// Expands to nothing: the runtime was built without GPU support.
#[cfg(not(feature = "gpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! if_gpu {
    ($($t:tt)*) => {};
}
