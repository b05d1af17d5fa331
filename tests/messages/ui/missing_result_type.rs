//! A kernel without a result type.

use array_dsl::prelude::*;

#[kernel]
fn shout(x: [f64; n]) {
    x.sum()
}

fn main() {}
