//! A parameter that is an array of tuples.

use array_dsl::prelude::*;

#[kernel]
fn first_parts(points: [(f64, f64); n]) -> f64 {
    sum(points.0)
}

fn main() {}
