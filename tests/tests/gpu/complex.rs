//! Complex numbers on a device: arrays and scalars of them in and out, and derivatives.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, s};

use super::agreement::{LENGTHS, SHAPES, TOLERANCE, agree, is_skipped, noise, own_gpu};

type C = Complex<f32>;

fn numbers(len: usize, seed: u32) -> Array1<C> {
    noise(2 * len, seed).exact_chunks(2).into_iter().map(|part| Complex::new(part[0], part[1])).collect()
}

fn matrix((n, m): (usize, usize), seed: u32) -> Array2<C> {
    numbers(n * m, seed).into_shape_with_order((n, m)).expect("as many")
}

#[kernel]
fn mapped(z: [Complex<f32>; n], w: Complex<f32>, t: f32) -> ([Complex<f32>; n], [f32; n]) {
    (map(|z| (z * w).exp() + (2.0 + z).sqrt() * t - 1.0 / (z - 3.0), z), map(|z| z.norm(), z))
}

#[kernel]
fn summed(z: [Complex<f32>; n]) -> (Complex<f32>, [Complex<f32>; n], f32) {
    (z.sum(), z.cumsum(), map(|z| z.norm_sqr(), z).sum())
}

#[kernel]
fn product(a: [[Complex<f32>; k]; n], b: [[Complex<f32>; m]; k]) -> [[Complex<f32>; m]; n] {
    matmul(a, b)
}

/// In the Mandelbrot set or not: a loop at every point.
#[kernel]
fn escapes(at: [Complex<f32>; n]) -> [i32; n] {
    map(
        |c| {
            let mut z = Complex::ZERO;
            let mut k = 0;
            while k < 30 && z.norm_sqr() < 4.0 {
                z = z * z + c;
                k += 1;
            }
            k
        },
        at,
    )
}

#[kernel]
fn energy(z: [Complex<f32>; n], w: Complex<f32>) -> f32 {
    map(|z| (z * z * w + z.exp()).norm_sqr(), z).sum() / (n as f32 + 1.0)
}

#[test]
fn values_and_derivatives_are_those_of_the_cpu() {
    if is_skipped() {
        return;
    }
    let w = Complex::new(0.5, -0.25);
    for n in LENGTHS {
        let z = numbers(n, 5);
        agree(mapped, (z.clone(), w, 0.75f32), TOLERANCE);
        agree(summed, (z.clone(),), 1e-4);
        agree(escapes, (z.mapv(|z| z * 2.0),), TOLERANCE);
        agree(energy, (z.clone(), w), 1e-4);
        agree(grad(energy), (z.clone(), w), 1e-4);
        agree(vjp(mapped), (z.clone(), w, 0.75f32, numbers(n, 6), noise(n, 7)), 1e-4);
        agree(jvp(mapped), (z.clone(), w, 0.75f32, numbers(n, 6), w, 0.5f32), 1e-4);
    }
    for (n, m) in SHAPES {
        agree(product, (matrix((n, 20), 8), matrix((20, m), 9)), 1e-4);
        agree(vjp(product), (matrix((n, 20), 8), matrix((20, m), 9), matrix((n, m), 10)), 1e-4);
    }
}

#[test]
fn arrays_come_back_as_they_went() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let z = matrix((7, 5), 3);
    for view in [z.view(), z.t(), z.slice(s![..;-2, 1..4])] {
        let there = gpu.upload(&view).unwrap();
        assert_eq!((there.shape(), there.len()), (view.shape(), view.len()));
        assert_eq!(there.download().unwrap(), view);
    }
    let one = gpu.run(summed, (&gpu.upload(&z.row(2)).unwrap(),)).unwrap().0;
    assert!((one.item().unwrap() - z.row(2).sum()).norm() < 1e-5);
}
