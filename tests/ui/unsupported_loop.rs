//! `loop` with a value.

use array_dsl::prelude::*;

#[kernel]
fn halvings(x: f64) -> f64 {
    loop {
        break x;
    }
}

fn main() {}
