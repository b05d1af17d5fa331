//! Types that kernels do not have.

use array_dsl::prelude::*;

#[kernel]
fn bytes(x: [u8; n], name: String) -> i64 {
    n
}

#[kernel]
fn growing(x: Vec<Vec<f64>>) -> f64 {
    1.0
}

fn main() {}
