//! Points that look up what they need in tables, against the same in Rust: values, and values with their gradients by hand, for which each
//! core adds to tables of its own.

#[path = "../../array-dsl-compiler/tests/programs/tables.rs"]
mod tables;

use std::ops::Range;

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use tables::{springs, two_tables};

/// What `part` finds for a part of `n` points, beginning with zeros of this length, added up.
fn added(n: usize, len: usize, part: impl Fn(Range<usize>, &mut [f64]) -> f64 + Sync) -> (f64, Vec<f64>) {
    let parts = rayon::current_num_threads();
    let each = n.div_ceil(parts);
    let found = (0..parts).into_par_iter().map(|k| {
        let mut sums = vec![0.0; len];
        let value = part((k * each).min(n)..((k + 1) * each).min(n), &mut sums);
        (value, sums)
    });
    found.reduce(
        || (0.0, vec![0.0; len]),
        |(v, mut a), (w, b)| {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            (v + w, a)
        },
    )
}

fn tables_by_hand(a: &[f64], b: &[f64], at: &[i64], x: &[f64], gradient: bool) -> (f64, Vec<f64>) {
    let m = a.len();
    added(x.len(), if gradient { 2 * m } else { 0 }, |points, sums| {
        let mut value = 0.0;
        for i in points {
            let k = at[i] as usize;
            let (sin, cos) = (a[k] * x[i]).sin_cos();
            let e = b[k].exp();
            value += sin * e;
            if gradient {
                sums[k] += cos * x[i] * e;
                sums[m + k] += sin * e;
            }
        }
        value
    })
}

fn springs_by_hand(x: &[f64], from: &[i64], to: &[i64], rest: &[f64], gradient: bool) -> (f64, Vec<f64>) {
    added(rest.len(), if gradient { x.len() } else { 0 }, |part, sums| {
        let mut energy = 0.0;
        for s in part {
            let (a, b) = (2 * from[s] as usize, 2 * to[s] as usize);
            let d = [x[a] - x[b], x[a + 1] - x[b + 1]];
            let l = (d[0] * d[0] + d[1] * d[1] + 0.01).sqrt();
            energy += 0.5 * (l - rest[s]) * (l - rest[s]);
            if gradient {
                let pull = (l - rest[s]) / l;
                for k in 0..2 {
                    sums[a + k] += pull * d[k];
                    sums[b + k] -= pull * d[k];
                }
            }
        }
        energy
    })
}

fn main() {
    let mut c = criterion();
    let n = 1_000_000;
    let places = |m: usize, by: usize| Array1::from_shape_fn(n, |i| (i * by % 1_000_003 % m) as i64);
    let (a, b, x): (Array1<f64>, Array1<f64>, Array1<f64>) = (numbers(1000), numbers(1000), numbers(n));
    let at = places(1000, 7919);
    let [sa, sb, sx] = [&a, &b, &x].map(|x| x.as_slice().unwrap_or(&[]));
    let k = at.as_slice().unwrap_or(&[]);
    let ours = || two_tables(&a, &b, &at, &x);
    pair(&mut c, "two tables", "Rust", ours, || tables_by_hand(sa, sb, k, sx, false));
    let ours = || value_and_grad(two_tables)(&a, &b, &at, &x);
    pair(&mut c, "value and gradient of two tables", "Rust", ours, || tables_by_hand(sa, sb, k, sx, true));
    let points: Array2<f64> = numbers((10_000, 2));
    let (from, to) = (places(10_000, 7919), places(10_000, 104_729));
    let sp = points.as_slice().unwrap_or(&[]);
    let [sf, st] = [&from, &to].map(|x| x.as_slice().unwrap_or(&[]));
    let ours = || springs(&points, &from, &to, &x);
    pair(&mut c, "springs", "Rust", ours, || springs_by_hand(sp, sf, st, sx, false));
    let ours = || value_and_grad(springs)(&points, &from, &to, &x);
    pair(&mut c, "value and gradient of springs", "Rust", ours, || springs_by_hand(sp, sf, st, sx, true));
    c.final_summary();
}
