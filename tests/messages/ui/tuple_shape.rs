//! Tuples of the wrong structure.

use array_dsl::prelude::*;

#[kernel]
fn three(p: (f64, f64)) -> f64 {
    let (a, b, c) = p;
    a + b + c
}

#[kernel]
fn third(p: (f64, f64)) -> f64 {
    p.2
}

#[kernel]
fn root(p: (f64, f64)) -> f64 {
    p.sqrt()
}

#[kernel]
fn length(p: (f64, f64)) -> f64 {
    (p.0 * p.0 + p.1 * p.1).sqrt()
}

#[kernel]
fn call(x: f64) -> f64 {
    length(x)
}

fn main() {}
