//! An `if` for its value without the other case.

use array_dsl::prelude::*;

#[kernel]
fn relu(x: f64) -> f64 {
    if x > 0.0 {
        x
    }
}

fn main() {}
