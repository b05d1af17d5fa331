//! Algorithms as textbooks have them: scalar loops in loops, whose ends the counters of the loops around decide, that write in place.

// Compiled by tests and benchmarks of other crates, and read as text by `programs.rs` and `costs.rs`.

use array_dsl::prelude::*;

#[kernel]
pub fn cholesky(a: [[f64; n]; n]) -> [[f64; n]; n] {
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
    l
}

/// The logarithm of a determinant by Cholesky factors: its gradient by a symmetric matrix is the inverse.
#[kernel(hvp)]
pub fn log_det(a: [[f64; n]; n]) -> f64 {
    let l = cholesky(a);
    2.0 * sum(build(n, |i| l[i][i].ln()))
}

/// LU factors without pivoting, both in one matrix.
#[kernel]
pub fn lu(a: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut m = a;
    for k in 0..n {
        for i in k + 1..n {
            m[i][k] /= m[k][k];
            for j in k + 1..n {
                m[i][j] -= m[i][k] * m[k][j];
            }
        }
    }
    m
}

#[kernel]
pub fn forward_substitution(l: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    let mut x = b;
    for i in 0..n {
        for j in 0..i {
            x[i] -= l[i][j] * x[j];
        }
        x[i] /= l[i][i];
    }
    x
}

/// Time warping with a smooth minimum, which has a gradient.
#[kernel(hvp)]
pub fn soft_dtw(x: [f64; n], y: [f64; m], gamma: f64) -> f64 {
    let mut r = build((n + 1, m + 1), |i, j| if i == 0 && j == 0 { 0.0 } else { 1e10 });
    for i in 1..=n {
        for j in 1..=m {
            let d = (x[i - 1] - y[j - 1]).powi(2);
            let (a, b, c) = (r[i - 1][j - 1], r[i - 1][j], r[i][j - 1]);
            let low = a.min(b).min(c);
            let s = ((low - a) / gamma).exp() + ((low - b) / gamma).exp() + ((low - c) / gamma).exp();
            r[i][j] = d + low - gamma * s.ln();
        }
    }
    r[n][m]
}
