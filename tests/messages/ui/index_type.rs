//! Indices that are not integers.

use array_dsl::prelude::*;

#[kernel]
fn at(x: [f64; n], p: f64) -> f64 {
    x[p]
}

#[kernel]
fn spread(x: [f64; n], at: [f64; n]) -> [f64; n] {
    scatter(zeros(n), at, x)
}

fn main() {}
