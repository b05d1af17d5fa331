//! Mutants: kernels that somebody wrote, with tokens deleted, doubled, swapped, replaced and spliced in from other kernels.
//! Whatever becomes of them, the compiler must say what is wrong or compile them to something that means the same in every
//! stage; anything else is a [`Finding`].
//!
//! ```text
//! corpus     the kernels of the repository's tests and examples       sources
//! mutate     a source, a number          ->  a mutant                 the same one each time
//! check      a mutant                    ->  rejected, or accepted; and what is wrong with the compiler
//! minimize   a mutant, a kind of finding ->  the smallest part of it that still shows it
//! ```
//!
//! `tests/mutants` runs them in processes of their own, which may fail, never end, or ask for more memory than there is.

pub mod check;
pub mod corpus;
pub mod minimize;
pub mod mutate;
mod outcome;
pub mod tokens;

pub use check::check;
pub use corpus::{Source, corpus};
pub use minimize::minimize;
pub use mutate::mutate;
pub use outcome::{Finding, Report, kind};
