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

#[kernel]
pub fn back_substitution(u: [[f64; n]; n], b: [f64; n]) -> [f64; n] {
    let mut x = zeros(n);
    for r in 0..n {
        let i = n - 1 - r;
        let mut s = b[i];
        for j in i + 1..n {
            s -= u[i][j] * x[j];
        }
        x[i] = s / u[i][i];
    }
    x
}

#[kernel]
pub fn gram_schmidt(a: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut q = a;
    for j in 0..n {
        for k in 0..j {
            let mut r = 0.0;
            for i in 0..n {
                r += q[k][i] * a[j][i];
            }
            for i in 0..n {
                q[j][i] -= r * q[k][i];
            }
        }
        let mut s = 0.0;
        for i in 0..n {
            s += q[j][i] * q[j][i];
        }
        let norm = sqrt(s);
        for i in 0..n {
            q[j][i] /= norm;
        }
    }
    q
}

#[kernel]
pub fn floyd_warshall(w: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut d = w;
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                let t = d[i][k] + d[k][j];
                if t < d[i][j] {
                    d[i][j] = t;
                }
            }
        }
    }
    d
}

#[kernel]
pub fn smooth_viterbi(start: [f64; n], step: [[f64; n]; n], seen: [[f64; n]; n]) -> f64 {
    let mut v = start;
    for t in 0..n {
        let mut w = zeros(n);
        for j in 0..n {
            let mut s = 0.0;
            for i in 0..n {
                s += exp(v[i] + step[i][j]);
            }
            w[j] = ln(s) + seen[t][j];
        }
        v = w;
    }
    let mut s = 0.0;
    for i in 0..n {
        s += exp(v[i]);
    }
    ln(s)
}

/// A tridiagonal system by elimination, one sweep down and one up.
#[kernel]
pub fn tridiagonal(a: [f64; n], b: [f64; n], c: [f64; n], d: [f64; n]) -> [f64; n] {
    let mut cp = c;
    let mut x = d;
    cp[0] = c[0] / b[0];
    x[0] = d[0] / b[0];
    for i in 1..n {
        let m = b[i] - a[i] * cp[i - 1];
        cp[i] = c[i] / m;
        x[i] = (d[i] - a[i] * x[i - 1]) / m;
    }
    for i in (0..n - 1).rev() {
        x[i] -= cp[i] * x[i + 1];
    }
    x
}
