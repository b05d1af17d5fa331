//! Fourier transforms and convolutions: vectors, batches, and at every point, with gradients.

use array_dsl::prelude::*;
use array_dsl::signal::{fft, ifft};
use ndarray::{Array1, Array2};

use super::agreement::{agree, gradients_agree, is_skipped, noise};
use super::signal_kernels::f32s;

#[test]
fn functions_and_gradients() {
    if is_skipped() {
        return;
    }
    for n in [1, 2, 7, 16] {
        let (x, y): (Array1<f32>, Array1<f32>) = (noise(n, 3), noise(n, 4));
        gradients_agree!((x, y), 1e-4, f32s: of_fft of_ifft of_complex of_real of_convolutions of_batch);
    }
}

#[kernel(value)]
fn both(re: [f32; n], im: [f32; n]) -> ([f32; n], [f32; n]) {
    let (a, b) = fft(re, im);
    ifft(a - 0.5 * b, b)
}

#[kernel(value, vjp)]
fn at_points(re: [[f32; n]; b], im: [[f32; n]; b]) -> [f32; b] {
    build(b, |i| {
        let (p, q) = fft(re[i], im[i]);
        sum(p * q * p)
    })
}

#[test]
fn sizes_and_points() {
    if is_skipped() {
        return;
    }
    // The squares of the places of a chirp are those of more than 32 bits.
    for (n, tolerance) in [(0, 0.0), (3, 1e-5), (1024, 1e-4), (1000, 1e-4), (47_000, 1e-3)] {
        let (x, y): (Array1<f32>, Array1<f32>) = (noise(n, 5), noise(n, 6));
        agree(both, (x, y), tolerance);
    }
    for (b, n) in [(0, 4), (1, 5), (70, 8)] {
        let (x, y): (Array2<f32>, Array2<f32>) = (noise((b, n), 7), noise((b, n), 8));
        agree(at_points, (x, y), 1e-4);
    }
}
