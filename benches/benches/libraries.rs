//! What libraries have too: Fourier transforms against rustfft, factors and spectra of matrices against nalgebra.

use array_dsl::linalg::{cholesky, eigh, qr, solve, svd};
use array_dsl::prelude::*;
use array_dsl::signal::{complex, fft};
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use rustfft::FftPlanner;

#[kernel(value)]
fn spectrum(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) {
    fft(re, im)
}

#[kernel(value)]
fn of_complex(z: [Complex<f64>; n]) -> [Complex<f64>; n] {
    complex::fft(z)
}

#[kernel(value)]
fn of_rows(z: [[Complex<f64>; n]; m]) -> [[Complex<f64>; n]; m] {
    complex::fft(z)
}

fn transforms(c: &mut Criterion, n: usize) {
    let (re, im): (Array1<f64>, Array1<f64>) = (numbers(n), numbers(n));
    let z: Vec<Complex<f64>> = re.iter().zip(&im).map(|(a, b)| Complex::new(*a, *b)).collect();
    let plan = FftPlanner::new().plan_fft_forward(n);
    let transformed = |z: &[Complex<f64>]| {
        let mut z = z.to_vec();
        plan.process(&mut z);
        z
    };
    pair(c, &format!("fft of parts, {n}"), "rustfft", || spectrum(&re, &im), || transformed(&z));
    let array = Array1::from_vec(z.clone());
    pair(c, &format!("fft of complex numbers, {n}"), "rustfft", || of_complex(&array), || transformed(&z));
}

fn rows(c: &mut Criterion, m: usize, n: usize) {
    let parts: Array2<f64> = numbers((m, 2 * n));
    let z = Array2::from_shape_fn((m, n), |(i, j)| Complex::new(parts[[i, 2 * j]], parts[[i, 2 * j + 1]]));
    let plan = FftPlanner::new().plan_fft_forward(n);
    pair(
        c,
        &format!("fft of rows, {m} x {n}"),
        "rustfft in rayon's chunks",
        || of_rows(&z),
        || {
            let mut z = z.clone();
            if let Some(z) = z.as_slice_mut() {
                z.par_chunks_mut(n).for_each(|row| plan.process(row));
            }
            z
        },
    );
}

#[kernel(value)]
fn factor(a: [[f64; n]; n]) -> [[f64; n]; n] {
    cholesky(a)
}

#[kernel(value)]
fn orthogonal(a: [[f64; n]; n]) -> ([[f64; n]; n], [[f64; n]; n]) {
    qr(a)
}

#[kernel(value)]
fn solution(a: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    solve(a, b)
}

#[kernel(value)]
fn eigen(a: [[f64; n]; n]) -> ([f64; n], [[f64; n]; n]) {
    eigh(a)
}

#[kernel(value)]
fn singular(a: [[f64; n]; n]) -> ([[f64; n]; n], [f64; n], [[f64; n]; n]) {
    svd(a)
}

fn matrices(c: &mut Criterion, n: usize) {
    let a: Array2<f64> = numbers((n, n));
    let symmetric = &a + &a.t();
    let positive = a.dot(&a.t()) + Array2::<f64>::eye(n);
    let b: Array1<f64> = numbers(n);
    let other = |a: &Array2<f64>| DMatrix::from_fn(n, n, |i, j| a[[i, j]]);
    let (na, ns, np) = (other(&a), other(&symmetric), other(&positive));
    let nb = DVector::from_fn(n, |i, _| b[i]);
    pair(c, &format!("cholesky {n}"), "nalgebra", || factor(&positive), || np.clone().cholesky());
    pair(
        c,
        &format!("qr {n}"),
        "nalgebra",
        || orthogonal(&a),
        || {
            let found = na.clone().qr();
            (found.q(), found.r())
        },
    );
    pair(c, &format!("solve {n}"), "nalgebra", || solution(&positive, &b), || np.clone().lu().solve(&nb));
    pair(c, &format!("eigh {n}"), "nalgebra", || eigen(&symmetric), || ns.clone().symmetric_eigen());
    pair(c, &format!("svd {n}"), "nalgebra", || singular(&a), || na.clone().svd(true, true));
}

fn main() {
    let mut c = criterion();
    for n in [1 << 10, 1000, 1 << 16, 100_003] {
        transforms(&mut c, n);
    }
    rows(&mut c, 1000, 256);
    for n in [30, 100, 300] {
        matrices(&mut c, n);
    }
    c.final_summary();
}
