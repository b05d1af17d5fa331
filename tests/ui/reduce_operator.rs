//! Operators that reductions do not have.

use array_dsl::prelude::*;

#[kernel]
fn differences(x: [f64; n]) -> f64 {
    reduce(|a, b| a - b, 0.0, x)
}

#[kernel]
fn hypotenuse(x: [f64; n]) -> f64 {
    reduce(hypot, 0.0, x)
}

fn main() {}
