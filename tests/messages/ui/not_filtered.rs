//! Conditions and arguments that `filter` and the sorts do not have.

use array_dsl::prelude::*;

#[kernel]
fn no_condition(x: [f64; n]) -> [f64; _] {
    filter(|v| v * 2.0, x)
}

#[kernel]
fn row_of_conditions(x: [[f64; m]; n]) -> [[f64; m]; _] {
    filter(|r| r > 0.0, x)
}

#[kernel]
fn scalar(x: f64) -> f64 {
    filter(|v| v > 0.0, x).sum()
}

#[kernel]
fn other_keys(x: [f64; n], keys: [f64; m]) -> [f64; m] {
    sort_by_key(keys, x)
}

#[kernel]
fn sorted_scalar(x: f64) -> f64 {
    sort(x)
}

#[kernel]
fn named_in_the_result(x: [f64; n]) -> [f64; k] {
    let kept: [f64; k] = filter(|v| v > 0.0, x);
    kept
}

fn main() {}
