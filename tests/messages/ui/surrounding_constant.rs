//! A constant of the surrounding code.

use array_dsl::prelude::*;

const RATE: f64 = 0.1;

#[kernel]
fn step(w: [f64; n], dw: [f64; n]) -> [f64; n] {
    w - RATE * dw
}

fn main() {
    println!("{RATE}");
}
