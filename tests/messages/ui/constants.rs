//! Constants of the surrounding code where they cannot be passed on.

use array_dsl::prelude::*;

const RATE: f64 = 0.1;

#[kernel]
fn step<T: Float>(x: [T; n], dx: [T; n]) -> [T; n] {
    x - RATE * dx
}

#[kernel]
fn slope(x: f64, cotangent: f64) -> f64 {
    2.0 * x * cotangent * RATE
}

#[kernel(vjp = slope)]
fn square(x: f64) -> f64 {
    x * x
}

fn main() {
    println!("{RATE}");
}
