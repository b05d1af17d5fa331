//! Ranks that fit in several ways.

use array_dsl::prelude::*;

#[kernel]
fn elements(a: [[f64; m]; n]) -> i64 {
    sum(len(a))
}

#[kernel]
fn weighted(w: [i64; n], a: [[f64; m]; n]) -> i64 {
    w.dot(a.len())
}

#[kernel]
fn scaled(x: [f64; n], w: [i64; n], a: [[f64; m]; n]) -> [f64; n] {
    x * dot(w, len(a)) as f64
}

fn main() {}
