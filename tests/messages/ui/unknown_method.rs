//! Methods that do not exist.

use array_dsl::prelude::*;

#[kernel]
fn total(x: [f64; n]) -> f64 {
    x.iter().sum()
}

#[kernel]
fn widest(x: [f64; n]) -> f64 {
    x.maximun()
}

#[kernel]
fn of_another_library(a: [[f64; m]; n]) -> f64 {
    a.column(0) + a.t() + a.nrows()
}

fn main() {}
