//! Arrays of the wrong rank.

use array_dsl::prelude::*;

#[kernel]
fn product(a: [f64; n], b: [[f64; n]; n]) -> [f64; n] {
    matvec(a, b)
}

#[kernel]
fn total(x: f64) -> f64 {
    x.sum()
}

#[kernel]
fn joined(a: [f64; n], b: [[f64; n]; 2]) -> [[f64; n]; 3] {
    concat(b, a)
}

#[kernel]
fn ragged(x: [f64; n]) -> [f64; 2] {
    [x[0], x]
}

fn main() {}
