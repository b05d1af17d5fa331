//! Recurrent networks: what the way back adds to weights is added up after the loop. Gradients by differences and against the way back
//! written out by hand, for no trips, one, and many.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Axis, s};

#[kernel]
fn simple(xs: [[f64; k]; t], w: [[f64; d]; d], u: [[f64; k]; d], b: [f64; d], h0: [f64; d]) -> f64 {
    let mut h = h0;
    for i in 0..t {
        h = map(|(r, q, b)| tanh(dot(r, h) + dot(q, xs[i]) + b), (w, u, b));
    }
    dot(h, h)
}

/// Without inputs: all that a trip does is as long as its state.
#[kernel]
fn closed(w: [[f64; d]; d], h0: [f64; d], targets: [[f64; d]; t]) -> f64 {
    let mut h = h0;
    let mut loss = 0.0;
    for i in 0..t {
        h = tanh(matvec(w, h));
        let e = h - targets[i];
        loss += dot(e, e);
    }
    loss
}

#[kernel]
fn gated(
    xs: [[f64; k]; t],
    wz: [[f64; d]; d],
    wr: [[f64; d]; d],
    wh: [[f64; d]; d],
    u: [[f64; k]; d],
) -> f64 {
    let mut h = zeros(d);
    let mut loss = 0.0;
    for i in 0..t {
        let z = sigmoid(matvec(wz, h) + matvec(u, xs[i]));
        let r = sigmoid(matvec(wr, h));
        let n = tanh(matvec(wh, r * h));
        h = (1.0 - z) * n + z * h;
        loss += dot(h, h);
    }
    loss
}

/// What a loop adds up going forward: moments of the states that it goes through.
#[kernel]
fn moments(w: [[f64; d]; d], xs: [[f64; d]; t], h0: [f64; d]) -> ([f64; d], [[f64; d]; d]) {
    let mut h = h0;
    let mut m = zeros((d, d));
    for i in 0..t {
        h = tanh(matvec(w, h)) + xs[i];
        m = m + build((d, d), |a, b| h[a] * xs[i][b]);
    }
    (h, m)
}

/// A trip fewer than there are inputs: the first is where it begins.
#[kernel]
fn begun(xs: [[f64; d]; t], w: [[f64; d]; d], u: [[f64; d]; d]) -> f64 {
    let mut h = xs[0];
    for i in 1..t {
        h = tanh(matvec(w, h) + matvec(u, xs[i]));
    }
    dot(h, h)
}

/// What is a product with the input is changed before it is used.
#[kernel]
fn changed(xs: [[f64; d]; t], w: [[f64; d]; d], u: [[f64; d]; d], h0: [f64; d], m: i64) -> [f64; d] {
    let mut h = h0;
    for i in 0..t {
        let mut e = map(|q| dot(q, xs[i]), u);
        e[m] += h[0];
        h = map(|(r, q)| tanh(dot(r, h) + q), (w, e));
    }
    h
}

/// With all states as its result.
#[kernel]
fn whole(xs: [[f64; d]; t], w: [[f64; d]; d], u: [[f64; d]; d], h0: [f64; d]) -> [[f64; d]; t + 1] {
    let mut h = zeros((t + 1, d));
    h[0] = h0;
    for i in 0..t {
        h[i + 1] = tanh(matvec(w, h[i]) + matvec(u, xs[i]));
    }
    h
}

fn matrix(n: usize, m: usize, phase: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * 5 + j * 3) as f64 * 0.71 + phase).sin() / m as f64)
}

fn vector(n: usize, phase: f64) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 0.9 + phase).cos())
}

