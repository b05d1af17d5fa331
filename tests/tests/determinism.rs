//! Results have the same bits whatever the number of threads.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

#[kernel]
fn norm(x: [f32; n]) -> f32 {
    (x * x).sum().sqrt()
}

#[kernel]
fn rows(x: [[f64; m]; n]) -> f64 {
    build(n, |i| logsumexp(x[i])).sum()
}

#[kernel]
fn product(a: [[f32; k]; n], b: [[f32; m]; k]) -> f32 {
    matmul(a, b).flatten().sum()
}

#[kernel]
fn bins(at: [i64; n], x: [f64; n], weights: [f64; k]) -> f64 {
    dot(scatter_add(zeros(k), at, x * x), weights)
}

#[kernel]
fn gathered(#[no_grad] at: [i64; n], table: [f32; k]) -> f32 {
    build(n, |i| table[at[i]].sin()).sum()
}

/// Runs `f` with 1, 2 and 7 threads.
fn on_threads<T: Send + PartialEq + std::fmt::Debug>(f: impl Fn() -> T + Sync + Send) {
    let results: Vec<T> = [1, 2, 7]
        .into_iter()
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(&f))
        .collect();
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 0.37).sin() * 3.0)
}

#[test]
fn reductions() {
    let x = wave(1_000_003).mapv(|v| v as f32);
    on_threads(|| norm(&x).to_bits());
    on_threads(|| grad(norm)(&x));
    let x = Array2::from_shape_vec((1234, 57), wave(1234 * 57).to_vec()).unwrap();
    on_threads(|| rows(&x).to_bits());
    on_threads(|| grad(rows)(&x));
}

#[test]
fn contractions() {
    let a = Array2::from_shape_vec((301, 203), wave(301 * 203).mapv(|v| v as f32).to_vec()).unwrap();
    let b = Array2::from_shape_vec((203, 157), wave(203 * 157).mapv(|v| v as f32).to_vec()).unwrap();
    on_threads(|| product(&a, &b).to_bits());
    on_threads(|| grad(product)(&a, &b));
}

#[test]
fn accumulations() {
    let n = 200_000;
    let (x, weights) = (wave(n), wave(100));
    let at = Array1::from_shape_fn(n, |i| ((i * 7919) % 131) as i64 - 10);
    on_threads(|| bins(&at, &x, &weights).to_bits());
    on_threads(|| grad(bins)(&at, &x, &weights));
    let at = at.mapv(|i| i.rem_euclid(100));
    let table = weights.mapv(|v| v as f32);
    on_threads(|| grad(gathered)(&at, &table));
}
