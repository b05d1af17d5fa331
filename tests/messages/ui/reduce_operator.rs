//! Operators that reductions do not have.

use array_dsl::prelude::*;

#[kernel]
fn differences(x: [f64; n]) -> f64 {
    reduce(|a, b| a - b, 0.0, x)
}

#[kernel]
fn quotients(x: [f64; n]) -> [f64; n] {
    scan(div, 1.0, x)
}

#[kernel]
fn powers(at: [i64; n], x: [f64; n]) -> [f64; 10] {
    hist(powf, 1.0, 10, at, x)
}

#[kernel]
fn less(dest: [f64; k], at: [i64; n], x: [f64; n]) -> [f64; k] {
    reduce_by_index(dest, |a, b| a - b, at, x)
}

fn main() {}