/// The gradient by `xs`, `w` and `u`, and by `b` and `h0`.
fn simple_by_hand(
    xs: &Array2<f64>,
    w: &Array2<f64>,
    u: &Array2<f64>,
    b: &Array1<f64>,
    h0: &Array1<f64>,
) -> ([Array2<f64>; 3], [Array1<f64>; 2]) {
    let mut states = vec![h0.clone()];
    for x in xs.rows() {
        let last = &states[states.len() - 1];
        states.push((w.dot(last) + u.dot(&x) + b).mapv(f64::tanh));
    }
    let outer =
        |a: &Array1<f64>, b: &Array1<f64>| a.view().insert_axis(Axis(1)).dot(&b.view().insert_axis(Axis(0)));
    let mut by_h = 2.0 * &states[states.len() - 1];
    let (mut by_xs, mut by_w, mut by_u) = (&xs.view() * 0.0, w * 0.0, u * 0.0);
    let mut by_b = b * 0.0;
    for i in (0..xs.nrows()).rev() {
        let by_sum = &by_h * &states[i + 1].mapv(|h| 1.0 - h * h);
        by_xs.row_mut(i).assign(&u.t().dot(&by_sum));
        by_w += &outer(&by_sum, &states[i]);
        by_u += &outer(&by_sum, &xs.row(i).to_owned());
        by_b += &by_sum;
        by_h = w.t().dot(&by_sum);
    }
    ([by_xs, by_w, by_u], [by_b, by_h])
}

#[test]
fn weights_of_a_recurrence() {
    for (t, k, d) in [(0, 2, 3), (1, 1, 1), (2, 3, 2), (5, 40, 33), (70, 33, 40), (300, 2, 64)] {
        let (xs, w, u) = (matrix(t, k, 0.1) * k as f64, matrix(d, d, 0.2), matrix(d, k, 0.3));
        let (b, h0) = (vector(d, 0.4), vector(d, 0.5));
        let (matrices, vectors) = simple_by_hand(&xs, &w, &u, &b, &h0);
        let (by_xs, by_w, by_u, by_b, by_h0) = grad(simple)(&xs, &w, &u, &b, &h0);
        for (found, expected) in [by_xs, by_w, by_u].into_iter().zip(matrices) {
            assert_close(found, expected, 1e-12);
        }
        for (found, expected) in [by_b, by_h0].into_iter().zip(vectors) {
            assert_close(found, expected, 1e-12);
        }
    }
    let (xs, w, u) = (matrix(4, 3, 0.1), matrix(5, 5, 0.2), matrix(5, 3, 0.3));
    assert_checks!(simple, (&xs, &w, &u, &vector(5, 0.4), &vector(5, 0.5)));
}

#[test]
fn states_alone_and_gates() {
    for (t, d) in [(0, 3), (1, 4), (6, 5), (40, 7)] {
        let (w, h0, targets) = (matrix(d, d, 0.2), vector(d, 0.1), matrix(t, d, 0.6));
        let by_w = grad(closed)(&w, &h0, &targets).0;
        assert_gradient(|w| closed(w, &h0, &targets), &w, &by_w);
        assert_checks!(closed, (&w, &h0, &targets));
        let (xs, u) = (matrix(t, 3, 0.7), matrix(d, 3, 0.8));
        assert_checks!(gated, (&xs, &w, &matrix(d, d, 1.0), &matrix(d, d, 1.1), &u));
    }
}

#[test]
fn other_numbers_of_trips_and_states() {
    for (t, d) in [(1, 3), (2, 40), (5, 33), (40, 2)] {
        let (xs, w, u, h0) = (matrix(t, d, 0.7), matrix(d, d, 1.0), matrix(d, d, 1.1), vector(d, 0.4));
        let by_w = grad(begun)(&xs, &w, &u).1;
        assert_gradient(|w| begun(&xs, w, &u), &w, &by_w);
        assert_checks!(begun, (&xs, &w, &u));
        assert_checks!(whole, (&xs, &w, &u, &h0));
        assert_checks!(changed, (&xs, &w, &u, &h0, d as i64 - 1));
    }
}

#[test]
fn sums_going_forward() {
    for (t, d) in [(0, 3), (1, 40), (9, 35)] {
        let (w, xs, h0) = (matrix(d, d, 0.2), matrix(t, d, 0.3), vector(d, 0.1));
        let (mut h, mut m) = (h0.clone(), Array2::zeros((d, d)));
        for i in 0..t {
            h = w.dot(&h).mapv(f64::tanh) + xs.row(i);
            m += &h.view().insert_axis(Axis(1)).dot(&xs.slice(s![i..=i, ..]));
        }
        let (last, sums) = moments(&w, &xs, &h0);
        assert_close(last, h, 1e-13);
        assert_close(sums, m, 1e-13);
    }
    assert_checks!(moments, (&matrix(4, 4, 0.2), &matrix(5, 4, 0.3), &vector(4, 0.1)));
}
