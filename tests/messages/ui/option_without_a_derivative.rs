//! Derivatives that are asked for and cannot be.

use array_dsl::prelude::*;

#[kernel(hvp, jacobian)]
fn squares(x: [f64; n]) -> [f64; n] {
    x * x
}

#[kernel(jacobian)]
fn blocks(x: [[[[f64; n]; n]; n]; n]) -> [[[[f64; n]; n]; n]; n] {
    x * x
}

#[kernel(vjp)]
fn integers(x: i64) -> i64 {
    x
}

fn main() {}
