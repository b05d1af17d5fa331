//! Signatures that kernels cannot have.

use array_dsl::prelude::*;

#[kernel]
fn of_constant_size<const N: usize>(x: [f64; N]) -> f64 {
    x[0]
}

#[kernel]
fn in_place(x: &mut [f64; n]) -> f64 {
    x[0]
}

fn main() {}
