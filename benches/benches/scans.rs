//! Prefixes and folds by operators against hand-written rayon loops in two passes, and their gradients against them.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use ndarray::Array1;
use rayon::prelude::*;

#[kernel]
fn prefix_sums(x: [f32; n]) -> [f32; n] {
    cumsum(x)
}

#[kernel]
fn sums_before(x: [f32; n]) -> [f32; n] {
    scan_exclusive(add, 0.0, x)
}

#[kernel]
fn products(x: [f64; n]) -> [f64; n] {
    cumprod(x)
}

#[kernel]
fn largest(x: [f64; n]) -> [f64; n] {
    scan(max, f64::NEG_INFINITY, x)
}

/// The composition of affine functions, applied to nothing.
#[kernel]
fn affine(a: [f64; n], b: [f64; n]) -> f64 {
    let (_, s) = reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (a, b));
    s
}

/// A recurrence that updates an array in place.
#[kernel]
fn smoothed(x: [f64; n], w: f64) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        y[i] = w * y[i - 1] + (1.0 - w) * y[i];
    }
    y
}

/// Elements that one task takes.
const CHUNK: usize = 1 << 16;

/// Two passes: the sums of the chunks, then the prefixes of each.
fn by_hand(x: &[f32], inclusive: bool) -> Vec<f32> {
    let sums: Vec<f32> = x.par_chunks(CHUNK).map(|c| c.iter().sum()).collect();
    let mut start = 0.0;
    let starts: Vec<f32> = sums
        .iter()
        .map(|s| {
            start += s;
            start - s
        })
        .collect();
    let mut out = vec![0.0; x.len()];
    out.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).zip(starts).for_each(|((out, x), start)| {
        let mut s = start;
        for (o, x) in out.iter_mut().zip(x) {
            if inclusive {
                s += x;
                *o = s;
            } else {
                *o = s;
                s += x;
            }
        }
    });
    out
}

fn smoothed_by_hand(x: &[f64], w: f64) -> Vec<f64> {
    let mut y = x.to_vec();
    for i in 1..y.len() {
        y[i] = w * y[i - 1] + (1.0 - w) * y[i];
    }
    y
}

fn main() {
    let mut c = criterion();
    let x: Array1<f32> = numbers(1 << 26);
    let plain = x.as_slice().unwrap_or(&[]);
    pair(&mut c, "prefix sums f32 2^26", "rayon", || prefix_sums(&x), || by_hand(plain, true));
    pair(&mut c, "exclusive prefix sums f32 2^26", "rayon", || sums_before(&x), || by_hand(plain, false));
    let n = 1 << 22;
    let (y, ct): (Array1<f64>, Array1<f64>) = (numbers(n), numbers(n));
    pair(&mut c, "vjp of prefix products 2^22", "primal", || vjp(products)(&y, &ct), || products(&y));
    pair(&mut c, "vjp of prefix maxima 2^22", "primal", || vjp(largest)(&y, &ct), || largest(&y));
    pair(&mut c, "gradient of affine fold 2^22", "primal", || grad(affine)(&y, &ct), || affine(&y, &ct));
    let rows = y.as_slice().unwrap_or(&[]);
    pair(&mut c, "recurrence in place 2^22", "by hand", || smoothed(&y, 0.9), || smoothed_by_hand(rows, 0.9));
    pair(
        &mut c,
        "vjp of recurrence in place 2^22",
        "primal",
        || vjp(smoothed)(&y, 0.9, &ct),
        || smoothed(&y, 0.9),
    );
    c.final_summary();
}
