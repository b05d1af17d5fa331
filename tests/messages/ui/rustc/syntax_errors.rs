//! What rustc cannot read is not said twice, and an index by several expressions is explained.

use array_dsl::prelude::*;

#[kernel]
fn cell(a: [[f64; m]; n], #[no_grad] i: i64, j: i64) -> f64 {
    let rows = einsum!("ij->i", a);
    a[i, j] + rows[0]
}

#[kernel]
fn unfinished(#[no_grad] x: [f64; n]) -> f64 {
    let y = x +;
    y.sum()
}

#[kernel]
fn calls_both(a: [[f64; m]; n], x: [f64; n]) -> f64 {
    cell(a, 0, 1) + unfinished(x)
}

fn main() {
    println!("{}", unfinished(&ndarray::array![1.0]));
}
