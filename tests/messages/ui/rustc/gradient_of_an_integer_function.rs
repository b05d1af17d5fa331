//! Derivatives that do not exist.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn tally(x: [i64; n]) -> i64 {
    x.sum()
}

#[kernel]
fn squares(x: [f64; n]) -> [f64; n] {
    x * x
}

fn main() {
    let _ = grad(tally)(&array![1, 2]);
    let _ = value_and_grad(squares)(&array![1.0, 2.0]);
    let _ = vjp(tally)(&array![1, 2]);
    let _ = jvp(tally)(&array![1, 2]);
}
