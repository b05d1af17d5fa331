//! Macros inside a kernel.

use array_dsl::prelude::*;

#[kernel]
fn checked(x: [f64; n]) -> f64 {
    assert!(n > 0);
    let weights = vec![1.0, 2.0];
    x[0] * weights[1]
}

fn main() {}
