//! Small arrays of each point: work of one thread, in one dispatch with everything that is made of them.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

use super::agreement::{TOLERANCE, agree, noise};

#[kernel]
fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[kernel]
fn turned(r: [f32; 3], z: [f32; 3]) -> [f32; 3] {
    let s = dot(r, r);
    if s != 0.0 {
        let theta = s.sqrt();
        let a = r / theta;
        z * theta.cos() + cross(a, z) * theta.sin() + a * (dot(a, z) * (1.0 - theta.cos()))
    } else {
        z + cross(r, z)
    }
}

#[kernel]
fn residual(cam: [f32; 11], x: [f32; 3], w: f32, feat: [f32; 2]) -> [f32; 2] {
    let y = turned(cam[0..3], x - cam[3..6]);
    let p = y[0..2] / y[2];
    let rho = dot(p, p);
    let q = p * (1.0 + cam[9] * rho + cam[10] * rho * rho);
    w * (cam[6] * q + cam[7..9] - feat)
}

#[kernel]
fn residuals(
    cams: [[f32; 11]; n],
    xs: [[f32; 3]; m],
    w: [f32; p],
    feats: [[f32; 2]; p],
    seen: [[i64; 2]; p],
) -> [[f32; 2]; p] {
    build(p, |i| residual(cams[seen[i][0]], xs[seen[i][1]], w[i], feats[i]))
}

#[kernel]
fn blocks(
    cams: [[f32; 11]; n],
    xs: [[f32; 3]; m],
    w: [f32; p],
    feats: [[f32; 2]; p],
    seen: [[i64; 2]; p],
) -> ([[[f32; 11]; 2]; p], [[[f32; 3]; 2]; p], [[f32; 2]; p]) {
    build(p, |i| {
        let (cam, x) = (cams[seen[i][0]], xs[seen[i][1]]);
        let by_camera = jacobian(|cam| residual(cam, x, w[i], feats[i]))(cam);
        let by_point = jacobian(|x| residual(cam, x, w[i], feats[i]))(x);
        let by_weight = jacobian(|w| residual(cam, x, w, feats[i]))(w[i]);
        (by_camera, by_point, by_weight)
    })
}

#[test]
fn bundle_adjustment() {
    for observations in [0, 1, 2, 17, 300] {
        let cam = [0.1f32, -0.2, 0.3, 0.5, -0.4, -6.0, 100.0, 3.0, -2.0, 0.01, -0.002];
        let cams = Array2::from_shape_fn((2, 11), |(c, k)| if c == 1 && k < 3 { 0.0 } else { cam[k] });
        let xs = array![[1.0f32, 2.0, 3.0], [-0.5, 0.25, 2.0], [0.0, 1.5, -1.0]];
        let w = Array1::from_elem(observations, 0.5f32);
        let feats = Array2::from_shape_fn((observations, 2), |(i, k)| (10 * (k + 1) + i / 6) as f32);
        let seen =
            Array2::from_shape_fn((observations, 2), |(i, k)| if k == 0 { i % 2 } else { i % 3 } as i64);
        let args = (cams, xs, w, feats, seen);
        agree(residuals, args.clone(), TOLERANCE);
        agree(blocks, args.clone(), TOLERANCE);
        let (cams, xs, w, feats, seen) = args;
        let cotangent = noise(2 * observations, 1).into_shape_with_order((observations, 2)).unwrap();
        agree(vjp(residuals), (cams, xs, w, feats, seen, cotangent), 1e-3);
    }
}

#[kernel]
fn folds(x: [[f32; 5]; n], order: [i64; 3]) -> ([f32; n], [f32; n], [i64; n], [f32; n], [[f32; 5]; n]) {
    build(n, |i| {
        let row = x[i];
        let largest = argmax(row);
        let picked = build(3, |k| row[order[k]] * k as f32);
        let ends = build(5, |k| if k == 0 || k == 4 { row[k] } else { row[k - 1] * row[k + 1] });
        (minimum(row), prod(row), largest, sum(picked), cumsum(ends))
    })
}

#[test]
fn every_fold() {
    for n in [0, 1, 5, 300] {
        let x = noise(5 * n, 4).into_shape_with_order((n, 5)).unwrap();
        agree(folds, (x, array![4, 0, 2]), TOLERANCE);
    }
}
