//! A `match` that does not cover every value.

use array_dsl::prelude::*;

#[kernel]
fn pick(k: i64) -> f64 {
    match k {
        0 => 1.0,
        1 | 2 => 2.0,
    }
}

fn main() {}
