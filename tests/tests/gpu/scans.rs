//! Prefixes and reductions by any associative operator: one thread or some for a row where there are many rows, three passes
//! where there are few.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

use super::agreement::{SHAPES, TOLERANCE, agree, integers, is_skipped, noise, own_gpu};

/// Around a thread's, a workgroup's and a chunk's points, and more than a chunk for each of a workgroup's threads.
const LENGTHS: [usize; 12] = [0, 1, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 70_000];

/// Few long rows, and many short ones; rows at whose ends threads have less to do, and of several steps of all their threads.
const LONG: [(usize, usize); 8] =
    [(3, 70_000), (2, 257), (20_000, 100), (5000, 70), (40_001, 9), (3, 33), (2001, 300), (301, 2100)];

#[kernel]
fn sums(x: [f32; n]) -> [f32; n] {
    cumsum(x)
}

#[kernel]
fn sums_before(x: [f32; n]) -> [f32; n] {
    scan_exclusive(add, 0.0, x)
}

#[kernel]
fn counts(x: [i32; n]) -> ([i32; n], [i32; n], [i32; n]) {
    (cumsum(x), scan(max, i32::MIN, x), scan_exclusive(add, 0, x * x))
}

#[kernel]
fn row_sums(a: [[f32; m]; n]) -> [[f32; m]; n] {
    cumsum(a)
}

#[test]
fn sums_of_all_lengths() {
    for n in LENGTHS {
        let x = noise(n, 1);
        agree(sums, (x.clone(),), 1e-3);
        agree(sums_before, (x.clone(),), 1e-3);
        agree(counts, (integers(n, 100, 2),), 0.0);
        agree(vjp(sums), (x.clone(), noise(n, 3)), 1e-3);
        agree(jvp(sums_before), (x, noise(n, 4)), 1e-3);
    }
}

#[test]
fn sums_of_rows() {
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        let a = noise((n, m), 1);
        agree(row_sums, (a.clone(),), 1e-3);
        agree(vjp(row_sums), (a, noise((n, m), 2)), 1e-3);
    }
}

/// Many rows of some elements are found in one dispatch by some threads for each.
#[test]
fn rows_by_several_threads() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let steps = |n: usize, m: usize| {
        let a = gpu.upload(&noise((n, m), 1)).unwrap();
        let (result, profile) = gpu.profile(|| gpu.run(row_sums, (&a,))).ok()?;
        result.unwrap();
        Some(profile.events.into_iter().map(|e| e.step).collect::<Vec<_>>())
    };
    // A device without timestamps does not say.
    if let Some(rows) = steps(5000, 70) {
        assert!(rows.len() == 1 && rows[0].ends_with(", rows"), "{rows:?}");
        assert_eq!(steps(3, 70_000).unwrap().len(), 3);
        let points = steps(5000, 5).unwrap();
        assert!(points.len() == 1 && points[0].ends_with(", points"), "{points:?}");
    }
}

#[test]
fn millions() {
    let n = 4_300_000;
    agree(counts, (integers(n, 5, 2),), 0.0);
    agree(recurrence, (noise(n, 1), noise(n, 2), 0.5f32), 1e-4);
}

/// Affine functions, composed: the operator does not commute.
#[kernel]
fn recurrence(a: [f32; n], b: [f32; n], start: f32) -> [f32; n] {
    let (c, d) = scan(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, b));
    c * start + d
}

#[kernel]
fn composed(a: [f32; n], b: [f32; n]) -> (f32, f32) {
    reduce(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, sin(b)))
}

#[kernel]
fn row_recurrences(a: [[f32; m]; n], b: [[f32; m]; n]) -> [[f32; m]; n] {
    map(|a, b| scan_exclusive(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, b)).1, a, b)
}

#[kernel]
fn row_compositions(a: [[f32; m]; n], b: [[f32; m]; n]) -> ([f32; n], [f32; n]) {
    let both = map(|a, b| reduce(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, b)), a, b);
    (both.0, both.1 * 2.0)
}

#[test]
fn operators_that_do_not_commute() {
    for n in LENGTHS {
        let (a, b) = (noise(n, 1), noise(n, 2));
        agree(recurrence, (a.clone(), b.clone(), 0.5f32), 1e-4);
        agree(composed, (a.clone(), b.clone()), 1e-4);
        agree(vjp(recurrence), (a.clone(), b.clone(), 0.5f32, noise(n, 3)), 1e-3);
        agree(vjp(composed), (a.clone(), b.clone(), 1.0f32, 2.0f32), 1e-3);
        agree(jvp(composed), (a.clone(), b.clone(), noise(n, 4), noise(n, 5)), 1e-3);
    }
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        let (a, b): (Array2<f32>, _) = (noise((n, m), 1), noise((n, m), 2));
        agree(row_recurrences, (a.clone(), b.clone()), 1e-4);
        agree(row_compositions, (a.clone(), b.clone()), 1e-4);
        agree(vjp(row_recurrences), (a.clone(), b.clone(), noise((n, m), 3)), 1e-3);
        agree(vjp(row_compositions), (a, b, noise(n, 4), noise(n, 5)), 1e-3);
    }
}

