//! A function that one expects and that kernels do not have.

use array_dsl::prelude::*;

#[kernel]
fn spectrum(x: [f64; n]) -> [f64; n] {
    hartley(x)
}

fn main() {}
