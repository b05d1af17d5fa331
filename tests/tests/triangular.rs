//! Loops whose trips go through more and more of a row, a column or a cube: what their ways back add to it is made once, after the loop.
//! Gradients by differences and against those written out by hand, for no trips, one, and many.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::linalg::{solve_lower, solve_upper};
use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, Axis, array};

#[kernel]
fn by_rows(l: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    solve_lower(l, b)
}

#[kernel]
fn from_below(u: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    solve_upper(u, b)
}

/// Of the transpose of what is given: a column grows.
#[kernel]
fn by_columns(u: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    let mut x = b;
    for i in 0..n {
        for j in 0..i {
            x[i] -= u[j][i] * x[j];
        }
        x[i] /= u[i][i];
    }
    x
}

/// From the end, and with the diagonal left out.
#[kernel]
fn from_the_end(u: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    let mut x = b;
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= u[i][j] * x[j];
        }
    }
    x
}

/// A row grows by two elements, and not from its beginning.
#[kernel]
fn by_two(a: [[f64; 2 * n + 1]; n], b: [f64; n]) -> [f64; n] {
    let mut x = b;
    for i in 0..n {
        let mut s = 0.0;
        for j in 1..2 * i + 1 {
            s += a[i][j] * x[j / 2];
        }
        x[i] += tanh(s);
    }
    x
}

/// One place of a cube's two sides is the trip, and all of the third are used.
#[kernel]
fn of_a_cube(a: [[[f64; m]; n]; n], b: [[f64; m]; n]) -> [[f64; m]; n] {
    let mut x = b;
    for i in 0..n {
        for k in 0..m {
            for j in 0..i {
                x[i][k] -= a[j][i][k] * x[j][k];
            }
        }
    }
    x
}

/// How far a row is used is data.
#[kernel]
fn of_lengths(l: [[f64; n]; n], lengths: [usize; n], b: [f64; n]) -> [f64; n] {
    let mut x = b;
    for i in 0..n {
        for j in 0..lengths[i] {
            x[i] -= l[i][j] * x[j];
        }
    }
    x
}

fn matrix(n: usize, m: usize) -> Array2<f64> {
    let at = |i: usize, j: usize| ((i * 7 + j * 3) as f64 * 0.61).sin() / m as f64;
    Array2::from_shape_fn((n, m), |(i, j)| at(i, j) + if i == j { 1.5 } else { 0.0 })
}

fn vector(n: usize, phase: f64) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 0.9 + phase).cos())
}

/// The pullback of `by_rows`, by the matrix: minus the solution of the transposed system times the solution, up to the diagonal.
fn by_hand(l: &Array2<f64>, b: &Array1<f64>, cotangent: &Array1<f64>) -> (Array2<f64>, Array1<f64>) {
    let n = b.len();
    let (mut x, mut y) = (b.clone(), cotangent.clone());
    for i in 0..n {
        for j in 0..i {
            x[i] -= l[[i, j]] * x[j];
        }
        x[i] /= l[[i, i]];
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            y[i] -= l[[j, i]] * y[j];
        }
        y[i] /= l[[i, i]];
    }
    (Array2::from_shape_fn((n, n), |(i, j)| if j <= i { -y[i] * x[j] } else { 0.0 }), y)
}

#[test]
fn rows_and_columns() {
    for n in [0, 1, 2, 3, 17, 64, 301] {
        let (l, b, cotangent) = (matrix(n, n), vector(n, 0.1), vector(n, 0.7));
        let expected = by_hand(&l, &b, &cotangent);
        let (_, (by_l, by_b)) = vjp(by_rows)(&l, &b, &cotangent);
        assert_close(by_l, expected.0.clone(), 1e-12);
        assert_close(by_b, expected.1.clone(), 1e-12);
        let (_, (by_u, by_b)) = vjp(by_columns)(&l.t(), &b, &cotangent);
        assert_close(by_u, expected.0.t().to_owned(), 1e-12);
        assert_close(by_b, expected.1, 1e-12);
    }
    let (l, b) = (matrix(6, 6), vector(6, 0.2));
    assert_checks!(by_rows, (&l, &b));
    assert_checks!(from_below, (&l, &b));
    assert_checks!(by_columns, (&l, &b));
}

#[test]
fn other_parts_of_rows() {
    for n in [0, 1, 2, 7, 40] {
        let (u, b) = (matrix(n, n), vector(n, 0.2));
        assert_checks!(from_the_end, (&u, &b));
        assert_checks!(by_two, (&matrix(n, 2 * n + 1), &b));
    }
}

#[test]
fn cubes_and_lengths() {
    for (n, m) in [(0, 2), (1, 1), (4, 3), (9, 2)] {
        let a = Array3::from_shape_fn((n, n, m), |(i, j, k)| ((i * 5 + j * 3 + k) as f64).sin() * 0.3);
        assert_checks!(of_a_cube, (&a, &matrix(n, m)));
    }
    let (l, b) = (matrix(4, 4), vector(4, 0.3));
    let lengths = array![0i64, 1, 1, 3];
    let by_l = vjp(of_lengths)(&l, &lengths, &b, &array![1.0, 1.0, 1.0, 1.0]).1.0;
    assert_gradient(|l| of_lengths(l, &lengths, &b).sum(), &l, &by_l);
    assert_eq!(by_l.sum_axis(Axis(1))[0], 0.0);
}
