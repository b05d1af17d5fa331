//! Reads and updates at computed places. The adjoint of a read is an update of a place that many threads may share.

use array_dsl::prelude::*;
use ndarray::{Array1, array};

use super::agreement::{LENGTHS, SHAPES, TOLERANCE, agree, integers, noise};

#[kernel]
fn gathered(table: [f32; n], #[no_grad] at: [i32; k]) -> [f32; k] {
    map(|i| table[i as usize] * 2.0, at)
}

#[kernel]
fn gathered_rows(table: [[f32; m]; n], at: [i32; k]) -> [[f32; m]; k] {
    build(k, |p| table[at[p] as usize])
}

#[kernel]
fn picked(a: [[f32; m]; n], at: [i32; n]) -> [f32; n] {
    build(n, |i| a[i][at[i] as usize].exp())
}

#[kernel]
fn twice_indirect(table: [f32; n], first: [i32; n], second: [i32; k]) -> f32 {
    sum(build(k, |p| table[first[second[p] as usize] as usize] * table[second[p] as usize]))
}

#[test]
fn reads_and_their_adjoints() {
    for (n, k) in [(1, 1), (5, 257), (1000, 255), (7, 10_000), (3, 0)] {
        let (table, at) = (noise(n, 1), integers(k, n as i32, 2));
        agree(gathered, (table.clone(), at.clone()), 0.0);
        // Thousands of updates of the same few places, in any order.
        agree(vjp(gathered), (table.clone(), at.clone(), noise(k, 3)), 1e-4);
        agree(jvp(gathered), (table.clone(), at.clone(), noise(n, 4)), 0.0);
        agree(value_and_grad(twice_indirect), (table, integers(n, n as i32, 5), at), 1e-3);
    }
    for (n, k, m) in [(5, 9, 3), (40, 300, 33), (2, 0, 5), (3, 4, 0)] {
        let (table, at) = (noise((n, m), 1), integers(k, n as i32, 2));
        agree(gathered_rows, (table.clone(), at.clone()), 0.0);
        agree(vjp(gathered_rows), (table, at, noise((k, m), 3)), 1e-4);
    }
    for (n, m) in SHAPES.into_iter().filter(|(_, m)| *m > 0) {
        let (a, at) = (noise((n, m), 1), integers(n, m as i32, 2));
        agree(picked, (a.clone(), at.clone()), TOLERANCE);
        agree(vjp(picked), (a, at, noise(n, 3)), TOLERANCE);
    }
}

// Updates.

#[kernel]
fn added(dest: [f32; n], at: [i32; k], v: [f32; k]) -> [f32; n] {
    scatter_add(dest, map(|i| i as usize, at), v)
}

#[kernel]
fn written(dest: [f32; n], at: [i32; k], v: [f32; k]) -> [f32; n] {
    scatter(dest, map(|i| i as usize, at), v)
}

#[kernel]
fn written_twice(dest: [f32; n], at: [i32; k], v: [f32; k]) -> ([f32; n], [f32; n]) {
    let at = map(|i| i as usize, at);
    let mut turns = dest;
    for t in 0..2 {
        turns = scatter(turns, at, v * (t as f32 + turns[0]));
    }
    (scatter(dest, at, v * v), turns)
}

#[kernel]
fn counted(at: [i32; k], bins: usize) -> [i32; bins] {
    hist(add, 0, bins, map(|i| i as usize, at), map(|_| 1, at))
}

#[kernel]
fn binned(at: [i32; k], v: [f32; k], bins: usize) -> ([f32; bins], [f32; bins], [f32; bins]) {
    let at = map(|i| i as usize, at);
    (
        hist(min, f32::INFINITY, bins, at, v),
        hist(max, f32::NEG_INFINITY, bins, at, v),
        hist(mul, 1.0, bins, at, 1.0 + v / 64.0),
    )
}

#[kernel]
fn rows_added(dest: [[f32; m]; n], at: [i32; k], v: [[f32; m]; k]) -> [[f32; m]; n] {
    scatter_add(dest, map(|i| i as usize, at), v)
}

#[kernel]
fn integers_binned(at: [i32; k], v: [i32; k]) -> ([i32; 8], [i32; 8], [i32; 8]) {
    let at = map(|i| i as usize, at);
    (hist(add, 0, 8, at, v), hist(min, i32::MAX, 8, at, v), hist(or, 0, 8, at, v))
}

