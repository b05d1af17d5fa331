//! Numbers of different types in one operation.

use array_dsl::prelude::*;

#[kernel]
fn doubled(x: [f64; n]) -> [f64; n] {
    2 * x
}

#[kernel]
fn mixed(x: f32, y: f64) -> f64 {
    x + y
}

#[kernel]
fn averaged(x: [f64; n]) -> f64 {
    x.sum() / n
}

#[kernel]
fn root(k: i64) -> f64 {
    k.sqrt()
}

#[kernel]
fn power(x: f64) -> f64 {
    x.powi(0.5)
}

fn main() {}
