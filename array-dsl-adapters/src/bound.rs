//! Kernels of which some arguments are given once: what every adapter is made of.
//!
//! A solver calls a function of few vectors; a kernel has other arguments besides. These are bound as a tuple, `(a, &data)`, in the
//! order of the kernel's parameters, and stand after those that the solver gives:
//!
//! ```text
//! kernel       f(x: [f64; n], #[no_grad] a: f64, #[no_grad] data: [[f64; m]; k]) -> f64
//! bound        (a, data)
//! solver       x
//! ```
//!
//! | parameter | what may be bound |
//! |---|---|
//! | a number, a truth value | the same; for a `usize` any integer |
//! | an array | an array or view of ndarray, or a reference to one |
//! | a record | the structure, or a reference to it |
//!
//! **What is bound fits the parameters, or it is an error while compiling**, where the kernel becomes a problem or the problem is given
//! to a solver. Sizes are checked where the kernel runs, as always.
//!
//! ```compile_fail,E0277
//! # use array_dsl::prelude::*;
//! # use array_dsl_adapters::bound::OfVector;
//! # #[kernel]
//! # fn times(x: [f64; n], #[no_grad] a: f64) -> f64 {
//! #     a * sum(x)
//! # }
//! # fn at<K: OfVector<B, f64>, B>(_: K, bound: B) {}
//! at(times, (1.0,)); // is right; `times` takes one number besides `x`, and gives an `f64`
//! at(times, ()); // the parameters of the kernel are not those that are given
//! ```

use array_dsl::{Error, Kernel, Record};
use array_dsl_runtime::given::Reuse;
use ndarray::{ArrayBase, ArrayRef, ArrayRef1, Data, Dimension};

/// Values that serve as an argument of type `A`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be bound to a parameter of the kernel that takes `{A}`",
    label = "bound to a parameter of another type",
    note = "bind numbers of the type of the parameter (`1.0`, not `1`), arrays of ndarray or references to them, and records"
)]
pub trait Binds<'a, A> {
    /// The argument.
    fn argument(&'a self) -> A;
}

macro_rules! scalars {
    ($($t:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a> Binds<'a, $t> for $t {
            fn argument(&'a self) -> $t {
                *self
            }
        }
    )*};
}

scalars!(f32 f64 bool i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<'a, T: 'static, S: Data<Elem = T>, D: Dimension> Binds<'a, &'a ArrayRef<T, D>> for ArrayBase<S, D> {
    fn argument(&'a self) -> &'a ArrayRef<T, D> {
        self
    }
}

impl<'a, T: 'static, S: Data<Elem = T>, D: Dimension> Binds<'a, &'a ArrayRef<T, D>> for &ArrayBase<S, D> {
    fn argument(&'a self) -> &'a ArrayRef<T, D> {
        self
    }
}

impl<'a, R: Record + 'static> Binds<'a, &'a R> for R {
    fn argument(&'a self) -> &'a R {
        self
    }
}

impl<'a, R: Record + 'static> Binds<'a, &'a R> for &R {
    fn argument(&'a self) -> &'a R {
        self
    }
}

/// Arguments that are made of what a solver gives, `X`, what is bound, `B`, and the directions of a derivative, `V`; all are tuples.
#[diagnostic::on_unimplemented(
    message = "the parameters of the kernel are not those that are given: it takes `{Self}`",
    label = "takes other arguments",
    note = "the solver gives `{X}`, after which come the bound arguments `{B}`, and for a derivative the directions `{V}`",
    note = "parameters that are bound are `#[no_grad]`, and there are at most eight; bind none with `()`, one with `(a,)`"
)]
pub trait Arguments<'a, X, B, V> {
    /// Puts them together.
    fn together(given: X, bound: &'a B, directions: V) -> Self;
}

/// The tuples of what is bound, for given ones and directions of certain lengths.
macro_rules! arguments {
    ([$($x:ident)*] [$($v:ident)*]) => {
        arguments!(@ [$($x)*] [$($v)*] []);
        arguments!(@ [$($x)*] [$($v)*] [A P]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R D S]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R D S E T]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R D S E T F U]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R D S E T F U G V]);
        arguments!(@ [$($x)*] [$($v)*] [A P B Q C R D S E T F U G V H W]);
    };
    (@ [$($x:ident)*] [$($v:ident)*] [$($b:ident $a:ident)*]) => {
        impl<'a, $($x,)* $($b: Binds<'a, $a>, $a,)* $($v,)*> Arguments<'a, ($($x,)*), ($($b,)*), ($($v,)*)>
            for ($($x,)* $($a,)* $($v,)*)
        {
            #[allow(non_snake_case, unused_variables, reason = "the types' names serve as the variables'")]
            fn together(($($x,)*): ($($x,)*), ($($b,)*): &'a ($($b,)*), ($($v,)*): ($($v,)*)) -> Self {
                ($($x,)* $(<$b as Binds<'a, $a>>::argument($b),)* $($v,)*)
            }
        }
    };
}

