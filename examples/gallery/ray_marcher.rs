//! Inverse rendering: a ray marcher whose scene is fitted to an image.
//!
//! The scene is three balls that melt into each other, given by a signed distance: negative inside, zero on the surface,
//!
//! ```text
//! d(p) = -ln sum_k exp(-s (|p - c_k| - r_k)) / s.
//! ```
//!
//! A ray goes ahead by this distance until it is close to the surface, or far away. The normal is the gradient of the distance, taken
//! inside of the kernel, and the light of a lamp falls on it, less of it where the lamp is farther away. What a ray misses is not lost to the fit: how near it has come to the surface
//! makes a soft border, by which balls beside the right place feel where they should go.
//!
//! From the pixels alone we look for the twelve numbers of the scene, by gradients of the difference of two images: backwards through
//! the steps of every ray.
//!
//! The picture shows the target, the scene that the search begins with, the one it finds, and the error on the way.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl_examples::picture::{self, BLUE, Panel, inferno, numbered};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array2, array};

/// The signed distance of a point from the balls, each a center and a radius.
#[kernel]
fn distance(p: [f64; 3], balls: [[f64; 4]; k]) -> f64 {
    let each = map(|b| sqrt(sum((p - b[..3]) * (p - b[..3]))) - b[3], balls);
    -logsumexp(-12.0 * each) / 12.0
}

/// What is seen in a direction: the light on the surface, or darkness.
#[kernel]
fn seen(direction: [f64; 3], balls: [[f64; 4]; k]) -> f64 {
    let mut t = 1.0;
    let mut d = distance(t * direction, balls);
    let (mut nearest, mut at) = (d, t);
    let mut trips = 0;
    while d > 1e-3 && t < 8.0 && trips < 40 {
        t += d;
        d = distance(t * direction, balls);
        if d < nearest {
            (nearest, at) = (d, t);
        }
        trips += 1;
    }
    let place = at * direction;
    let normal = grad(|p| distance(p, balls))(place);
    let to_lamp = [1.5, 1.8, 0.8] - place;
    let far = sqrt(dot(to_lamp, to_lamp));
    let bright = 0.1 + 7.0 * max(dot(normal, to_lamp), 0.0) / far.powi(3);
    if nearest > 1e-3 { bright * exp(-nearest / 0.03) } else { bright }
}

/// An image of so many rows and columns; the camera looks along the third axis.
#[kernel]
fn image(balls: [[f64; 4]; k], h: usize, w: usize) -> [[f64; w]; h] {
    build((h, w), |i, j| {
        let x = (j as f64 + 0.5 - 0.5 * w as f64) / h as f64;
        let y = (0.5 * h as f64 - i as f64 - 0.5) / h as f64;
        seen([x, y, 1.0] / sqrt(x * x + y * y + 1.0), balls)
    })
}

/// The mean square of the difference from an image.
#[kernel]
fn error(balls: [[f64; 4]; k], #[no_grad] target: [[f64; w]; h]) -> f64 {
    let off = flatten(image(balls, h, w) - target);
    dot(off, off) / (h * w) as f64
}

const ROWS: usize = 27;
const COLUMNS: usize = 36;
/// How many times as many rows and columns the picture has.
const FINE: usize = 5;
const ITERATIONS: usize = 110;

fn main() -> ExitCode {
    program::main("ray_marcher", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let truth = array![[-0.75, -0.1, 3.6, 0.75], [0.35, 0.55, 3.3, 0.45], [0.75, -0.5, 3.0, 0.5]];
    let start = array![[-0.4, 0.2, 3.4, 0.5], [0.1, 0.3, 3.4, 0.5], [0.4, -0.2, 3.4, 0.5]];
    let target = Cpu.run(image, (&truth, ROWS, COLUMNS))?;

    let mut balls = start.clone();
    let (mut mean, mut square) = (Array2::<f64>::zeros(balls.dim()), Array2::<f64>::zeros(balls.dim()));
    let mut errors = vec![];
    let bar = ProgressBar::new(ITERATIONS as u64);
    for k in 0..ITERATIONS {
        let (value, gradient) = Cpu.run(value_and_grad(error), (&balls, &target))?;
        errors.push(value);
        // Adam.
        mean = 0.85 * mean + 0.15 * &gradient;
        square = 0.95 * square + 0.05 * &gradient * &gradient;
        let rate = 0.06 * (1.0 - (k as f64 / ITERATIONS as f64).powi(3));
        balls -= &(rate * &mean / (square.sqrt() + 1e-12));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let after = Cpu.run(error, (&balls, &target))?;
    errors.push(after);
    let off = (&balls - &truth).iter().fold(0.0f64, |a, d| a.max(d.abs()));
    println!("mean square: {:.2e} before, {after:.2e} after", errors[0]);
    for (found, truth) in balls.outer_iter().zip(truth.outer_iter()) {
        println!("ball {found:7.3}, truth {truth:6.2}");
    }
    println!("largest difference: {off:.3}");

    let show = |title: &str, balls: &Array2<f64>| -> Result<Panel, array_dsl::Error> {
        Ok(Panel::image(title, &Cpu.run(image, (balls, FINE * ROWS, FINE * COLUMNS))?, 0.0..1.05, inferno))
    };
    let curve = Panel::chart("error").log().line(numbered(&errors), BLUE, 2);
    let panels =
        [show("target", &truth)?, show("start", &start)?, show("fit", &balls)?, curve.below("steps")];
    picture::save(out, (1000, 250), &[&panels])?;
    require(after < 1e-2 * errors[0], "the image is not the target")?;
    require(off < 0.1, "the balls are not where they should be")
}
