//! What is passed to a generic kernel as a function is neither a variable nor a kernel.

use array_dsl::prelude::*;

#[kernel]
fn twice(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    f(f(x))
}

#[kernel]
fn misspelled(x: f64) -> f64 {
    twice(squared, x)
}

fn main() {}
