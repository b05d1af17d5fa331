//! rustc's own warnings of what a kernel binds and does not use.

#![deny(unused_variables)]

use array_dsl::prelude::*;

#[kernel]
fn total(x: [f64; n], scale: f64) -> f64 {
    let mean = x.sum() / n as f64;
    let parts = map(|v, at| v, x, iota(n));
    x.sum()
}

#[kernel]
#[allow(unused_variables)]
fn allowed(x: f64, y: f64) -> f64 {
    let z = x;
    1.0
}

fn main() {
    println!("{} {}", total(&ndarray::array![1.0], 2.0), allowed(1.0, 2.0));
}
