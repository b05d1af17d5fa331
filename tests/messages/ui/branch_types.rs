//! Branches of different types.

use array_dsl::prelude::*;

#[kernel]
fn number_or_array(c: bool, x: [f64; n]) -> [f64; n] {
    if c { x } else { 0.0 }
}

#[kernel]
fn float_or_integer(c: bool, x: f64) -> f64 {
    if c { x } else { 0 }
}

fn main() {}
