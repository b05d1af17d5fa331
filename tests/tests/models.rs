//! Whole objectives of the field, with published values or checked by differences.

use array_dsl::prelude::*;
use ndarray::{Array2, array};

mod common;
use common::{assert_close, assert_gradient};

/// The Gaussian mixture of ADBench without the constant of its prior: `l` holds the lower triangle of each inverse
/// factor column by column, `q` the logarithm of its diagonal.
#[kernel]
fn gmm(
    alpha: [f64; k],
    mu: [[f64; d]; k],
    q: [[f64; d]; k],
    l: [[f64; t]; k],
    #[no_grad] x: [[f64; d]; n],
    #[no_grad] gamma: f64,
    #[no_grad] m: f64,
) -> f64 {
    let diagonal = q.exp();
    let beta = build((n, k), |i, c| {
        let delta = x[i] - mu[c];
        let u = build(d, |r| {
            let below = build(d, |s| {
                if s < r { l[c][s * (d - 1) - s * (s - 1) / 2 + r - s - 1] * delta[s] } else { 0.0 }
            });
            diagonal[c][r] * delta[r] + below.sum()
        });
        alpha[c] + sum(q[c]) - 0.5 * sum(u * u)
    });
    let likelihood = build(n, |i| logsumexp(beta[i])).sum()
        - n as f64 * (logsumexp(alpha) + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln());
    let prior = build(k, |c| {
        0.5 * gamma * gamma * (sum(diagonal[c] * diagonal[c]) + sum(l[c] * l[c])) - m * sum(q[c])
    });
    likelihood + prior.sum()
}

#[test]
fn gaussian_mixture() {
    let (alpha, mu) = (array![0.1, -0.2], array![[0.0, 0.5], [1.0, -1.0]]);
    let (q, l) = (array![[0.2, -0.3], [0.0, 0.4]], array![[0.7], [-0.5]]);
    let x = array![[0.3, 0.1], [-0.4, 0.9], [1.5, -0.7]];
    let (dalpha, dmu, dq, dl) = grad(gmm)(&alpha, &mu, &q, &l, &x, 0.5, 2.0);
    assert_close(dalpha, array![0.300250293291308, -0.300250293291308], 1e-13);
    assert_close(
        dmu,
        array![[0.103387895049607, -0.0262382093005719], [0.128456401655103, 0.624178092984221]],
        1e-13,
    );
    assert_close(
        dq,
        array![[-0.45786289641665, 0.15478568920959], [-1.0491244170227, -0.957242874105664]],
        1e-13,
    );
    assert_close(dl, array![[0.168357890162024], [-0.0315106055810487]], 1e-13);
    assert_gradient(
        |a| gmm(a, &mu, &q, &l, &x, 0.5, 2.0),
        &alpha,
        &grad(gmm)(&alpha, &mu, &q, &l, &x, 0.5, 2.0).0,
    );
}

#[kernel]
fn attention(q: [[f64; d]; n], k: [[f64; d]; m], v: [[f64; e]; m]) -> [[f64; e]; n] {
    matmul(softmax(matmul(q, transpose(k)) / (d as f64).sqrt()), v)
}

/// One explicit step of the wave equation inside a grid, and the energy of what changed.
#[kernel]
fn wave(u: [[f64; m]; n], c: f64) -> f64 {
    let laplacian = build((n - 2, m - 2), |i, j| {
        u[i][j + 1] + u[i + 2][j + 1] + u[i + 1][j] + u[i + 1][j + 2] - 4.0 * u[i + 1][j + 1]
    });
    (laplacian * laplacian * c).flatten().sum()
}

/// Reprojection error of one camera (rotation vector `r`, centre, focal length) over points.
#[kernel]
fn reprojection(
    r: [f64; 3],
    centre: [f64; 3],
    focal: f64,
    points: [[f64; 3]; n],
    #[no_grad] seen: [[f64; 2]; n],
) -> f64 {
    let theta = (sum(r * r) + 1e-12).sqrt();
    let axis = r / theta;
    let (s, c) = (theta.sin(), theta.cos());
    build(n, |i| {
        let p = points[i] - centre;
        let along = dot(axis, p) * (1.0 - c);
        let cross = [
            axis[1] * p[2] - axis[2] * p[1],
            axis[2] * p[0] - axis[0] * p[2],
            axis[0] * p[1] - axis[1] * p[0],
        ];
        let turned = p * c + cross * s + axis * along;
        let (dx, dy) =
            (focal * turned[0] / turned[2] - seen[i][0], focal * turned[1] / turned[2] - seen[i][1]);
        dx * dx + dy * dy
    })
    .sum()
}

fn waves(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * m + j) as f64 * 1.3).sin())
}

#[test]
fn derivatives_agree_with_differences() {
    let a = waves(3, 4);
    let check = check_grad(attention, (&a, &(&a * 2.0), &(&a + 1.0))).unwrap();
    assert!(check.agrees(1e-8), "{check}");
    let check = check_grad(wave, (&waves(6, 7), 0.3)).unwrap();
    assert!(check.agrees(1e-8), "{check}");
    let points = waves(5, 3) + array![0.0, 0.0, 4.0];
    let (r, centre) = (array![0.1, -0.2, 0.3], array![0.2, 0.1, -1.0]);
    let check = check_grad(reprojection, (&r, &centre, 1.5, &points, &waves(5, 2))).unwrap();
    assert!(check.agrees(1e-8), "{check}");
}
