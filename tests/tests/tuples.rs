//! Tuples: as arguments, as results, as elements of reductions and maps, and in gradients. An array of tuples is a
//! tuple of arrays, in kernels and on the host.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, array};

// A14, T26: mri-q with ten explicit maps and with none.

#[kernel]
fn mri_q_by_maps(
    k: ([f64; nk], [f64; nk], [f64; nk]),
    phi: ([f64; nk], [f64; nk]),
    x: [f64; nx],
    y: [f64; nx],
    z: [f64; nx],
) -> ([f64; nx], [f64; nx]) {
    let (kx, ky, kz) = k;
    let (phi_r, phi_i) = phi;
    let magnitude = map(|r, i| r * r + i * i, phi_r, phi_i);
    let angles = map(
        |xe, ye, ze| {
            map(
                |a| 2.0 * std::f64::consts::PI * a,
                map(|kxe, kye, kze| kxe * xe + kye * ye + kze * ze, kx, ky, kz),
            )
        },
        x,
        y,
        z,
    );
    let qr = map(|a| sum(map(mul, magnitude, map(|t| t.cos(), a))), angles);
    let qi = map(|a| sum(map(mul, magnitude, map(|t| t.sin(), a))), angles);
    (qr, qi)
}

#[kernel]
fn mri_q(
    k: ([f64; nk], [f64; nk], [f64; nk]),
    phi: ([f64; nk], [f64; nk]),
    x: [f64; nx],
    y: [f64; nx],
    z: [f64; nx],
) -> ([f64; nx], [f64; nx]) {
    let (kx, ky, kz) = k;
    let (phi_r, phi_i) = phi;
    let magnitude = phi_r * phi_r + phi_i * phi_i;
    let along_x = kx * transpose(replicate(nk, x));
    let along_y = ky * transpose(replicate(nk, y));
    let along_z = kz * transpose(replicate(nk, z));
    let angles = 2.0 * std::f64::consts::PI * (along_x + along_y + along_z);
    (sum(cos(angles) * magnitude), sum(sin(angles) * magnitude))
}

#[test]
fn t26_mri_q() {
    let kx = array![0.1, -0.2, 0.3];
    let ky = array![0.0, 0.5, -0.4];
    let kz = array![1.0, 0.25, 0.75];
    let (phi_r, phi_i) = (array![1.0, 2.0, 0.5], array![0.0, -1.0, 0.5]);
    let (x, y, z) = (array![0.5, -1.0], array![2.0, 0.3], array![-0.7, 0.1]);
    let by_maps = mri_q_by_maps((&kx, &ky, &kz), (&phi_r, &phi_i), &x, &y, &z);
    let by_lifting = mri_q((&kx, &ky, &kz), (&phi_r, &phi_i), &x, &y, &z);
    let mut expected = (Array1::zeros(2), Array1::zeros(2));
    for at in 0..2 {
        for k in 0..3 {
            let angle = std::f64::consts::TAU * (kx[k] * x[at] + ky[k] * y[at] + kz[k] * z[at]);
            let magnitude = phi_r[k] * phi_r[k] + phi_i[k] * phi_i[k];
            expected.0[at] += magnitude * f64::cos(angle);
            expected.1[at] += magnitude * f64::sin(angle);
        }
    }
    assert_close(by_maps, expected.clone(), 1e-12);
    assert_close(by_lifting, expected, 1e-12);
}

// A tuple is one argument: its gradient is a tuple of the same form.

#[kernel]
fn line_fit(line: (f64, f64), #[no_grad] x: [f64; n], #[no_grad] y: [f64; n]) -> f64 {
    let (slope, offset) = line;
    let residual = slope * x + offset - y;
    sum(residual * residual)
}

#[kernel]
fn by_fields(p: ([f64; n], f64), scale: f64) -> f64 {
    scale * sum(p.0) * p.1
}

