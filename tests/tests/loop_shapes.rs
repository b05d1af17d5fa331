//! The shapes of loops on the CPU: reductions over outer axes in tiles, several axes as one, loops whose ends are split
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
        assert_near(&gradient, slopes(periodic_of, &x));
    }
}

fn periodic_of(x: &Array2<f64>) -> f64 {
    periodic(x)
}

/// The gradient of a quadratic form: it is exact in central differences.
fn slopes(f: fn(&Array2<f64>) -> f64, x: &Array2<f64>) -> Vec<f64> {
    let (n, m) = x.dim();
    let moved = |at: usize, by: f64| {
        let mut x = x.clone();
        x[[at / m, at % m]] += by;
        f(&x)
    };
    (0..n * m).map(|at| moved(at, 0.5) - moved(at, -0.5)).collect()
}

#[kernel]
fn backward(x: [[f64; m]; n]) -> f64 {
    let each =
        build((n, m), |i, j| x[(i + n - 1) % n][j] * x[i][(j + m - 2) % m] + x[(i + 2) % n][(j + 1) % m]);
    flatten(each).sum()
}

fn backward_of(x: &Array2<f64>) -> f64 {
    backward(x)
}

#[test]
fn neighbors_around_the_other_end() {
    for (n, m) in SMALL {
        let x = matrix(n, m);
        let expected: f64 = (0..n * m)
            .map(|at| {
                let (i, j) = (at / m, at % m);
                let left = (j as i64 + m as i64 - 2).rem_euclid(m as i64) as usize;
                x[[(i + n - 1) % n, j]] * x[[i, left]] + x[[(i + 2) % n, (j + 1) % m]]
            })
            .sum();
        let (value, gradient) = value_and_grad(backward)(&x);
        assert_near([&value], [expected]);
        assert_near(&gradient, slopes(backward_of, &x));
    }
}

#[kernel]
fn laplace(x: [[[f64; k]; m]; n]) -> [[[f64; k]; m]; n] {
    build((n, m, k), |a, b, c| {
        let inside = a > 0 && a < n - 1 && b > 0 && b < m - 1 && c > 0 && c < k - 1;
        if inside {
            x[a - 1][b][c]
                + x[a + 1][b][c]
                + x[a][b - 1][c]
                + x[a][b + 1][c]
                + x[a][b][c - 1]
                + x[a][b][c + 1]
                - 6.0 * x[a][b][c]
        } else {
            0.0
        }
    })
}

