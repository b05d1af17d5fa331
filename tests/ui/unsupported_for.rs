//! A `for` loop over a `let mut` variable.

use array_dsl::prelude::*;

#[kernel]
fn total(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    for i in 0..n {
        sum += x[i];
    }
    sum
}

fn main() {}
