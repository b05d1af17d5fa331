//! Powers as other languages write them.

use array_dsl::prelude::*;

#[kernel]
fn stars(x: f64) -> f64 {
    x ** 2.0
}

#[kernel]
fn spaced(x: f64) -> f64 {
    x * *2.0
}

#[kernel]
fn each(x: [f64; n]) -> [f64; n] {
    map(|v| 2.0 ** v, x)
}

#[kernel]
fn caret(x: f64) -> f64 {
    x ^ 2.0
}

#[kernel]
fn value(x: f64) -> f64 {
    let y = x + 1.0;
    *y
}

fn main() {}
