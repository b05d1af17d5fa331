//! A misspelled built-in function.

use array_dsl::prelude::*;

#[kernel]
fn activation(x: [f64; n]) -> [f64; n] {
    sigmod(x)
}

fn main() {}
