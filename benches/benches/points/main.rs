//! Loops that points make by themselves, against the same loops in Rust, whose points rayon divides among all cores; gradients
//! against the values.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, pair};
use ndarray::{Array1, Array3};
use rayon::prelude::*;

#[kernel]
fn escape(cx: [f64; n], cy: [f64; n], most: i64) -> [i64; n] {
    build(n, |i| {
        let mut x = 0.0;
        let mut y = 0.0;
        let mut k = 0;
        while x * x + y * y <= 4.0 && k < most {
            let t = x * x - y * y + cx[i];
            y = 2.0 * x * y + cy[i];
            x = t;
            k += 1;
        }
        k
    })
}

fn escape_by_hand(cx: &Array1<f64>, cy: &Array1<f64>, most: i64) -> Array1<i64> {
    let one = |i: usize| {
        let (mut x, mut y, mut k) = (0.0, 0.0, 0);
        while x * x + y * y <= 4.0 && k < most {
            (x, y) = (x * x - y * y + cx[i], 2.0 * x * y + cy[i]);
            k += 1;
        }
        k
    };
    (0..cx.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

#[kernel]
fn march(start: [f64; n], slope: [f64; n], radius: f64) -> f64 {
    sum(build(n, |i| {
        let mut t = 0.0;
        let mut d = 1.0;
        while d > 0.001 && t < 100.0 {
            let p = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    }))
}

fn march_by_hand(start: &Array1<f64>, slope: &Array1<f64>, radius: f64) -> f64 {
    let one = |i: usize| {
        let (mut t, mut d) = (0.0, 1.0);
        while d > 0.001 && t < 100.0 {
            let p: f64 = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    };
    (0..start.len()).into_par_iter().map(one).sum()
}

#[kernel]
fn factors(a: [[[f64; 8]; 8]; n]) -> [[[f64; 8]; 8]; n] {
    map(
        |a| {
            let mut l = zeros((8, 8));
            for j in 0..8 {
                let mut s = a[j][j];
                for k in 0..j {
                    s -= l[j][k] * l[j][k];
                }
                l[j][j] = s.sqrt();
                for i in j + 1..8 {
                    let mut t = a[i][j];
                    for k in 0..j {
                        t -= l[i][k] * l[j][k];
                    }
                    l[i][j] = t / l[j][j];
                }
            }
            l
        },
        a,
    )
}

fn factors_by_hand(a: &Array3<f64>) -> Array3<f64> {
    let mut all = vec![0.0; a.len()];
    all.par_chunks_mut(64).enumerate().for_each(|(p, l)| {
        for j in 0..8 {
            let mut s = a[[p, j, j]];
            for k in 0..j {
                s -= l[8 * j + k] * l[8 * j + k];
            }
            l[8 * j + j] = s.sqrt();
            for i in j + 1..8 {
                let mut t = a[[p, i, j]];
                for k in 0..j {
                    t -= l[8 * i + k] * l[8 * j + k];
                }
                l[8 * i + j] = t / l[8 * j + j];
            }
        }
    });
    Array3::from_shape_vec(a.raw_dim(), all).expect("as many elements")
}

#[kernel]
fn grown(x: [f64; n], steps: usize) -> [f64; n] {
    let mut u = x;
    for _ in 0..steps {
        u = u * 0.99 + 0.01 * u * u;
    }
    u
}

fn grown_by_hand(x: &Array1<f64>, steps: usize) -> Array1<f64> {
    let one = |i: usize| (0..steps).fold(x[i], |u, _| u * 0.99 + 0.01 * u * u);
    (0..x.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

/// A pendulum at every point, by symplectic Euler steps.
#[kernel]
fn pendulums(angle: [f64; n], g: f64, dt: f64, steps: usize) -> [f64; n] {
    build(n, |i| {
        let mut q = angle[i];
        let mut p = 0.0;
        for _ in 0..steps {
            p -= dt * g * q.sin();
            q += dt * p;
        }
        q
    })
}

fn pendulums_by_hand(angle: &Array1<f64>, g: f64, dt: f64, steps: usize) -> Array1<f64> {
    let one = |i: usize| {
        let step = |(q, p): (f64, f64), _| {
            let p = p - dt * g * q.sin();
            (q + dt * p, p)
        };
        (0..steps).fold((angle[i], 0.0), step).0
    };
    (0..angle.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

fn main() {
    let mut c = criterion();
    let n = 250_000;
    let x = Array1::from_shape_fn(n, |i| -2.0 + 3.0 * (i % 500) as f64 / 500.0);
    let y = Array1::from_shape_fn(n, |i| -1.5 + 3.0 * (i / 500) as f64 / 500.0);
    pair(&mut c, "escape", "Rust", || escape(&x, &y, 200), || escape_by_hand(&x, &y, 200));
    let (start, slope) = (&x * 0.5, &y * 0.1 + 0.3);
    let value = || march(&start, &slope, 0.5);
    pair(&mut c, "march", "Rust", value, || march_by_hand(&start, &slope, 0.5));
    pair(&mut c, "gradient of march", "value", || grad(march)(&start, &slope, 0.5), value);
    let a = Array3::from_shape_fn((10_000, 8, 8), |(p, i, j)| match i == j {
        true => 8.0,
        false => ((i + j) * (p % 7)) as f64 * 0.01,
    });
    pair(&mut c, "factors", "Rust", || factors(&a), || factors_by_hand(&a));
    pair(&mut c, "pullback of factors", "value", || vjp(factors)(&a, &a), || factors(&a));
    let value = || grown(&x, 100);
    pair(&mut c, "steps of numbers", "Rust", value, || grown_by_hand(&x, 100));
    pair(&mut c, "pullback of steps of numbers", "value", || vjp(grown)(&x, 100, &y), value);
    let angle = Array1::from_shape_fn(20_000, |i| (i % 300) as f64 * 0.01);
    let value = || pendulums(&angle, 9.81, 0.01, 100);
    pair(&mut c, "pendulums", "Rust", value, || pendulums_by_hand(&angle, 9.81, 0.01, 100));
    pair(&mut c, "pullback of pendulums", "value", || vjp(pendulums)(&angle, 9.81, 0.01, 100, &angle), value);
}
