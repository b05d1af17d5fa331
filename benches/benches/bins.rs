//! Reductions by index against histograms with private copies on rayon, and their derivatives against them.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::Array1;
use rayon::prelude::*;

#[kernel]
fn sums(at: [i64; n], x: [f32; n], k: usize) -> [f32; k] {
    hist(add, 0.0, k, at, x)
}

#[kernel]
fn least(at: [i64; n], x: [f32; n], k: usize) -> [f32; k] {
    hist(min, f32::INFINITY, k, at, x)
}

#[kernel]
fn products(at: [i64; n], x: [f32; n], k: usize) -> [f32; k] {
    hist(mul, 1.0, k, at, x)
}

/// An operator that is not built in: by sorting.
#[kernel]
fn joined(at: [i64; n], x: [f32; n], k: usize) -> [f32; k] {
    hist(|a, b| a + b + a * b, 0.0, k, at, x)
}

/// A private copy of the bins for each of a few chunks of values, and their sum.
fn by_hand(at: &[i64], x: &[f32], k: usize, op: impl Fn(f32, f32) -> f32 + Sync, e: f32) -> Vec<f32> {
    let chunk = x.len().div_ceil(rayon::current_num_threads()).max(1);
    let copies = at.par_chunks(chunk).zip(x.par_chunks(chunk)).map(|(at, x)| {
        let mut bins = vec![e; k];
        for (i, x) in at.iter().zip(x) {
            if let Some(bin) = usize::try_from(*i).ok().and_then(|i| bins.get_mut(i)) {
                *bin = op(*bin, *x);
            }
        }
        bins
    });
    copies.reduce(
        || vec![e; k],
        |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a = op(*a, b));
            a
        },
    )
}

fn bins(c: &mut Criterion, n: usize, size: &str, k: i64) {
    let x: Array1<f32> = numbers(n);
    let at = x.mapv(|x| ((x * 0.5 + 0.5) as f64 * k as f64) as i64);
    let (plain_at, plain_x) = (at.as_slice().unwrap_or(&[]), x.as_slice().unwrap_or(&[]));
    let count = k as usize;
    pair(
        c,
        &format!("sums f32 {size} into {k} bins"),
        "private copies",
        || sums(&at, &x, k),
        || by_hand(plain_at, plain_x, count, |a, b| a + b, 0.0),
    );
    pair(
        c,
        &format!("minima f32 {size} into {k} bins"),
        "private copies",
        || least(&at, &x, k),
        || by_hand(plain_at, plain_x, count, f32::min, f32::INFINITY),
    );
}

fn derivatives(c: &mut Criterion, n: usize, size: &str, k: i64) {
    let x: Array1<f32> = numbers(n);
    let at = x.mapv(|x| ((x * 0.5 + 0.5) as f64 * k as f64) as i64);
    let ct: Array1<f32> = numbers(k as usize);
    let name = |what: &str| format!("vjp of {what} f32 {size} into {k} bins");
    pair(c, &name("sums"), "primal", || vjp(sums)(&at, &x, k, &ct), || sums(&at, &x, k));
    pair(c, &name("minima"), "primal", || vjp(least)(&at, &x, k, &ct), || least(&at, &x, k));
    pair(c, &name("products"), "primal", || vjp(products)(&at, &x, k, &ct), || products(&at, &x, k));
    pair(c, &name("an operator"), "primal", || vjp(joined)(&at, &x, k, &ct), || joined(&at, &x, k));
}

fn main() {
    let mut c = criterion();
    for k in [10, 1_000, 1_000_000] {
        bins(&mut c, 1 << 26, "2^26", k);
    }
    for k in [10, 1_000, 1_000_000] {
        derivatives(&mut c, 1 << 22, "2^22", k);
    }
    c.final_summary();
}
