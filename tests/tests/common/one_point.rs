//! Kernels whose loops at the host level have numbers and small arrays only: all of each loop is one point.

use array_dsl::prelude::*;

/// Where a projectile lands, thrown at that speed.
#[kernel(hvp)]
pub fn landing(speed: f64) -> f64 {
    let mut x = [0.0, 8.0];
    let mut v = [speed, 0.5];
    let mut next = x + 0.01 * v;
    while next[1] > 0.0 {
        let drag = 0.05 * dot(v, v).sqrt();
        v = [v[0] - 0.01 * drag * v[0], v[1] - 0.01 * (9.81 + drag * v[1])];
        x = next;
        next = x + 0.01 * v;
    }
    let part = x[1] / (x[1] - next[1]);
    x[0] + part * (next[0] - x[0])
}

/// Newton's method inside of a loop: how often it goes round is known when it is done.
#[kernel]
pub fn roots(a: f64, steps: usize) -> f64 {
    let mut y = 1.0;
    let mut s = 0.0;
    for i in 0..steps {
        let mut r = y + a;
        let mut gap = 1.0;
        while gap > 1e-12 {
            let better = 0.5 * (r + (a + i as f64) / r);
            gap = (r - better).abs();
            r = better;
        }
        s += r;
        y = r;
    }
    s
}

/// Some trips, none of them, or one; three states and a matrix, and elements of a long array.
#[kernel]
pub fn filtered(x: [f64; n], w: [[f64; 3]; 3]) -> [f64; 3] {
    let mut h = [0.1, -0.2, 0.3];
    for t in 0..dim(x, 0) {
        h = (matvec(w, h) + x[t]).tanh();
    }
    h
}

/// A vector for each of two points, which end at different times.
#[kernel]
pub fn relaxed(w: [f64; 2]) -> [f64; 2] {
    build(2, |i| {
        let mut x = [w[i], 1.0];
        while dot(x, x) > 0.5 {
            x = [0.6 * x[1] + 0.1, 0.9 * x[0].sin()];
        }
        x[0] + 2.0 * x[1]
    })
}

/// In place, with elements of which the data tell the place.
#[kernel]
pub fn shuffled(x: [f64; n], at: [i64; m]) -> [f64; n] {
    let mut a = x;
    for k in 1..dim(at, 0) {
        let t = a[at[k]];
        a[at[k]] = 0.5 * a[at[k - 1]] + t.sin();
        a[at[k - 1]] = t;
    }
    a
}
