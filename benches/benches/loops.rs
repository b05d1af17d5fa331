//! Textbook loops in place: values against the same loops in Rust, pullbacks against the values.

#[path = "../../array-dsl-compiler/tests/programs/textbook.rs"]
mod textbook;

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, pair};
use ndarray::{Array1, Array2};
use textbook::{
    back_substitution, cholesky, floyd_warshall, forward_substitution, gram_schmidt, log_det, lu,
    smooth_viterbi, soft_dtw, tridiagonal,
};

fn cholesky_by_hand(a: &Array2<f64>) -> Array2<f64> {
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
    l
}

fn lu_by_hand(a: &Array2<f64>) -> Array2<f64> {
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
    m
}

fn forward_substitution_by_hand(l: &Array2<f64>, b: &Array1<f64>) -> Array1<f64> {
    let mut x = b.clone();
    for i in 0..x.len() {
        for j in 0..i {
            x[i] -= l[[i, j]] * x[j];
        }
        x[i] /= l[[i, i]];
    }
    x
}

fn back_substitution_by_hand(u: &Array2<f64>, b: &Array1<f64>) -> Array1<f64> {
    let mut x = b.clone();
    for i in (0..x.len()).rev() {
        for j in i + 1..x.len() {
            x[i] -= u[[i, j]] * x[j];
        }
        x[i] /= u[[i, i]];
    }
    x
}

fn tridiagonal_by_hand(a: &Array1<f64>, b: &Array1<f64>, c: &Array1<f64>, d: &Array1<f64>) -> Array1<f64> {
    let (mut cp, mut x) = (c.clone(), d.clone());
    cp[0] /= b[0];
    x[0] /= b[0];
    for i in 1..x.len() {
        let m = b[i] - a[i] * cp[i - 1];
        cp[i] /= m;
        x[i] = (x[i] - a[i] * x[i - 1]) / m;
    }
    for i in (0..x.len() - 1).rev() {
        x[i] -= cp[i] * x[i + 1];
    }
    x
}

fn gram_schmidt_by_hand(a: &Array2<f64>) -> Array2<f64> {
    let (n, mut q) = (a.nrows(), a.clone());
    for j in 0..n {
        for k in 0..j {
            let r: f64 = (0..n).map(|i| q[[k, i]] * a[[j, i]]).sum();
            for i in 0..n {
                q[[j, i]] -= r * q[[k, i]];
            }
        }
        let norm = (0..n).map(|i| q[[j, i]] * q[[j, i]]).sum::<f64>().sqrt();
        for i in 0..n {
            q[[j, i]] /= norm;
        }
    }
    q
}

fn floyd_warshall_by_hand(w: &Array2<f64>) -> Array2<f64> {
    let (n, mut d) = (w.nrows(), w.clone());
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                let t = d[[i, k]] + d[[k, j]];
                if t < d[[i, j]] {
                    d[[i, j]] = t;
                }
            }
        }
    }
    d
}

fn smooth_viterbi_by_hand(start: &Array1<f64>, step: &Array2<f64>, seen: &Array2<f64>) -> f64 {
    let mut v = start.clone();
    for seen in seen.outer_iter() {
        v = Array1::from_shape_fn(v.len(), |j| {
            (0..v.len()).map(|i| (v[i] + step[[i, j]]).exp()).sum::<f64>().ln() + seen[j]
        });
    }
    v.mapv(f64::exp).sum().ln()
}

fn soft_dtw_by_hand(x: &Array1<f64>, y: &Array1<f64>, gamma: f64) -> f64 {
    let mut r = Array2::from_elem((x.len() + 1, y.len() + 1), 1e10);
    r[[0, 0]] = 0.0;
    for i in 1..=x.len() {
        for j in 1..=y.len() {
            let d = (x[i - 1] - y[j - 1]).powi(2);
            let (a, b, c): (f64, f64, f64) = (r[[i - 1, j - 1]], r[[i - 1, j]], r[[i, j - 1]]);
            let low = a.min(b).min(c);
            let s = ((low - a) / gamma).exp() + ((low - b) / gamma).exp() + ((low - c) / gamma).exp();
            r[[i, j]] = d + low - gamma * s.ln();
        }
    }
    r[[x.len(), y.len()]]
}

