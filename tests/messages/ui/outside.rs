//! Indices that are outside whatever the arguments are.

use array_dsl::prelude::*;

#[kernel]
fn last(x: [f64; n]) -> f64 {
    x[-1] + x[n]
}

#[kernel]
fn corner(a: [[f64; 3]; n]) -> f64 {
    a[[0, 3]] + a[0][4]
}

#[kernel]
fn set(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    y[n + 1] = 0.0;
    y
}

fn main() {}
