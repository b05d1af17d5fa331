//! Kernels that other kernels could not call: the name means the built-in function.

use array_dsl::prelude::*;

#[kernel]
fn softmax(x: [f64; n]) -> [f64; n] {
    x / sum(x)
}

#[kernel]
fn max<T: Float>(x: T, y: T) -> T {
    if x > y { x } else { y }
}

/// A local name hides the built-in function.
#[kernel]
fn local(x: [f64; n], sum: f64) -> [f64; n] {
    let exp = |v| v * sum;
    exp(x)
}

fn main() {}
