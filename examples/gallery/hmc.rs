//! Hamiltonian Monte Carlo for eight schools (Rubin, *Estimation in Parallel Randomized Experiments*, 1981).
//!
//! Eight schools coached their pupils for a test. School `j` measured an effect `y_j` with the standard error `s_j`; the true effects
//! `theta_j` are not equal, but not independent either:
//!
//! ```text
//! mu ~ Normal(0, 5),   tau ~ HalfCauchy(5),   theta_j ~ Normal(mu, tau),   y_j ~ Normal(theta_j, s_j).
//! ```
//!
//! A point of the search is `q = (mu, ln tau, z)` with `theta = mu + tau z`, which has no narrow funnel. The sampler pushes the point
//! with a random momentum, lets it roll in the potential `-ln p(q | y)`, and takes the place where it ends with the probability
//! `exp(-change of energy)`. The force is the gradient of the logarithm of the density; the kernel takes it inside its loop, and does
//! so for all chains at once.
//!
//! The picture shows the draws of `tau` and `mu`, the histogram of `tau` against its exact density, which an integral over a grid
//! tells as `theta` can be integrated out by hand, and the effects: what the schools measured, and what is to be believed.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl::random::{fold_in, key, normal, uniform_at};
use array_dsl_examples::picture::{self, BLUE, ORANGE, PALE_BLUE, Panel};
use array_dsl_examples::program::{self, require};
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

/// The logarithm of the density of `q = (mu, ln tau, z)`, but for a constant.
#[kernel]
fn log_density(q: [f64; n + 2], y: [f64; n], s: [f64; n]) -> f64 {
    let (mu, tau, z) = (q[0], exp(q[1]), q[2..]);
    let off = (y - mu - tau * z) / s;
    let prior = -0.5 * (mu / 5.0).powi(2) - ln_1p((tau / 5.0).powi(2)) + q[1]; // the last one is the Jacobian of `ln tau`
    prior - 0.5 * dot(z, z) - 0.5 * dot(off, off)
}

/// One transition of a chain: where it is next, and with what probability it moves.
#[kernel]
fn transition(
    q0: [f64; n + 2],
    y: [f64; n],
    s: [f64; n],
    key: (u32, u32),
    dt: f64,
    steps: usize,
) -> ([f64; n + 2], f64) {
    let force = |q| grad(|q| log_density(q, y, s))(q);
    let p0 = normal(fold_in(key, 0), 0.0, 1.0, n + 2);
    let (mut q, mut p) = (q0, p0 + 0.5 * dt * force(q0));
    for k in 0..steps {
        q = q + dt * p;
        let last = k == steps - 1;
        p = p + if last { 0.5 * dt } else { dt } * force(q);
    }
    let energy = |q, p| 0.5 * dot(p, p) - log_density(q, y, s);
    let probability = min(1.0, exp(energy(q0, p0) - energy(q, p)));
    let moves = uniform_at(fold_in(key, 1), 0, 0.0, 1.0) < probability; // never, if it is NaN
    (if moves { q } else { q0 }, probability)
}

/// So many transitions of all chains: the draws, and the mean probability of a move.
#[kernel(value)]
fn sampled(
    start: [[f64; n + 2]; chains],
    y: [f64; n],
    s: [f64; n],
    seed: i64,
    dt: f64,
    steps: usize,
    draws: usize,
) -> ([[[f64; n + 2]; chains]; draws], f64) {
    let mut q = start;
    let mut path = zeros((draws, chains, n + 2));
    let mut accepted = 0.0;
    for d in 0..draws {
        let (next, probability) =
            build(chains, |c| transition(q[c], y, s, fold_in(fold_in(key(seed), d), c), dt, steps));
        q = next;
        path[d] = q;
        accepted += mean(probability);
    }
    (path, accepted / draws as f64)
}

/// The exact density of `tau` at the places `tau`, equally far apart, but for a factor: `y_j ~ Normal(mu, sqrt(tau^2 + s_j^2))`.
#[kernel(value)]
fn density(tau: [f64; k], y: [f64; n], s: [f64; n]) -> [f64; k] {
    map(
        |t| {
            let width = t * t + s * s;
            let of_mu = map(
                |mu| exp(-0.5 * (mu / 5.0).powi(2) - 0.5 * sum((y - mu) * (y - mu) / width + ln(width))),
                linspace(-25.0, 25.0, 201),
            );
            sum(of_mu) / (1.0 + (t / 5.0).powi(2))
        },
        tau,
    )
}