#[test]
fn gradients_of_tuples() {
    let (x, y) = (array![0.0, 1.0, 2.0], array![1.0, 3.0, 4.0]);
    let (value, gradient) = value_and_grad(line_fit)((2.0, 1.0), &x, &y);
    assert_eq!(value, 1.0);
    assert_eq!(gradient, (4.0, 2.0));
    assert_gradient(|(slope, offset)| line_fit((*slope, *offset), &x, &y), &(2.0, 1.0), &gradient);

    let (value, ((xs_adj, factor_adj), scale_adj)) =
        value_and_grad(by_fields)((&array![1.0, 2.0], 3.0), 10.0);
    assert_eq!(value, 90.0);
    assert_eq!(xs_adj, array![30.0, 30.0]);
    assert_eq!((factor_adj, scale_adj), (30.0, 9.0));
}

// Results that are tuples, with a component that has no derivative.

#[kernel]
fn place_and_value(xs: [f64; n]) -> (i64, f64) {
    (argmax(xs), maximum(xs))
}

#[kernel]
fn nested_results(x: f64, y: f64) -> ((f64, f64), [f64; 2]) {
    ((x + y, x * y), [x, y * y])
}

#[test]
fn results_that_are_tuples() {
    let xs = array![1.0, 7.0, 3.0];
    assert_eq!(place_and_value(&xs), (1, 7.0));
    // One cotangent per float component of the result.
    let (value, cotangent) = vjp(place_and_value)(&xs, 2.0);
    assert_eq!(value, (1, 7.0));
    assert_eq!(cotangent, array![0.0, 2.0, 0.0]);
    assert_eq!(nested_results(3.0, 4.0), ((7.0, 12.0), array![3.0, 16.0]));
    let (_, gradient) = vjp(nested_results)(3.0, 4.0, 1.0, 10.0, &array![100.0, 1000.0]);
    assert_eq!(gradient, (1.0 + 40.0 + 100.0, 1.0 + 30.0 + 8000.0));
}

// Arrays of tuples inside kernels.

#[kernel]
fn sine_and_cosine(xs: [f64; n]) -> ([f64; n], [f64; n]) {
    map(|x| (x.sin(), x.cos()), xs)
}

#[kernel]
fn pairs_by_index(xs: [f64; n], ys: [f64; n]) -> [f64; n] {
    let pairs = build(n, |i| (xs[i], ys[i]));
    map(|(x, y)| x * y, pairs)
}

#[test]
fn arrays_of_tuples() {
    let xs = array![0.0, 0.5, 1.0];
    assert_close(sine_and_cosine(&xs), (xs.mapv(f64::sin), xs.mapv(f64::cos)), 1e-14);
    let (_, cotangent) = vjp(sine_and_cosine)(&xs, &array![1.0, 1.0, 0.0], &array![0.0, 1.0, 1.0]);
    let (s, c) = (0.5f64.sin(), 0.5f64.cos());
    assert_close(cotangent, array![1.0, c - s, -(1f64.sin())], 1e-14);
    let (value, (xs_adj, ys_adj)) = vjp(pairs_by_index)(&xs, &array![4.0, 5.0, 6.0], &Array1::ones(3));
    assert_eq!(value, array![0.0, 2.5, 6.0]);
    assert_eq!(xs_adj, array![4.0, 5.0, 6.0]);
    assert_eq!(ys_adj, xs);
}

/// The elements of an array whose size is a number may have names.
#[kernel]
fn taken_apart([a, b, ..]: [f64; 4], rows: [[f64; 2]; 3]) -> f64 {
    let [[p, q], .., mut last] = rows;
    last[0] *= 2.0;
    let [x, y] = last;
    let f = |[u, v]| u * v;
    a * b + p * q + x * y + f(rows[1])
}

#[test]
fn array_patterns() {
    let (x, rows) = (array![2.0, 3.0, 5.0, 7.0], array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(taken_apart(&x, &rows), 6.0 + 2.0 + 60.0 + 12.0);
    let (dx, drows) = grad(taken_apart)(&x, &rows);
    assert_eq!(dx, array![3.0, 2.0, 0.0, 0.0]);
    assert_eq!(drows, array![[2.0, 1.0], [4.0, 3.0], [12.0, 10.0]]);
}
