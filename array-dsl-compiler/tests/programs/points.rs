//! What points do by themselves: a search by halves, particles.

// Compiled by tests and benches of other crates, and read as text by `points.rs`.

use array_dsl::prelude::*;

/// Between two elements of a table, which are found by halves.
#[kernel]
pub fn interpolated(xs: [f64; m], ys: [f64; m], at: [f64; n]) -> [f64; n] {
    map(
        |x| {
            let mut lo = 0;
            let mut hi = m - 1;
            while hi - lo > 1 {
                let mid = (lo + hi) / 2;
                if xs[mid] > x {
                    hi = mid;
                } else {
                    lo = mid;
                }
            }
            ys[lo] + (ys[hi] - ys[lo]) * (x - xs[lo]) / (xs[hi] - xs[lo])
        },
        at,
    )
}

/// Pendulums, by the classical Runge-Kutta method; all make as many steps.
#[kernel]
pub fn flown(start: [f64; n], speed: [f64; n], k: f64, dt: f64, steps: usize) -> ([f64; n], [f64; n]) {
    let mut x = start;
    let mut v = speed;
    for _ in 0..steps {
        let a1 = -k * x.sin();
        let (x2, v2) = (x + 0.5 * dt * v, v + 0.5 * dt * a1);
        let a2 = -k * x2.sin();
        let (x3, v3) = (x + 0.5 * dt * v2, v + 0.5 * dt * a2);
        let a3 = -k * x3.sin();
        let (x4, v4) = (x + dt * v3, v + dt * a3);
        let a4 = -k * x4.sin();
        x += dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
        v += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    (x, v)
}
