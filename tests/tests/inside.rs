//! Derivatives that kernels take inside, as a user writes them.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

// Newton's method on any kernel of one number; the root's own derivative is that of the steps.

#[kernel]
fn residual(x: f64, a: f64) -> f64 {
    x * x * x + x - a
}

#[kernel]
fn root(a: f64) -> f64 {
    let mut x = 1.0;
    for _ in 0..30 {
        let (r, (slope, _)) = value_and_grad(residual)(x, a);
        x -= r / slope;
    }
    x
}

#[kernel]
fn roots(a: [f64; n]) -> [f64; n] {
    root(a)
}

#[test]
fn newton() {
    let x = root(10.0);
    assert!((x - 2.0).abs() < 1e-14, "{x}");
    // By the theorem of implicit functions: 1 / (3 x^2 + 1).
    let (_, slope) = value_and_grad(root)(10.0);
    assert!((slope - 1.0 / 13.0).abs() < 1e-14, "{slope}");
    assert_gradient(|a: &f64| root(*a), &10.0, &slope);
    assert!((grad(grad(root))(10.0) + 12.0 / 13f64.powi(3)).abs() < 1e-13);
    assert_close(roots(&array![10.0, 2.0, 0.0]), array![2.0, 1.0, 0.0], 1e-14);
}

// The gradient of each example's loss, as a private or robust training wants it.

#[kernel]
fn example(w: [[f64; c]; d], #[no_grad] x: [f64; d], #[no_grad] label: i64) -> f64 {
    let z = build(dim(w, 1), |j| sum(build(dim(w, 0), |i| w[i][j] * x[i])));
    logsumexp(z) - z[label]
}

#[kernel]
fn clipped(w: [[f64; c]; d], xs: [[f64; d]; n], labels: [i64; n], most: f64) -> [[f64; c]; d] {
    let each = build(n, |i| {
        let g = grad(example)(w, xs[i], labels[i]);
        let norm = sum(flatten(g * g)).sqrt();
        g * min(1.0, most / norm)
    });
    build((dim(w, 0), dim(w, 1)), |i, j| sum(build(n, |e| each[e][i][j]))) / (n as f64)
}

fn wave(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| (1.3 * i as f64 - 0.7 * j as f64).sin())
}

#[test]
fn gradients_of_examples() {
    let (w, xs) = (wave(4, 3), wave(5, 4));
    let labels = array![0i64, 2, 1, 1, 0];
    let mut expected = Array2::<f64>::zeros((4, 3));
    for (x, label) in xs.rows().into_iter().zip(&labels) {
        let g = grad(example)(&w, &x, *label);
        let norm = g.iter().map(|v| v * v).sum::<f64>().sqrt();
        expected.scaled_add(1f64.min(0.5 / norm) / 5.0, &g);
    }
    assert_close(clipped(&w, &xs, &labels, 0.5), expected, 1e-14);
    let check = check_grad(clipped, (&w, &xs, &labels, 0.5)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// A physical law from its energy: the equations of motion of a chain, and their work.

#[kernel]
fn energy(q: [f64; n]) -> f64 {
    sum(build(n - 1, |i| {
        let d = q[i + 1] - q[i];
        0.5 * d * d + 0.25 * d.powi(4)
    }))
}

#[kernel]
fn simulate(q: [f64; n], p: [f64; n], h: f64, steps: usize) -> ([f64; n], [f64; n]) {
    let mut q = q;
    let mut p = p;
    for _ in 0..steps {
        p -= 0.5 * h * grad(energy)(q);
        q += h * p;
        p -= 0.5 * h * grad(energy)(q);
    }
    (q, p)
}

#[test]
fn leapfrog_keeps_the_energy() {
    let q = Array1::from_shape_fn(20, |i| (i as f64 * 0.9).sin());
    let p = Array1::zeros(20);
    let total = |q: &Array1<f64>, p: &Array1<f64>| energy(q) + 0.5 * p.dot(p);
    let (q1, p1) = simulate(&q, &p, 0.01, 200);
    assert!((total(&q1, &p1) - total(&q, &p)).abs() < 2e-4);
    // It is reversible.
    let (q0, _) = simulate(&q1, &(-&p1), 0.01, 200);
    assert_close(q0, q.clone(), 1e-11);
    let check = check_grad(simulate, (&q, &p, 0.01, 3)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// Implicit layers and curvature: products with the Gauss-Newton matrix, by both modes at once.

#[kernel]
fn gauss_newton(w: [f64; d], xs: [[f64; d]; n], v: [f64; d]) -> [f64; d] {
    let model = |w| tanh(matvec(xs, w));
    let (_, t) = jvp(model)(w, v);
    vjp(model)(w, t).1
}

#[test]
fn products_with_the_gauss_newton_matrix() {
    let (w, xs) = (array![0.1, -0.2, 0.3], wave(6, 3));
    let z = xs.dot(&w).mapv(|z: f64| 1.0 - z.tanh().powi(2));
    let jacobian = &xs * &z.insert_axis(ndarray::Axis(1));
    let v = array![1.0, 2.0, -1.0];
    assert_close(gauss_newton(&w, &xs, &v), jacobian.t().dot(&jacobian.dot(&v)), 1e-13);
    let check = check_grad(gauss_newton, (&w, &xs, &v)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}
