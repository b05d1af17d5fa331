//! Points with small arrays, against the same work in Rust with arrays of constant length, whose points rayon divides among all cores;
//! derivatives against the values.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, pair};
use ndarray::{Array1, Array2};
use rayon::prelude::*;

type Three = [f64; 3];

#[kernel]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

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

/// The error of one observation in bundle adjustment: rotation, center, focal length, principal point and radial distortion of the
/// camera; the point; the observation's weight, and where it is.
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

/// `a + s b`.
fn along(a: Three, s: f64, b: Three) -> Three {
    [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]
}

fn dot3(a: Three, b: Three) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross_by_hand(a: Three, b: Three) -> Three {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn residuals_by_hand(
    cams: &Array2<f64>,
    xs: &Array2<f64>,
    w: &Array1<f64>,
    feats: &Array2<f64>,
    seen: &Array2<i64>,
) -> Array2<f64> {
    let one = |i: usize| {
        let (c, x) = (cams.row(seen[[i, 0]] as usize), xs.row(seen[[i, 1]] as usize));
        let z = [x[0] - c[3], x[1] - c[4], x[2] - c[5]];
        let r = [c[0], c[1], c[2]];
        let s = dot3(r, r);
        let y = if s != 0.0 {
            let theta = s.sqrt();
            let a = r.map(|r| r / theta);
            let (sin, cos) = theta.sin_cos();
            along(along(z.map(|z| z * cos), sin, cross_by_hand(a, z)), dot3(a, z) * (1.0 - cos), a)
        } else {
            along(z, 1.0, cross_by_hand(r, z))
        };
        let p = [y[0] / y[2], y[1] / y[2]];
        let rho = p[0] * p[0] + p[1] * p[1];
        let f = c[6] * (1.0 + c[9] * rho + c[10] * rho * rho);
        [w[i] * (f * p[0] + c[7] - feats[[i, 0]]), w[i] * (f * p[1] + c[8] - feats[[i, 1]])]
    };
    (0..w.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

/// Steps of Runge and Kutta's in a field that turns.
#[kernel]
fn particles(x: [[f64; 3]; n], dt: f64, steps: usize) -> f64 {
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

fn particles_by_hand(x: &Array2<f64>, dt: f64, steps: usize) -> f64 {
    let push = |x: Three| [x[1] - x[2], x[2] * x[0] - x[0], -0.5 * x[2]];
    let one = |i: usize| {
        let mut x = [x[[i, 0]], x[[i, 1]], x[[i, 2]]];
        for _ in 0..steps {
            let a = push(x);
            let b = push(along(x, 0.5 * dt, a));
            let c = push(along(x, 0.5 * dt, b));
            let d = push(along(x, dt, c));
            x = along(x, dt / 6.0, along(along(along(a, 2.0, b), 2.0, c), 1.0, d));
        }
        dot3(x, x)
    };
    (0..x.nrows()).into_par_iter().map(one).sum()
}

#[kernel]
fn forces(p: [[f64; 3]; n], m: [f64; n]) -> [[f64; 3]; n] {
    build(n, |i| {
        let mut a = zeros(3);
        for j in 0..n {
            let d = p[j] - p[i];
            let r2 = dot(d, d) + 0.01;
            a = a + m[j] / (r2 * r2.sqrt()) * d;
        }
        a
    })
}

fn forces_by_hand(p: &Array2<f64>, m: &Array1<f64>) -> Array2<f64> {
    let at = |i: usize| [p[[i, 0]], p[[i, 1]], p[[i, 2]]];
    let one = |i: usize| {
        let mut a = [0.0; 3];
        for j in 0..m.len() {
            let d = along(at(j), -1.0, at(i));
            let r2 = dot3(d, d) + 0.01;
            a = along(a, m[j] / (r2 * r2.sqrt()), d);
        }
        a
    };
    (0..m.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

/// Newton's method for two unknowns, until a step is small.
#[kernel]
fn roots(a: [f64; n], b: [f64; n]) -> [[f64; 2]; n] {
    build(n, |i| {
        let mut x = [1.0, 1.0];
        let mut k = 0;
        while k < 50 {
            let f = [x[0] * x[0] + x[1] - a[i], x[1] * x[1] - x[0] - b[i]];
            let det = 4.0 * x[0] * x[1] + 1.0;
            let dx = [(2.0 * x[1] * f[0] - f[1]) / det, (f[0] + 2.0 * x[0] * f[1]) / det];
            x = x - dx;
            k += 1;
            if dot(dx, dx) < 1e-20 {
                k = 50;
            }
        }
        x
    })
}

fn roots_by_hand(a: &Array1<f64>, b: &Array1<f64>) -> Array2<f64> {
    let one = |i: usize| {
        let mut x = [1.0, 1.0];
        for _ in 0..50 {
            let f = [x[0] * x[0] + x[1] - a[i], x[1] * x[1] - x[0] - b[i]];
            let det = 4.0 * x[0] * x[1] + 1.0;
            let dx = [(2.0 * x[1] * f[0] - f[1]) / det, (f[0] + 2.0 * x[0] * f[1]) / det];
            x = [x[0] - dx[0], x[1] - dx[1]];
            if dx[0] * dx[0] + dx[1] * dx[1] < 1e-20 {
                break;
            }
        }
        x
    };
    (0..a.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

/// A filter of 16 taps.
#[kernel]
fn filtered(x: [f64; n], taps: [f64; 16]) -> [f64; n] {
    build(n, |i| sum(build(16, |k| if i >= k { taps[k] * x[i - k] } else { 0.0 })))
}

fn filtered_by_hand(x: &Array1<f64>, taps: &Array1<f64>) -> Array1<f64> {
    let one = |i: usize| (0..16).filter(|k| i >= *k).map(|k| taps[k] * x[i - k]).sum();
    (0..x.len()).into_par_iter().map(one).collect::<Vec<f64>>().into()
}

fn main() {
    let mut c = criterion();
    let (n, m, p) = (49, 7776, 31_843);
    let cam = [0.1, -0.2, 0.3, 0.5, -0.4, -6.0, 100.0, 3.0, -2.0, 0.01, -0.002];
    let cams = Array2::from_shape_fn((n, 11), |(_, k)| cam[k]);
    let xs = Array2::from_shape_fn((m, 3), |(_, k)| [1.0, 2.0, 3.0][k]);
    let w = Array1::from_elem(p, 0.5);
    let feats = Array2::from_shape_fn((p, 2), |(_, k)| [10.0, 20.0][k]);
    let seen = Array2::from_shape_fn((p, 2), |(i, k)| (i % [n, m][k]) as i64);
    let value = || residuals(&cams, &xs, &w, &feats, &seen);
    pair(&mut c, "residuals", "Rust", value, || residuals_by_hand(&cams, &xs, &w, &feats, &seen));
    pair(&mut c, "blocks of residuals", "value", || blocks(&cams, &xs, &w, &feats, &seen), value);

    let n = 20_000;
    let x = Array2::from_shape_fn((n, 3), |(i, k)| 0.1 * (i % 17 + 1) as f64 / 17.0 - 0.02 * k as f64);
    let value = || particles(&x, 0.01, 100);
    pair(&mut c, "particles", "Rust", value, || particles_by_hand(&x, 0.01, 100));
    pair(&mut c, "gradient of particles", "value", || grad(particles)(&x, 0.01, 100), value);

    let x = Array2::from_shape_fn((2000, 3), |(i, k)| ((i * 7 + k * 13) % 101) as f64 / 101.0);
    let m = Array1::from_elem(2000, 1.0);
    let value = || forces(&x, &m);
    pair(&mut c, "forces", "Rust", value, || forces_by_hand(&x, &m));
    pair(&mut c, "pullback of forces", "value", || vjp(forces)(&x, &m, &x), value);

    let a = Array1::from_shape_fn(n, |i| 1.0 + (i % 13) as f64);
    let b = Array1::from_shape_fn(n, |i| 2.0 + (i % 11) as f64);
    let value = || roots(&a, &b);
    let cotangent = roots(&a, &b);
    pair(&mut c, "roots", "Rust", value, || roots_by_hand(&a, &b));
    pair(&mut c, "pullback of roots", "value", || vjp(roots)(&a, &b, &cotangent), value);

    let x = Array1::from_shape_fn(1_000_000, |i| (i as f64 * 0.7).sin());
    let taps = Array1::from_shape_fn(16, |k| 1.0 / (k + 1) as f64);
    let value = || filtered(&x, &taps);
    pair(&mut c, "filtered", "Rust", value, || filtered_by_hand(&x, &taps));
    pair(&mut c, "pullback of filtered", "value", || vjp(filtered)(&x, &taps, &x), value);
}
