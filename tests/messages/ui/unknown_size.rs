//! A size that the signature does not have.

use array_dsl::prelude::*;

#[kernel]
fn grown(x: [f64; n]) -> [f64; k] {
    x
}

#[kernel]
fn annotated(x: [f64; n]) -> f64 {
    let y: [f64; k] = x;
    y.sum()
}

fn main() {}
