//! Products of parts of arrays: the matrix of a trip, of a layer, of rows from the second on.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array2, Array3, Axis, s};

/// Steps of a network, the steps first.
#[kernel]
fn steps(x: [[[f64; d]; b]; n], w: [[f64; k]; d]) -> [[f64; k]; b] {
    let mut h = build((b, k), |_, _| 0.0);
    for t in 0..n {
        h = tanh(h + matmul(x[t], w));
    }
    h
}

/// The same, the batch first, and layers of weights that the steps go through.
#[kernel]
fn batch_first(x: [[[f64; d]; n]; b], w: [[[f64; d]; d]; n]) -> f64 {
    let mut h = build((b, d), |_, _| 0.1);
    for t in 0..n {
        h = tanh(matmul(h, w[t]) + matmul(build((b, d), |i, j| x[i][t][j]), w[n - 1 - t]));
    }
    sum(flatten(h * h))
}

/// All rows but the first, and all but the last column.
#[kernel]
fn inner(x: [[f64; k]; n], w: [[f64; m]; k]) -> [[f64; m - 1]; n - 1] {
    build((n - 1, m - 1), |i, j| sum(build(k, |t| x[i + 1][t] * w[t][j])))
}

fn waves(shape: (usize, usize, usize)) -> Array3<f64> {
    Array3::from_shape_fn(shape, |(a, b, c)| ((a * 31 + b * 7 + c) as f64 * 0.37).sin())
}

fn matrix(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * m + j) as f64 * 0.7).cos() * 0.4)
}

#[test]
fn of_trips_and_layers() {
    for (n, b, d, k) in
        [(0, 2, 2, 3), (1, 1, 1, 1), (3, 4, 5, 2), (2, 0, 3, 3), (2, 3, 0, 3), (4, 40, 33, 50)]
    {
        let (x, w) = (waves((n, b, d)), matrix(d, k));
        let expected = x
            .axis_iter(Axis(0))
            .fold(Array2::zeros((b, k)), |h: Array2<f64>, x| (h + x.dot(&w)).mapv(f64::tanh));
        assert_close(steps(&x, &w), expected, 1e-12);
    }
    let (x, w) = (waves((3, 4, 5)), matrix(5, 2));
    assert_checks!(steps, (&x, &w));
    for (b, n, d) in [(0, 2, 2), (3, 0, 2), (4, 3, 5), (1, 1, 1)] {
        assert_checks!(batch_first, (&waves((b, n, d)), &waves((n, d, d))));
    }
    // As large as a routine takes.
    let (x, w) = (waves((20, 3, 30)), waves((3, 30, 30)));
    let by_hand = (0..3).fold(Array2::from_elem((20, 30), 0.1), |h: Array2<f64>, t| {
        (h.dot(&w.index_axis(Axis(0), t)) + x.index_axis(Axis(1), t).dot(&w.index_axis(Axis(0), 2 - t)))
            .mapv(f64::tanh)
    });
    assert!((batch_first(&x, &w) - (&by_hand * &by_hand).sum()).abs() < 1e-9);
}

#[test]
fn of_rows_and_columns() {
    for (n, k, m) in [(1, 2, 1), (2, 0, 3), (5, 3, 4), (60, 40, 50)] {
        let (x, w) = (matrix(n, k), matrix(k, m));
        assert_close(inner(&x, &w), x.slice(s![1.., ..]).dot(&w.slice(s![.., ..-1])), 1e-12);
    }
    let (x, w) = (matrix(5, 3), matrix(3, 4));
    assert_checks!(inner, (&x, &w));
    let (by_x, _) = vjp(inner)(&x, &w, &Array2::ones((4, 3))).1;
    assert_gradient(|x: &Array2<f64>| inner(x, &w).sum(), &x, &by_x);
}
