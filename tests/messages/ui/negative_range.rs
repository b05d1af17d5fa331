//! Ranges of Rust do not count from the end.

use array_dsl::prelude::*;

#[kernel]
fn inner(a: [[f64; m]; n]) -> f64 {
    sum(flatten(a[1..-1]))
}

#[kernel]
fn cleared(a: [f64; n]) -> [f64; n] {
    let mut b = a;
    b[..-1] *= 0.0;
    b
}

#[kernel]
fn between(a: [[f64; m]; n]) -> f64 {
    sum(a[s![-1.5, ..]])
}

fn main() {}
