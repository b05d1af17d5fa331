//! Misspelled names, where values and where functions stand.

use array_dsl::prelude::*;

#[kernel]
fn scaled(weights: [f64; n]) -> f64 {
    let total = sum(wieghts);
    total / 2.0
}

#[kernel]
fn mean_of(weights: [f64; n]) -> f64 {
    let total = sum(weights);
    totl / n as f64
}

fn main() {}
