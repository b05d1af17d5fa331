//! From Rust tokens to the syntax tree. Errors are collected; what cannot be understood becomes
//! `ExprKind::Error` and the rest is still read.

pub mod ast;
mod block;
mod chain;
mod constants;
mod einsum;
mod expr;
mod generics;
mod index;
mod instantiate;
mod literal;
mod loops;
mod names;
mod parse;
mod pattern;
mod reference;
mod refuse;
#[cfg(test)]
mod testing;
mod types;
mod unused;
pub mod walk;

pub use constants::{Constant, constants};
pub use instantiate::instantiate;
pub use names::{
    Builtins, NamedBuiltins, free_calls, named_builtins, named_records, names_in_size, size_names,
};
pub use parse::{parse_function, parse_type, text};
pub use types::ELEMENT_TYPES;
pub use unused::{Binding, Unused, unused};
