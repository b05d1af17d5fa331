//! Memory-bound programs over long vectors against hand-written rayon loops.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::{Array1, Array2};
use rayon::prelude::*;

#[kernel]
fn sum_of_squares(x: [f32; n]) -> f32 {
    (x * x).sum()
}

#[kernel]
fn saxpy(a: f32, x: [f32; n], y: [f32; n]) -> [f32; n] {
    a * x + y
}

/// `x + y` of matrices with short rows: the loop over all elements, not that over a row, should be the inner one.
#[kernel]
fn add_narrow(x: [[f32; m]; n], y: [[f32; m]; n]) -> [[f32; m]; n] {
    x + y
}

const LANES: usize = 32;

/// A dot product with itself, in as many sums as make it vectorize.
fn squares_of(x: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    for part in whole {
        for (s, x) in lanes.iter_mut().zip(part) {
            *s += x * x;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| x * x).sum::<f32>()
}

fn vectors(c: &mut Criterion, n: usize, size: &str) {
    let (x, y): (Array1<f32>, Array1<f32>) = (numbers(n), numbers(n));
    pair(
        c,
        &format!("sum of squares f32 {size}"),
        "rayon",
        || sum_of_squares(&x),
        || x.as_slice().map(|x| x.par_chunks(1 << 16).map(squares_of).sum::<f32>()),
    );
    pair(
        c,
        &format!("saxpy f32 {size}"),
        "rayon",
        || saxpy(1.5, &x, &y),
        || match (x.as_slice(), y.as_slice()) {
            (Some(x), Some(y)) => {
                x.par_iter().zip(y).with_min_len(1 << 14).map(|(x, y)| 1.5 * x + y).collect()
            }
            _ => Vec::new(),
        },
    );
}

fn narrow(c: &mut Criterion) {
    let (n, m) = (1 << 20, 3);
    let (x, y): (Array2<f32>, Array2<f32>) = (numbers((n, m)), numbers((n, m)));
    pair(
        c,
        "sum of matrices f32 2^20 x 3",
        "rayon",
        || add_narrow(&x, &y),
        || match (x.as_slice(), y.as_slice()) {
            (Some(x), Some(y)) => x.par_iter().zip(y).with_min_len(1 << 14).map(|(x, y)| x + y).collect(),
            _ => Vec::new(),
        },
    );
}

fn main() {
    let mut c = criterion();
    vectors(&mut c, 1 << 26, "2^26");
    vectors(&mut c, 1 << 20, "2^20");
    vectors(&mut c, 1 << 12, "2^12");
    narrow(&mut c);
    c.final_summary();
}
