//! A kernel with the name of a built-in function is the only error, whoever calls it.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn argmin(x: [f64; n], low: f64) -> f64 {
    x[0] - low
}

#[kernel]
fn twice(x: [f64; n]) -> f64 {
    argmin(x, 1.0) + argmin(x, 2.0)
}

fn main() {
    let x = array![1.0, 2.0];
    println!("{} {}", argmin(&x, 1.0), twice(&x));
}
