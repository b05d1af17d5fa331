//! Heat inversion: what is a plate made of, by how it cools?
//!
//! A plate is heated in spots, and a camera sees its temperature `u` at some later times, with noise. The heat flows by
//!
//! ```text
//! du/dt = div (k grad u),    no flow through the edges,
//! ```
//!
//! where the conductivity `k` is another one at each place: the plate has a disc in it that conducts worse, and a bar that conducts
//! better. We look for the `k` that explains what the camera has seen: the least sum of squares of what is left over, plus a small
//! price for each jump of `ln k`. The gradient by all 576 values goes backwards through the time steps; `#[checkpoint]` keeps a few
//! of these instead of all.
//!
//! The picture shows the temperature at the first and at the last shot, the conductivity that was found, and the true one.

use std::error::Error;
use std::f64::consts::PI;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl::random::{key, normal_at};
use array_dsl_examples::picture::{self, Panel, inferno, viridis};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array2, Array3, Axis};

/// A step of time. Between two cells flows the difference of their temperatures times the mean of their conductivities: out of one and
/// into the other.
#[kernel]
fn step(u: [[f64; w]; h], k: [[f64; w]; h], dt: f64) -> [[f64; w]; h] {
    let down = 0.5 * dt * (k[..h - 1] + k[1..]) * (u[..h - 1] - u[1..]);
    let right = 0.5 * dt * (k[s![.., ..w - 1]] + k[s![.., 1..]]) * (u[s![.., ..w - 1]] - u[s![.., 1..]]);
    let mut next = u;
    next[s![..h - 1, ..]] -= down;
    next[s![1.., ..]] += down;
    next[s![.., ..w - 1]] -= right;
    next[s![.., 1..]] += right;
    next
}

/// What an ideal camera sees, every so many steps.
#[kernel]
fn shots(
    k: [[f64; w]; h],
    start: [[f64; w]; h],
    dt: f64,
    every: usize,
    count: usize,
) -> [[[f64; w]; h]; count] {
    let mut u = start;
    let mut seen = zeros((count, h, w));
    for s in 0..count {
        #[checkpoint]
        for _ in 0..every {
            u = step(u, k, dt);
        }
        seen[s] = u;
    }
    seen
}

/// The same with the noise of a real one.
#[kernel]
fn noisy(seen: [[[f64; w]; h]; n], deviation: f64) -> [[[f64; w]; h]; n] {
    build((n, h, w), |s, i, j| seen[s][i][j] + normal_at(key(1), (s * h + i) * w + j, 0.0, deviation))
}

/// How badly the conductivity `exp(m)` explains the shots, and how much it jumps.
#[kernel]
fn loss(
    m: [[f64; w]; h],
    #[no_grad] start: [[f64; w]; h],
    #[no_grad] seen: [[[f64; w]; h]; n],
    #[no_grad] dt: f64,
    every: usize,
    #[no_grad] price: f64,
) -> f64 {
    let off = flatten(shots(exp(m), start, dt, every, n) - seen);
    let jump = |d| sqrt(d * d + 1e-4); // total variation, without its corner
    let down = jump(m[1..] - m[..h - 1]);
    let across = jump(m[s![.., 1..]] - m[s![.., ..w - 1]]);
    dot(off, off) + price * (sum(flatten(down)) + sum(flatten(across)))
}

/// A step of Adam: the parameters, and the running means of the gradient and of its square.
#[kernel]
fn adam(
    (p, m, v): ([[f64; w]; h], [[f64; w]; h], [[f64; w]; h]),
    g: [[f64; w]; h],
    rate: f64,
) -> ([[f64; w]; h], [[f64; w]; h], [[f64; w]; h]) {
    let m = 0.9 * m + 0.1 * g;
    let v = 0.99 * v + 0.01 * g * g;
    (p - rate * m / (sqrt(v) + 1e-8), m, v)
}

const SIDE: usize = 24;
const SHOTS: usize = 5;
const STEPS_BETWEEN: usize = 12;
const DT: f64 = 0.2;
const NOISE: f64 = 0.01;
const PRICE: f64 = 2e-3;
const ITERATIONS: usize = 150;
/// What the plate itself conducts.
const PLATE: f64 = 0.5;

fn main() -> ExitCode {
    program::main("heat", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let truth = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| {
        let (y, x) = (i as f64 / SIDE as f64, j as f64 / SIDE as f64);
        let in_disc = (x - 0.32).hypot(y - 0.36) < 0.2;
        let in_bar = (0.58..0.82).contains(&x) && (0.45..0.88).contains(&y);
        if in_disc {
            0.12
        } else if in_bar {
            1.0
        } else {
            PLATE
        }
    });
    let start = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| {
        let wave = |k: usize| (4.0 * PI * (k as f64 + 0.5) / SIDE as f64).cos();
        0.5 + 0.5 * wave(i) * wave(j)
    });
    let seen = noisy(&shots(&truth, &start, DT, STEPS_BETWEEN, SHOTS), NOISE);

    let zeros = Array2::zeros((SIDE, SIDE));
    let mut state = (zeros.clone() + PLATE.ln(), zeros.clone(), zeros);
    let before = value(&state.0, &start, &seen)?;
    let bar = ProgressBar::new(ITERATIONS as u64);
    for k in 0..ITERATIONS {
        let gradient = Cpu.run(grad(loss), (&state.0, &start, &seen, DT, STEPS_BETWEEN, PRICE))?;
        let rate = 0.1 * (1.0 - k as f64 / ITERATIONS as f64);
        state = Cpu.run(adam, ((&state.0, &state.1, &state.2), &gradient, rate))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let found = state.0.exp();
    let after = value(&state.0, &start, &seen)?;

    let error = |k: &Array2<f64>| (k.ln() - truth.ln()).mapv(|d| d * d).mean().unwrap_or(f64::NAN).sqrt();
    let plain = Array2::from_elem((SIDE, SIDE), PLATE);
    println!("misfit: {before:.3} before, {after:.3} after; the noise alone is {:.3}", noise_alone());
    println!("error of ln k: {:.3} before, {:.3} after", error(&plain), error(&found));
    let mean_in = |low: f64, high: f64| {
        let inside = truth.iter().zip(&found).filter(|(t, _)| (low..high).contains(*t)).map(|(_, f)| *f);
        let values: Vec<f64> = inside.collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    println!(
        "the disc conducts {:.3} (truth 0.12), the bar {:.3} (truth 1)",
        mean_in(0.1, 0.2),
        mean_in(0.9, 1.1)
    );

    let shot = |s: usize| seen.index_axis(Axis(0), s).to_owned();
    picture::save(
        out,
        (900, 300),
        &[&[
            Panel::image("first shot", &shot(0), 0.0..1.0, inferno),
            Panel::image("last shot", &shot(SHOTS - 1), 0.0..1.0, inferno),
            Panel::image("conductivity, found", &found, 0.0..1.1, viridis),
            Panel::image("truth", &truth, 0.0..1.1, viridis),
        ]],
    )?;
    require(after < 1.5 * noise_alone(), "the conductivity does not explain the shots")?;
    require(error(&found) < 0.5 * error(&plain), "the conductivity is not the true one")
}

/// What the misfit of the truth is about.
fn noise_alone() -> f64 {
    (SHOTS * SIDE * SIDE) as f64 * NOISE * NOISE
}

/// The misfit without the price of jumps.
fn value(m: &Array2<f64>, start: &Array2<f64>, seen: &Array3<f64>) -> Result<f64, array_dsl::Error> {
    Cpu.run(loss, (m, start, seen, DT, STEPS_BETWEEN, 0.0))
}
