//! A kernel that calls itself.

use array_dsl::prelude::*;

#[kernel]
fn factorial(k: i64) -> i64 {
    if k == 0 { 1 } else { k * factorial(k - 1) }
}

fn main() {}
