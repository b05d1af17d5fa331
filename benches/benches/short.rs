//! Sums of short rows against plain loops, whose rows rayon divides among all cores: from rows that a reduction in lanes cannot fill
//! to those that it is made for.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use ndarray::Array2;
use rayon::prelude::*;

#[kernel(value)]
fn sums(x: [[f64; m]; n]) -> [f64; n] {
    sum(x)
}

#[kernel(value)]
fn sums_of_exp(x: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.0;
        for j in 0..m {
            s += exp(x[i][j]);
        }
        s
    })
}

fn by_hand(x: &Array2<f64>, value: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    let m = x.ncols();
    let one = |row: &[f64]| {
        let mut s = 0.0;
        for v in row {
            s += value(*v);
        }
        s
    };
    x.as_slice().unwrap_or(&[]).par_chunks_exact(m).with_min_len(1024).map(one).collect()
}

fn main() {
    let mut c = criterion();
    for m in [2, 3, 4, 8, 16, 24, 31, 32, 100] {
        let x: Array2<f64> = numbers((1_000_000, m));
        pair(&mut c, &format!("sums of {m}"), "rayon", || sums(&x), || by_hand(&x, |v| v));
        if m <= 16 {
            let name = format!("sums of {m} exponentials");
            pair(&mut c, &name, "rayon with std's exp", || sums_of_exp(&x), || by_hand(&x, f64::exp));
        }
    }
    c.final_summary();
}
