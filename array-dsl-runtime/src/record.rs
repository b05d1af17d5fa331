//! Structures as arguments and results: what `#[derive(Record)]` implements, so that generated code can take a structure apart
//! and put it together without knowing its definition.

/// A structure of arrays, scalars, tuples and other records that kernels take and give. Derived, never written by hand.
#[diagnostic::on_unimplemented(
    message = "[AD0021] `{Self}` is not a record",
    label = "expected a structure with `#[derive(Record)]`",
    note = "put `#[derive(Record)]` on its definition"
)]
pub trait Record: Sized {
    /// The fields in order: owned arrays, scalars, tuples of these, and the parts of records.
    type Parts;
    /// The same, with references to arrays.
    type View<'a>
    where
        Self: 'a;

    /// The fields as a kernel reads them.
    fn view(&self) -> Self::View<'_>;

    /// The fields.
    fn into_parts(self) -> Self::Parts;

    /// The structure with these fields.
    fn from_parts(parts: Self::Parts) -> Self;
}
