//! Constant sizes of zero: the shaders of such arrays are made and validated although no thread has anything to do.

use array_dsl::prelude::*;
use ndarray::Array2;

use super::agreement::{agree, noise};

#[kernel]
fn no_rows(x: [f32; n]) -> ([[f32; 3]; 0], [f32; n]) {
    (zeros((0, 3)), x * 2.0)
}

#[kernel]
fn no_columns(x: [f32; n]) -> [[f32; 0]; n] {
    build((n, 0), |i, j| x[i] + j as f32)
}

#[kernel]
fn turned(a: [[f32; 0]; n]) -> [[f32; n]; 0] {
    transpose(a * 2.0)
}

#[kernel]
fn middle(a: [[[f32; m]; 0]; n]) -> [[[f32; n]; 0]; m] {
    permute(a, [2, 1, 0]) + 1.0
}

#[kernel]
fn no_part(x: [f32; n]) -> [f32; 0] {
    x[2..2] * 3.0
}

#[kernel]
fn reshaped(a: [f32; 0]) -> [[f32; 0]; 5] {
    reshape(a * 2.0, (5, 0))
}

#[kernel]
fn row_sums(a: [[f32; 0]; n]) -> [f32; n] {
    map(|row| sum(row), a)
}

#[kernel]
fn total(a: [[[f32; m]; 0]; n]) -> f32 {
    sum(sum(sum(a * a)))
}

#[kernel]
fn running(a: [[f32; 0]; n]) -> [[f32; 0]; n] {
    map(|row| cumsum(row), a)
}

#[kernel]
fn product(a: [[f32; 0]; n], b: [[f32; m]; 0]) -> [[f32; m]; n] {
    matmul(a, b)
}

#[test]
fn arrays_without_elements() {
    for n in [0, 2, 300] {
        agree(no_rows, (noise(n, 1),), 0.0);
        agree(no_columns, (noise(n, 1),), 0.0);
        agree(vjp(no_columns), (noise(n, 1), noise((n, 0), 2)), 0.0);
        agree(turned, (noise((n, 0), 1),), 0.0);
        agree(vjp(turned), (noise((n, 0), 1), noise((0, n), 2)), 0.0);
        agree(middle, (noise((n, 0, 3), 1),), 0.0);
        agree(no_part, (noise(n + 2, 1),), 0.0);
        agree(vjp(no_part), (noise(n + 2, 1), noise(0, 2)), 0.0);
        agree(row_sums, (noise((n, 0), 1),), 0.0);
        agree(vjp(row_sums), (noise((n, 0), 1), noise(n, 2)), 0.0);
        agree(total, (noise((n, 0, 3), 1),), 0.0);
        agree(grad(total), (noise((n, 0, 3), 1),), 0.0);
        agree(running, (noise((n, 0), 1),), 0.0);
        agree(product, (noise((n, 0), 1), Array2::zeros((0, 7))), 0.0);
        agree(vjp(product), (noise((n, 0), 1), Array2::zeros((0, 7)), noise((n, 7), 2)), 0.0);
    }
    agree(reshaped, (noise(0, 1),), 0.0);
}
