//! More indices than dimensions.

use array_dsl::prelude::*;

#[kernel]
fn corner(x: [f64; n]) -> f64 {
    x[0][0]
}

#[kernel]
fn cell(x: [[f64; m]; n]) -> f64 {
    x[[0, 0, 0]]
}

fn main() {}