fn main() {
    let mut c = criterion();
    for n in [60, 480] {
        // Symmetric, with a large diagonal: no pivots are needed.
        let a = Array2::from_shape_fn((n, n), |(i, j)| match i == j {
            true => n as f64,
            false => (7 * (i + j) % 11) as f64 / 20.0,
        });
        let (x, y, seeds) = (wave(n, 7), wave(n, 5), a.clone());
        let name = |what: &str| format!("{what} of {n}");
        pair(&mut c, &name("cholesky"), "Rust", || cholesky(&a), || cholesky_by_hand(&a));
        pair(&mut c, &name("pullback of cholesky"), "value", || vjp(cholesky)(&a, &seeds), || cholesky(&a));
        pair(&mut c, &name("gradient of log det"), "value", || grad(log_det)(&a), || log_det(&a));
        pair(&mut c, &name("lu"), "Rust", || lu(&a), || lu_by_hand(&a));
        pair(&mut c, &name("pullback of lu"), "value", || vjp(lu)(&a, &seeds), || lu(&a));
        let (value, by_hand) = (|| forward_substitution(&a, &x), || forward_substitution_by_hand(&a, &x));
        pair(&mut c, &name("substitution"), "Rust", value, by_hand);
        let pullback = || vjp(forward_substitution)(&a, &x, &y);
        pair(&mut c, &name("pullback of substitution"), "value", pullback, value);
        let (value, by_hand) = (|| soft_dtw(&x, &y, 1.0), || soft_dtw_by_hand(&x, &y, 1.0));
        pair(&mut c, &name("soft-DTW"), "Rust", value, by_hand);
        pair(&mut c, &name("gradient of soft-DTW"), "value", || grad(soft_dtw)(&x, &y, 1.0), value);
        let (value, by_hand) = (|| back_substitution(&a, &x), || back_substitution_by_hand(&a, &x));
        pair(&mut c, &name("back substitution"), "Rust", value, by_hand);
        let pullback = || vjp(back_substitution)(&a, &x, &y);
        pair(&mut c, &name("pullback of back substitution"), "value", pullback, value);
        let b = wave(n, 4) + 10.0;
        let (value, by_hand) = (|| tridiagonal(&x, &b, &y, &x), || tridiagonal_by_hand(&x, &b, &y, &x));
        pair(&mut c, &name("tridiagonal system"), "Rust", value, by_hand);
        let pullback = || vjp(tridiagonal)(&x, &b, &y, &x, &y);
        pair(&mut c, &name("pullback of tridiagonal system"), "value", pullback, value);
        pair(&mut c, &name("gram-schmidt"), "Rust", || gram_schmidt(&a), || gram_schmidt_by_hand(&a));
        let pullback = || vjp(gram_schmidt)(&a, &seeds);
        pair(&mut c, &name("pullback of gram-schmidt"), "value", pullback, || gram_schmidt(&a));
    }
    // The history of these has as many elements as they make steps.
    for n in [60, 240] {
        let name = |what: &str| format!("{what} of {n}");
        let w = Array2::from_shape_fn((n, n), |(i, j)| ((5 * i + 3 * j) % 97) as f64 + 0.5);
        pair(&mut c, &name("floyd-warshall"), "Rust", || floyd_warshall(&w), || floyd_warshall_by_hand(&w));
        let pullback = || vjp(floyd_warshall)(&w, &w);
        pair(&mut c, &name("pullback of floyd-warshall"), "value", pullback, || floyd_warshall(&w));
        let (start, step) = (wave(n, 7), &w * 0.01);
        let value = || smooth_viterbi(&start, &step, &step);
        pair(&mut c, &name("smooth viterbi"), "Rust", value, || smooth_viterbi_by_hand(&start, &step, &step));
        let gradient = || grad(smooth_viterbi)(&start, &step, &step);
        pair(&mut c, &name("gradient of smooth viterbi"), "value", gradient, value);
    }
}

/// Numbers that repeat after `period`.
fn wave(n: usize, period: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i % period) as f64 - 0.5 * (period - 1) as f64)
}
