//! A function that one expects and that kernels do not have.

use array_dsl::prelude::*;

#[kernel]
fn ordered(x: [f64; n]) -> [f64; n] {
    sort(x)
}

fn main() {}
