//! Fourier transforms and convolutions: against the sums that define them, for sizes that are powers of two, primes and others,
//! with derivatives to the second order.

use array_dsl::prelude::*;
use array_dsl::signal::{
    complex, convolve, convolve_same, convolve_valid, correlate, correlate_same, correlate_valid, fft,
    fft_convolve, fft2, ifft, ifft2, irfft, rfft,
};
use ndarray::{Array1, Array2, Axis, array};

#[path = "common/signal.rs"]
mod kernels;
use kernels::{f32s, f64s};

#[path = "common/host.rs"]
#[macro_use]
mod host;

host! {
    h_fft(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) = fft(re, im);
    h_fft_32(re: [f32; n], im: [f32; n]) -> ([f32; n], [f32; n]) = fft(re, im);
    h_ifft(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) = ifft(re, im);
    h_rfft(x: [f64; n]) -> ([f64; _], [f64; _]) = unzip(rfft(x));
    h_irfft(re: [f64; m], im: [f64; m], n: usize) -> [f64; n] = irfft(re, im, n);
    h_fft2(re: [[f64; w]; h], im: [[f64; w]; h]) -> ([[f64; w]; h], [[f64; w]; h]) = fft2(re, im);
    h_ifft2(re: [[f64; w]; h], im: [[f64; w]; h]) -> ([[f64; w]; h], [[f64; w]; h]) = ifft2(re, im);
    h_batch(re: [[f64; n]; b], im: [[f64; n]; b]) -> ([[f64; n]; b], [[f64; n]; b]) = fft(re, im);
    h_points(re: [[f64; n]; b], im: [[f64; n]; b]) -> [f64; b] = build(b, |i| {
        let (p, q) = fft(re[i], im[i]);
        sum(p * p * q)
    });
    h_complex(z: [Complex<f64>; n]) -> ([Complex<f64>; n], [Complex<f64>; n]) =
        (complex::fft(z), complex::ifft(z));
    h_complex_real(x: [f64; n]) -> ([Complex<f64>; _], [f64; n]) = {
        let z = complex::rfft(x);
        (z, complex::irfft(z, n))
    };
    h_complex_2(z: [[Complex<f32>; w]; h]) -> ([[Complex<f32>; w]; h], [[Complex<f32>; w]; h]) =
        (complex::fft2(z), complex::ifft2(complex::fft2(z)));
    h_convolve(x: [f64; n], k: [f64; m]) -> [f64; n + m - 1] = convolve(x, k);
    h_convolve_same(x: [f64; n], k: [f64; m]) -> [f64; n] = convolve_same(x, k);
    h_convolve_valid(x: [f64; n], k: [f64; m]) -> [f64; n - m + 1] = convolve_valid(x, k);
    h_correlate(x: [f64; n], k: [f64; m]) -> [f64; n + m - 1] = correlate(x, k);
    h_correlate_same(x: [f64; n], k: [f64; m]) -> [f64; n] = correlate_same(x, k);
    h_correlate_valid(x: [f64; n], k: [f64; m]) -> [f64; n - m + 1] = correlate_valid(x, k);
    h_fft_convolve(x: [f64; n], k: [f64; m]) -> [f64; n + m - 1] = fft_convolve(x, k);
}

type Vector = Array1<f64>;

fn noise(n: usize, seed: u64) -> Vector {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Array1::from_shape_simple_fn(n, || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    })
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    noise(rows * columns, seed).into_shape_with_order((rows, columns)).unwrap()
}

/// The sums themselves.
fn transformed(re: &Vector, im: &Vector, sign: f64) -> (Vector, Vector) {
    let n = re.len();
    let turn = |j: usize, k: usize| {
        let angle = sign * std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
        (angle.cos(), angle.sin())
    };
    let part = |f: &dyn Fn(f64, f64, f64, f64) -> f64| {
        Array1::from_shape_fn(n, |k| {
            (0..n)
                .map(|j| {
                    let (c, s) = turn(j, k);
                    f(c, s, re[j], im[j])
                })
                .sum()
        })
    };
    (part(&|c, s, a, b| c * a - s * b), part(&|c, s, a, b| c * b + s * a))
}

/// The length of the difference, by that of what is expected.
fn off((a, b): &(Vector, Vector), (c, d): &(Vector, Vector)) -> f64 {
    let square = |x: &Vector| x.dot(x);
    let whole = square(c) + square(d);
    if whole == 0.0 {
        return square(a) + square(b);
    }
    ((square(&(a - c)) + square(&(b - d))) / whole).sqrt()
}

const SIZES: [usize; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 12, 31, 32, 100, 257, 1024];

