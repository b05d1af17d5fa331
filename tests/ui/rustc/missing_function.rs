//! A function that one expects and that kernels do not have.

use array_dsl::prelude::*;

#[kernel]
fn running(x: [f64; n]) -> [f64; n] {
    cumsum(x)
}

fn main() {}
