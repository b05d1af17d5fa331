//! Constants of the surrounding code on a GPU: in expressions, in sizes, in derivatives.

use array_dsl::prelude::*;
use ndarray::array;

use super::agreement::{agree, noise};

const RATE: f32 = 0.5;
const WIDTH: usize = 3;
const STEPS: i64 = 4;
const KEPT: bool = true;

#[kernel]
fn extended(w: [f32; WIDTH]) -> [f32; 2 * WIDTH] {
    concat(w, build(WIDTH, |i| w[i] * RATE))
}

#[kernel]
fn looped(x: [f32; n]) -> f32 {
    let mut s = x;
    for _ in 0..STEPS {
        s = s * RATE + x * x;
    }
    if KEPT { s.sum() } else { RATE }
}

#[test]
fn constants_are_passed_on() {
    agree(extended, (array![1.0, 2.0, 4.0],), 0.0);
    agree(vjp(extended), (array![1.0, 2.0, 4.0], noise(6, 1)), 1e-6);
    agree(looped, (noise(100, 2),), 1e-4);
    agree(grad(looped), (noise(100, 3),), 1e-5);
}
