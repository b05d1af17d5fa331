//! Loops at the host level that are one point, as they have numbers and small arrays only, against the same in plain Rust.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;
#[path = "common/one_point.rs"]
mod kernels;

use array_dsl::Cpu;
use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use kernels::{filtered, landing, relaxed, roots, shuffled};
use ndarray::{Array1, Array2, array};

fn landing_by_hand(speed: f64) -> f64 {
    let (mut x, mut v) = ([0.0, 8.0], [speed, 0.5]);
    let step = |x: [f64; 2], v: [f64; 2]| [x[0] + 0.01 * v[0], x[1] + 0.01 * v[1]];
    let mut next = step(x, v);
    while next[1] > 0.0 {
        let drag = 0.05 * (v[0] * v[0] + v[1] * v[1]).sqrt();
        v = [v[0] - 0.01 * drag * v[0], v[1] - 0.01 * (9.81 + drag * v[1])];
        x = next;
        next = step(x, v);
    }
    x[0] + x[1] / (x[1] - next[1]) * (next[0] - x[0])
}

#[test]
fn a_projectile_lands() {
    for speed in [0.0, 3.0, 40.0] {
        assert!((landing(speed) - landing_by_hand(speed)).abs() < 1e-12);
        assert_checks!(landing, (speed,));
    }
    // To second order.
    let (x, h) = (3.0, 1e-5);
    let slope = (grad(landing)(x + h) - grad(landing)(x - h)) / (2.0 * h);
    assert!((hvp(landing)(x, 1.0) - slope).abs() < 1e-5 * (1.0 + slope.abs()));
}

#[test]
fn loops_of_unknown_length_in_a_loop() {
    for steps in [0, 1, 5] {
        let exact: f64 = (0..steps).map(|i| (2.0 + i as f64).sqrt()).sum();
        assert!((roots(2.0, steps) - exact).abs() < 1e-9);
        let slope: f64 = (0..steps).map(|i| 0.5 / (2.0 + i as f64).sqrt()).sum();
        assert!((grad(roots)(2.0, steps) - slope).abs() < 1e-6, "{steps}");
    }
}

#[test]
fn a_small_state_and_a_long_array() {
    let w = Array2::from_shape_fn((3, 3), |(i, j)| 0.3 * (i as f64 - j as f64) + 0.1);
    for n in [0, 1, 2, 100] {
        let x = Array1::from_shape_fn(n, |i| (i as f64 * 0.7).sin());
        let mut h = array![0.1, -0.2, 0.3];
        for v in &x {
            h = (w.dot(&h) + *v).mapv(f64::tanh);
        }
        assert_close(filtered(&x, &w), h, 1e-12);
        assert_checks!(filtered, (&x, &w));
        let (_, (slope, _)) = vjp(filtered)(&x, &w, &array![1.0, 1.0, 1.0]);
        assert_gradient(|x: &Array1<f64>| filtered(x, &w).sum(), &x, &slope);
    }
}

#[test]
fn two_points_end_at_different_times() {
    let by_hand = |w: f64| {
        let (mut x, mut trips) = ([w, 1.0], 0);
        while x[0] * x[0] + x[1] * x[1] > 0.5 {
            x = [0.6 * x[1] + 0.1, 0.9 * x[0].sin()];
            trips += 1;
        }
        (x[0] + 2.0 * x[1], trips)
    };
    for w in [array![0.2, 3.0], array![-5.0, 0.1], array![1.0, 1.0]] {
        assert_close(relaxed(&w), w.mapv(|w| by_hand(w).0), 1e-14);
        assert_checks!(relaxed, (&w,));
    }
    assert_ne!(by_hand(-5.0).1, by_hand(0.1).1);
}

#[test]
fn data_tell_the_places() {
    let x = Array1::from_shape_fn(5, |i| 1.0 + i as f64 * 0.1);
    for at in [vec![], vec![3], vec![0, 4, 4, 1, 0, 2, 3, 3]] {
        let at: Array1<i64> = Array1::from(at);
        let mut a = x.to_vec();
        for k in 1..at.len() {
            let t = a[at[k] as usize];
            a[at[k] as usize] = 0.5 * a[at[k - 1] as usize] + t.sin();
            a[at[k - 1] as usize] = t;
        }
        assert_close(shuffled(&x, &at), Array1::from(a), 1e-14);
        assert_checks!(shuffled, (&x, &at));
    }
    let error = Cpu.run(shuffled, (&x, &array![0i64, 5, 1])).unwrap_err().to_string();
    assert!(error.contains("`shuffled`") && error.contains("index 5"), "{error}");
}
