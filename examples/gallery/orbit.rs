//! The orbit of a double star from its observed positions, by Levenberg and Marquardt's method.
//!
//! Seen from the main star its companion moves on an ellipse, whose plane is inclined. At the time `t` the mean anomaly is
//! `M = 2 pi (t - T) / P`, Kepler's equation `E - e sin E = M` gives the eccentric one, and the position is
//!
//! ```text
//! x = A (cos E - e) + F sqrt(1 - e^2) sin E,
//! y = B (cos E - e) + G sqrt(1 - e^2) sin E,
//! ```
//!
//! where Thiele and Innes's `A, B, F, G` are made of the size `a` of the ellipse and of three angles. Observed are 40 positions in 70
//! years with errors of 0.08 seconds of arc; the true elements are about those of Sirius and its companion. Wanted are the seven
//! elements: least squares, whose matrix is the Jacobian of the positions. Each step solves `(J'J + lambda D) d = -J'r`.
//!
//! The picture shows the observations, the orbit that the search begins with, the one that it finds, and the sum of squares.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::linalg::{inverse, solve};
use array_dsl::prelude::*;
use array_dsl::random::{key, normal, uniform};
use array_dsl_examples::picture::{self, BLUE, GRAY, INK, ORANGE, Panel, numbered};
use array_dsl_examples::program::{self, require};
use ndarray::{Array1, Array2, array};

/// The eccentric anomaly of a mean anomaly: Newton's method, which needs few steps from there on.
#[kernel]
fn eccentric(mean: f64, e: f64) -> f64 {
    let mut anomaly = mean + e * sin(mean);
    for _ in 0..8 {
        anomaly -= (anomaly - e * sin(anomaly) - mean) / (1.0 - e * cos(anomaly));
    }
    anomaly
}

/// Where the companion is: size, eccentricity, three angles, period and time of the periastron tell.
#[kernel]
fn position(p: [f64; 7], t: f64) -> [f64; 2] {
    let (a, e, i, node, omega, period, periastron) = (p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    let anomaly = eccentric(2.0 * std::f64::consts::PI * (t - periastron) / period, e);
    let (u, v) = (a * (cos(anomaly) - e), a * sqrt(1.0 - e * e) * sin(anomaly));
    let (v, w) = (u * cos(omega) - v * sin(omega), (u * sin(omega) + v * cos(omega)) * cos(i));
    [v * cos(node) - w * sin(node), v * sin(node) + w * cos(node)]
}

/// The positions at some times.
#[kernel]
fn positions(elements: [f64; 7], t: [f64; n]) -> [[f64; 2]; n] {
    map(|t| position(elements, t), t)
}

/// How far the positions are from the observed ones, in units of the error.
#[kernel(jacobian)]
fn residuals(
    elements: [f64; 7],
    #[no_grad] t: [f64; n],
    #[no_grad] seen: [[f64; 2]; n],
    #[no_grad] error: f64,
) -> [f64; 2 * n] {
    flatten(positions(elements, t) - seen) / error
}

/// Times and positions with errors.
#[kernel(value)]
fn observed(elements: [f64; 7], from: f64, to: f64, error: f64, n: usize) -> ([f64; n], [[f64; 2]; n]) {
    let t = sort(uniform(key(1), from, to, n));
    let noise = reshape(normal(key(2), 0.0, error, 2 * n), (n, 2));
    (t, positions(elements, t) + noise)
}

/// The step of Levenberg and Marquardt: between Newton's and a short one downhill.
#[kernel(value)]
fn step(j: [[f64; n]; m], r: [f64; m], lambda: f64) -> [f64; n] {
    let square = matmul(transpose(j), j);
    let damped = build((n, n), |a, b| if a == b { (1.0 + lambda) * square[a][a] } else { square[a][b] });
    solve(damped, -matvec(transpose(j), r))
}

/// The deviations of what was found.
#[kernel(value)]
fn deviations(j: [[f64; n]; m]) -> [f64; n] {
    let covariance = inverse(matmul(transpose(j), j));
    build(n, |k| sqrt(covariance[k][k]))
}

const NAMES: [&str; 7] = ["size a", "eccentricity", "inclination", "node", "omega", "period", "periastron"];
const ERROR: f64 = 0.08;
const STEPS: usize = 40;

fn main() -> ExitCode {
    program::main("orbit", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let truth = array![7.5, 0.59, 2.38, 0.78, 2.59, 50.1, 1994.3];
    let (t, seen) = Cpu.run(observed, (&truth, 1940.0, 2010.0, ERROR, 40))?;

    let start = array![6.0, 0.3, 2.0, 1.2, 2.0, 56.0, 1991.0];
    let mut elements = start.clone();
    let mut lambda = 1e-2;
    let mut r = residuals(&elements, &t, &seen, ERROR);
    let mut squares = vec![r.dot(&r)];
    for _ in 0..STEPS {
        let j: Array2<f64> = Cpu.run(jacobian(residuals), (&elements, &t, &seen, ERROR))?;
        // Shorter and shorter steps until one leads down.
        loop {
            let next = &elements + &Cpu.run(step, (&j, &r, lambda))?;
            let off = residuals(&next, &t, &seen, ERROR);
            if off.dot(&off) <= r.dot(&r) || lambda > 1e12 {
                (elements, r) = (next, off);
                lambda *= 0.2;
                break;
            }
            lambda *= 5.0;
        }
        squares.push(r.dot(&r));
        if squares[squares.len() - 2] - r.dot(&r) < 1e-9 {
            break;
        }
    }
    let freedom = (r.len() - elements.len()) as f64;
    println!(
        "{} steps; chi^2 {:.0} before, {:.1} after, of {freedom} degrees of freedom",
        squares.len() - 1,
        squares[0],
        r.dot(&r)
    );
    let deviation = deviations(&jacobian(residuals)(&elements, &t, &seen, ERROR));
    let mut worst = 0.0f64;
    for (k, name) in NAMES.iter().enumerate() {
        println!("{name:>13}: {:9.3} +- {:.3}   truth {:8.3}", elements[k], deviation[k], truth[k]);
        worst = worst.max((elements[k] - truth[k]).abs() / deviation[k]);
    }

    let orbit = |p: &Array1<f64>| -> Vec<(f64, f64)> {
        let times = Array1::linspace(1950.0, 1950.0 + p[5], 400);
        positions(p, &times).outer_iter().map(|at| (at[1], at[0])).collect()
    };
    let found = orbit(&elements);
    let sky = Panel::chart("on the sky")
        .legend("observed", ORANGE)
        .legend("start", GRAY)
        .legend("fit", BLUE)
        .x(-9.0..11.0)
        .y(-7.0..9.0)
        .line(orbit(&start), GRAY, 2)
        .line(found, BLUE, 2)
        .dots(seen.outer_iter().map(|at| (at[1], at[0])), ORANGE, 6)
        .dots([(0.0, 0.0)], INK, 10)
        .below("seconds of arc");
    let chart = Panel::chart("sum of squares")
        .log()
        .line(numbered(&squares), BLUE, 2)
        .dots(numbered(&squares), BLUE, 6)
        .below("steps");
    picture::save(out, (900, 420), &[&[sky.share(1.15), chart]])?;

    require(r.dot(&r) < 1.5 * freedom, "the orbit does not go through the observations")?;
    require(worst < 4.0, "an element is more than four deviations from the truth")
}
