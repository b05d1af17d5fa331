//! Loops that write in place, backwards: what trips wrote is read from where it is, and what they need of what they overwrote they have
//! kept.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 1.0 + 0.5 * (i as f64 * 0.71).sin())
}

/// A matrix that needs no pivoting.
fn dominant(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| {
        if i == j { 3.0 + i as f64 * 0.1 } else { 0.5 * (i as f64 * 2.0 + j as f64).sin() }
    })
}

/// Whether an element is written depends on what would be written.
#[kernel]
fn written_if_small(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        let v = (x[i] * x[i] + y[i - 1] * y[i - 1] + 0.1).sqrt();
        if v < 1.0 {
            y[i] = v;
        }
    }
    y
}

/// What is written is overwritten by something made of it, and that again by what reads both.
#[kernel]
fn written_again(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        y[i] = (x[i] + y[i - 1]).exp();
        y[i] = y[i - 1] / (1.0 + y[i]);
        y[i - 1] = (y[i] + x[i] * y[i - 1]).tanh();
    }
    y
}

/// Where it is written depends on what is written.
#[kernel]
fn written_where_it_says(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 0..n {
        let v = (x[i] + 0.3 * y[0]).sin();
        let at = if v > 0.0 { i } else { n - 1 - i };
        y[at] = v;
    }
    y
}

#[test]
fn what_loops_wrote() {
    for n in [1, 2, 7] {
        let x = wave(n);
        assert_checks!(written_if_small, (&x,));
        assert_checks!(written_again, (&x,));
        assert_checks!(written_where_it_says, (&x,));
    }
    let x = array![0.4, 0.3, 1.5, 0.2];
    let small = |a: f64, b: f64| f64::sqrt(a * a + b * b + 0.1);
    let first = small(0.3, 0.4);
    assert_close(written_if_small(&x), array![0.4, first, 1.5, 0.2], 1e-15);
    let (_, d) = vjp(written_if_small)(&x, &array![0.0, 1.0, 0.0, 0.0]);
    assert_close(d, array![0.4 / first, 0.3 / first, 0.0, 0.0], 1e-15);
}

// What a trip computes from elements that it overwrites, and needs after: a factor, and a row.

#[kernel]
fn eliminated(a: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = a;
    for k in 0..n {
        for i in k + 1..n {
            let f = u[i][k] / u[k][k];
            for j in k..n {
                u[i][j] -= f * u[k][j];
            }
        }
    }
    u
}

#[kernel]
fn inverted(a: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut m = a;
    for k in 0..n {
        let pivot = m[k][k];
        m[k][k] = 1.0;
        m[k] = m[k] / pivot;
        let row = m[k];
        for i in 0..n {
            if i != k {
                let f = m[i][k];
                m[i][k] = 0.0;
                m[i] = m[i] - f * row;
            }
        }
    }
    m
}

/// Rounds whose steps read what is there now and what was there when the round began.
#[kernel]
fn mixed(x: [f64; n], rounds: usize) -> [f64; n] {
    let mut x = x;
    for k in 0..rounds {
        let before = x;
        for i in 0..n {
            if i != k {
                x[i] = 0.3 * x[(i + 1) % n] * before[k % n] + sin(before[i]);
            }
        }
    }
    x
}

#[kernel]
fn rotated(x: [f64; n], rounds: usize) -> [f64; n] {
    let mut x = x;
    for r in 0..rounds {
        for i in 0..n - 1 {
            let (a, b) = (x[i], x[i + 1]);
            let norm = (a * a + b * b + 1.0).sqrt();
            x[i] = a / norm;
            x[i + 1] = (b + r as f64) * norm;
        }
    }
    x
}

#[test]
fn what_trips_keep() {
    let a = dominant(5);
    let mut u = a.clone();
    for k in 0..5 {
        for i in k + 1..5 {
            let f = u[[i, k]] / u[[k, k]];
            (k..5).for_each(|j| u[[i, j]] -= f * u[[k, j]]);
        }
    }
    assert_close(eliminated(&a), u, 1e-13);
    assert_checks!(eliminated, (&a,));
    let b = inverted(&a);
    assert_close(b.dot(&a), Array2::eye(5), 1e-10);
    assert_checks!(inverted, (&a,));
    // The derivative of an inverse.
    let w = Array2::from_shape_fn((5, 5), |(i, j)| (1.3 * i as f64 - 0.7 * j as f64).sin());
    let by_rule = -b.t().dot(&w).dot(&b.t());
    assert_close(vjp(inverted)(&a, &w).1, by_rule, 1e-9);
    for n in [1, 2, 7] {
        assert_checks!(rotated, (&wave(n), 3));
        assert_checks!(mixed, (&wave(n), 3));
    }
    let by_x = vjp(rotated)(&wave(4), 3, &Array1::ones(4)).1;
    assert_gradient(|x: &Array1<f64>| rotated(x, 3).sum(), &wave(4), &by_x);
}

/// The rows of a step do not need each other, which is seen when the program has been made.
#[test]
fn no_loop_is_said_to_run_in_order_that_does_not() {
    let text = eliminated.explain();
    assert!(text.contains("the loop over `k` runs in order"), "{text}");
    assert!(!text.contains("the loop over `i`") && !text.contains("the loop over `j`"), "{text}");
}
