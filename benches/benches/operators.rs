//! Reverse mode of reductions, prefixes and reductions by index, for operators from a sum to a product of matrices: the
//! value with its derivatives against the value alone.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::Array1;

/// The affine map `a x + b` and after it `c x + d`.
#[kernel]
fn then((a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
    (a * c, b * c + d)
}

/// The product of two matrices, row by row.
#[kernel]
fn times((a, b, c, d): (f64, f64, f64, f64), (e, f, g, h): (f64, f64, f64, f64)) -> (f64, f64, f64, f64) {
    (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
}

#[kernel]
fn total(x: [f64; n]) -> f64 {
    sum(x)
}

#[kernel]
fn product(x: [f64; n]) -> f64 {
    prod(x)
}

#[kernel]
fn least(x: [f64; n]) -> f64 {
    minimum(x)
}

#[kernel]
fn affine(a: [f64; n], b: [f64; n]) -> (f64, f64) {
    reduce(then, (1.0, 0.0), (a, b))
}

#[kernel]
fn matrices(a: [f64; n], b: [f64; n], c: [f64; n], d: [f64; n]) -> (f64, f64, f64, f64) {
    reduce(times, (1.0, 0.0, 0.0, 1.0), (a, b, c, d))
}

#[kernel]
fn totals(x: [f64; n]) -> [f64; n] {
    cumsum(x)
}

#[kernel]
fn products(x: [f64; n]) -> [f64; n] {
    cumprod(x)
}

#[kernel]
fn minima(x: [f64; n]) -> [f64; n] {
    scan(min, f64::INFINITY, x)
}

#[kernel]
fn affine_prefixes(a: [f64; n], b: [f64; n]) -> ([f64; n], [f64; n]) {
    scan(then, (1.0, 0.0), (a, b))
}

#[kernel]
fn matrix_prefixes(
    a: [f64; n],
    b: [f64; n],
    c: [f64; n],
    d: [f64; n],
) -> ([f64; n], [f64; n], [f64; n], [f64; n]) {
    scan(times, (1.0, 0.0, 0.0, 1.0), (a, b, c, d))
}

#[kernel]
fn affine_bins(at: [i64; n], a: [f64; n], b: [f64; n]) -> ([f64; 1000], [f64; 1000]) {
    hist(then, (1.0, 0.0), 1000, at, (a, b))
}

#[kernel]
fn matrix_bins(
    at: [i64; n],
    a: [f64; n],
    b: [f64; n],
    c: [f64; n],
    d: [f64; n],
) -> ([f64; 1000], [f64; 1000], [f64; 1000], [f64; 1000]) {
    hist(times, (1.0, 0.0, 0.0, 1.0), 1000, at, (a, b, c, d))
}

/// Numbers near one, so that long products stay in range.
fn factors(n: usize) -> Array1<f64> {
    numbers::<_, _, f64>(n).mapv(|x| 1.0 + x * 1e-3)
}

fn reductions(c: &mut Criterion, n: usize) {
    let (x, y) = (factors(n), numbers(n));
    let z = y.mapv(|v: f64| v * 1e-3);
    pair(c, "reduce: sum", "primal", || vjp(total)(&x, 1.0), || total(&x));
    pair(c, "reduce: product", "primal", || vjp(product)(&x, 1.0), || product(&x));
    pair(c, "reduce: minimum", "primal", || vjp(least)(&x, 1.0), || least(&x));
    pair(c, "reduce: affine maps", "primal", || vjp(affine)(&x, &y, 1.0, 1.0), || affine(&x, &y));
    pair(
        c,
        "reduce: 2 x 2 matrices",
        "primal",
        || vjp(matrices)(&x, &z, &z, &x, 1.0, 1.0, 1.0, 1.0),
        || matrices(&x, &z, &z, &x),
    );
}

fn prefixes(c: &mut Criterion, n: usize) {
    let (x, y) = (factors(n), numbers(n));
    let z = y.mapv(|v: f64| v * 1e-3);
    pair(c, "scan: sum", "primal", || vjp(totals)(&x, &y), || totals(&x));
    pair(c, "scan: product", "primal", || vjp(products)(&x, &y), || products(&x));
    pair(c, "scan: minimum", "primal", || vjp(minima)(&x, &y), || minima(&x));
    pair(
        c,
        "scan: affine maps",
        "primal",
        || vjp(affine_prefixes)(&x, &y, &y, &x),
        || affine_prefixes(&x, &y),
    );
    pair(
        c,
        "scan: 2 x 2 matrices",
        "primal",
        || vjp(matrix_prefixes)(&x, &z, &z, &x, &x, &y, &y, &x),
        || matrix_prefixes(&x, &z, &z, &x),
    );
}

fn bins(c: &mut Criterion, n: usize) {
    let (x, y) = (factors(n), numbers(n));
    let z = y.mapv(|v: f64| v * 1e-3);
    let at = y.mapv(|v: f64| ((v * 0.5 + 0.5) * 1000.0) as i64);
    let ct = factors(1000);
    pair(
        c,
        "hist: affine maps",
        "primal",
        || vjp(affine_bins)(&at, &x, &y, &ct, &ct),
        || affine_bins(&at, &x, &y),
    );
    pair(
        c,
        "hist: 2 x 2 matrices",
        "primal",
        || vjp(matrix_bins)(&at, &x, &z, &z, &x, &ct, &ct, &ct, &ct),
        || matrix_bins(&at, &x, &z, &z, &x),
    );
}

fn main() {
    let mut c = criterion();
    let n = 1 << 22;
    reductions(&mut c, n);
    prefixes(&mut c, n);
    bins(&mut c, n);
    c.final_summary();
}