arguments!([X][]);
arguments!([X Y Z][]);
arguments!([X Y Z][V1]);
arguments!([X Y Z][V1 V2]);

/// Results that are of type `T`.
#[diagnostic::on_unimplemented(
    message = "the kernel gives `{Self}`, and `{T}` is needed here",
    label = "has another result",
    note = "a cost and a log density are one `f64`; residuals and right-hand sides are one array `[f64; n]`",
    note = "derivatives are by what the solver varies and nothing else: mark the other parameters `#[no_grad]`"
)]
pub trait Gives<T>: Reuse {
    /// The same value.
    fn same(self) -> T;
    /// The same place.
    fn place(of: &mut T) -> &mut Self;
}

impl<T: Reuse> Gives<T> for T {
    fn same(self) -> T {
        self
    }
    fn place(of: &mut T) -> &mut T {
        of
    }
}

/// Kernels of one vector, and of what is bound, with a result of type `T`.
pub trait OfVector<B, T>: Kernel {
    /// Runs it.
    ///
    /// # Errors
    /// Those of the kernel.
    fn at(x: &ArrayRef1<f64>, bound: &B) -> Result<T, Error>;

    /// Runs it, with the result in the memory of an earlier one.
    ///
    /// # Errors
    /// Those of the kernel.
    fn at_into(x: &ArrayRef1<f64>, bound: &B, out: &mut T) -> Result<(), Error>;
}

impl<K, B, T> OfVector<B, T> for K
where
    K: Kernel,
    K::Output: Gives<T>,
    for<'a> K::Args<'a>: Arguments<'a, (&'a ArrayRef1<f64>,), B, ()>,
{
    fn at(x: &ArrayRef1<f64>, bound: &B) -> Result<T, Error> {
        K::run(Arguments::together((x,), bound, ())).map(Gives::same)
    }

    fn at_into(x: &ArrayRef1<f64>, bound: &B, out: &mut T) -> Result<(), Error> {
        K::default().call_into(Arguments::together((x,), bound, ()), Gives::place(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array_dsl::prelude::*;
    use ndarray::{Array1, Array2, array};

    #[derive(Record)]
    struct Line {
        slope: f64,
        offsets: Array1<f64>,
    }

    #[kernel]
    fn whole(x: [f64; n], a: [[f64; n]; m], line: &Line, times: usize, negative: bool) -> f64 {
        let total = sum(matvec(a, x)) * times as f64 + line.slope * sum(line.offsets);
        if negative { -total } else { total }
    }

    #[test]
    fn whatever_fits_may_be_bound() {
        let x = array![1.0, 2.0];
        let (a, line) = (Array2::<f64>::ones((3, 2)), Line { slope: 2.0, offsets: array![0.5, 1.0] });
        assert_eq!(at(whole, &x, &(a.view(), &line, 2, false)), 21.0);
        assert_eq!(at(whole, &x, &(&a, &line, 2u8, true)), -21.0);
        assert_eq!(at(whole, &x, &(a, line, 2usize, false)), 21.0);
    }

    fn at<K: OfVector<B, f64>, B>(_: K, x: &Array1<f64>, bound: &B) -> f64 {
        K::at(x, bound).unwrap()
    }
}
