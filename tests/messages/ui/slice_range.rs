//! Slices that end behind the array, and slices of several dimensions that are none.

use array_dsl::prelude::*;

#[kernel]
fn middle(x: [f64; 4]) -> [f64; 3] {
    x[2..5]
}

#[kernel]
fn beyond(x: [f64; n]) -> [f64; n] {
    x[1..n + 1]
}

#[kernel]
fn block(a: [[f64; 4]; n]) -> [[f64; 4]; n] {
    a[s![.., 2..6]]
}

#[kernel]
fn column(a: [[f64; m]; n]) -> [f64; n] {
    a[s![.., m]] + a[s![.., 0.5]]
}

#[kernel]
fn odd(a: [[f64; m]; n]) -> [f64; n] {
    a[s![..;2, 1]]
}

#[kernel]
fn cube(a: [[f64; m]; n]) -> [f64; n] {
    a.slice(s![.., 1, 0])
}

#[kernel]
fn many(a: [[f64; m]; n], ks: [usize; k]) -> [f64; n] {
    let mut b = a;
    b[s![.., ks]] = 1.0;
    b[s![.., 1]]
}

#[kernel]
fn too_many(a: [[f64; m]; n]) -> [[f64; m]; n] {
    let mut b = a;
    b[s![0, .., ..]] = a[0];
    b
}

fn main() {}
