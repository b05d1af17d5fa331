//! Reductions and normalizations of the rows and columns of a matrix against hand-written rayon loops with the same
//! mathematics.

use array_dsl::__rt::cpu::{Region, simd};
use array_dsl::__rt::real::Real;
use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use ndarray::{Array1, Array2, ArrayRef2};
use rayon::prelude::*;

#[kernel]
fn log_sum_exp_f32(x: [[f32; m]; n]) -> [f32; n] {
    logsumexp(x)
}

#[kernel]
fn log_sum_exp_f64(x: [[f64; m]; n]) -> [f64; n] {
    logsumexp(x)
}

#[kernel]
fn softmax_rows(x: [[f32; m]; n]) -> [[f32; m]; n] {
    build(n, |i| {
        let z = x[i];
        let e = (z - maximum(z)).exp();
        e / e.sum()
    })
}

#[kernel]
fn row_sums(x: [[f32; m]; n]) -> [f32; n] {
    sum(x)
}

#[kernel]
fn column_sums(x: [[f32; m]; n]) -> [f32; m] {
    sum(transpose(x))
}

const LANES: usize = 32;
/// Rows that one task takes.
const ROWS: usize = 16;

/// A row whose values, computed by `value`, are combined.
#[inline(always)]
fn fold<T: Copy>(row: &[T], start: T, value: impl Fn(T) -> T, combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    for part in whole {
        for (s, x) in lanes.iter_mut().zip(part) {
            *s = combine(*s, value(*x));
        }
    }
    let lanes = lanes.into_iter().reduce(&combine).unwrap_or(start);
    rest.iter().fold(lanes, |s, x| combine(s, value(*x)))
}

/// What a task does: `one(row)` for each row of the chunk.
struct Each<'a, T, F> {
    x: &'a [T],
    out: &'a mut [T],
    m: usize,
    one: F,
}

impl<T, F: Fn(&[T]) -> T> Region for Each<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<const VECTOR: i64>(self) {
        for (row, out) in self.x.chunks_exact(self.m).zip(self.out) {
            *out = (self.one)(row);
        }
    }
}

/// A vector with one value for each row.
fn each_row<T: Copy + Default + Send + Sync>(
    x: &ArrayRef2<T>,
    one: impl Fn(&[T]) -> T + Copy + Sync,
) -> Array1<T> {
    let (n, m) = x.dim();
    let mut out = vec![T::default(); n];
    if let Some(x) = x.as_slice() {
        out.par_chunks_mut(ROWS)
            .zip(x.par_chunks(ROWS * m))
            .for_each(|(out, x)| simd(Each { x, out, m, one }));
    }
    out.into()
}

macro_rules! log_sum_exp {
    ($exp:path, $t:ty) => {
        #[inline(always)]
        |row: &[$t]| {
            let max = fold(
                row,
                <$t>::NEG_INFINITY,
                #[inline(always)]
                |x| x,
                #[inline(always)]
                |a, b| if b > a { b } else { a },
            );
            let sum = fold(
                row,
                0.0,
                #[inline(always)]
                |x| $exp(x - max),
                #[inline(always)]
                |a, b| a + b,
            );
            max + sum.ln()
        }
    };
}

struct Softmax<'a> {
    x: &'a [f32],
    out: &'a mut [f32],
    m: usize,
}

impl Region for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const VECTOR: i64>(self) {
        for (row, out) in self.x.chunks_exact(self.m).zip(self.out.chunks_exact_mut(self.m)) {
            let max = fold(row, f32::NEG_INFINITY, |x| x, |a, b| if b > a { b } else { a });
            for (e, x) in out.iter_mut().zip(row) {
                *e = <f32 as Real>::exp(x - max);
            }
            let sum = fold(out, 0.0, |x| x, |a, b| a + b);
            out.iter_mut().for_each(|e| *e /= sum);
        }
    }
}

fn softmax(x: &ArrayRef2<f32>) -> Vec<f32> {
    let m = x.ncols();
    let mut out = vec![0.0; x.len()];
    if let Some(x) = x.as_slice() {
        let chunks = out.par_chunks_mut(ROWS * m).zip(x.par_chunks(ROWS * m));
        chunks.for_each(|(out, x)| simd(Softmax { x, out, m }));
    }
    out
}

/// Sums of rows, element by element.
fn columns(x: &ArrayRef2<f32>) -> Vec<f32> {
    let m = x.ncols();
    let add = |mut s: Vec<f32>, row: &[f32]| {
        s.iter_mut().zip(row).for_each(|(s, x)| *s += x);
        s
    };
    let Some(x) = x.as_slice() else { return Vec::new() };
    x.par_chunks(64 * m)
        .map(|part| part.chunks_exact(m).fold(vec![0.0; m], add))
        .reduce(|| vec![0.0; m], |s, t| add(s, &t))
}

fn main() {
    let mut c = criterion();
    let (n, m) = (4096, 1024);
    let x: Array2<f32> = numbers((n, m));
    let y: Array2<f64> = numbers((n, m));
    let ours = || log_sum_exp_f32(&x);
    pair(&mut c, "logsumexp f32 4096 x 1024", "rayon", ours, || each_row(&x, log_sum_exp!(Real::exp, f32)));
    pair(&mut c, "logsumexp f32 4096 x 1024", "rayon with std's exp", ours, || {
        each_row(&x, log_sum_exp!(f32::exp, f32))
    });
    let ours = || log_sum_exp_f64(&y);
    pair(&mut c, "logsumexp f64 4096 x 1024", "rayon", ours, || each_row(&y, log_sum_exp!(Real::exp, f64)));
    pair(&mut c, "logsumexp f64 4096 x 1024", "rayon with std's exp", ours, || {
        each_row(&y, log_sum_exp!(f64::exp, f64))
    });
    pair(&mut c, "softmax f32 4096 x 1024", "rayon", || softmax_rows(&x), || softmax(&x));
    let add = |row: &[f32]| fold(row, 0.0, |x| x, |a, b| a + b);
    pair(&mut c, "row sums f32 4096 x 1024", "rayon", || row_sums(&x), || each_row(&x, add));
    pair(&mut c, "column sums f32 4096 x 1024", "rayon", || column_sums(&x), || columns(&x));
    let tall: Array2<f32> = numbers((1 << 18, 16));
    pair(&mut c, "column sums f32 2^18 x 16", "rayon", || column_sums(&tall), || columns(&tall));
    c.final_summary();
}
