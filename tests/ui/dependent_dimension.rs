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

fn main() {}
