//! Methods that do not exist.

use array_dsl::prelude::*;

#[kernel]
fn total(x: [f64; n]) -> f64 {
    x.iter().sum()
}

#[kernel]
fn widest(x: [f64; n]) -> f64 {
    x.maximun()
}

fn main() {}
