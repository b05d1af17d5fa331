//! Derivatives along directions that the host makes up: what checks of gradients and sparse matrices are made of.
//!
//! The differentiable arrays of a kernel's arguments are one value, the float arrays of its results another; both are tuples of
//! arrays and scalars, which [`Flat`] takes apart into lists of numbers.

use ndarray::{Array, Dimension};
use num_complex::Complex;

use crate::Error;
use crate::host::Kernel;
use crate::sparse::{Coloring, SparseMatrix};

/// Kernels that can be differentiated along any direction.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no derivatives along directions",
    note = "`check_grad` and `sparse_jacobian` need a kernel with `vjp` and `jvp`, and at most 12 differentiable arrays"
)]
pub trait Directional: Kernel {
    /// What takes the kernel's arguments and gives a sparse matrix.
    type SparseCall: ?Sized;
    /// Shows a visitor the kernel at a point.
    ///
    /// # Errors
    /// Those of the visitor, and of running the kernel.
    #[doc(hidden)]
    fn visit<V: Visit>(args: Self::Args<'_>, visitor: V) -> Result<V::Output, Error>;
    /// A function that takes the arguments one by one, and panics with the error's message.
    #[doc(hidden)]
    fn sparse_call(run: SparseRun<Self>) -> Box<Self::SparseCall>;
}

/// What gives a sparse matrix from a kernel's arguments.
#[doc(hidden)]
pub type SparseRun<F> =
    Box<dyn for<'a> Fn(<F as Kernel>::Args<'a>) -> Result<SparseMatrix, Error> + Send + Sync>;

/// Kernels with [`sparse_hessian`](crate::sparse::sparse_hessian).
#[diagnostic::on_unimplemented(
    message = "[AD0013] `{Self}` has no `hvp`",
    label = "not a kernel with `hvp`",
    note = "`sparse_hessian` needs it: ask for it where the kernel is defined, `#[kernel(hvp)]`; the value must be one f32 or f64"
)]
pub trait HasSparseHessian: Directional {
    /// The matrix from its products with the seeds.
    ///
    /// # Errors
    /// Those of running the kernel; another shape than that of the pattern.
    #[doc(hidden)]
    fn products(coloring: &Coloring, args: Self::Args<'_>) -> Result<SparseMatrix, Error>;
}

/// Something to be done with a kernel at a point.
#[doc(hidden)]
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does it: `at` are the differentiable arrays, whose names are `names`; the functions give the float results, and the
    /// derivatives by both modes.
    ///
    /// # Errors
    /// Those of the functions.
    fn visit<A: Flat, Y: Flat>(
        self,
        kernel: &'static str,
        names: &[&'static str],
        at: &A,
        value: impl Fn(&A) -> Result<Y, Error>,
        vjp: impl Fn(&A, &Y) -> Result<A, Error>,
        jvp: impl Fn(&A, &A) -> Result<Y, Error>,
    ) -> Result<Self::Output, Error>;
}

/// Values as lists of numbers.
#[doc(hidden)]
pub trait Flat {
    /// One list per array.
    fn lists(&self) -> Vec<Vec<f64>>;
    /// A value of the same shape with other numbers; `None` if these are not as many.
    fn with(&self, lists: &mut dyn Iterator<Item = Vec<f64>>) -> Option<Self>
    where
        Self: Sized;
    /// The spacing of numbers near 1.
    fn epsilon() -> f64;
}

/// Floats, and complex numbers as two of them.
#[doc(hidden)]
pub trait Number: Copy {
    /// How many floats it is.
    const PARTS: usize;
    /// The spacing of its floats near 1.
    const EPSILON: f64;
    /// Its floats.
    fn parts(self) -> impl Iterator<Item = f64>;
    /// The number of these floats, which are as many as it has.
    fn of(parts: &[f64]) -> Self;
}

macro_rules! float {
    ($t:ident) => {
        impl Number for $t {
            const PARTS: usize = 1;
            const EPSILON: f64 = $t::EPSILON as f64;
            fn parts(self) -> impl Iterator<Item = f64> {
                [f64::from(self)].into_iter()
            }
            fn of(parts: &[f64]) -> $t {
                parts[0] as $t
            }
        }
        impl Number for Complex<$t> {
            const PARTS: usize = 2;
            const EPSILON: f64 = $t::EPSILON as f64;
            fn parts(self) -> impl Iterator<Item = f64> {
                [f64::from(self.re), f64::from(self.im)].into_iter()
            }
            fn of(parts: &[f64]) -> Complex<$t> {
                Complex::new(parts[0] as $t, parts[1] as $t)
            }
        }
    };
}
float!(f32);
float!(f64);

impl<T: Number> Flat for T {
    fn lists(&self) -> Vec<Vec<f64>> {
        vec![self.parts().collect()]
    }
    fn with(&self, lists: &mut dyn Iterator<Item = Vec<f64>>) -> Option<T> {
        lists.next().filter(|list| list.len() == T::PARTS).map(|list| T::of(&list))
    }
    fn epsilon() -> f64 {
        T::EPSILON
    }
}

impl<T: Number, D: Dimension> Flat for Array<T, D> {
    fn lists(&self) -> Vec<Vec<f64>> {
        vec![self.iter().flat_map(|x| x.parts()).collect()]
    }
    fn with(&self, lists: &mut dyn Iterator<Item = Vec<f64>>) -> Option<Self> {
        let list = lists.next().filter(|list| list.len() == self.len() * T::PARTS)?;
        Array::from_shape_vec(self.raw_dim(), list.chunks_exact(T::PARTS).map(T::of).collect()).ok()
    }
    fn epsilon() -> f64 {
        T::EPSILON
    }
}

macro_rules! tuple {
    ($($t:ident $i:tt),*) => {
        impl<$($t: Flat),*> Flat for ($($t,)*) {
            fn lists(&self) -> Vec<Vec<f64>> {
                [$(self.$i.lists()),*].concat()
            }
            fn with(&self, lists: &mut dyn Iterator<Item = Vec<f64>>) -> Option<Self> {
                Some(($(self.$i.with(lists)?,)*))
            }
            fn epsilon() -> f64 {
                0.0f64 $(.max($t::epsilon()))*
            }
        }
    };
}
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
