//! Two size names used as one.

use array_dsl::prelude::*;

#[kernel]
fn distance(x: [f64; n], y: [f64; m]) -> f64 {
    let d = x - y;
    dot(d, d).sqrt()
}

#[kernel]
fn same(x: [f64; m]) -> [f64; m] {
    x
}

#[kernel]
fn through_a_kernel(w: [[f64; k]; n], x: [f64; n]) -> [f64; n] {
    matvec(w, x)
}

fn main() {}
