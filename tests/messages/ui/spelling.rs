//! Functions under the names that they have elsewhere.

use array_dsl::prelude::*;

#[kernel]
fn signs(x: [f64; n]) -> [f64; n] {
    sign(x)
}

#[kernel]
fn entropy(p: [f64; n]) -> f64 {
    -(p * log(p)).sum()
}

#[kernel]
fn combined(x: [f64; n], a: [[f64; m]; n]) -> [f64; m] {
    vecmat(x, a)
}

#[kernel]
fn product(a: [[f64; m]; n], b: [[f64; k]; m]) -> [[f64; k]; n] {
    a.dot(b)
}

#[kernel]
fn squares(x: [f64; n]) -> [f64; n] {
    x ^ 2
}

#[kernel]
fn squared(x: [f64; n]) -> [f64; n] {
    x.pow(2) + f64::max(x, 0.0)
}

#[kernel]
fn range(x: [f64; n]) -> f64 {
    x.max() - min(x)
}

#[kernel]
fn collected(x: [f64; n]) -> f64 {
    let found = Vec::new();
    x[0]
}

#[kernel]
fn backwards(x: [f64; n]) -> f64 {
    let mut s = 0.0;
    for i in 0..n.rev() {
        s = 0.5 * s + x[i];
    }
    s
}

fn main() {}
