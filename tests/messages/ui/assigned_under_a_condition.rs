//! Conditions that cannot decide about an assignment.

use array_dsl::prelude::*;

#[kernel]
fn an_array(x: [f64; n]) -> f64 {
    let mut count = 0.0;
    if x > 0.0 {
        count += 1.0;
    }
    count
}

#[kernel]
fn many_conditions(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    while y > 1.0 {
        y /= 2.0;
    }
    y
}

#[kernel]
fn assigned_in_the_condition(x: f64) -> f64 {
    let mut y = x;
    while { y -= 1.0; y > 0.0 } {}
    y
}

fn main() {}
