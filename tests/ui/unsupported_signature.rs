//! Signatures that kernels cannot have.

use array_dsl::prelude::*;

#[kernel]
fn generic<T>(x: [T; n]) -> f64 {
    1.0
}

#[kernel]
fn in_place(x: &mut [f64; n]) -> f64 {
    x[0]
}

fn main() {}
