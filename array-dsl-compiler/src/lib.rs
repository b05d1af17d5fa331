//! The compiler of array-dsl: from the tokens of a `#[kernel]` function to Rust tokens and WGSL.
//!
//! `pipeline` is the only place that knows the order of the stages. Every stage is an ordinary function here,
//! without `proc_macro` types, so that it can be tested and printed without rustc in the loop.

mod affine;
pub mod bulk;
pub mod carrier;
pub mod check;
pub mod core;
pub mod derive;
pub mod diagnostics;
pub mod dim;
pub mod elaborate;
pub mod emit;
pub mod flatten;
pub mod internal;
pub mod kernel;
pub mod lexer;
pub mod lifting;
pub mod loops;
pub mod lower;
mod notes;
pub mod optimize;
pub mod pipeline;
pub mod record;
pub mod reducer;
pub mod routine;
pub mod scalar;
pub mod schedule;
pub mod syntax;
pub mod target;
#[doc(hidden)]
pub mod testing;
pub mod ty;
pub mod value;

/// A program that its IR's verifier has accepted. Back ends take nothing else.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> std::ops::Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Verified<T> {
    pub(crate) fn new(program: T) -> Self {
        Verified(program)
    }

    /// The program.
    pub fn into_inner(self) -> T {
        self.0
    }
}
