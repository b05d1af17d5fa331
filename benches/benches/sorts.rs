//! Sorting against rayon's sorts.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::{Array1, Array2, ArrayRef1};
use rayon::prelude::*;

#[kernel]
fn sorted_f32(x: [f32; n]) -> [f32; n] {
    sort(x)
}

#[kernel]
fn sorted_f64(x: [f64; n]) -> [f64; n] {
    sort(x)
}

#[kernel]
fn order_f32(x: [f32; n]) -> [i64; n] {
    argsort(x)
}

#[kernel]
fn order_f64(x: [f64; n]) -> [i64; n] {
    argsort(x)
}

#[kernel]
fn sorted_rows(x: [[f32; m]; n]) -> [[f32; m]; n] {
    sort(x)
}

#[kernel]
fn positive(x: [f32; n]) -> [f32; _] {
    filter(|v| v > 0.0, x)
}

/// A sorted copy.
fn sorted<T: Copy + Send>(x: &ArrayRef1<T>, order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync) -> Vec<T> {
    let mut out = x.to_vec();
    out.par_sort_unstable_by(order);
    out
}

/// Positions in order, equal elements in theirs: elements are sorted together with their positions.
fn positions<T: Copy + Send + Sync>(
    x: &ArrayRef1<T>,
    order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync,
) -> Vec<i64> {
    let mut pairs: Vec<(T, i64)> = x.iter().copied().zip(0..).collect();
    pairs.par_sort_unstable_by(|(x, i), (y, j)| order(x, y).then(i.cmp(j)));
    pairs.into_par_iter().map(|(_, i)| i).collect()
}

fn vectors(c: &mut Criterion, n: usize, size: &str) {
    let (x, y): (Array1<f32>, Array1<f64>) = (numbers(n), numbers(n));
    let unstable = "par_sort_unstable_by(total_cmp)";
    let stable = "par_sort_unstable_by of pairs";
    pair(c, &format!("sort f32 {size}"), unstable, || sorted_f32(&x), || sorted(&x, f32::total_cmp));
    pair(c, &format!("sort f64 {size}"), unstable, || sorted_f64(&y), || sorted(&y, f64::total_cmp));
    pair(c, &format!("argsort f32 {size}"), stable, || order_f32(&x), || positions(&x, f32::total_cmp));
    pair(c, &format!("argsort f64 {size}"), stable, || order_f64(&y), || positions(&y, f64::total_cmp));
    pair(
        c,
        &format!("filter f32 {size}"),
        "rayon's filter and collect",
        || positive(&x),
        || x.as_slice().map(|x| x.par_iter().copied().filter(|v| *v > 0.0).collect::<Vec<f32>>()),
    );
}

fn rows(c: &mut Criterion, n: usize, m: usize) {
    let x: Array2<f32> = numbers((n, m));
    pair(
        c,
        &format!("sort rows f32 {n} x {m}"),
        "sort_unstable_by of each row",
        || sorted_rows(&x),
        || {
            let mut out = x.clone();
            if let Some(out) = out.as_slice_mut() {
                out.par_chunks_mut(m).for_each(|row| row.sort_unstable_by(f32::total_cmp));
            }
            out
        },
    );
}

fn main() {
    let mut c = criterion();
    vectors(&mut c, 1 << 24, "2^24");
    vectors(&mut c, 1 << 16, "2^16");
    vectors(&mut c, 1 << 8, "2^8");
    rows(&mut c, 1 << 12, 1 << 10);
    rows(&mut c, 1 << 16, 1 << 5);
    c.final_summary();
}
