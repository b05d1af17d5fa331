//! Functions that move elements and do not compute.

use array_dsl::prelude::*;

use super::agreement::{LENGTHS, SHAPES, TOLERANCE, agree, noise};

#[kernel]
fn joined(a: [f32; n], b: [f32; m]) -> [f32; n + m] {
    concat(a * 2.0, b)
}

#[kernel]
fn joined_rows(a: [[f32; k]; n], b: [[f32; k]; m]) -> [[f32; k]; n + m] {
    concat(a, b * b)
}

#[kernel]
fn inner_part(a: [f32; n]) -> [f32; n - 3] {
    a[1..n - 2] * a[2..n - 1]
}

#[kernel]
fn reversed(a: [f32; n]) -> [f32; n] {
    reverse(a) + rotate(a, 2)
}

#[kernel]
fn turned(a: [[f32; m]; n]) -> [[f32; n]; m] {
    transpose(a) * 2.0
}

#[kernel]
fn permuted(a: [[[f32; k]; m]; n]) -> [[[f32; m]; n]; k] {
    permute(a, [2, 0, 1])
}

#[kernel]
fn flat(a: [[f32; m]; n]) -> [f32; n * m] {
    flatten(a * a)
}

#[kernel]
fn as_it_is(a: [[f32; m]; n]) -> [f32; n * m] {
    flatten(a)
}

#[kernel]
fn square(a: [f32; 36]) -> [[f32; 9]; 4] {
    reshape(a, (4, 9))
}

#[kernel]
fn repeated(a: [f32; n], count: usize) -> [[f32; n]; count] {
    replicate(count, a)
}

#[kernel]
fn spaced(lo: f32, hi: f32, count: usize) -> [f32; count] {
    linspace(lo, hi, count)
}

#[kernel]
fn triple(a: f32, b: [f32; n]) -> [[f32; n]; 3] {
    [b, b * a, replicate(n, a)]
}

#[kernel]
fn unchanged(a: [f32; n], b: f32) -> ([f32; n], [f32; n], f32) {
    (a, a, b)
}

#[test]
fn one_dimension() {
    for n in LENGTHS {
        let (a, b) = (noise(n, 1), noise(n / 3, 2));
        agree(joined, (a.clone(), b.clone()), 0.0);
        agree(vjp(joined), (a.clone(), b, noise(n + n / 3, 3)), 0.0);
        agree(inner_part, (noise(n + 3, 4),), 0.0);
        agree(vjp(inner_part), (noise(n + 3, 4), noise(n, 5)), TOLERANCE);
        agree(repeated, (a.clone(), 3i64), 0.0);
        agree(vjp(repeated), (a.clone(), 3i64, noise((3, n), 6)), TOLERANCE);
        agree(triple, (0.5f32, a.clone()), 0.0);
        agree(vjp(triple), (0.5f32, a.clone(), noise((3, n), 7)), 1e-4);
        agree(unchanged, (a.clone(), 2.0f32), 0.0);
        agree(vjp(unchanged), (a.clone(), 2.0f32, a.clone(), noise(n, 8), 3.0f32), 0.0);
        agree(spaced, (-1.0f32, 2.0f32, n as i64), TOLERANCE);
        if n > 0 {
            agree(reversed, (a.clone(),), 0.0);
            agree(vjp(reversed), (a, noise(n, 9)), TOLERANCE);
        }
    }
}

#[test]
fn two_dimensions() {
    for (n, m) in SHAPES {
        let a = noise((n, m), 1);
        agree(turned, (a.clone(),), 0.0);
        agree(vjp(turned), (a.clone(), noise((m, n), 2)), 0.0);
        agree(flat, (a.clone(),), 0.0);
        agree(vjp(flat), (a.clone(), noise(n * m, 3)), TOLERANCE);
        agree(as_it_is, (a.clone(),), 0.0);
        agree(vjp(as_it_is), (a.clone(), noise(n * m, 3)), 0.0);
        agree(joined_rows, (a.clone(), noise((4, m), 4)), 0.0);
        agree(vjp(joined_rows), (a, noise((4, m), 4), noise((n + 4, m), 5)), TOLERANCE);
    }
    agree(square, (noise(36, 1),), 0.0);
    agree(vjp(square), (noise(36, 1), noise((4, 9), 2)), 0.0);
}

#[test]
fn three_dimensions() {
    for shape in [(2, 3, 4), (1, 17, 16), (5, 0, 2), (7, 33, 9)] {
        let (n, m, k) = shape;
        agree(permuted, (noise(shape, 1),), 0.0);
        agree(vjp(permuted), (noise(shape, 1), noise((k, n, m), 2)), 0.0);
    }
}

// Arguments whose elements are not in order in memory.

#[test]
fn views_are_uploaded_in_order() {
    let a = noise((20, 30), 1);
    agree(turned, (a.clone().reversed_axes(),), 0.0);
    agree(flat, (a.slice_move(ndarray::s![..;2, ..;-3]),), 0.0);
}
