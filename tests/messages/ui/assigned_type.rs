//! A variable keeps its type and its sizes.

use array_dsl::prelude::*;

#[kernel]
fn rank(x: [f64; n]) -> f64 {
    let mut sum = 0.0;
    sum += x;
    sum
}

#[kernel]
fn row_from_a_number(a: [[f64; m]; n]) -> [[f64; m]; n] {
    let mut b = a;
    b[0] = 0.0;
    b
}

#[kernel]
fn growing(x: f64, steps: usize) -> [f64; 1] {
    let mut history = [x];
    for _ in 0..steps {
        history = concat(history, [x]);
    }
    history
}

#[kernel]
fn element(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    y[0] = true;
    y
}

#[kernel]
fn names(x: [f64; n], z: [f64; m]) -> [f64; n] {
    let mut y = x;
    y = z;
    y
}

#[kernel]
fn parts(x: f64) -> f64 {
    let (mut a, mut b) = (x, x);
    (a, b) = (x, x, x);
    a + b
}

#[kernel]
fn many_places(x: [f64; n], at: [i64; k]) -> [f64; n] {
    let mut y = x;
    y[at] = 0.0;
    y
}

fn main() {}
