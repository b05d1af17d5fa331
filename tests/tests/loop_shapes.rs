//! The shapes of loops on the CPU: reductions over outer axes in strips, several axes as one, loops whose ends are split
//! off. Each against plain loops, at sizes around the boundaries that these have.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis};

fn matrix(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0 - 0.3)
}

fn assert_near<'a>(found: impl IntoIterator<Item = &'a f64>, expected: impl IntoIterator<Item = f64>) {
    let expected: Vec<f64> = expected.into_iter().collect();
    let found: Vec<f64> = found.into_iter().copied().collect();
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(&expected) {
        assert!((x - y).abs() <= 1e-10 * (1.0 + y.abs()), "{x} for {y}");
    }
}

/// Fewer and more than a strip, few and many trips.
const SHAPES: [(usize, usize); 9] =
    [(0, 5), (5, 0), (1, 1), (3, 1023), (40, 1024), (70, 1025), (3000, 3), (2000, 65), (9, 5000)];

#[kernel]
fn column_sums(x: [[f64; m]; n]) -> [f64; m] {
    sum(transpose(x))
}

#[test]
fn reductions_over_the_outer_axis() {
    for (n, m) in SHAPES {
        let x = matrix(n, m);
        assert_near(&column_sums(&x), x.sum_axis(Axis(0)));
    }
}

#[kernel]
fn column_spans(x: [[f64; m]; n]) -> [f64; m] {
    build(m, |j| {
        let column = build(n, |i| x[i][j]);
        maximum(column) - minimum(column) + 1.0
    })
}

#[test]
fn two_reductions_of_each_column() {
    for (n, m) in SHAPES.into_iter().filter(|(n, _)| *n > 0) {
        let x = matrix(n, m);
        let span = |column: ndarray::ArrayView1<f64>| {
            let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            max - column.iter().copied().fold(f64::INFINITY, f64::min) + 1.0
        };
        assert_near(&column_spans(&x), x.columns().into_iter().map(span));
    }
}

#[kernel]
fn column_variances(x: [[f64; m]; n]) -> [f64; m] {
    build(m, |j| {
        let mean = sum(build(n, |i| x[i][j])) / n as f64;
        sum(build(n, |i| (x[i][j] - mean) * (x[i][j] - mean))) / n as f64
    })
}

#[test]
fn a_reduction_that_needs_another() {
    for (n, m) in SHAPES.into_iter().filter(|(n, _)| *n > 0) {
        let x = matrix(n, m);
        assert_near(&column_variances(&x), x.var_axis(Axis(0), 0.0));
    }
}

#[kernel]
fn batched_column_sums(x: [[[f64; m]; n]; b]) -> [[f64; m]; b] {
    build((b, m), |k, j| sum(build(n, |i| x[k][i][j])))
}

#[test]
fn reductions_over_a_middle_axis() {
    for (n, m) in SHAPES {
        let x = Array3::from_shape_fn((3, n, m), |(k, i, j)| ((k * 31 + i * 7 + j * 3) % 17) as f64);
        assert_near(&batched_column_sums(&x), x.sum_axis(Axis(1)));
    }
}

#[kernel]
fn distances(x: [[f64; k]; n], y: [[f64; m]; k]) -> [[f64; m]; n] {
    build((n, m), |i, j| sum(build(k, |l| (x[i][l] - y[l][j]).abs())))
}

#[test]
fn something_like_a_product() {
    for (n, m) in SHAPES {
        let (x, y) = (matrix(4, n), matrix(n, m));
        let found = distances(&x, &y);
        let expected = (0..4 * m).map(|at| (0..n).map(|l| (x[[at / m, l]] - y[[l, at % m]]).abs()).sum());
        assert_near(&found, expected);
    }
}

#[kernel]
fn elementwise(x: [[[f64; k]; m]; n], y: [f64; k]) -> ([[[f64; k]; m]; n], [[[f64; k]; m]; n]) {
    (x * x + 1.0, x * y)
}