#[test]
fn the_ends_of_three_axes() {
    for (n, m, k) in [(1, 2, 3), (3, 3, 3), (4, 5, 40), (6, 4, 9)] {
        let shape =
            |f: &dyn Fn(usize) -> f64| Array3::from_shape_fn((n, m, k), |(a, b, c)| f((a * m + b) * k + c));
        let (x, ct) = (shape(&|at| (at as f64).sin()), shape(&|at| (0.7 * at as f64).cos()));
        let (value, adjoint) = vjp(laplace)(&x, &ct);
        let inside = |[a, b, c]: [usize; 3]| a > 0 && a + 1 < n && b > 0 && b + 1 < m && c > 0 && c + 1 < k;
        let mut expected = (Array3::<f64>::zeros((n, m, k)), Array3::<f64>::zeros((n, m, k)));
        for (at, _) in x.indexed_iter().filter(|((a, b, c), _)| inside([*a, *b, *c])) {
            let (a, b, c) = at;
            let neighbors =
                [(a - 1, b, c), (a + 1, b, c), (a, b - 1, c), (a, b + 1, c), (a, b, c - 1), (a, b, c + 1)];
            for q in neighbors {
                expected.0[at] += x[q];
                expected.1[q] += ct[at];
            }
            expected.0[at] -= 6.0 * x[at];
            expected.1[at] -= 6.0 * ct[at];
        }
        assert_near(&value, expected.0);
        assert_near(&adjoint, expected.1);
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

#[kernel]
fn gathers_and_more(x: [f64; n], at: [i64; m], to: [i64; k]) -> f64 {
    sum(x * x) + sum(map(|i| x[i].sin(), at)) + sum(map(|i| x[i] * x[i] * x[i], to))
}

#[kernel]
fn kept_and_changed(x: [f64; n], at: [i64; m]) -> ([f64; n], [f64; n]) {
    let y = x.exp();
    (y, scatter_add(y, at, map(|i| i as f64, at)))
}

#[test]
fn updates_in_place() {
    for (n, m, k) in [(1, 1, 0), (5, 0, 3), (7, 400, 2), (40, 300_000, 1000)] {
        let x = Array1::from_shape_fn(n, |i| 0.3 * i as f64 - 1.0);
        let places = |count: usize| Array1::from_shape_fn(count, |i| (i * 7919 % n) as i64);
        let (at, to) = (places(m), places(k));
        let mut gradient = x.mapv(|x| 2.0 * x);
        let mut changed = x.mapv(f64::exp);
        for i in &at {
            gradient[*i as usize] += x[*i as usize].cos();
            changed[*i as usize] += *i as f64;
        }
        for i in &to {
            gradient[*i as usize] += 3.0 * x[*i as usize] * x[*i as usize];
        }
        assert_near(&grad(gathers_and_more)(&x, &at, &to), gradient);
        let (kept, found) = kept_and_changed(&x, &at);
        assert_near(&kept, x.mapv(f64::exp));
        assert_near(&found, changed);
    }
}

#[kernel]
fn extremes_at(x: [f64; n], y: [i32; n]) -> (i64, i64, i64, i64) {
    (argmin(x), argmax(x), argmin(y), argmax(y))
}

/// With more than `min` and `max` do: a costly value, and ends that are split off.
#[kernel]
fn peak_at(x: [f64; n]) -> (i64, f64) {
    let slopes = build(n, |i| if i == 0 || i == n - 1 { 0.0 } else { (x[i + 1] - x[i - 1]).tanh() });
    (argmax(slopes), sum(exp(slopes)))
}

fn first_best(x: impl Iterator<Item = f64>, is_better: fn(f64, f64) -> bool, neutral: f64) -> i64 {
    let best = |(at, best): (i64, f64), (i, x): (usize, f64)| {
        if is_better(x, best) { (i as i64, x) } else { (at, best) }
    };
    x.enumerate().fold((0, neutral), best).0
}

/// Of equal values the first one, however many are looked at together; what is no number is never the best one.
#[test]
fn where_extremes_are() {
    for n in [1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 1000, 40_000] {
        for kinds in [1, 2, 5, 1 << 30] {
            let value = |i: usize| ((i * 2_654_435_761 + 7) % 1_000_003) as i64 % kinds;
            let number = |i: usize| if i % 11 == 3 { f64::NAN } else { value(i) as f64 };
            let x = Array1::from_shape_fn(n, number);
            let y = x.mapv(|v| if v.is_nan() { 0 } else { v as i32 });
            let (low, high) = (|a: f64, b: f64| a < b, |a: f64, b: f64| a > b);
            let floats = |z: &Array1<i32>| z.mapv(f64::from).into_iter();
            let expected = (
                first_best(x.iter().copied(), low, f64::INFINITY),
                first_best(x.iter().copied(), high, f64::NEG_INFINITY),
                first_best(floats(&y), low, f64::INFINITY),
                first_best(floats(&y), high, f64::NEG_INFINITY),
            );
            assert_eq!(extremes_at(&x, &y), expected, "{n} of {kinds} kinds");
            let x = Array1::from_shape_fn(n, |i| value(i) as f64);
            let slope = |i: usize| if i == 0 || i == n - 1 { 0.0 } else { (x[i + 1] - x[i - 1]).tanh() };
            assert_eq!(
                peak_at(&x).0,
                first_best((0..n).map(slope), high, f64::NEG_INFINITY),
                "{n} of {kinds} kinds"
            );
        }
    }
}
