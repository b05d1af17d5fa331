//! Loops whose ends the points around them decide, against the same loops in Rust, whose points rayon divides among all cores;
//! gradients against the values.

#[path = "../../array-dsl-compiler/tests/programs/pairs.rs"]
mod pairs;

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use ndarray::{Array1, Array2};
use pairs::{autocorrelation, discounted, energy, smoothed, triangle};
use rayon::prelude::*;

fn each(n: usize, one: impl Fn(usize) -> f64 + Sync + Send) -> Array1<f64> {
    (0..n).into_par_iter().map(one).collect::<Vec<_>>().into()
}

fn energy_by_hand(x: &Array2<f64>) -> f64 {
    let n = x.nrows();
    let x = x.as_slice().unwrap_or(&[]);
    let one = |i: usize| {
        let mut e = 0.0;
        for j in i + 1..n {
            let d: [f64; 3] = std::array::from_fn(|k| x[3 * i + k] - x[3 * j + k]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            let s = 1.0 / (r2 * r2 * r2);
            e += s * s - s;
        }
        e
    };
    (0..n).into_par_iter().map(one).sum()
}

fn triangle_by_hand(a: &Array2<f64>, x: &Array1<f64>) -> Array1<f64> {
    let (n, a, x) = (x.len(), a.as_slice().unwrap_or(&[]), x.as_slice().unwrap_or(&[]));
    each(n, |i| a[i * n..i * n + i + 1].iter().zip(x).map(|(a, x)| a * x).sum())
}

fn discounted_by_hand(reward: &Array1<f64>, rate: f64) -> Array1<f64> {
    let reward = reward.as_slice().unwrap_or(&[]);
    each(reward.len(), |i| {
        let (mut total, mut weight) = (0.0, 1.0);
        for r in &reward[i..] {
            total += weight * r;
            weight *= rate * (1.0 - 0.1 * r.tanh());
        }
        total
    })
}

fn smoothed_by_hand(x: &Array1<f64>, width: f64) -> Array1<f64> {
    let (n, x) = (x.len(), x.as_slice().unwrap_or(&[]));
    each(n, |i| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for near in &x[i.saturating_sub(3)..n.min(i + 4)] {
            let w = (-(x[i] - near) * (x[i] - near) / width).exp();
            sum += w * near;
            weights += w;
        }
        sum / weights
    })
}

fn autocorrelation_by_hand(x: &Array1<f64>) -> Array1<f64> {
    let x = x.as_slice().unwrap_or(&[]);
    each(x.len(), |lag| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum())
}

fn main() {
    let mut c = criterion();
    let n = 1000;
    let (points, a, x): (Array2<f64>, Array2<f64>, Array1<f64>) =
        (numbers((n, 3)), numbers((n, n)), numbers(n));
    let many: Array1<f64> = numbers(1_000_000);
    let value = || energy(&points);
    pair(&mut c, "energy of pairs", "Rust", value, || energy_by_hand(&points));
    pair(&mut c, "gradient of energy of pairs", "value", || grad(energy)(&points), value);
    let value = || triangle(&a, &x);
    pair(&mut c, "triangle", "Rust", value, || triangle_by_hand(&a, &x));
    pair(&mut c, "pullback of triangle", "value", || vjp(triangle)(&a, &x, &x), value);
    let value = || discounted(&x, 0.9);
    pair(&mut c, "discounted", "Rust", value, || discounted_by_hand(&x, 0.9));
    pair(&mut c, "pullback of discounted", "value", || vjp(discounted)(&x, 0.9, &x), value);
    let value = || smoothed(&many, 0.3);
    pair(&mut c, "smoothed", "Rust", value, || smoothed_by_hand(&many, 0.3));
    pair(&mut c, "pullback of smoothed", "value", || vjp(smoothed)(&many, 0.3, &many), value);
    let value = || autocorrelation(&x);
    pair(&mut c, "autocorrelation", "Rust", value, || autocorrelation_by_hand(&x));
    pair(&mut c, "pullback of autocorrelation", "value", || vjp(autocorrelation)(&x, &x), value);
    c.final_summary();
}
