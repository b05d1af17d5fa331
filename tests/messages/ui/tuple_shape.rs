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

#[kernel]
fn too_few(x: [f64; 3]) -> f64 {
    let [a, b] = x;
    a + b
}

#[kernel]
fn of_any_size(x: [f64; n]) -> f64 {
    let [a, .., z] = x;
    a + z
}

#[kernel]
fn of_a_number(x: f64) -> f64 {
    let [a] = x;
    a
}

fn main() {}
