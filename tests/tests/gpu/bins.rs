//! Reductions by index: derivatives, and operators of one's own.

use array_dsl::prelude::*;

use crate::agreement::{agree, integers, noise};

#[kernel(hvp)]
fn extremes(dest: [f32; k], at: [i32; n], v: [f32; n]) -> f32 {
    let at = map(|i| i as usize, at);
    let (least, greatest) = (reduce_by_index(dest, min, at, v * v), reduce_by_index(dest, max, at, v.sin()));
    dot(least, greatest)
}

#[kernel]
fn least(dest: [f32; k], at: [i32; n], v: [f32; n]) -> [f32; k] {
    reduce_by_index(dest, min, at, v)
}

#[kernel(hvp)]
fn products(dest: [f32; k], at: [i32; n], v: [f32; n]) -> f32 {
    let y = reduce_by_index(dest, mul, at, v);
    dot(y, y + 1.0)
}

#[kernel]
fn rows(at: [i32; n], v: [[f32; m]; n], k: usize) -> ([[f32; m]; k], [[f32; m]; k]) {
    let e = build(m, |_| 0.5);
    (hist(max, e, k, at, v), hist(mul, e, k, at, 1.0 + v / 64.0))
}

#[kernel]
fn joined(at: [i32; n], v: [f32; n], w: f32, k: usize) -> [f32; k] {
    hist(|a, b| a + b + w * a * b, 0.0, k, at, v)
}

/// The operator does not commute.
#[kernel]
fn affine(start: ([f32; k], [f32; k]), at: [i32; n], a: [f32; n], b: [f32; n]) -> ([f32; k], [f32; k]) {
    reduce_by_index(start, |(a, b), (c, d)| (a * c, b * c + d), at, (a, b))
}

#[kernel]
fn least_and_where(at: [i32; n], v: [f32; n], k: usize) -> ([f32; k], [i32; k]) {
    let op = |(a, i), (b, j)| if a < b || (a == b && i < j) { (a, i) } else { (b, j) };
    hist(op, (f32::INFINITY, -1), k, at, (v, map(|i| i as i32, iota(n))))
}

#[kernel]
fn in_each_row(at: [[i32; m]; n], v: [[f32; m]; n]) -> [[f32; 5]; n] {
    build(n, |i| hist(|a, b| a + b + 0.5 * a * b, 0.0, 5, at[i], v[i]))
}

/// Points, bins: all in one bin, none, more bins than points, no bins.
const CASES: [(usize, usize); 6] = [(1, 1), (257, 5), (255, 1), (0, 3), (4, 1000), (5, 0)];

#[test]
fn built_in_operators() {
    for (n, k) in CASES {
        let (dest, v) = (noise(k, 1), noise(n, 2));
        // Some indices are outside, on both sides.
        let at = integers(n, k as i32 + 4, 3) - 2;
        let (dest_t, v_t) = (noise(k, 4), noise(n, 5));
        agree(vjp(least), (dest.clone(), at.clone(), v.clone(), noise(k, 6)), 1e-4);
        agree(grad(extremes), (dest.clone(), at.clone(), v.clone()), 1e-4);
        agree(jvp(extremes), (dest.clone(), at.clone(), v.clone(), dest_t.clone(), v_t.clone()), 1e-3);
        agree(hvp(extremes), (dest.clone(), at.clone(), v.clone(), dest_t.clone(), v_t.clone()), 1e-3);
        // Factors near one, and a few zeros.
        let factors = v.mapv(|x| if x.abs() < 0.02 { 0.0 } else { 1.0 + x / 16.0 });
        let arguments = (dest.clone(), at.clone(), factors.clone());
        agree(grad(products), arguments.clone(), 1e-3);
        agree(jvp(products), (dest.clone(), at.clone(), factors.clone(), dest_t.clone(), v_t.clone()), 1e-3);
        agree(hvp(products), (dest, at, factors, dest_t, v_t), 1e-2);
    }
}

#[kernel]
fn totals(at: [i64; n], v: [f32; n], w: [i32; n], k: usize) -> ([f32; k], [f32; k], [i32; k], [i32; k]) {
    (
        hist(add, 0.0, k, at, v),
        hist(min, 2.0, k, at, v),
        hist(add, 0, k, at, w),
        hist(mul, 1, k, map(|i| i % 7, at), w),
    )
}

/// Far more points than bins: each workgroup has bins of its own, where there is room for them.
#[test]
fn many_points_in_few_bins() {
    for (n, k) in [(1023, 5i32), (1024, 5), (5000, 1), (40_000, 1000), (40_000, 2048), (40_000, 2049)] {
        let at = integers(n, k + 2, 1).mapv(|i| i64::from(i) - 1);
        agree(totals, (at, noise(n, 2), integers(n, 9, 3) - 4, i64::from(k)), 1e-4);
    }
}

#[test]
fn ties() {
    let at = integers(300, 3, 1);
    let v = integers(300, 4, 2).mapv(|i| i as f32);
    agree(vjp(least), (noise(3, 3) + 9.0, at, v, noise(3, 4)), 0.0);
}

#[test]
fn rows_of_values() {
    for (n, m, k) in [(300, 3, 4), (0, 3, 4), (5, 0, 2), (3, 70, 300)] {
        let (at, v) = (integers(n, k as i32 + 2, 1) - 1, noise((n, m), 2));
        agree(rows, (at.clone(), v.clone(), k as i64), 1e-4);
        agree(vjp(rows), (at, v, k as i64, noise((k, m), 3), noise((k, m), 4)), 1e-3);
    }
}

#[test]
fn operators_of_ones_own() {
    for (n, k) in CASES {
        let (a, b) = (noise(n, 1), noise(n, 2));
        let at = integers(n, k as i32 + 4, 3) - 2;
        agree(joined, (at.clone(), b.clone() / 16.0f32, 0.5f32, k as i64), 1e-3);
        agree(vjp(joined), (at.clone(), b.clone() / 16.0f32, 0.5f32, k as i64, noise(k, 4)), 1e-3);
        agree(jvp(joined), (at.clone(), b.clone() / 16.0f32, 0.5f32, k as i64, a.clone(), 1.0f32), 1e-2);
        let start = (noise(k, 5), noise(k, 6));
        agree(affine, (start.clone(), at.clone(), a.clone(), b.clone()), 1e-4);
        agree(vjp(affine), (start, at.clone(), a.clone(), b.clone(), noise(k, 7), noise(k, 8)), 1e-3);
        agree(least_and_where, (at, a, k as i64), 0.0);
    }
}

#[test]
fn operators_in_each_row() {
    for (n, m) in [(3, 40), (0, 4), (4, 0), (40, 3)] {
        let (at, v) = (integers((n, m), 7, 1) - 1, noise((n, m), 2) / 16.0);
        agree(in_each_row, (at.clone(), v.clone()), 1e-4);
        agree(vjp(in_each_row), (at, v, noise((n, 5), 3)), 1e-3);
    }
}
