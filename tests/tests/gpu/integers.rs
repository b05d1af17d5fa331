//! Integers, their bits, and conversions.

use array_dsl::prelude::*;
use ndarray::{Array1, array};

use super::agreement::{LENGTHS, agree, integers, noise};

#[kernel]
fn signed(a: [i32; n], b: [i32; n]) -> [[i32; n]; 10] {
    build((10, n), |k, i| {
        let (x, y) = (a[i], b[i]);
        match k {
            0 => x + y * 3 - 1,
            1 => x / (y + 1000),
            2 => x % (y + 1000),
            3 => x.rem_euclid(y + 1000),
            4 => x.min(y) - x.max(y),
            5 => x.abs() * (x > 3) as i32,
            6 => (x & y) | (x ^ 5),
            7 => (x << 3i32) >> 1i32,
            8 => -x,
            _ => !x,
        }
    })
}

#[kernel]
fn unsigned(a: [u32; n], b: [u32; n]) -> [[u32; n]; 6] {
    build((6, n), |k, i| {
        let (x, y) = (a[i], b[i]);
        match k {
            0 => x * y + 7,
            1 => x / (y + 1),
            2 => x % (y + 1),
            3 => x.max(y) - x.min(y),
            4 => (x ^ y) >> 2u32,
            _ => (x << 5u32) | (y & 31),
        }
    })
}

#[kernel]
fn compared(a: [i32; n], b: [i32; n]) -> [bool; n] {
    map(|x, y| (x < y && x != 3) || x >= y + 2, a, b)
}

#[test]
fn operators() {
    for n in LENGTHS {
        let (a, b) = (integers(n, 2000, 1) - 1000, integers(n, 1000, 2) - 500);
        agree(signed, (a.clone(), b.clone()), 0.0);
        agree(compared, (a.clone(), b.clone()), 0.0);
        agree(unsigned, (a.mapv(i32::cast_unsigned), b.mapv(|v| v.unsigned_abs())), 0.0);
    }
    // Products and sums wrap around.
    let (a, b) = (array![i32::MAX, i32::MIN, 1 << 30, -7], array![i32::MAX, 2, 3, 1 << 30]);
    agree(signed, (a, b), 0.0);
}

#[kernel]
fn converted(x: [f32; n]) -> ([i32; n], [u32; n], [f32; n]) {
    (map(|v| v as i32, x), map(|v| v as u32, x), map(|v| (v as i32) as f32 + (v > 0.0) as i32 as f32, x))
}

#[kernel]
fn converted_back(a: [i32; n], u: [u32; n]) -> ([f32; n], [i32; n], [u32; n], [bool; n]) {
    (
        map(|v, w| v as f32 * 0.5 + w as f32, a, u),
        map(|w| w as i32, u),
        map(|v| v as u32, a),
        map(|v| v != 0, a),
    )
}

#[test]
fn conversions() {
    for n in LENGTHS {
        let x = noise(n, 3) * 1000.0;
        agree(converted, (x.clone(),), 0.0);
        agree(converted_back, (x.mapv(|v| v as i32), x.mapv(|v| v.abs() as u32)), 0.0);
    }
    // Conversions saturate and NaN becomes zero.
    agree(converted, (array![f32::NAN, 1e20, -1e20, f32::INFINITY, f32::NEG_INFINITY, -0.9, 2.9],), 0.0);
}

#[kernel]
fn positions(count: usize, step: i32) -> [i32; count] {
    build(count, |i| (i as i32) * step - 2)
}

#[kernel]
fn grid_numbers(a: [[f32; m]; n], scale: f32) -> [[f32; m]; n] {
    build((n, m), |i, j| a[i][j] + scale * (i * m + j) as f32 + (n - m) as f32)
}

#[test]
fn indices_and_sizes_as_numbers() {
    for n in [0i64, 1, 257, 1000] {
        agree(positions, (n, 3), 0.0);
    }
    agree(grid_numbers, (noise((7, 40), 1), 0.25f32), 1e-6);
    agree(vjp(grid_numbers), (noise((7, 40), 1), 0.25f32, noise((7, 40), 2)), 1e-4);
}

#[kernel]
fn total_of(a: [i32; n]) -> (i32, i32, i32) {
    (sum(a), minimum(a), maximum(a))
}

#[kernel]
fn folded(a: [u32; n]) -> (u32, u32, u32) {
    (reduce(add, 0, a), reduce(max, 0, a), reduce(|x, y| x * y, 1, a))
}

#[test]
fn reductions() {
    for n in LENGTHS.into_iter().chain([70_000]) {
        let a = integers(n, 2000, 1) - 1000;
        agree(total_of, (a.clone(),), 0.0);
        agree(folded, (a.mapv(i32::cast_unsigned),), 0.0);
    }
    agree(total_of, (Array1::from_elem(5000, i32::MAX),), 0.0);
}

/// Indices are computed in 32 bits, and are numbers of 64 bits all the same.
#[kernel(value)]
fn far_shifts(n: usize) -> ([i64; n], [i64; n], [i64; n], [u32; n]) {
    (
        build(n, |i| (3 * i - 5) >> 32),
        build(n, |i| (5 - 3 * i) >> 31),
        build(n, |i| (7 - 2 * i) >> (i + 20)),
        build(n, |i| (i >> 33) as u32),
    )
}

#[test]
fn shifts_beyond_32_bits() {
    agree(far_shifts, (200i64,), 0.0);
}

/// Numbers without a sign of 32 bits stay what they are in 64.
#[kernel(value)]
fn widened(a: [u32; n], b: [u32; n]) -> ([i64; n], [i64; n], [f64; n], [f64; n]) {
    (
        build(n, |i| a[i] as i64 - 1),
        build(n, |i| ((a[i] as i64) << 31) ^ (b[i] as i64)),
        build(n, |i| 1.0000000001f64.powi(a[i])),
        build(n, |i| a[i] as f64),
    )
}

#[test]
fn from_32_bits_to_64() {
    let a = Array1::from_iter([0, 1, i32::MAX as u32, i32::MAX as u32 + 1, u32::MAX - 1, u32::MAX]);
    let b = a.slice(ndarray::s![..;-1]).to_owned();
    agree(widened, (a, b), 1e-12);
}
