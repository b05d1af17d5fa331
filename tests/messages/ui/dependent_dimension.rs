//! A size that depends on the index of a `build`.

use array_dsl::prelude::*;

#[kernel]
fn prefixes(x: [f64; n]) -> [f64; n] {
    build(n, |i| sum(x[..i]))
}

#[kernel]
fn triangle(x: [f64; n]) -> [f64; n] {
    build(n, |row| build(row + 1, |j| x[j]).sum())
}

#[kernel]
fn positive_sums(x: [[f64; m]; n]) -> [f64; n] {
    map(|row| filter(|v| v > 0.0, row).sum(), x)
}

#[kernel]
fn sometimes(x: [f64; n], c: f64) -> f64 {
    if c > 0.0 { partition(|v| v > c, x).0.sum() } else { 0.0 }
}

fn main() {}
