//! Small arrays of each point, which become scalars: bundle adjustment, and every kind of short loop.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use array_dsl::{Cpu, Error};
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

#[kernel]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A vector turned around the axis `r` by its length.
#[kernel]
fn turned(r: [f64; 3], z: [f64; 3]) -> [f64; 3] {
    let s = dot(r, r);
    if s != 0.0 {
        let theta = s.sqrt();
        let a = r / theta;
        z * theta.cos() + cross(a, z) * theta.sin() + a * (dot(a, z) * (1.0 - theta.cos()))
    } else {
        z + cross(r, z)
    }
}

/// Rotation, center, focal length, principal point and radial distortion of a camera; a point; where it was seen.
#[kernel]
fn residual(cam: [f64; 11], x: [f64; 3], w: f64, feat: [f64; 2]) -> [f64; 2] {
    let y = turned(cam[0..3], x - cam[3..6]);
    let p = y[0..2] / y[2];
    let rho = dot(p, p);
    let q = p * (1.0 + cam[9] * rho + cam[10] * rho * rho);
    w * (cam[6] * q + cam[7..9] - feat)
}

#[kernel]
fn residuals(
    cams: [[f64; 11]; n],
    xs: [[f64; 3]; m],
    w: [f64; p],
    feats: [[f64; 2]; p],
    seen: [[i64; 2]; p],
) -> [[f64; 2]; p] {
    build(p, |i| residual(cams[seen[i][0]], xs[seen[i][1]], w[i], feats[i]))
}

#[kernel]
fn blocks(
    cams: [[f64; 11]; n],
    xs: [[f64; 3]; m],
    w: [f64; p],
    feats: [[f64; 2]; p],
    seen: [[i64; 2]; p],
) -> ([[[f64; 11]; 2]; p], [[[f64; 3]; 2]; p], [[f64; 2]; p]) {
    build(p, |i| {
        let (cam, x) = (cams[seen[i][0]], xs[seen[i][1]]);
        let by_camera = jacobian(|cam| residual(cam, x, w[i], feats[i]))(cam);
        let by_point = jacobian(|x| residual(cam, x, w[i], feats[i]))(x);
        let by_weight = jacobian(|w| residual(cam, x, w, feats[i]))(w[i]);
        (by_camera, by_point, by_weight)
    })
}

type Scene = (Array2<f64>, Array2<f64>, Array1<f64>, Array2<f64>, Array2<i64>);

/// So many observations of three points by two cameras, of which the second is not turned.
fn scene(observations: usize) -> Scene {
    let cam = [0.1, -0.2, 0.3, 0.5, -0.4, -6.0, 100.0, 3.0, -2.0, 0.01, -0.002];
    let cams = Array2::from_shape_fn((2, 11), |(c, k)| if c == 1 && k < 3 { 0.0 } else { cam[k] });
    let xs = array![[1.0, 2.0, 3.0], [-0.5, 0.25, 2.0], [0.0, 1.5, -1.0]];
    let feats = Array2::from_shape_fn((observations, 2), |(i, k)| 10.0 * (k + 1) as f64 + (i / 6) as f64);
    let seen = Array2::from_shape_fn((observations, 2), |(i, k)| if k == 0 { i % 2 } else { i % 3 } as i64);
    (cams, xs, Array1::from_elem(observations, 0.5), feats, seen)
}

/// The numbers of the published problem's first observation.
#[test]
fn bundle_adjustment() {
    let (cams, xs, w, feats, seen) = scene(7);
    let e = residuals(&cams, &xs, &w, &feats, &seen);
    assert_close(e.row(0).to_owned(), array![-13.9200903407043, -3.93740207370459], 1e-12);
    let (by_camera, by_point, by_weight) = blocks(&cams, &xs, &w, &feats, &seen);
    let rows = array![
        [
            8.30899717836673,
            50.8752554155849,
            -10.2459009320013,
            -5.42133953805345,
            1.60141602439795,
            -0.125858743280928,
            -0.104200903407043,
            0.5,
            0.0,
            -0.659224181776799,
            -0.0417317057766806
        ],
        [
            -51.2498157512421,
            5.84934864126255,
            -5.45260887956705,
            -1.39945551753954,
            -5.20726237502551,
            1.466350828759,
            0.0706259792629541,
            0.0,
            0.5,
            0.446813337211999,
            0.0282851922624725
        ]
    ];
    assert_close(by_camera.index_axis(ndarray::Axis(0), 0).to_owned(), rows.clone(), 1e-11);
    let by_center = rows.slice(ndarray::s![.., 3..6]).mapv(|x| -x);
    assert_close(by_point.index_axis(ndarray::Axis(0), 0).to_owned(), by_center, 1e-11);
    assert_close(by_weight.row(0).to_owned(), &e.row(0) / 0.5, 1e-11);
    for observations in [0, 1, 2, 17] {
        let (cams, xs, w, feats, seen) = scene(observations);
        assert_checks!(residuals, (&cams, &xs, &w, &feats, &seen));
    }
}

