//! Loops whose ends the points around them decide: pairs, triangles, windows. What they give, at all sizes, and what derivatives say.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;
#[path = "../../array-dsl-compiler/tests/programs/pairs.rs"]
mod pairs;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};
use pairs::{autocorrelation, discounted, energy, filtered, outward, relayed, smoothed, triangle};

/// None, few, and around the numbers of lanes.
const LENGTHS: [usize; 9] = [0, 1, 2, 3, 7, 31, 33, 64, 100];

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 0.71).sin())
}

fn cloud(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, 3), |(i, k)| 2.0 * ((i * (k + 2)) as f64 * 0.53).sin() + k as f64 * 0.2)
}

/// The values by hand, and the derivatives three ways.
macro_rules! assert_values {
    ($kernel:ident($($arg:expr),*), $by_hand:expr) => {{
        assert_close($kernel($($arg),*), $by_hand, 1e-12);
        assert_checks!($kernel, ($($arg,)*));
    }};
}

fn of_pair(x: &Array2<f64>, i: usize, j: usize) -> f64 {
    let d = &x.row(i) - &x.row(j);
    let s = 1.0 / (d.dot(&d) + 0.01).powi(3);
    s * s - s
}

#[test]
fn energies_of_pairs() {
    for n in LENGTHS {
        let x = cloud(n);
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let sum: f64 = pairs.map(|(i, j)| of_pair(&x, i, j)).sum();
        let scale = sum.abs().max(1.0);
        assert_close(energy(&x) / scale, sum / scale, 1e-12);
        // Forces between two are opposite.
        let g = grad(energy)(&x);
        let total = g.sum_axis(ndarray::Axis(0));
        let most = g.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert!(total.iter().all(|t| t.abs() < 1e-10 * most * n.max(1) as f64), "{n}: {total}");
    }
    // Far from each other, where differences say much.
    let wide = 3.0 * cloud(6);
    assert_gradient(|x: &Array2<f64>| energy(x), &wide, &grad(energy)(&wide));
}

#[test]
fn triangles() {
    for n in LENGTHS {
        let a = Array2::from_shape_fn((n, n), |(i, j)| ((3 * i + 7 * j) as f64 * 0.37).cos());
        let lower = Array2::from_shape_fn((n, n), |(i, j)| if j <= i { a[[i, j]] } else { 0.0 });
        let x = wave(n);
        assert_values!(triangle(&a, &x), lower.dot(&x));
    }
}

#[test]
fn recurrences_that_start_from_what_is_added() {
    for n in LENGTHS {
        let x = wave(n);
        let by_hand = |i: usize| {
            let (mut s, mut k) = (x[i], 1.0);
            for j in i + 1..n {
                s = (s * 0.8 + x[j]).tanh() * k + x[i];
                k *= x[j].cos();
            }
            s
        };
        assert_values!(relayed(&x, 0.8), Array1::from_shape_fn(n, by_hand));
    }
}

#[test]
fn recurrences_from_each_point_to_the_end() {
    for n in LENGTHS {
        let r = wave(n);
        let by_hand = |i: usize| {
            let (mut total, mut weight) = (0.0, 1.0);
            for t in i..n {
                total += weight * r[t];
                weight *= 0.9 * (1.0 - 0.1 * r[t].tanh());
            }
            total
        };
        assert_values!(discounted(&r, 0.9), Array1::from_shape_fn(n, by_hand));
    }
}

#[test]
fn windows_that_end_with_the_array() {
    for n in LENGTHS {
        let x = wave(n);
        let by_hand = |i: usize| {
            let near = i.saturating_sub(3)..n.min(i + 4);
            let w = |j: usize| (-(x[i] - x[j]).powi(2) / 0.3).exp();
            near.clone().map(|j| w(j) * x[j]).sum::<f64>() / near.map(w).sum::<f64>()
        };
        assert_values!(smoothed(&x, 0.3), Array1::from_shape_fn(n, by_hand));
    }
}

#[test]
fn recurrences_over_windows() {
    for n in LENGTHS {
        let x = wave(n);
        let over = |i: usize| x.slice(ndarray::s![i.saturating_sub(5)..n.min(i + 6)]).to_owned();
        let by_hand = |i: usize| over(i).iter().fold(0.5, |s, x| 0.7 * s + x.tanh() * s * s);
        assert_values!(filtered(&x, 0.7), Array1::from_shape_fn(n, by_hand));
    }
}

#[test]
fn recurrences_outward() {
    for n in LENGTHS {
        let x = wave(n);
        let (before, after) = outward(&x);
        let of_before = |i: usize| (0..i).rev().fold(0.2, |s: f64, j| (s * x[j]).sin() + 0.1);
        let of_after = |i: usize| (i + 2..n).fold(0.2, |s: f64, j| (s * x[j]).sin() + 0.1 * x[i]);
        assert_close(before, Array1::from_shape_fn(n, of_before), 1e-12);
        assert_close(after, Array1::from_shape_fn(n, of_after), 1e-12);
        assert_checks!(outward, (&x,));
    }
}

#[test]
fn lags() {
    for n in LENGTHS {
        let x = wave(n);
        let by_hand = |lag: usize| (0..n - lag).map(|t| x[t] * x[t + lag]).sum::<f64>();
        assert_values!(autocorrelation(&x), Array1::from_shape_fn(n, by_hand));
    }
}

/// A condition on the counter changes nowhere if the number that it is compared with is the greatest there is.
#[test]
fn numbers_beyond_all_counters() {
    #[kernel]
    fn up_to(x: [f64; n], last: i64) -> [f64; n] {
        build(n, |i| {
            let mut s = 0.0;
            for k in 0..n {
                s += if k <= last { (x[k] + x[i]).exp() } else { 0.0 };
            }
            s
        })
    }
    let x = wave(40);
    for last in [i64::MIN, -1, 0, 20, 39, 40, i64::MAX - 1, i64::MAX] {
        let of = |i: usize| (0..40).filter(|k| *k as i64 <= last).map(|k| (x[k] + x[i]).exp()).sum::<f64>();
        assert_close(up_to(&x, last), Array1::from_shape_fn(40, of), 1e-12);
    }
}

/// An end of a range that the data give is no end of an array.
#[test]
fn ends_that_are_too_far_are_errors() {
    #[kernel]
    fn beyond(x: [f64; n]) -> [f64; n] {
        build(n, |i| {
            let mut s = 0.0;
            for j in 0..i + 2 {
                s += x[j];
            }
            s
        })
    }
    assert_close(beyond(&Array1::zeros(0)), Array1::<f64>::zeros(0), 0.0);
    let error = Cpu.run(beyond, (&array![1.0, 2.0, 3.0],)).unwrap_err().to_string();
    assert!(error.contains("`beyond`") && error.contains('3'), "{error}");
}
