//! Calls of generic kernels that do not fit.

use array_dsl::prelude::*;

#[kernel]
fn relu<T: Float>(x: T) -> T {
    max(x, 0.0)
}

#[kernel]
fn dot2<T: Number>(x: [T; n], y: [T; n]) -> T {
    sum(x * y)
}

#[kernel]
fn bisect(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> f64 {
    if f(0.5 * (lo + hi)) < 0.0 { lo } else { hi }
}

#[kernel]
fn first<A>(x: [A; n]) -> A {
    x[0] + 1.0
}

#[kernel]
fn whole_number(k: i64) -> i64 {
    relu(k)
}

#[kernel]
fn no_function(x: f64) -> f64 {
    bisect(x, 0.0, 1.0)
}

#[kernel]
fn wrong_function(x: [f64; n]) -> f64 {
    bisect(|a| a * x, 0.0, 1.0)
}

#[kernel]
fn wrong_closure(x: f64) -> f64 {
    bisect(|a, b| a - b, 0.0, x)
}

#[kernel]
fn other_sizes(x: [f64; a], y: [f64; b]) -> f64 {
    dot2(x, y)
}

#[kernel]
fn other_types(x: [f64; a], y: [f32; a]) -> f64 {
    dot2(x, y)
}

#[kernel]
fn inside(k: [i64; a]) -> i64 {
    first(k)
}

fn main() {}
