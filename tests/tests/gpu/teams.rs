//! Several loops over the rows of a matrix in one dispatch, by a team of threads for each row where there are many rows, and step by
//! step where there are few; several folds in one loop; sums along either side.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

use super::agreement::{agree, is_skipped, noise, own_gpu};

/// Few rows and many, short and long ones: below and beyond what makes a team.
const SHAPES: [(usize, usize); 9] =
    [(0, 4), (4, 0), (1, 1), (3, 1000), (127, 257), (128, 2048), (200, 3000), (33_000, 9), (40_000, 33)];

#[kernel]
fn softmax_rows(z: [[f32; m]; n]) -> [[f32; m]; n] {
    softmax(z)
}

#[kernel]
fn normalized(x: [[f32; m]; n]) -> [[f32; m]; n] {
    build(n, |i| {
        let mean = sum(x[i]) / (m as f32 + 1e-3);
        let d = x[i] - mean;
        d / (dot(d, d) / (m as f32 + 1.0) + 1e-2).sqrt()
    })
}

/// Four folds and what is made of them in one loop, one of them the place of an extremum.
#[kernel]
fn moments(x: [[f32; m]; n]) -> ([f32; n], [f32; n], [i32; n], [f32; n]) {
    let count = m as f32 + 1.0;
    let means = map(|r| sum(r) / count, x);
    let squares = map(|r| dot(r, r) / count, x);
    let least = map(|r| minimum(map(|v| v + 1.0, r)), concat_column(x));
    (means, squares - means * means, map(|r| argmax(r) as i32, concat_column(x)), least)
}

/// A column more, so that no row is empty.
#[kernel]
fn concat_column(x: [[f32; m]; n]) -> [[f32; m + 1]; n] {
    build((n, m + 1), |i, j| if j < m { x[i][j] } else { 0.25 })
}

/// What is read by all rows, and stored on the way.
#[kernel]
fn scaled(x: [[f32; m]; n], w: [f32; m], at: [i32; n]) -> ([[f32; m]; n], [f32; n]) {
    let y = build((n, m), |i, j| x[i][j] * w[j] + at[i] as f32);
    let top = map(maximum, concat_column(y));
    (build((n, m), |i, j| (y[i][j] - top[i]).exp()), map(sum, y))
}

#[kernel]
fn column_statistics(x: [[f32; m]; n]) -> ([f32; m], [f32; m]) {
    let sums = build(m, |j| sum(build(n, |i| x[i][j])));
    (sums, build(m, |j| sum(build(n, |i| x[i][j] * x[i][j])) + sums[j]))
}

#[test]
fn several_loops_over_rows() {
    for (n, m) in SHAPES {
        let x: Array2<f32> = noise((n, m), 1);
        agree(softmax_rows, (x.clone(),), 1e-5);
        agree(vjp(softmax_rows), (x.clone(), noise((n, m), 2)), 1e-5);
        agree(normalized, (x.clone(),), 1e-4);
        agree(vjp(normalized), (x.clone(), noise((n, m), 3)), 1e-3);
        agree(jvp(normalized), (x.clone(), noise((n, m), 3)), 1e-3);
    }
}

#[test]
fn several_folds_in_one_loop() {
    for (n, m) in SHAPES {
        let x: Array2<f32> = noise((n, m), 1);
        agree(moments, (x.clone(),), 1e-4);
        let at = Array1::from_shape_fn(n, |i| (i % 5) as i32);
        agree(scaled, (x.clone(), noise(m, 4), at), 1e-4);
        agree(column_statistics, (x.clone(),), 1e-3);
        agree(vjp(column_statistics), (x, noise(m, 5), noise(m, 6)), 1e-3);
    }
}

/// Ties go to the first place, and what is no number has none, however many threads a row has.
#[test]
fn places_with_ties() {
    #[kernel]
    fn places(x: [[f32; m]; n]) -> ([i64; n], [i64; n]) {
        (map(argmin, x), map(argmax, x))
    }
    for (n, m) in SHAPES.into_iter().filter(|(n, m)| *n == 0 || *m > 0) {
        let x = noise((n, m), 7).mapv(|v| if v > 0.8 { f32::NAN } else { (v * 3.0).round() });
        agree(places, (x,), 0.0);
    }
}

/// The dispatches of a softmax by rows: one where there are many rows.
#[test]
fn softmax_is_one_dispatch() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let dispatches = |shape: (usize, usize)| {
        let z: Array2<f32> = noise(shape, 1);
        let z = gpu.upload(&z).unwrap();
        let before = gpu.statistics().dispatches;
        gpu.run(softmax_rows, (&z,)).unwrap();
        gpu.statistics().dispatches - before
    };
    assert_eq!(dispatches((8192, 512)), 1);
    // The greatest, the exponentials with their sum, the quotients; long rows are in parts.
    assert_eq!(dispatches((2, 1000)), 3);
}