const CHAINS: usize = 8;
const STEP: f64 = 0.45;
const LEAPS: usize = 8;
const FORGOTTEN: usize = 100;
const DRAWS: usize = 2000;
const BINS: usize = 24;
const LARGEST_TAU: f64 = 18.0;

fn main() -> ExitCode {
    program::main("hmc", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let y = array![28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    let s = array![15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
    let schools = y.len();

    // Some draws to forget, then those that count.
    let start = Array2::zeros((CHAINS, schools + 2));
    let (path, _) = Cpu.run(sampled, (&start, &y, &s, 1, STEP, LEAPS, FORGOTTEN))?;
    let last = path.index_axis(Axis(0), FORGOTTEN - 1);
    let (path, accepted) = Cpu.run(sampled, (&last, &y, &s, 2, STEP, LEAPS, DRAWS))?;
    let draws = path.into_shape_with_order((DRAWS * CHAINS, schools + 2))?;

    let (mu, tau) = (draws.column(0), draws.column(1).exp());
    let mean = |x: ArrayView1<f64>| x.sum() / x.len() as f64;
    println!("{} draws, accepted {:.1} %", draws.nrows(), 100.0 * accepted);
    println!("mu:  {:.2} +- {:.2}", mean(mu), mu.std(0.0));

    // The same of tau by the integral, and as a density per bin.
    let grid = Array1::linspace(0.02, 100.0, 2500);
    let exact = density(&grid, &y, &s);
    let exact_mean = exact.dot(&grid) / exact.sum();
    println!("tau: {:.2} +- {:.2}, exact mean {exact_mean:.2}", mean(tau.view()), tau.std(0.0));
    let width = LARGEST_TAU / BINS as f64;
    let curve = grid.iter().zip(&exact).map(|(&t, &d)| (t, d / (exact.sum() * (grid[1] - grid[0]))));
    let edges: Vec<f64> = (0..=BINS).map(|k| k as f64 * width).collect();
    let heights: Vec<f64> = edges[..BINS]
        .iter()
        .map(|&a| {
            tau.iter().filter(|&&t| (a..a + width).contains(&t)).count() as f64 / (tau.len() as f64 * width)
        })
        .collect();

    let dots = tau
        .iter()
        .copied()
        .zip(mu.iter().copied())
        .step_by(8)
        .filter(|p| p.0 < LARGEST_TAU && p.1.abs() < 18.0);
    let mut effects = Panel::chart("effects")
        .legend("measured", ORANGE)
        .legend("believed", BLUE)
        .x(-22.0..46.0)
        .y(-0.7..7.7)
        .names((0..schools).map(|j| ((schools - 1 - j) as f64, char::from(b'a' + j as u8).to_string())));
    for j in 0..schools {
        let row = (schools - 1 - j) as f64;
        let theta = &mu + &tau * &draws.column(2 + j);
        let bars = [(y[j], s[j], row + 0.15, ORANGE), (mean(theta.view()), theta.std(0.0), row - 0.15, BLUE)];
        for (center, half, height, color) in bars {
            let line = [(center - half, height), (center + half, height)];
            effects = effects.line(line, color, 2).dots([(center, height)], color, 7);
        }
    }
    picture::save(
        out,
        (900, 360),
        &[&[
            Panel::chart("draws of (tau, mu)").x(0.0..LARGEST_TAU).y(-18.0..18.0).dots(dots, BLUE, 2),
            Panel::chart("tau")
                .legend("draws", BLUE)
                .legend("exact", ORANGE)
                .x(0.0..LARGEST_TAU)
                .y(0.0..0.2)
                .bars(&edges, &heights, PALE_BLUE)
                .line(curve.filter(|p| p.0 < LARGEST_TAU), ORANGE, 2),
            effects,
        ]],
    )?;
    require((0.5..0.99).contains(&accepted), "the acceptance rate is not between 0.5 and 0.99")?;
    require((mean(tau.view()) - exact_mean).abs() < 0.4, "the mean of tau is not the exact one")
}
