//! Loops whose ends the points around them decide: pairs, triangles, windows.

use array_dsl::prelude::*;

/// The energy of particles that push and pull each other.
#[kernel]
pub fn energy(x: [[f64; 3]; n]) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            let d = x[i] - x[j];
            let r2 = sum(d * d) + 0.01;
            let s = 1.0 / (r2 * r2 * r2);
            e += s * s - s;
        }
    }
    e
}

/// The lower triangle of a matrix times a vector, as a sum over all columns.
#[kernel]
pub fn triangle(a: [[f64; n]; n], x: [f64; n]) -> [f64; n] {
    build(n, |i| sum(build(n, |j| if j <= i { a[i][j] * x[j] } else { 0.0 })))
}

/// A recurrence from each point to the end.
#[kernel]
pub fn discounted(reward: [f64; n], rate: f64) -> [f64; n] {
    build(n, |i| {
        let mut total = 0.0;
        let mut weight = 1.0;
        for t in i..n {
            total += weight * reward[t];
            weight *= rate * (1.0 - 0.1 * reward[t].tanh());
        }
        total
    })
}

/// Weighted means over the neighbors that there are.
#[kernel]
pub fn smoothed(x: [f64; n], width: f64) -> [f64; n] {
    build(n, |i| {
        let mut sum = 0.0;
        let mut weights = 0.0;
        for j in max(0, i - 3)..min(n, i + 4) {
            let w = exp(-(x[i] - x[j]) * (x[i] - x[j]) / width);
            sum += w * x[j];
            weights += w;
        }
        sum / weights
    })
}

/// How alike a signal is to itself, later.
#[kernel]
pub fn autocorrelation(x: [f64; n]) -> [f64; n] {
    build(n, |lag| {
        let mut s = 0.0;
        for t in 0..n - lag {
            s += x[t] * x[t + lag];
        }
        s
    })
}

/// A recurrence over the neighbors that there are, from the first to the last.
#[kernel]
pub fn filtered(x: [f64; n], rate: f64) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.5;
        for j in max(0, i - 5)..min(n, i + 6) {
            s = rate * s + tanh(x[j]) * s * s;
        }
        s
    })
}

/// A recurrence from what is before a point to the beginning, and one from beyond it to the end.
#[kernel]
pub fn outward(x: [f64; n]) -> ([f64; n], [f64; n]) {
    let before = build(n, |i| {
        let mut s = 0.2;
        for j in (0..i).rev() {
            s = sin(s * x[j]) + 0.1;
        }
        s
    });
    let after = build(n, |i| {
        let mut s = 0.2;
        for j in i + 2..n {
            s = sin(s * x[j]) + 0.1 * x[i];
        }
        s
    });
    (before, after)
}

/// A recurrence from beyond each point to the end, which starts from what each trip adds as well; the last point has no trips.
#[kernel]
pub fn relayed(x: [f64; n], rate: f64) -> [f64; n] {
    build(n, |i| {
        let mut s = x[i];
        let mut k = 1.0;
        for j in i + 1..n {
            s = tanh(s * rate + x[j]) * k + x[i];
            k *= cos(x[j]);
        }
        s
    })
}
