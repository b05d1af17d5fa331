//! What a `for` cannot run over.

use array_dsl::prelude::*;

#[kernel]
fn every_other(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    for i in (0..n).step_by(2) {
        sum += x[i];
    }
    sum
}

#[kernel]
fn endless(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    for i in 0.. {
        sum += x[i];
    }
    sum
}

#[kernel]
fn over_a_number(x: f64) -> f64 {
    let mut sum = 0.0;
    for y in x {
        sum += y;
    }
    sum
}

#[kernel]
fn up_to_a_float(x: f64) -> f64 {
    let mut sum = 0.0;
    for i in 0..x {
        sum += i;
    }
    sum
}

fn main() {}
