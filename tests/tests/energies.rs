//! Energies of all pairs of points, written as people write them: the forces are the same, and need no memory for pairs.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2};

#[kernel]
fn by_components(x: [[f64; 3]; n]) -> f64 {
    sum(build(n, |i| {
        let mut e = 0.0;
        for j in 0..n {
            let dx = x[i][0] - x[j][0];
            let dy = x[i][1] - x[j][1];
            let dz = x[i][2] - x[j][2];
            let r2 = dx * dx + dy * dy + dz * dz + 0.1;
            e += exp(-r2) / sqrt(r2);
        }
        e
    }))
}

#[kernel]
fn by_arrays(x: [[f64; 3]; n]) -> f64 {
    sum(build(n, |i| {
        let mut e = 0.0;
        for j in 0..n {
            let d = [x[i][0] - x[j][0], x[i][1] - x[j][1], x[i][2] - x[j][2]];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.1;
            e += exp(-r2) / sqrt(r2);
        }
        e
    }))
}

#[kernel(hvp)]
fn by_vectors(x: [[f64; 3]; n]) -> f64 {
    sum(sum(build((n, n), |i, j| {
        let d = x[i] - x[j];
        let r2 = dot(d, d) + 0.1;
        exp(-r2) / sqrt(r2)
    })))
}

#[kernel]
fn in_loops(x: [[f64; 3]; n]) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for j in 0..n {
            let d = [x[i][0] - x[j][0], x[i][1] - x[j][1], x[i][2] - x[j][2]];
            let r2 = d[0].powi(2) + d[1].powi(2) + d[2].powi(2) + 0.1;
            e += exp(-r2) / sqrt(r2);
        }
    }
    e
}

#[kernel]
fn by_maps(x: [[f64; 3]; n]) -> f64 {
    map(
        |p| {
            map(
                |q| {
                    let r2 = sum((p - q) * (p - q)) + 0.1;
                    exp(-r2) / sqrt(r2)
                },
                x,
            )
            .sum()
        },
        x,
    )
    .sum()
}

/// Each pair once.
#[kernel]
fn of_halves(x: [[f64; 3]; n]) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for j in 0..i {
            let d = x[i] - x[j];
            let r2 = dot(d, d) + 0.1;
            e += exp(-r2) / sqrt(r2);
        }
    }
    2.0 * e
}

/// Up to a distance, which holds of most pairs.
#[kernel]
fn within(x: [[f64; 3]; n], cut: f64) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for j in 0..n {
            let d = x[i] - x[j];
            let r2 = dot(d, d) + 0.1;
            if r2 < cut * cut {
                e += exp(-r2) / sqrt(r2);
            }
        }
    }
    e
}

/// The same of each pair once, with those that come after a point.
#[kernel]
fn within_later(x: [[f64; 3]; n], cut: f64) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            let mut r2 = 0.1;
            for c in 0..3 {
                let d = x[i][c] - x[j][c];
                r2 += d * d;
            }
            if r2 < cut * cut {
                e += exp(-r2) / sqrt(r2);
            }
        }
    }
    2.0 * e
}

/// Of two kinds of points with charges, in a box that repeats itself.
#[kernel]
fn between(x: [[f64; 3]; n], y: [[f64; 3]; m], q: [f64; n], p: [f64; m], side: f64) -> f64 {
    sum(build(n, |i| {
        sum(build(m, |j| {
            let d = x[i] - y[j];
            let near = d - side * round(d / side);
            q[i] * p[j] * exp(-sqrt(dot(near, near) + 0.01)) / (0.1 + dot(near, near))
        }))
    }))
}

fn points(n: usize, phase: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, 3), |(i, c)| ((i * 3 + c) as f64 * 0.83 + phase).sin())
}

/// Twice what each pair gives that is not too far apart, but the pairs of points with themselves.
fn by_hand(x: &Array2<f64>, cut: f64) -> (f64, Array2<f64>) {
    let (mut e, mut g) = (0.0, x * 0.0);
    for i in 0..x.nrows() {
        for j in 0..i {
            let d = &x.row(i) - &x.row(j);
            let r2 = d.dot(&d) + 0.1;
            if r2 >= cut * cut {
                continue;
            }
            let v = (-r2).exp() / r2.sqrt();
            e += 2.0 * v;
            let slope = -2.0 * v * (1.0 + 0.5 / r2);
            g.row_mut(i).scaled_add(2.0 * slope, &d);
            g.row_mut(j).scaled_add(-2.0 * slope, &d);
        }
    }
    (e, g)
}

#[test]
fn all_are_the_same() {
    for n in [0, 1, 2, 3, 17, 100] {
        let x = points(n, 0.1);
        let (e, g) = by_hand(&x, f64::INFINITY);
        let themselves = n as f64 * (-0.1f64).exp() / 0.1f64.sqrt();
        let found = [
            (value_and_grad(by_components)(&x), e + themselves),
            (value_and_grad(by_arrays)(&x), e + themselves),
            (value_and_grad(by_vectors)(&x), e + themselves),
            (value_and_grad(in_loops)(&x), e + themselves),
            (value_and_grad(by_maps)(&x), e + themselves),
            (value_and_grad(of_halves)(&x), e),
        ];
        for ((value, gradient), expected) in found {
            assert!((value - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{n}: {value} {expected}");
            assert_close(gradient, g.clone(), 1e-12);
        }
    }
}

#[test]
fn pairs_that_are_near() {
    for n in [0, 1, 2, 17, 100] {
        let x = points(n, 0.1);
        for cut in [0.1, 1.2, 10.0] {
            let (e, g) = by_hand(&x, cut);
            let themselves = if 0.1 < cut * cut { n as f64 * (-0.1f64).exp() / 0.1f64.sqrt() } else { 0.0 };
            let found = [
                (value_and_grad(within)(&x, cut), e + themselves),
                (value_and_grad(within_later)(&x, cut), e),
            ];
            for ((value, (gradient, _)), expected) in found {
                assert!(
                    (value - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
                    "{n}: {value} {expected}"
                );
                assert_close(gradient, g.clone(), 1e-12);
            }
        }
    }
}

#[test]
fn other_derivatives() {
    let x = points(5, 0.4);
    assert_checks!(by_arrays, (&x,));
    assert_checks!(by_vectors, (&x,));
    let (y, q, p) = (points(4, 0.9), Array1::linspace(-1.0, 1.0, 5), Array1::linspace(0.5, 1.5, 4));
    assert_checks!(between, (&x, &y, &q, &p, 1.3));
    let h = hvp(by_vectors)(&x, &points(5, 1.0));
    assert_gradient(|x| (grad(by_vectors)(x) * points(5, 1.0)).sum(), &x, &h);
}