/// What is not there is an error.
#[test]
fn an_observation_of_nothing() {
    for (part, index, there) in [(0, 2, 2), (0, -1, 2), (1, 3, 3), (1, i64::MIN, 3)] {
        let (cams, xs, w, feats, mut seen) = scene(7);
        seen[[4, part]] = index;
        for error in [
            Cpu.run(residuals, (&cams, &xs, &w, &feats, &seen)).unwrap_err(),
            Cpu.run(blocks, (&cams, &xs, &w, &feats, &seen)).unwrap_err(),
        ] {
            let Error::IndexOutOfRange { index: found, length, .. } = error else { panic!("{error}") };
            assert_eq!((found, length), (index, there));
        }
    }
}

/// Folds, places, prefixes and choices along short axes, of numbers that tie and are none.
#[kernel]
fn folds(x: [[f64; 5]; n], order: [i64; 3]) -> ([f64; n], [f64; n], [i64; n], [f64; n], [[f64; 5]; n]) {
    build(n, |i| {
        let row = x[i];
        let largest = argmax(row);
        let picked = build(3, |k| row[order[k]] * k as f64);
        let ends = build(5, |k| if k == 0 || k == 4 { row[k] } else { row[k - 1] * row[k + 1] });
        (minimum(row), prod(row), largest, sum(picked), cumsum(ends))
    })
}

fn folds_by_hand(x: &[f64; 5], order: [usize; 3]) -> (f64, f64, i64, f64, [f64; 5]) {
    let mut largest = 0;
    for k in 0..5 {
        if x[k] > x[largest] || (x[largest].is_nan() && !x[k].is_nan()) {
            largest = k;
        }
    }
    let mut sums = [0.0; 5];
    let mut sum = 0.0;
    for k in 0..5 {
        sum += if k == 0 || k == 4 { x[k] } else { x[k - 1] * x[k + 1] };
        sums[k] = sum;
    }
    let picked = (0..3).map(|k| x[order[k]] * k as f64).sum();
    (x.iter().copied().fold(f64::INFINITY, f64::min), x.iter().product(), largest as i64, picked, sums)
}

#[test]
fn every_fold() {
    let rows = [
        [1.0, 2.0, 2.0, -1.0, 0.5],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [f64::NAN, 1.0, -3.0, 1.0, 2.0],
        [-1.0, f64::NEG_INFINITY, -2.0, 4.0, 4.0],
    ];
    let x = Array2::from_shape_fn((rows.len(), 5), |(i, k)| rows[i][k]);
    let (least, product, place, picked, sums) = folds(&x, &array![4, 0, 2]);
    for (i, row) in rows.iter().enumerate() {
        let expected = folds_by_hand(row, [4, 0, 2]);
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        assert!(same(least[i], expected.0) && same(product[i], expected.1), "row {i}");
        assert_eq!(place[i], expected.2, "row {i}");
        assert!(same(picked[i], expected.3), "row {i}");
        assert!((0..5).all(|k| same(sums[[i, k]], expected.4[k])), "row {i}: {}", sums.row(i));
    }
}

/// A filter of 16 taps.
#[kernel]
fn filtered(x: [f64; n], taps: [f64; 16]) -> f64 {
    let y = build(n, |i| sum(build(16, |k| if i >= k { taps[k] * x[i - k] } else { 0.0 })));
    sum(y * y)
}

#[test]
fn a_filter() {
    for n in [0, 1, 15, 16, 17, 40] {
        let x = Array1::from_shape_fn(n, |i| (i as f64 * 0.7).sin());
        let taps = Array1::from_shape_fn(16, |k| 1.0 / (k + 1) as f64);
        let y = (0..n).map(|i| (0..=i.min(15)).map(|k| taps[k] * x[i - k]).sum::<f64>());
        let expected: f64 = y.map(|y| y * y).sum();
        assert!((filtered(&x, &taps) - expected).abs() < 1e-9);
        let (by_x, by_taps) = grad(filtered)(&x, &taps);
        assert_gradient(|x| filtered(x, &taps), &x, &by_x);
        assert_gradient(|taps| filtered(&x, taps), &taps, &by_taps);
    }
}

/// A step of Runge and Kutta's in a field that turns, of particles with three coordinates.
#[kernel]
fn stepped(x: [[f64; 3]; n], dt: f64, steps: usize) -> f64 {
    let push = |x: [f64; 3]| [x[1] - x[2], x[2] * x[0] - x[0], -0.5 * x[2]];
    let ends = map(
        |x| {
            let mut x = x;
            for _ in 0..steps {
                let a = push(x);
                let b = push(x + 0.5 * dt * a);
                let c = push(x + 0.5 * dt * b);
                let d = push(x + dt * c);
                x = x + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d);
            }
            x
        },
        x,
    );
    sum(flatten(ends * ends))
}

#[test]
fn particles_of_three_coordinates() {
    let x = Array2::from_shape_fn((5, 3), |(i, k)| 0.1 * (i + 1) as f64 - 0.2 * k as f64);
    for steps in [0, 1, 4] {
        assert_checks!(stepped, (&x, 0.1, steps));
    }
}
