//! Numeric reductions of booleans.

use array_dsl::prelude::*;

#[kernel]
fn first_true(flags: [bool; n]) -> i64 {
    argmin(flags)
}

#[kernel]
fn tally(x: [f64; n]) -> i64 {
    sum(x > 0.0)
}

#[kernel]
fn any_number(x: [f64; n]) -> bool {
    any(x)
}

fn main() {}
