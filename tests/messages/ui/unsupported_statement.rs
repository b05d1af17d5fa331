//! A value that is computed and dropped, and a block without a value.

use array_dsl::prelude::*;

#[kernel]
fn dropped(x: [f64; n]) -> f64 {
    x.sum();
    x[0]
}

#[kernel]
fn semicolon(x: [f64; n]) -> f64 {
    let y = x.sum();
}

fn main() {}
