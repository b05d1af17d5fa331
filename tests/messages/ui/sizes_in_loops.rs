//! An array whose size changes from trip to trip.

use array_dsl::prelude::*;

#[kernel]
fn triangle(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    for i in 0..n {
        sum += build(i, |j| x[j]).sum();
    }
    sum
}

#[kernel]
fn doubling(x: f64) -> f64 {
    let mut k = 1;
    let mut sum = 0.0;
    while k < 100 {
        sum += zeros(k).sum();
        k *= 2;
    }
    sum
}

fn main() {}
