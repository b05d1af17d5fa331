//! Assignments to what is not mutable, and from where it cannot be.

use array_dsl::prelude::*;

#[kernel]
fn not_mutable(x: [f64; n]) -> f64 {
    let sum = 0.0;
    for i in 0..n {
        sum += x[i];
    }
    sum
}

#[kernel]
fn a_parameter(x: [f64; n]) -> [f64; n] {
    x[0] = 1.0;
    x
}

#[kernel]
fn a_size(x: [f64; n]) -> [f64; n] {
    n = 3;
    x
}

#[kernel]
fn a_function(x: f64) -> f64 {
    let mut f = |y| y + 1.0;
    f = |y| y - 1.0;
    f(x)
}

#[kernel]
fn out_of_a_closure(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    let y = map(|v| { sum += v; v * v }, x);
    sum
}

#[kernel]
fn elements_out_of_a_closure(x: [f64; n]) -> [f64; n] {
    let mut y = zeros(n);
    let z = build(n, |i| { y[i] = x[i]; i });
    y
}

#[kernel]
fn no_place(x: [f64; n]) -> f64 {
    x.sum() = 3.0;
    0.0
}

fn main() {}
