//! Too many and too few arguments.

use array_dsl::prelude::*;

#[kernel]
fn cosine(a: [f64; n], b: [f64; n]) -> f64 {
    dot(a) / b.exp(2.0).sum()
}

#[kernel]
fn affine(a: f64, b: f64, x: f64) -> f64 {
    a * x + b
}

#[kernel]
fn line(x: [f64; n]) -> [f64; n] {
    affine(2.0, x)
}

#[kernel]
fn table(x: [f64; n]) -> [f64; n] {
    build(n, |i, j| x[i] + x[j])
}

fn main() {}
