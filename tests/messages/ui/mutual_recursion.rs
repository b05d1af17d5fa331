//! Kernels that call each other.

use array_dsl::prelude::*;

#[kernel]
fn even(k: i64) -> bool {
    if k == 0 { true } else { odd(k - 1) }
}

#[kernel]
fn odd(k: i64) -> bool {
    if k == 0 { false } else { even(k - 1) }
}

fn main() {}
