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

#[kernel]
fn halved(x: [f64; n], y: [f64; n / 2]) -> f64 {
    x.sum() * y.sum()
}

fn main() {}
