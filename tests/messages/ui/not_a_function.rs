//! Values that are called, and values where functions belong.

use array_dsl::prelude::*;

#[kernel]
fn call(x: [f64; n]) -> f64 {
    x(0)
}

#[kernel]
fn filled(x: f64) -> [f64; 3] {
    build(3, x)
}

#[kernel]
fn swapped(x: [f64; n]) -> [f64; n] {
    map(x, |v| v + 1.0)
}

fn main() {}
