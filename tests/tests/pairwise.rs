//! Each point with each of others: loops in tiles that read columns of the others as rows. What they give does not depend on how.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

use array_dsl::prelude::*;
use ndarray::{Array, Array1, Array2, Axis, Dimension, concatenate, s};

/// Below, at and above the trips of a tile, and those that copies pay for.
const OTHERS: [usize; 12] = [0, 1, 7, 8, 31, 32, 33, 63, 64, 1023, 1024, 1025];
/// The same of how often the copies are read.
const POINTS: [usize; 5] = [0, 1, 7, 8, 11];
/// The same of columns.
const COLUMNS: [usize; 7] = [0, 1, 2, 3, 16, 128, 129];

fn assert_close<D: Dimension>(found: Array<f64, D>, wanted: Array<f64, D>, tolerance: f64) {
    assert_eq!(found.shape(), wanted.shape());
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * (1.0 + b.abs());
    assert!(found.iter().zip(&wanted).all(close), "{found}\n{wanted}");
}

fn waves(n: usize, d: usize, by: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |(i, c)| ((3 * i + 7 * c) as f64 * by).sin())
}

#[kernel]
fn cost(#[no_grad] points: [[f64; d]; n], centroids: [[f64; d]; k]) -> f64 {
    build(n, |i| {
        minimum(build(k, |j| {
            let z = points[i] - centroids[j];
            dot(z, z)
        }))
    })
    .sum()
}

#[kernel]
fn nearest(x: [[f64; d]; n], y: [[f64; d]; k]) -> [i64; n] {
    build(n, |i| argmin(build(k, |j| sum(build(d, |c| (x[i][c] - y[j][c]).powi(2))))))
}

#[kernel]
fn kernel_matrix(x: [[f64; d]; n], y: [[f64; d]; k]) -> [[f64; k]; n] {
    build((n, k), |i, j| exp(-sum(build(d, |c| (x[i][c] - y[j][c]).powi(2)))))
}

/// Sums are in order, of each value once; the greatest of a product; a weight that is read next to rows.
#[kernel]
fn weighted(x: [[f32; d]; n], y: [[f32; d]; k], w: [f32; k]) -> ([f32; n], [f32; n], [i64; n]) {
    let all = build(n, |i| {
        let mut total = 0.0;
        let mut most = -1.0;
        for j in 0..k {
            let e = w[j] * sum(abs(x[i] - y[j]));
            total += e;
            most = max(most, e - total * 0.0);
        }
        (total, most)
    });
    (all.0, all.1, build(n, |i| argmax(build(k, |j| w[j] * sum(abs(x[i] - y[j]))))))
}

/// An array that the kernel has made.
#[kernel]
fn of_moved(x: [[f64; d]; n], by: [f64; d]) -> [f64; n] {
    let y = build(n, |i| tanh(x[i] + by));
    let far = build(n, |i| build(n, |j| maximum(abs(x[i] - y[j]))));
    build(n, |i| minimum(far[i]))
}

/// In a loop whose trips change what is copied.
#[kernel]
fn settled(points: [[f64; d]; n], start: [[f64; d]; k], trips: i64) -> [[f64; d]; k] {
    let mut c = start;
    for _ in 0..trips {
        let far = build(n, |i| minimum(build(k, |j| sum(build(d, |e| (points[i][e] - c[j][e]).powi(2))))));
        c = c * (1.0 + 0.1 * tanh(mean(far)));
    }
    c
}

/// Of fewer rows than there are.
#[kernel]
fn of_the_first(x: [[f64; d]; n], y: [[f64; d]; m + k], count: [f64; m], k: usize) -> [f64; n] {
    build(n, |i| minimum(build(m, |j| count[j] + sum(abs(x[i] - y[j])))))
}

