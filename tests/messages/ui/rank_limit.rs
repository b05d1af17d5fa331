//! An array of too high a rank.

use array_dsl::prelude::*;

#[kernel]
fn deep(x: [[[[[[[f64; 2]; 2]; 2]; 2]; 2]; 2]; 2]) -> f64 {
    1.0
}

fn main() {}
