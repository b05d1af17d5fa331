//! Derivatives that do not exist.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn count(x: [i64; n]) -> i64 {
    x.sum()
}

#[kernel]
fn squares(x: [f64; n]) -> [f64; n] {
    x * x
}

fn main() {
    let _ = grad(count)(&array![1, 2]);
    let _ = value_and_grad(squares)(&array![1.0, 2.0]);
    let _ = vjp(count)(&array![1, 2]);
    let _ = jvp(count)(&array![1, 2]);
}
