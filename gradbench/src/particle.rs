//! A charged particle between two charges: where to put one of them so that the path ends at the origin.
//!
//! ```text
//! pi(x; w) = 1 / |x - (10, 10 - w)| + 1 / |x - (10, 0)|
//! Euler's steps of 0.1 of x'' = -grad pi(x; w) from x = (0, 8), x' = (3/4, 0) until x_1 <= 0;
//! J(w) = x_0^2 where the last one crosses the axis;    the result is argmin J
//! ```
//!
//! The names of the functions say the modes of the outer derivative, of `J`, and of the inner one, of `pi`: reverse or forward.

use array_dsl::prelude::*;
use serde_json::Value;

use crate::descent::{descend, forward};
use crate::{Error, Task, input::Fields, task::unknown};

#[kernel(value)]
fn potential(x: [f64; 2], w: f64) -> f64 {
    let (a, b) = (x - [10.0, 10.0 - w], x - [10.0, 0.0]);
    1.0 / dot(a, a).sqrt() + 1.0 / dot(b, b).sqrt()
}

/// The square of where the particle crosses the axis, which `slope`, the gradient of the potential, moves.
#[kernel]
fn miss(slope: impl Fn([f64; 2], f64) -> [f64; 2], w: f64) -> f64 {
    let step = 0.1;
    let mut x = [0.0, 8.0];
    let mut v = [0.75, 0.0];
    while x[1] + step * v[1] > 0.0 {
        let force = -slope(x, w);
        x += step * v;
        v += step * force;
    }
    (x[0] - x[1] / v[1] * v[0]).powi(2)
}

/// The potential's gradient by reverse mode.
#[kernel(value)]
fn backward_slope(x: [f64; 2], w: f64) -> [f64; 2] {
    grad(|x| potential(x, w))(x)
}

/// The potential's gradient by forward mode.
#[kernel(value)]
fn forward_slope(x: [f64; 2], w: f64) -> [f64; 2] {
    forward(|x| potential(x, w), x)
}

#[kernel(value)]
fn rr(w: [f64; 1]) -> [f64; 1] {
    descend(|w| miss(backward_slope, w[0]), |w| grad(|w| miss(backward_slope, w[0]))(w), w)
}

#[kernel(value)]
fn rf(w: [f64; 1]) -> [f64; 1] {
    descend(|w| miss(forward_slope, w[0]), |w| grad(|w| miss(forward_slope, w[0]))(w), w)
}

#[kernel(value)]
fn fr(w: [f64; 1]) -> [f64; 1] {
    descend(|w| miss(backward_slope, w[0]), |w| forward(|w| miss(backward_slope, w[0]), w), w)
}

#[kernel(value)]
fn ff(w: [f64; 1]) -> [f64; 1] {
    descend(|w| miss(forward_slope, w[0]), |w| forward(|w| miss(forward_slope, w[0]), w), w)
}

/// `rr`, `rf`, `fr` or `ff`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let w = ndarray::array![Fields::of(input)?.take::<f64>("w")?];
    match function {
        "rr" => Ok(Task::new(move || Cpu.run(rr, (&w,)).map(|w| w[0]))),
        "rf" => Ok(Task::new(move || Cpu.run(rf, (&w,)).map(|w| w[0]))),
        "fr" => Ok(Task::new(move || Cpu.run(fr, (&w,)).map(|w| w[0]))),
        "ff" => Ok(Task::new(move || Cpu.run(ff, (&w,)).map(|w| w[0]))),
        _ => Err(unknown("particle", function)),
    }
}
