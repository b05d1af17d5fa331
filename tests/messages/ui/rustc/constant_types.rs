//! Constants of the surrounding code of another type: rustc finds them at the kernel's own token.

use array_dsl::prelude::*;

const RATE: f32 = 0.1;

#[kernel]
fn step(w: [f64; n], dw: [f64; n]) -> [f64; n] {
    w - RATE * dw
}

fn main() {}