/// Products of 2x2 matrices of unsigned integers, which wrap; every digit depends on the order.
#[kernel]
fn matrices(a: [u32; n], b: [u32; n]) -> ([u32; n], [u32; n], u32) {
    let one = replicate(n, 1u32);
    let op = |(a, b, c, d), (e, f, g, h)| (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h);
    let (p, q, _, _) = scan(op, (1, 0, 0, 1), (a, b, one, a ^ b));
    let r = reduce(op, (1, 0, 0, 1), (b, a, one, one));
    (p, q, r.2)
}

/// A sum that starts anew where there is a flag: states of two types.
#[kernel]
fn segmented(x: [f32; n], flag: [bool; n]) -> ([f32; n], [bool; n], bool) {
    let (s, f) = scan(|(a, s), (b, t)| (if t { b } else { a + b }, s || t), (0.0, false), (x, flag));
    (s, f, reduce(|p, q| p ^ q, false, flag))
}

/// The place of the largest element, the first of several.
#[kernel]
fn largest(x: [f32; n], at: [i32; n]) -> (f32, i32) {
    reduce(|(a, i), (b, j)| if a >= b { (a, i) } else { (b, j) }, (-f32::INFINITY, -1), (x, at))
}

#[test]
fn states_of_several_types() {
    for n in LENGTHS {
        let words = |seed| integers(n, 1 << 24, seed).mapv(|x| (x as u32).wrapping_mul(0x9e37_79b9));
        agree(matrices, (words(1), words(2)), 0.0);
        let flags = |seed| integers(n, 50, seed).mapv(|x| x == 0);
        agree(segmented, (noise(n, 3), flags(4)), 1e-4);
        agree(
            vjp(largest),
            (integers(n, 99, 5).mapv(|x| x as f32), Array1::from_iter(0..n as i32), 1.0f32),
            0.0,
        );
        agree(largest, (integers(n, 99, 5).mapv(|x| x as f32), Array1::from_iter(0..n as i32)), 0.0);
    }
}

/// Operators with free variables: a scalar, an element of an array, one that differs from row to row.
#[kernel]
fn with_weights(x: [f32; n], w: f32, v: [f32; 3]) -> ([f32; n], f32) {
    (scan(|a, b| a + b + w * a * b, 0.0, x), reduce(|a, b| a + b + v[1] * a * b, 0.0, x * w))
}

/// One that may fail to be there.
#[kernel]
fn with_a_chosen_weight(x: [f32; n], v: [f32; m], k: [i32; 2]) -> [f32; n] {
    let at = k[1] as usize;
    scan(|a, b| a + b + v[at] * a * b, 0.0, x)
}

#[kernel]
fn rows_with_weights(a: [[f32; m]; n], w: [f32; n]) -> [[f32; m]; n] {
    map(|row, w| scan(|a, b| a + b + w * a * b, 0.0, row), a, w)
}

#[test]
fn free_variables() {
    for n in LENGTHS {
        let x = noise(n, 1) / (n.max(1) as f32).sqrt();
        let v = noise(3, 2);
        agree(with_weights, (x.clone(), 0.1f32, v.clone()), 1e-3);
        agree(with_a_chosen_weight, (x.clone(), v.clone(), array![9, 2]), 1e-3);
        agree(vjp(with_weights), (x, 0.1f32, v, noise(n, 3), 1.0f32), 1e-2);
    }
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        let a: Array2<f32> = noise((n, m), 1) / (m.max(1) as f32).sqrt();
        agree(rows_with_weights, (a.clone(), noise(n, 2)), 1e-3);
        agree(vjp(rows_with_weights), (a, noise(n, 2), noise((n, m), 3)), 1e-2);
    }
}

/// What is scanned is computed on the way, and what is done with it too.
#[kernel]
fn within(x: [f32; n], y: [f32; n]) -> f32 {
    let p = cumsum(x * y + 1.0) / n as f32;
    sum(sin(p) * y)
}

#[kernel]
fn backwards(x: [f32; n]) -> [f32; n] {
    let r = cumsum(build(n, |i| x[n - 1 - i]));
    build(n, |i| r[n - 1 - i])
}

/// A scan of scans.
#[kernel]
fn twice(x: [f32; n]) -> [f32; n] {
    cumsum(cumsum(x)) / n as f32
}

/// Scans in the trips of a loop.
#[kernel]
fn repeated(x: [f32; n], steps: usize) -> [f32; n] {
    let mut u = x;
    for k in 0..steps {
        u = tanh(cumsum(u) / n as f32 + k as f32 * 0.1);
    }
    u
}

#[test]
fn scans_among_other_code() {
    for n in LENGTHS {
        let (x, y) = (noise(n, 1), noise(n, 2));
        if n > 0 {
            agree(within, (x.clone(), y.clone()), TOLERANCE);
            agree(value_and_grad(within), (x.clone(), y.clone()), 1e-4);
        }
        agree(backwards, (x.clone(),), 1e-3);
        agree(twice, (x.clone(),), 1e-3);
        agree(vjp(twice), (x.clone(), y.clone()), 1e-3);
        agree(repeated, (x.clone(), 3i64), 1e-4);
        agree(vjp(repeated), (x, 3i64, y), 1e-4);
    }
}
