//! Numbers for the `usize` arguments of kernels: of any integer type, so that `f(&x, 10)`, `f(&x, y.len())` and `f(&x, k)` of an
//! `i32` are all right without a cast. A kernel counts in `i64`; **a number that is negative, or has none, is an error, and never wraps.**

use std::fmt::Display;

use crate::Error;
use crate::program::Signature;

/// The integers: what a kernel takes for a parameter that it declares as `usize`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel]
/// fn repeated(x: [f64; n], times: usize) -> [[f64; n]; times] {
///     replicate(times, x)
/// }
///
/// let (x, times) = (array![1.0, 2.0], 3u8);
/// assert_eq!(repeated(&x, 3), repeated(&x, times));
/// assert_eq!(repeated(&x, x.len()).dim(), (2, 2));
/// let error = Cpu.run(repeated, (&x, -1)).unwrap_err().to_string();
/// assert!(error.contains("argument `times`: expected a number that is not negative, found -1"));
/// ```
#[diagnostic::on_unimplemented(
    message = "[AD0005] a kernel takes an integer for a `usize` argument, which `{Self}` is not",
    label = "expected an integer of any type, found `{Self}`",
    note = "give an integer, as `x.len()`, or declare the parameter of the kernel with the type that it should have"
)]
pub trait Size: Copy + Display + Send + Sync + 'static {
    /// As kernels count; `None` where it is negative or too large.
    #[doc(hidden)]
    fn number(self) -> Option<i64>;
}

macro_rules! sizes {
    ($($t:ty)*) => {
        $(impl Size for $t {
            #[inline]
            fn number(self) -> Option<i64> {
                i64::try_from(self).ok().filter(|n| *n >= 0)
            }
        })*
    };
}

sizes!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

/// The number of the `usize` argument at this position among the arrays and scalars of a signature.
///
/// # Errors
/// [`Error::NotASize`] for what is negative, or larger than all that a kernel can count.
#[doc(hidden)]
#[inline]
pub fn number(n: impl Size, sig: &Signature, position: usize) -> Result<i64, Error> {
    n.number().ok_or_else(|| refused(&n, sig, position))
}

#[cold]
fn refused(n: &dyn Display, sig: &Signature, position: usize) -> Error {
    let argument = sig.arrays.get(position).map_or("", |a| a.name);
    Error::NotASize {
        kernel: sig.kernel,
        argument,
        found: n.to_string().into(),
        file: sig.file,
        line: sig.line,
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn numbers_do_not_wrap() {
        assert_eq!([3i8.number(), 3u64.number(), 3i128.number()], [Some(3); 3]);
        assert_eq!([i64::MAX.number(), (i64::MAX as u128).number()], [Some(i64::MAX); 2]);
        assert_eq!([(-1i32).number(), i64::MIN.number(), (-1isize).number()], [None; 3]);
        assert_eq!([u64::MAX.number(), (1u128 << 64).number(), i128::MAX.number()], [None; 3]);
    }
}
