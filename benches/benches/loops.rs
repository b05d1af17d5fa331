//! Textbook loops in place: values against the same loops in Rust, gradients against the values.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, pair};
use ndarray::{Array1, Array2};

#[kernel]
fn cholesky(a: [[f64; n]; n]) -> f64 {
    let mut l = zeros((n, n));
    for j in 0..n {
        let mut s = a[j][j];
        for k in 0..j {
            s -= l[j][k] * l[j][k];
        }
        l[j][j] = sqrt(s);
        for i in j + 1..n {
            let mut t = a[i][j];
            for k in 0..j {
                t -= l[i][k] * l[j][k];
            }
            l[i][j] = t / l[j][j];
        }
    }
    sum(build(n, |i| ln(l[i][i])))
}

fn cholesky_by_hand(a: &Array2<f64>) -> f64 {
    let n = a.nrows();
    let mut l = Array2::<f64>::zeros((n, n));
    for j in 0..n {
        let mut s = a[[j, j]];
        for k in 0..j {
            s -= l[[j, k]] * l[[j, k]];
        }
        l[[j, j]] = s.sqrt();
        for i in j + 1..n {
            let mut t = a[[i, j]];
            for k in 0..j {
                t -= l[[i, k]] * l[[j, k]];
            }
            l[[i, j]] = t / l[[j, j]];
        }
    }
    (0..n).map(|i| l[[i, i]].ln()).sum()
}

#[kernel]
fn lu(a: [[f64; n]; n]) -> f64 {
    let mut m = a;
    for k in 0..n {
        for i in k + 1..n {
            m[i][k] /= m[k][k];
            for j in k + 1..n {
                m[i][j] -= m[i][k] * m[k][j];
            }
        }
    }
    sum(build(n, |i| ln(abs(m[i][i]))))
}

fn lu_by_hand(a: &Array2<f64>) -> f64 {
    let n = a.nrows();
    let mut m = a.clone();
    for k in 0..n {
        for i in k + 1..n {
            m[[i, k]] /= m[[k, k]];
            for j in k + 1..n {
                m[[i, j]] -= m[[i, k]] * m[[k, j]];
            }
        }
    }
    (0..n).map(|i| m[[i, i]].abs().ln()).sum()
}

#[kernel]
fn substitution(l: [[f64; n]; n], b: [f64; n]) -> f64 {
    let mut x = b;
    for i in 0..n {
        for j in 0..i {
            x[i] -= l[i][j] * x[j];
        }
        x[i] /= l[i][i];
    }
    sum(x * x)
}

fn substitution_by_hand(l: &Array2<f64>, b: &Array1<f64>) -> f64 {
    let mut x = b.clone();
    for i in 0..x.len() {
        for j in 0..i {
            x[i] -= l[[i, j]] * x[j];
        }
        x[i] /= l[[i, i]];
    }
    x.iter().map(|x| x * x).sum()
}

#[kernel]
fn soft_dtw(x: [f64; n], y: [f64; n]) -> f64 {
    let mut d = build((n + 1, n + 1), |i, j| if i == 0 && j == 0 { 0.0 } else { 1.0e10 });
    for i in 1..n + 1 {
        for j in 1..n + 1 {
            let (a, b, c) = (d[i - 1][j], d[i][j - 1], d[i - 1][j - 1]);
            let m = min(min(a, b), c);
            let e = x[i - 1] - y[j - 1];
            d[i][j] = e * e + m - ln(exp(m - a) + exp(m - b) + exp(m - c));
        }
    }
    d[n][n]
}

fn soft_dtw_by_hand(x: &Array1<f64>, y: &Array1<f64>) -> f64 {
    let n = x.len();
    let mut d = Array2::from_elem((n + 1, n + 1), 1.0e10);
    d[[0, 0]] = 0.0;
    for i in 1..=n {
        for j in 1..=n {
            let (a, b, c): (f64, f64, f64) = (d[[i - 1, j]], d[[i, j - 1]], d[[i - 1, j - 1]]);
            let m = a.min(b).min(c);
            let e = x[i - 1] - y[j - 1];
            d[[i, j]] = e * e + m - ((m - a).exp() + (m - b).exp() + (m - c).exp()).ln();
        }
    }
    d[[n, n]]
}

fn main() {
    let mut c = criterion();
    for n in [60, 480] {
        // Symmetric, with a large diagonal: no pivots are needed.
        let a = Array2::from_shape_fn((n, n), |(i, j)| match i == j {
            true => n as f64,
            false => (7 * (i + j) % 11) as f64 / 20.0,
        });
        let (x, y) = (wave(n, 7), wave(n, 5));
        let name = |what: &str| format!("{what} of {n}");
        pair(&mut c, &name("cholesky"), "Rust", || cholesky(&a), || cholesky_by_hand(&a));
        pair(&mut c, &name("gradient of cholesky"), "value", || grad(cholesky)(&a), || cholesky(&a));
        pair(&mut c, &name("lu"), "Rust", || lu(&a), || lu_by_hand(&a));
        pair(&mut c, &name("gradient of lu"), "value", || grad(lu)(&a), || lu(&a));
        pair(&mut c, &name("substitution"), "Rust", || substitution(&a, &x), || substitution_by_hand(&a, &x));
        let gradient = || grad(substitution)(&a, &x);
        pair(&mut c, &name("gradient of substitution"), "value", gradient, || substitution(&a, &x));
        pair(&mut c, &name("soft-DTW"), "Rust", || soft_dtw(&x, &y), || soft_dtw_by_hand(&x, &y));
        pair(&mut c, &name("gradient of soft-DTW"), "value", || grad(soft_dtw)(&x, &y), || soft_dtw(&x, &y));
    }
}

/// Numbers that repeat after `period`.
fn wave(n: usize, period: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i % period) as f64 - 0.5 * (period - 1) as f64)
}
