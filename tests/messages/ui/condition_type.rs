//! Conditions that are not booleans.

use array_dsl::prelude::*;

#[kernel]
fn choose(k: i64, x: f64) -> f64 {
    if k { x } else { 0.0 }
}

#[kernel]
fn both(x: f64, y: f64) -> bool {
    x && y > 0.0
}

fn main() {}
