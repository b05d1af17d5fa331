//! Constant sizes that can never be equal.

use array_dsl::prelude::*;

#[kernel]
fn added(x: [f64; 3], y: [f64; 4]) -> [f64; 3] {
    x + y
}

#[kernel]
fn shifted(x: [f64; n]) -> [f64; n] {
    let y: [f64; n + 1] = x;
    x
}

#[kernel]
fn reshaped(x: [f64; 6]) -> [[f64; 2]; 2] {
    reshape(x, (2, 2))
}

#[kernel]
fn negative() -> [f64; 0] {
    zeros(-1)
}

fn main() {}
