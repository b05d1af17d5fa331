//! Constants of the code around a kernel, as generated code passes them on.

/// A constant that a kernel takes, by its number: what its callers pass on to it.
pub trait Constant<const NUMBER: usize> {
    /// Its type.
    type Value;
    /// Its value.
    fn value() -> Self::Value;
}

/// The integers that kernels count with: `i64`, and `usize`, which is the same to them.
#[diagnostic::on_unimplemented(
    message = "[AD0005] the kernel counts with this constant, which is `{Self}`",
    label = "expected `usize` or `i64`, found `{Self}`",
    note = "sizes, indices and the ends of ranges are `usize` or `i64`: convert the constant, `as usize`"
)]
pub trait Counts {
    /// The number; the greatest `i64` for one beyond it, which is no size either.
    fn number(self) -> i64;
}

impl Counts for i64 {
    fn number(self) -> i64 {
        self
    }
}

impl Counts for usize {
    fn number(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}
