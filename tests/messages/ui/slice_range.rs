//! A slice that ends behind the array.

use array_dsl::prelude::*;

#[kernel]
fn middle(x: [f64; 4]) -> [f64; 3] {
    x[2..5]
}

#[kernel]
fn beyond(x: [f64; n]) -> [f64; n] {
    x[1..n + 1]
}

fn main() {}