#[test]
fn transforms_are_the_sums() {
    for n in SIZES {
        let (re, im) = (noise(n, 1), noise(n, 2));
        let expected = transformed(&re, &im, -1.0);
        let least = 1e-14 * (n as f64).log2().max(1.0);
        let found = h_fft(&re, &im);
        assert!(off(&found, &expected) < least, "n = {n}: {:e}", off(&found, &expected));
        let back = h_ifft(&found.0, &found.1);
        assert!(off(&back, &(re.clone(), im.clone())) < least, "n = {n}");
        let (a, b) = h_fft_32(&re.mapv(|x| x as f32), &im.mapv(|x| x as f32));
        let single = off(&(a.mapv(f64::from), b.mapv(f64::from)), &expected);
        assert!(single < 2e-6, "n = {n}: {single:e}");

        let real = transformed(&re, &Array1::zeros(n), -1.0);
        let (p, q) = h_rfft(&re);
        assert_eq!((p.len(), q.len()), (n / 2 + 1, n / 2 + 1));
        for k in 0..(n / 2 + 1).min(n) {
            assert!(
                (p[k] - real.0[k]).abs() + (q[k] - real.1[k]).abs() < 1e-13 * (1.0 + n as f64),
                "n = {n}, {k}"
            );
        }
        let x = h_irfft(&p, &q, n);
        assert!(x.iter().zip(&re).all(|(x, y)| (x - y).abs() < 1e-14), "n = {n}");
    }
}

/// The factors' errors do not grow.
#[test]
fn long_transforms() {
    for n in [1 << 15, 9973] {
        // One wave alone.
        let k = 1234;
        let angle = |j: usize| std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
        let (re, im) =
            (Array1::from_shape_fn(n, |j| angle(j).cos()), Array1::from_shape_fn(n, |j| angle(j).sin()));
        let expected = Array1::from_shape_fn(n, |j| if j == k { n as f64 } else { 0.0 });
        let found = off(&h_fft(&re, &im), &(expected, Array1::zeros(n)));
        assert!(found < 1e-14 * (n as f64).log2(), "n = {n}: {found:e}");
    }
}

#[test]
fn missing_parts_of_spectra_are_zero() {
    // As numpy.fft.irfft: cut off, or filled up.
    let x = h_irfft(&array![4.0, 2.0, 5.0, 9.0], &array![7.0, 0.0, 8.0, 9.0], 4);
    let y = h_irfft(&array![4.0, 2.0, 5.0], &array![0.0, 0.0, 0.0], 4);
    assert!((&x - &y).iter().all(|d| d.abs() < 1e-15), "{x} {y}");
    let z = h_irfft(&array![6.0], &array![0.0], 3);
    assert!((z - 2.0).iter().all(|d| d.abs() < 1e-15));
}

#[test]
fn batches_points_and_matrices() {
    for (b, n) in [(3, 8), (2, 6), (0, 4), (3, 0), (1, 1)] {
        let (re, im) = (matrix(b, n, 3), matrix(b, n, 4));
        let (p, q) = h_batch(&re, &im);
        let sums = h_points(&re, &im);
        for i in 0..b {
            let one = (re.row(i).to_owned(), im.row(i).to_owned());
            let expected = transformed(&one.0, &one.1, -1.0);
            assert!(off(&(p.row(i).to_owned(), q.row(i).to_owned()), &expected) < 1e-14);
            let sum = (&expected.0 * &expected.0 * &expected.1).sum();
            assert!((sums[i] - sum).abs() < 1e-12 * (1.0 + sum.abs()));
        }
        // The columns of what the rows give.
        let (u, v) = h_fft2(&re, &im);
        for j in 0..n {
            let expected = transformed(&p.column(j).to_owned(), &q.column(j).to_owned(), -1.0);
            assert!(off(&(u.column(j).to_owned(), v.column(j).to_owned()), &expected) < 1e-13);
        }
        let (x, y) = h_ifft2(&u, &v);
        assert!((&x - &re).iter().chain(&(&y - &im)).all(|d| d.abs() < 1e-14));
    }
}

#[test]
fn transforms_of_complex_numbers() {
    for n in [0, 1, 6, 16, 97] {
        let (re, im) = (noise(n, 5), noise(n, 6));
        let z = Array1::from_shape_fn(n, |i| Complex::new(re[i], im[i]));
        let (there, back) = h_complex(&z);
        let parts = |z: &Array1<Complex<f64>>| (z.mapv(|z| z.re), z.mapv(|z| z.im));
        assert!(off(&parts(&there), &transformed(&re, &im, -1.0)) < 1e-13, "n = {n}");
        let (p, q) = transformed(&re, &im, 1.0);
        let scale = 1.0 / n.max(1) as f64;
        assert!(off(&parts(&back), &(p * scale, q * scale)) < 1e-13, "n = {n}");
        let (half, again) = h_complex_real(&re);
        let (p, _) = h_rfft(&re);
        assert!(half.iter().zip(&p).all(|(z, p)| z.re == *p), "n = {n}");
        assert!((again - &re).iter().all(|d| d.abs() < 1e-14), "n = {n}");
    }
    let z = Array2::from_shape_fn((3, 5), |(i, j)| Complex::new((i * j) as f32, i as f32 - j as f32));
    let (there, back) = h_complex_2(&z);
    assert!((there[[0, 0]] - z.sum()).norm() < 1e-5);
    assert!((back - &z).iter().all(|d| d.norm() < 1e-5));
}

