//! rustc's own warnings of what a kernel binds and does not use, of what it assigns and does not read, and of `mut` that is not needed.

#![deny(unused_variables, unused_assignments, unused_mut)]

use array_dsl::prelude::*;

#[kernel]
fn total(x: [f64; n], scale: f64) -> f64 {
    let average = x.sum() / n as f64;
    let parts = map(|v, at| v, x, iota(n));
    x.sum()
}

#[kernel]
fn changed(mut x: f64) -> f64 {
    let mut y = x;
    let mut last = 0.0;
    let mut sum = 0.0;
    for _ in 0..3 {
        sum += y;
        last = y;
    }
    sum
}

#[kernel]
#[allow(unused_variables, unused_assignments, unused_mut)]
fn allowed(x: f64, y: f64) -> f64 {
    let mut z = x;
    let mut last = 0.0;
    last = x;
    1.0
}

/// A name of a variable above.
#[kernel]
fn average(x: [f64; n]) -> f64 {
    x.mean()
}

fn main() {
    println!("{} {}", total(&ndarray::array![1.0], 2.0), allowed(1.0, 2.0));
    println!("{} {}", changed(1.0), average(&ndarray::array![1.0]));
}
