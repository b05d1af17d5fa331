//! The mean of time series that are out of step: a barycenter under soft dynamic time warping (Cuturi and Blondel, 2017).
//!
//! Series of one kind have their peaks at different times, so that their mean has a flat hill where each has two peaks. Dynamic time
//! warping compares two series along the path through the table of all distances `d_ij = (x_i - y_j)^2` that costs least,
//!
//! ```text
//! r_ij = d_ij + softmin(r_(i-1)(j-1), r_(i-1)j, r_i(j-1)),    softmin(a, b, c) = -g ln(exp(-a/g) + exp(-b/g) + exp(-c/g)),
//! ```
//!
//! where `softmin` instead of the least one makes it smooth. The gradient of the last `r` by the table is how much each pair counts:
//! the alignment. Its gradient by `x`, summed over all series, leads to their barycenter.
//!
//! The picture shows the series, their mean and their barycenter, and the alignment of the barycenter with one of the series.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use array_dsl::implicit::minimize;
use array_dsl::prelude::*;
use array_dsl::random::{key, uniform};
use array_dsl_examples::picture::{self, BLUE, ORANGE, Panel, SILVER, numbered, viridis};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{ArrayView1, Axis};

/// The cost of the best way through a table, a soft one; with `g` towards 0 the best one itself.
#[kernel]
fn way(d: [[f64; m]; n], g: f64) -> f64 {
    // What lies outside costs so much that no way goes there; the way begins at the corner.
    let mut r = build((n + 1, m + 1), |i, j| if i == 0 && j == 0 { 0.0 } else { 1e10 });
    for i in 1..n + 1 {
        for j in 1..m + 1 {
            let from = [r[i - 1][j - 1], r[i - 1][j], r[i][j - 1]];
            r[i][j] = d[i - 1][j - 1] - g * logsumexp(-from / g);
        }
    }
    r[n][m]
}

/// The table of two series.
#[kernel]
fn distances(x: [f64; n], y: [f64; m]) -> [[f64; m]; n] {
    build((n, m), |i, j| (x[i] - y[j]).powi(2))
}

/// How much each pair counts.
#[kernel(value)]
fn alignment(x: [f64; n], y: [f64; m], g: f64) -> [[f64; m]; n] {
    grad(|d| way(d, g))(distances(x, y))
}

/// The mean of the costs to all series.
#[kernel]
fn cost(x: [f64; n], #[no_grad] series: [[f64; m]; k], #[no_grad] g: f64) -> f64 {
    mean(map(|y| way(distances(x, y), g), series))
}

/// The barycenter: the series of least cost near `start`.
#[kernel(value)]
fn barycenter(start: [f64; n], series: [[f64; m]; k], g: f64) -> ([f64; n], f64) {
    minimize(|x| cost(x, series, g), start)
}

/// Two hills, somewhere on each half, of heights and widths of their own; and noise.
#[kernel(value)]
fn hills(k: usize, n: usize) -> [[f64; n]; k] {
    let (shift, width) = (uniform(key(1), -0.1, 0.1, 2 * k), uniform(key(2), 0.025, 0.05, 2 * k));
    let noise = uniform(key(3), -0.04, 0.04, k * n);
    build((k, n), |s, i| {
        let t = i as f64 / (n - 1) as f64;
        let hill = |at, width| exp(-0.5 * ((t - at) / width).powi(2));
        hill(0.3 + shift[2 * s], width[2 * s]) - 0.7 * hill(0.7 + shift[2 * s + 1], width[2 * s + 1])
            + noise[s * n + i]
    })
}

const SERIES: usize = 8;
const LENGTH: usize = 50;
const SOFTNESS: f64 = 0.02;

fn main() -> ExitCode {
    program::main("soft_dtw", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let series = Cpu.run(hills, (SERIES, LENGTH))?;
    let mean = series.mean_axis(Axis(0)).ok_or("there is no series")?;
    let wait = ProgressBar::new_spinner().with_message("searching");
    wait.enable_steady_tick(Duration::from_millis(100));
    let (center, slope) = Cpu.run(barycenter, (&mean, &series, SOFTNESS))?;
    wait.finish_and_clear();

    let (before, after) = (cost(&mean, &series, SOFTNESS), cost(&center, &series, SOFTNESS));
    println!("cost: {before:.3} of the mean, {after:.3} of the barycenter (soft costs may be negative)");
    println!("length of the gradient: {slope:.1e}");
    // How high the first hill is, and how deep the second one.
    let swing = |x: ArrayView1<f64>| {
        x.fold(f64::NEG_INFINITY, |a, &v| a.max(v)) - x.fold(f64::INFINITY, |a, &v| a.min(v))
    };
    let typical = series.outer_iter().map(swing).sum::<f64>() / SERIES as f64;
    let (of_mean, of_center) = (swing(mean.view()), swing(center.view()));
    println!(
        "from the lowest to the highest: series {typical:.2}, mean {of_mean:.2}, barycenter {of_center:.2}"
    );

    let mut all = Panel::chart("series").legend("mean", ORANGE).legend("barycenter", BLUE);
    for one in series.outer_iter() {
        all = all.line(numbered(one), SILVER, 1);
    }
    all = all.line(numbered(&mean), ORANGE, 3).line(numbered(&center), BLUE, 3);
    // The series whose hills are farthest from the barycenter's.
    let far = |s: &usize| (0..LENGTH).map(|i| (series[[*s, i]] - center[i]).powi(2)).sum::<f64>();
    let farthest = (0..SERIES).max_by(|a, b| far(a).total_cmp(&far(b))).ok_or("there is no series")?;
    let pairs = Cpu.run(alignment, (&center, &series.row(farthest), SOFTNESS))?;
    let aligned = Panel::image("alignment", &pairs, 0.0..1.0, viridis).below("with the farthest series");
    picture::save(out, (900, 400), &[&[all.share(1.4), aligned]])?;

    require(slope < 1e-6, "the search has not come to its end")?;
    require(of_mean < 0.75 * typical && of_center > 0.9 * typical, "the barycenter has not kept the hills")?;
    // Every way goes through both corners.
    let corners = [pairs[[0, 0]], pairs[[LENGTH - 1, LENGTH - 1]]];
    require(corners.iter().all(|c| (c - 1.0).abs() < 1e-9), "the alignment misses a corner")
}
