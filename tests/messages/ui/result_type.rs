//! Values that are not of the declared type.

use array_dsl::prelude::*;

#[kernel]
fn forgot_the_sum(x: [f64; n]) -> f64 {
    x * x
}

#[kernel]
fn tally(x: [f64; n]) -> f64 {
    n
}

#[kernel]
fn pair(x: f64) -> (f64, f64) {
    x
}

#[kernel]
fn longer(x: [f64; n]) -> [f64; n] {
    concat(x, [0.0])
}

fn main() {}
