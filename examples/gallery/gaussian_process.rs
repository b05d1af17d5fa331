//! Regression with a Gaussian process whose hyperparameters are fitted by gradient.
//!
//! A function is drawn from a process with the Matern covariance
//!
//! ```text
//! k(r) = a^2 (1 + s + s^2 / 3) exp(-s),    s = sqrt(5) r / l,
//! ```
//!
//! and measured at some places, with a noise of deviation `e`. From the measurements `y` alone we look for amplitude `a`, length `l` and
//! noise `e`: the maximum of the logarithm of the marginal likelihood
//!
//! ```text
//! ln p(y) = -(|z|^2 / 2 + sum_i ln L_ii + n ln(2 pi) / 2),    L L' = K + e^2 1,    L z = y,
//! ```
//!
//! whose gradient goes through the Cholesky factor. Then mean and deviation of the function follow anywhere.
//!
//! The picture shows the measurements, the true function, the mean and the band of two deviations, with and without fitted
//! hyperparameters. Where nothing was measured the band is wide.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::implicit::minimize;
use array_dsl::linalg::{cholesky, solve_lower, solve_upper};
use array_dsl::prelude::*;
use array_dsl::random::{key, normal};
use array_dsl_examples::picture::{self, BLUE, INK, ORANGE, PALE_BLUE, Panel};
use array_dsl_examples::program::{self, require};
use ndarray::{Array1, array, s};

/// The covariances of the function at some places with itself at others. The parameters are logarithms: they may have any value.
#[kernel]
fn covariance(x: [f64; n], y: [f64; m], p: [f64; 3]) -> [[f64; m]; n] {
    let (amplitude, length) = (exp(p[0]), exp(p[1]));
    build((n, m), |i, j| {
        let s = sqrt(5.0) * abs(x[i] - y[j]) / length;
        amplitude * amplitude * (1.0 + s + s * s / 3.0) * exp(-s)
    })
}

/// The Cholesky factor of the covariance of what is measured at these places.
#[kernel]
fn factor(x: [f64; n], p: [f64; 3]) -> [[f64; n]; n] {
    let k = covariance(x, x, p);
    let noise = exp(p[2]);
    cholesky(build((n, n), |i, j| if i == j { k[i][j] + noise * noise } else { k[i][j] }))
}

/// A function of the process at these places, and what is measured there.
#[kernel]
fn drawn(x: [f64; n], p: [f64; 3], seed: i64) -> ([f64; n], [f64; n]) {
    let smooth = [p[0], p[1], -9.0]; // a tiny noise, for the sake of the factor
    let f = matvec(factor(x, smooth), normal(key(seed), 0.0, 1.0, n));
    (f, f + exp(p[2]) * normal(key(seed + 1), 0.0, 1.0, n))
}

/// Minus the logarithm of the marginal likelihood.
#[kernel]
fn surprise(p: [f64; 3], #[no_grad] x: [f64; n], #[no_grad] y: [f64; n]) -> f64 {
    let l = factor(x, p);
    let z = solve_lower(l, y);
    let logs = sum(build(n, |i| ln(l[i][i])));
    0.5 * dot(z, z) + logs + 0.5 * n as f64 * ln(2.0 * std::f64::consts::PI)
}

/// The parameters under which the measurements surprise least.
#[kernel(value)]
fn fitted(start: [f64; 3], x: [f64; n], y: [f64; n]) -> [f64; 3] {
    let (p, _off) = minimize(|p| surprise(p, x, y), start);
    p
}

/// Mean and deviation of the function at other places, given what was measured.
#[kernel(value)]
fn predicted(p: [f64; 3], x: [f64; n], y: [f64; n], at: [f64; m]) -> ([f64; m], [f64; m]) {
    let l = factor(x, p);
    let weights = solve_upper(transpose(l), solve_lower(l, y));
    let cross = covariance(at, x, p);
    let variance = build(m, |i| {
        let z = solve_lower(l, cross[i]);
        exp(2.0 * p[0]) - dot(z, z)
    });
    (matvec(cross, weights), sqrt(max(variance, 0.0)))
}

const GRID: usize = 161;
const SEED: i64 = 5;

fn main() -> ExitCode {
    program::main("gaussian_process", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let truth = array![1.0f64, 0.8, 0.15].ln();
    let grid = Array1::linspace(0.0, 10.0, GRID);
    let (function, measured) = Cpu.run(drawn, (&grid, &truth, SEED))?;
    // Every second place but for a gap.
    let places: Vec<usize> = (0..GRID).step_by(2).filter(|i| !(90..125).contains(i)).collect();
    let (x, y) = (grid.select(ndarray::Axis(0), &places), measured.select(ndarray::Axis(0), &places));

    let start = array![0.0, 1.0, -0.5];
    let p = Cpu.run(fitted, (&start, &x, &y))?;
    let (before, slope) = Cpu.run(value_and_grad(surprise), (&start, &x, &y))?;
    let (after, flat) = Cpu.run(value_and_grad(surprise), (&p, &x, &y))?;
    println!(
        "minus log likelihood: {before:.2} before, {after:.2} after, {:.2} of the truth",
        surprise(&truth, &x, &y)
    );
    let size = |g: &Array1<f64>| g.dot(g).sqrt();
    println!("length of the gradient: {:.1e} before, {:.1e} after", size(&slope), size(&flat));
    for (k, name) in ["amplitude", "length", "noise"].iter().enumerate() {
        println!("{name}: {:.3}, truth {:.3}", p[k].exp(), truth[k].exp());
    }

    let panel = |title: &str, p: &Array1<f64>| -> Result<(Panel, f64), Box<dyn Error>> {
        let (mean, deviation) = Cpu.run(predicted, (p, &x, &y, &grid))?;
        let band = (0..GRID).map(|i| (grid[i], mean[i] - 2.0 * deviation[i], mean[i] + 2.0 * deviation[i]));
        let inside = (0..GRID).filter(|&i| (function[i] - mean[i]).abs() < 2.0 * deviation[i]).count();
        let points = |f: &Array1<f64>| grid.iter().copied().zip(f.iter().copied()).collect::<Vec<_>>();
        let panel = Panel::chart(title)
            .y(-3.2..3.2)
            .band(band, PALE_BLUE)
            .line(points(&function), ORANGE, 2)
            .line(points(&mean), BLUE, 2)
            .dots(x.iter().copied().zip(y.iter().copied()), INK, 5);
        Ok((panel, inside as f64 / GRID as f64))
    };
    let (first, _) = panel("before", &start)?;
    let (second, inside) = panel("fitted", &p)?;
    println!("the band holds {:.0} % of the true function", 100.0 * inside);
    let second = second.legend("mean", BLUE).legend("truth", ORANGE);
    picture::save(out, (900, 360), &[&[first, second]])?;

    require(size(&flat) < 1e-4 * size(&slope), "the search has not come to its end")?;
    let largest = (&p - &truth).slice(s![..]).fold(0.0f64, |a, d| a.max(d.abs()));
    require(largest < 0.5, "the hyperparameters are not those of the process")?;
    require((0.85..=1.0).contains(&inside), "the band does not hold the true function")
}