fn far(x: &Array2<f64>, i: usize, y: &Array2<f64>, j: usize) -> f64 {
    x.row(i).iter().zip(y.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The first of the least.
fn least(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, j| if values[j] < values[best] { j } else { best })
}

#[test]
fn all_sizes() {
    for k in OTHERS {
        for n in POINTS {
            for d in COLUMNS {
                let (x, y) = (waves(n, d, 0.71), waves(k, d, 0.37));
                let all = Array2::from_shape_fn((n, k), |(i, j)| far(&x, i, &y, j));
                let rows: Vec<Vec<f64>> = all.axis_iter(Axis(0)).map(|r| r.to_vec()).collect();
                assert_close(kernel_matrix(&x, &y), all.mapv(|v| (-v).exp()), 1e-12);
                if n > 0 && k == 0 {
                    continue;
                }
                let by_hand: f64 = rows.iter().map(|r| r[least(r)]).sum();
                let found = cost(&x, &y);
                assert!(
                    (found - by_hand).abs() <= 1e-12 * by_hand.abs().max(1.0),
                    "{n} {k} {d}: {found} {by_hand}"
                );
                for (i, j) in nearest(&x, &y).iter().enumerate() {
                    assert!(rows[i][*j as usize] <= rows[i][least(&rows[i])] * (1.0 + 1e-12), "{n} {k} {d}");
                }
            }
        }
    }
}

#[test]
fn the_first_of_equals_is_the_nearest() {
    for k in [32, 33, 40, 70] {
        let y = Array2::from_shape_fn((k, 3), |(j, c)| ((j % 5) * (c + 1)) as f64);
        let x = Array2::from_shape_fn((10, 3), |(i, c)| ((i % 5) * (c + 1)) as f64);
        assert_eq!(nearest(&x, &y), Array1::from_shape_fn(10, |i| (i % 5) as i64));
        // Between the last tile and what it ends with.
        let y = concatenate![Axis(0), Array2::from_elem((k - 2, 3), 9.0), Array2::zeros((2, 3))];
        assert_eq!(nearest(&Array2::zeros((9, 3)), &y), Array1::from_elem(9, k as i64 - 2));
    }
}

#[test]
fn what_is_no_number_is_not_the_nearest() {
    for k in [8, 32, 37, 100] {
        let (x, mut y) = (waves(9, 4, 0.71), waves(k, 4, 0.37));
        y.slice_mut(s![..k - 1, 2]).fill(f64::NAN);
        let last: f64 = (0..9).map(|i| far(&x, i, &y, k - 1)).sum();
        assert!((cost(&x, &y) - last).abs() < 1e-12 * last);
        assert_eq!(nearest(&x, &y), Array1::from_elem(9, k as i64 - 1));
        y.fill(f64::NAN);
        assert_eq!(nearest(&x, &y), Array1::zeros(9));
        assert!(kernel_matrix(&x, &y).iter().all(|v| v.is_nan()));
    }
}

#[test]
fn sums_and_greatest() {
    for k in OTHERS.into_iter().filter(|k| *k > 0) {
        let (x, y) = (waves(9, 5, 0.71).mapv(|v| v as f32), waves(k, 5, 0.37).mapv(|v| v as f32));
        let w = Array1::from_shape_fn(k, |j| ((j * 5) % 7) as f32 - 2.0);
        let (total, most, at) = weighted(&x, &y, &w);
        for i in 0..9 {
            let of = |j: usize| w[j] * x.row(i).iter().zip(y.row(j)).map(|(a, b)| (a - b).abs()).sum::<f32>();
            let values: Vec<f32> = (0..k).map(of).collect();
            // In order, so to the last bit.
            assert_eq!(total[i], values.iter().fold(0.0, |s, v| s + v), "{k}");
            assert_eq!(most[i], values.iter().copied().fold(-1.0, f32::max), "{k}");
            let first = (0..k).fold(0, |best, j| if values[j] > values[best] { j } else { best });
            assert_eq!(at[i], first as i64, "{k}");
        }
    }
}

#[test]
fn arrays_of_the_kernel() {
    for n in [1, 31, 32, 50] {
        let x = waves(n, 3, 0.71);
        let y = x.mapv(|v| (v + 0.2).tanh());
        let most = |i: usize, j: usize| (0..3).map(|c| (x[[i, c]] - y[[j, c]]).abs()).fold(0.0, f64::max);
        let by_hand = Array1::from_shape_fn(n, |i| (0..n).map(|j| most(i, j)).fold(f64::INFINITY, f64::min));
        assert_close(of_moved(&x, &Array1::from_elem(3, 0.2)), by_hand, 1e-14);
    }
    for k in [3, 32, 45] {
        let (x, start) = (waves(9, 3, 0.71), waves(k, 3, 0.37));
        let mut c = start.clone();
        for _ in 0..3 {
            let mean =
                (0..9).map(|i| (0..k).map(|j| far(&x, i, &c, j)).fold(f64::INFINITY, f64::min)).sum::<f64>()
                    / 9.0;
            c *= 1.0 + 0.1 * mean.tanh();
        }
        assert_close(settled(&x, &start, 3), c, 1e-12);
    }
}

#[test]
fn fewer_rows_than_there_are() {
    for m in [1, 5, 31, 32, 33, 60] {
        let (x, y, count) = (waves(9, 3, 0.71), waves(60, 3, 0.37), Array1::from_elem(m, 0.5));
        let of = |i: usize, j: usize| (0..3).map(|c| (x[[i, c]] - y[[j, c]]).abs()).sum::<f64>() + 0.5;
        let by_hand = Array1::from_shape_fn(9, |i| (0..m).map(|j| of(i, j)).fold(f64::INFINITY, f64::min));
        assert_close(of_the_first(&x, &y, &count, (60 - m) as i64), by_hand, 1e-14);
    }
}

#[test]
fn derivatives() {
    for (n, k, d) in [(9, 33, 3), (8, 40, 16), (3, 4, 2)] {
        let (x, y) = (waves(n, d, 0.71), waves(k, d, 0.377));
        assert_checks!(cost, (&x, &y));
        assert_checks!(kernel_matrix, (&x, &y));
    }
}
