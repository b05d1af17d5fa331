//! `loop`, and leaving a loop early.

use array_dsl::prelude::*;

#[kernel]
fn halvings(x: f64) -> f64 {
    loop {
        break x;
    }
}

#[kernel]
fn first_negative(x: [f64; n]) -> i64 {
    let mut at = n;
    for i in 0..n {
        if x[i] < 0.0 {
            at = i;
            break;
        }
        if x[i] > 10.0 {
            continue;
        }
        if x[i] > 100.0 {
            return i;
        }
    }
    at
}

fn main() {}