#[test]
fn axes_that_are_one_and_axes_that_are_not() {
    for (n, m, k) in [(0, 3, 2), (1, 1, 1), (5, 1, 3), (70, 90, 3), (2, 3, 4000)] {
        let x = Array3::from_shape_fn((n, m, k), |(a, b, c)| (a + 2 * b + 3 * c) as f64 * 0.25);
        let y = Array1::from_shape_fn(k, |c| c as f64 - 1.5);
        let (squares, products) = elementwise(&x, &y);
        assert_near(&squares, x.iter().map(|x| x * x + 1.0));
        assert_near(&products, &x * &y);
    }
}

#[kernel]
fn stencil(x: [[f64; m]; n]) -> [[f64; m]; n] {
    build((n, m), |i, j| {
        if i > 0 && i < n - 1 && j >= 1 && j + 1 < m {
            x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1] - 4.0 * x[i][j]
        } else {
            2.0 * x[i][j]
        }
    })
}

#[kernel]
fn periodic(x: [[f64; m]; n]) -> f64 {
    let each = build((n, m), |i, j| {
        let right = x[i][(j + 2) % m] - x[i][j];
        let down = x[(i + 1) % n][j] - x[i][j];
        right * right + down * down
    });
    flatten(each).sum()
}

const SMALL: [(usize, usize); 8] = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 4), (5, 33), (7, 36), (4, 131)];

#[test]
fn the_ends_of_a_stencil() {
    for (n, m) in SMALL {
        let x = matrix(n, m);
        let expected = Array2::from_shape_fn((n, m), |(i, j)| {
            if i > 0 && i + 1 < n && j > 0 && j + 1 < m {
                x[[i - 1, j]] + x[[i + 1, j]] + x[[i, j - 1]] + x[[i, j + 1]] - 4.0 * x[[i, j]]
            } else {
                2.0 * x[[i, j]]
            }
        });
        assert_near(&stencil(&x), expected);
    }
}

#[test]
fn the_adjoint_of_a_stencil() {
    for (n, m) in SMALL {
        let (x, ct) = (matrix(n, m), matrix(n, m).mapv(|x| 1.0 - x * x));
        let (_, found) = vjp(stencil)(&x, &ct);
        // The stencil is linear: <ct, S e> for each unit matrix e.
        let expected = (0..n * m).map(|at| {
            let mut unit = Array2::zeros((n, m));
            unit[[at / m, at % m]] = 1.0;
            (&stencil(&unit) * &ct).sum()
        });
        assert_near(&found, expected);
    }
}

#[test]
fn periodic_neighbors() {
    for (n, m) in SMALL {
        let x = matrix(n, m);
        let expected: f64 = (0..n * m)
            .map(|at| {
                let (i, j) = (at / m, at % m);
                let (right, down) = (x[[i, (j + 2) % m]] - x[[i, j]], x[[(i + 1) % n, j]] - x[[i, j]]);
                right * right + down * down
            })
            .sum();
        let (value, gradient) = value_and_grad(periodic)(&x);
        assert_near([&value], [expected]);
        // A quadratic form: its gradient is exact in central differences.
        let slope = (0..n * m).map(|at| {
            let moved = |by: f64| {
                let mut x = x.clone();
                x[[at / m, at % m]] += by;
                periodic(&x)
            };
            (moved(0.5) - moved(-0.5)) / 1.0
        });
        assert_near(&gradient, slope);
    }
}

#[kernel]
fn guarded_extremes(x: [f64; n]) -> (f64, f64) {
    let inside = build(n, |i| if i > 0 && i < n - 1 { x[i - 1] - x[i + 1] } else { 0.0 });
    (maximum(inside), minimum(x))
}

#[test]
fn reductions_with_ends() {
    for n in [1, 2, 3, 31, 32, 33, 34, 35, 65, 100_000] {
        let x: Array1<f64> = matrix(1, n).remove_axis(Axis(0));
        let inside = (1..n.max(2) - 1).map(|i| x[i - 1] - x[i + 1]).fold(0.0, f64::max);
        let least = x.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(guarded_extremes(&x), (inside, least), "{n} elements");
    }
}
