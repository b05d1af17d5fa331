//! Options and attributes that do not exist.

use array_dsl::prelude::*;

#[kernel(hpv)]
fn misspelled(x: f64) -> f64 {
    x
}

#[kernel(hvp, order = 2)]
fn with_a_value(x: f64) -> f64 {
    x
}

#[kernel]
fn frozen(#[constant] x: f64) -> f64 {
    x
}

#[kernel]
fn conditional(x: f64) -> f64 {
    #[cfg(test)]
    let x = 2.0 * x;
    x
}

fn main() {}
