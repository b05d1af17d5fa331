//! Operators that compute with arrays.

use array_dsl::prelude::*;

#[kernel]
fn scaled_by_sums(x: [[f64; m]; n]) -> [f64; m] {
    reduce(|a, b| a * sum(b), ones(m), x)
}

#[kernel]
fn with_all(x: [f64; n]) -> f64 {
    reduce(|a, b| a + sum(x * b), 0.0, x)
}

fn main() {}
