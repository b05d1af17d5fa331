//! Programs of several steps: networks, kernels that call kernels, second derivatives.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

use super::agreement::{SHAPES, agree, integers, noise};

#[kernel]
fn probabilities(z: [[f32; m]; n]) -> [[f32; m]; n] {
    softmax(z)
}

#[kernel]
fn smooth_maxima(z: [[f32; m]; n]) -> [f32; n] {
    logsumexp(z)
}

#[test]
fn softmax_and_its_relatives() {
    for (n, m) in SHAPES.into_iter().chain([(2, 5000), (5000, 2)]).filter(|(_, m)| *m > 0) {
        let z = noise((n, m), 1) * 4.0;
        agree(probabilities, (z.clone(),), 1e-5);
        agree(vjp(probabilities), (z.clone(), noise((n, m), 2)), 1e-4);
        agree(jvp(probabilities), (z.clone(), noise((n, m), 3)), 1e-4);
        agree(smooth_maxima, (z.clone(),), 1e-5);
        agree(vjp(smooth_maxima), (z.clone(), noise(n, 4)), 1e-4);
    }
    // Where the naive formula overflows.
    agree(smooth_maxima, (noise((4, 10), 5) * 1000.0,), 1e-5);
}

#[kernel]
fn nll(w: [[f32; c]; d], b: [f32; c], #[no_grad] x: [[f32; d]; n], #[no_grad] y: [i32; n]) -> f32 {
    let logits = matmul(x, w) + b;
    let each = build(n, |i| {
        let z = logits[i];
        let m = maximum(z);
        m + (z - m).exp().sum().ln() - z[y[i] as usize]
    });
    each.sum() / n as f32
}

#[test]
fn logistic_regression() {
    for (n, d, c) in [(1, 1, 1), (33, 8, 10), (300, 64, 10)] {
        let (w, b, x, y) = (noise((d, c), 1), noise(c, 2), noise((n, d), 3), integers(n, c as i32, 4));
        agree(nll, (w.clone(), b.clone(), x.clone(), y.clone()), 1e-4);
        agree(grad(nll), (w.clone(), b.clone(), x.clone(), y.clone()), 1e-4);
        agree(value_and_grad(nll), (w.clone(), b.clone(), x.clone(), y.clone()), 1e-4);
        agree(jvp(nll), (w.clone(), b.clone(), x, y, w, b), 1e-4);
    }
}

// Kernels that call kernels.

#[kernel]
fn rectified(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.01 * x }
}

#[kernel]
fn dense(w: [[f32; m]; n], b: [f32; n], x: [f32; m]) -> [f32; n] {
    rectified(matvec(w, x) + b)
}

#[kernel]
fn two_layers(w1: [[f32; m]; k], b1: [f32; k], w2: [[f32; k]; c], b2: [f32; c], x: [[f32; m]; s]) -> f32 {
    sum(map(|v| sum(dense(w2, b2, dense(w1, b1, v)) * 0.5), x))
}

#[kernel]
fn attention(q: [[f32; d]; n], k: [[f32; d]; m], v: [[f32; e]; m]) -> [[f32; e]; n] {
    let weights = softmax(matmul(q, transpose(k)) / (d as f32).sqrt());
    matmul(weights, v)
}

#[test]
fn networks() {
    for (m, k, c, s) in [(1, 1, 1, 1), (3, 5, 2, 7), (33, 65, 10, 40)] {
        let arguments = (noise((k, m), 1), noise(k, 2), noise((c, k), 3), noise(c, 4), noise((s, m), 5));
        agree(value_and_grad(two_layers), arguments, 1e-3);
    }
    for (n, m, d, e) in [(1, 1, 1, 1), (10, 12, 4, 6), (40, 70, 33, 16)] {
        let (q, k, v) = (noise((n, d), 1), noise((m, d), 2), noise((m, e), 3));
        agree(attention, (q.clone(), k.clone(), v.clone()), 1e-4);
        agree(vjp(attention), (q, k, v, noise((n, e), 4)), 1e-4);
    }
}

// Distances, where reductions and extrema meet.

#[kernel]
fn cost_of_means(points: [[f32; d]; n], centers: [[f32; d]; k]) -> f32 {
    let squares = |a, b| sum((a - b) * (a - b));
    sum(map(|p| minimum(map(|c| squares(p, c), centers)), points))
}

#[test]
fn nearest_centers() {
    for (n, k, d) in [(1, 1, 1), (50, 3, 4), (500, 7, 9)] {
        let (points, centers) = (noise((n, d), 1), noise((k, d), 2));
        agree(cost_of_means, (points.clone(), centers.clone()), 1e-4);
        agree(grad(cost_of_means), (points, centers), 1e-4);
    }
}

// Second derivatives.

#[kernel(hvp)]
fn rosenbrock(x: [f32; n]) -> f32 {
    sum(build(n - 1, |i| {
        let (a, b) = (x[i], x[i + 1]);
        100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a)
    }))
}

#[kernel]
fn wave(x: f32) -> f32 {
    x.sin() * x
}

#[kernel(hvp)]
fn log_partition(w: [[f32; m]; n], x: [f32; m]) -> f32 {
    logsumexp(matvec(w, x))
}

#[test]
fn second_derivatives() {
    for n in [1, 2, 257] {
        agree(value_and_grad(rosenbrock), (noise(n, 1),), 1e-3);
        agree(hvp(rosenbrock), (noise(n, 1), noise(n, 2)), 1e-3);
    }
    agree(grad(grad(wave)), (0.7f32,), 1e-5);
    let (w, x): (Array2<f32>, Array1<f32>) = (noise((20, 30), 1), noise(30, 2));
    agree(hvp(log_partition), (w.clone(), x.clone(), w, x), 1e-3);
}

// The result of one run is the argument of the next, without leaving the device.

#[kernel]
fn relaxed(u: [[f32; m]; n]) -> [[f32; m]; n] {
    build((n, m), |i, j| {
        if i == 0 || i == n - 1 || j == 0 || j == m - 1 {
            u[i][j]
        } else {
            0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1])
        }
    })
}

#[test]
fn results_are_arguments() {
    use super::agreement::{Compare, is_skipped, own_gpu};
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let mut on_cpu = noise((40, 50), 1);
    let mut on_gpu = gpu.upload(&on_cpu).unwrap();
    for _ in 0..100 {
        on_cpu = relaxed(&on_cpu);
        on_gpu = gpu.run(relaxed, (&on_gpu,)).unwrap();
    }
    assert_eq!(on_gpu.download().unwrap().difference(&on_cpu, 1e-5), None);
}