/// The whole convolution.
fn product(x: &Vector, k: &Vector) -> Vector {
    let mut y = Array1::zeros(x.len() + k.len() - 1);
    for (i, a) in x.iter().enumerate() {
        for (j, b) in k.iter().enumerate() {
            y[i + j] += a * b;
        }
    }
    y
}

#[track_caller]
fn near(a: &Vector, b: &Vector) {
    assert_eq!(a.len(), b.len());
    assert!((a - b).iter().all(|d| d.abs() < 1e-13), "{a}\n{b}");
}

#[test]
fn convolutions_are_the_sums() {
    for (n, m) in [(1, 1), (5, 1), (5, 2), (8, 3), (9, 4), (100, 17), (3, 3), (4, 0), (0, 4)] {
        let (x, k) = (noise(n, 5), noise(m, 6));
        let reversed = k.slice(ndarray::s![..;-1]).to_owned();
        let (whole, other) = (product(&x, &k), product(&x, &reversed));
        near(&h_convolve(&x, &k), &whole);
        near(&h_fft_convolve(&x, &k), &whole);
        near(&h_correlate(&x, &k), &other);
        if m >= 1 && n >= m {
            let same = |y: &Vector| y.slice(ndarray::s![(m - 1) / 2..(m - 1) / 2 + n]).to_owned();
            let valid = |y: &Vector| y.slice(ndarray::s![m - 1..n]).to_owned();
            near(&h_convolve_same(&x, &k), &same(&whole));
            near(&h_correlate_same(&x, &k), &same(&other));
            near(&h_convolve_valid(&x, &k), &valid(&whole));
            near(&h_correlate_valid(&x, &k), &valid(&other));
        }
    }
    assert!(
        Cpu.run(h_convolve_valid, (&noise(2, 1), &noise(4, 1))).is_err(),
        "longer than what it slides along"
    );
    assert!(Cpu.run(h_convolve, (&noise(0, 1), &noise(0, 1))).is_err(), "a size below zero");
    assert!(Cpu.run(h_fft, (&noise(2, 1), &noise(3, 1))).is_err(), "parts of different sizes");
}

macro_rules! derivatives {
    ($($name:ident)*) => {
        #[test]
        fn derivatives_to_the_second_order() {
            for n in [1, 2, 5, 8] {
                let (x, y) = (noise(n, 11), noise(n, 12));
                $({
                    check_grad(f64s::$name, (&x, &y)).unwrap().assert();
                    let (dx, dy, h) = (noise(n, 13), noise(n, 14), 1e-5);
                    let at = |t: f64| grad(f64s::$name)(&(&x + &(t * &dx)), &(&y + &(t * &dy)));
                    let ((px, py), (mx, my)) = (at(h), at(-h));
                    let (hx, hy) = hvp(f64s::$name)(&x, &y, &dx, &dy);
                    let scale = 1.0 + hx.iter().chain(&hy).fold(0.0f64, |m, v| m.max(v.abs()));
                    for (found, expected) in [(hx, (px - mx) / (2.0 * h)), (hy, (py - my) / (2.0 * h))] {
                        assert!((found - expected).iter().all(|d| d.abs() < 1e-7 * scale), "{} {n}", stringify!($name));
                    }
                })*
            }
        }

        #[test]
        fn single_precision() {
            for n in [1, 6, 8] {
                let (x, y) = (noise(n, 15), noise(n, 16));
                $({
                    let (sx, sy) = (x.mapv(|x| x as f32), y.mapv(|x| x as f32));
                    let (value, (dx, _)) = value_and_grad(f32s::$name)(&sx, &sy);
                    let (expected, (ex, _)) = value_and_grad(f64s::$name)(&x, &y);
                    let scale = 1.0 + expected.abs() + ex.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                    assert!((f64::from(value) - expected).abs() < 1e-4 * scale);
                    assert!((dx.mapv(f64::from) - ex).iter().all(|d| d.abs() < 1e-4 * scale));
                })*
            }
        }
    };
}

derivatives! { of_fft of_ifft of_complex of_real of_convolutions of_batch }

/// A batch of one row has the derivatives of the row.
#[test]
fn derivatives_of_matrices() {
    let (x, y) = (noise(6, 1), noise(6, 2));
    let rows = |v: &Vector| v.clone().insert_axis(Axis(0));
    let (u, v) = h_batch(&rows(&x), &rows(&y));
    assert_eq!((u.row(0).to_owned(), v.row(0).to_owned()), h_fft(&x, &y));
}