#[test]
fn updates() {
    for (n, k) in [(1, 1), (5, 257), (1000, 255), (7, 10_000), (3, 0), (0, 4)] {
        let (dest, v) = (noise(n, 1), noise(k, 2));
        // Some indices are outside, on both sides, and are ignored.
        let at = integers(k, n as i32 + 4, 3) - 2;
        agree(added, (dest.clone(), at.clone(), v.clone()), 1e-4);
        agree(vjp(added), (dest.clone(), at.clone(), v.clone(), noise(n, 4)), 1e-4);
        agree(jvp(added), (dest.clone(), at.clone(), v.clone(), noise(n, 5), noise(k, 6)), 1e-4);
        agree(counted, (at.clone(), n as i64), 0.0);
        agree(binned, (at.clone(), v, n as i64), 1e-3);
        agree(integers_binned, (integers(k, 10, 7) - 1, integers(k, 1000, 8)), 0.0);
    }
    let (dest, at, v) = (noise((6, 9), 1), integers(100, 6, 2), noise((100, 9), 3));
    agree(rows_added, (dest.clone(), at.clone(), v.clone()), 1e-4);
    agree(vjp(rows_added), (dest, at, v, noise((6, 9), 4)), 1e-4);
}

#[test]
fn writes_of_distinct_places() {
    for n in LENGTHS {
        let k = n / 2;
        // Seven has no factor in common with the lengths' halves below, so no place is met twice.
        let at = Array1::from_shape_fn(k, |i| ((i * 2 + 1) % n.max(1)) as i32);
        let (dest, v) = (noise(n, 1), noise(k, 2));
        agree(written, (dest.clone(), at.clone(), v.clone()), 0.0);
        agree(vjp(written), (dest.clone(), at.clone(), v.clone(), noise(n, 3)), 0.0);
        agree(jvp(written), (dest, at, v, noise(n, 4), noise(k, 5)), 0.0);
    }
}

#[test]
fn of_writes_to_one_place_the_last_stays() {
    // Rounding on the device only: were it another point's value, or the slope another point's, numbers would not resemble.
    for (n, k) in [(1, 1), (5, 257), (1000, 255), (7, 10_000), (300, 70_000), (3, 0)] {
        let (dest, at, v) = (noise(n, 1), integers(k, n as i32 + 4, 2) - 2, noise(k, 3));
        agree(written_twice, (dest.clone(), at.clone(), v.clone()), 1e-5);
        let seeds = (noise(n, 4), noise(n, 5));
        agree(vjp(written_twice), (dest.clone(), at.clone(), v.clone(), seeds.0, seeds.1), 1e-4);
        agree(jvp(written_twice), (dest, at, v, noise(n, 6), noise(k, 7)), 1e-4);
    }
}

// Stencils: affine reads, whose adjoints need no updates at all.

#[kernel]
fn smoothed(x: [f32; n]) -> [f32; n] {
    build(n, |i| {
        let left = if i > 0 { x[i - 1] } else { 0.0 };
        let right = if i + 1 < n { x[i + 1] } else { 0.0 };
        0.25 * left + 0.5 * x[i] + 0.25 * right
    })
}

#[kernel]
fn five_points(u: [[f32; m]; n]) -> [[f32; m]; n] {
    build((n, m), |i, j| {
        if i > 0 && i < n - 1 && j > 0 && j < m - 1 {
            u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j] * u[i][j]
        } else {
            u[i][j]
        }
    })
}

#[kernel]
fn convolved(x: [f32; n + k - 1], w: [f32; k], out: [f32; n]) -> [f32; n] {
    out + build(n, |i| sum(build(k, |j| x[i + j] * w[j])))
}

#[test]
fn stencils() {
    for n in LENGTHS {
        agree(smoothed, (noise(n, 1),), TOLERANCE);
        agree(vjp(smoothed), (noise(n, 1), noise(n, 2)), TOLERANCE);
    }
    for (n, m) in SHAPES {
        agree(five_points, (noise((n, m), 1),), TOLERANCE);
        agree(vjp(five_points), (noise((n, m), 1), noise((n, m), 2)), TOLERANCE);
    }
    let (x, w, out) = (noise(304, 1), noise(5, 2), noise(300, 3));
    agree(convolved, (x.clone(), w.clone(), out.clone()), TOLERANCE);
    agree(vjp(convolved), (x, w, out, noise(300, 4)), 1e-4);
}

#[kernel]
fn rotated_product(x: [f32; n], by: i64) -> [f32; n] {
    build(n, |i| x[i] * x[(i + by).rem_euclid(n)])
}

#[test]
fn places_modulo_the_length() {
    for by in [0i64, 1, -3, 1000] {
        agree(rotated_product, (noise(257, 1), by), TOLERANCE);
        agree(vjp(rotated_product), (noise(257, 1), by, noise(257, 2)), TOLERANCE);
    }
    agree(rotated_product, (array![2.0], 5i64), 0.0);
}

/// As far as data say.
#[kernel]
fn turned(x: [f32; n], by: [i32; m]) -> [f32; n] {
    let mut y = x;
    for k in 0..m {
        y = y.sin() + 0.5 * rotate(y, by[k] as i64);
    }
    y
}

#[test]
fn rotations_that_data_decide() {
    let by = Array1::from_vec(vec![3, -1, 0, 1000]);
    for n in [0, 1, 5, 300] {
        agree(turned, (noise(n, 1), by.clone()), TOLERANCE);
        agree(vjp(turned), (noise(n, 1), by.clone(), noise(n, 2)), TOLERANCE);
    }
}
