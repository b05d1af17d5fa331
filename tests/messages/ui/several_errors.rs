//! Errors that do not hide each other are reported together.

use array_dsl::prelude::*;

#[kernel]
fn wrong(x: [f64; n], y: [f64; 3], z: [f64; 4]) -> f64 {
    let a = y + z;
    let b = x.sqroot();
    let c = missing + 1.0;
    let d = a + b + c;
    x[0]
}

fn main() {}
