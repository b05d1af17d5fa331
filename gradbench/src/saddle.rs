//! A saddle point by nested descents: where the greatest value over `q` is least over `p`.
//!
//! ```text
//! f(p, q) = |p|^2 - |q|^2,    p* = argmin_p max_q f(p, q),    q* = argmax_q f(p*, q)
//! ```
//!
//! The names of the functions say the modes of the outer derivative and of the inner one: reverse or forward.

use array_dsl::prelude::*;
use ndarray::Array1;
use serde_json::Value;

use crate::descent::{descend, forward};
use crate::{Error, Task, input::Fields, task::unknown};

#[kernel(value)]
fn f(p: [f64; 2], q: [f64; 2]) -> f64 {
    dot(p, p) - dot(q, q)
}

/// Where `f` is greatest, with its gradient by reverse mode.
#[kernel(value)]
fn backward_argmax(p: [f64; 2], start: [f64; 2]) -> [f64; 2] {
    descend(|q| -f(p, q), |q| grad(|q| -f(p, q))(q), start)
}

/// Where `f` is greatest, with its gradient by forward mode.
#[kernel(value)]
fn forward_argmax(p: [f64; 2], start: [f64; 2]) -> [f64; 2] {
    descend(|q| -f(p, q), |q| forward(|q| -f(p, q), q), start)
}

#[kernel(value)]
fn backward_greatest(p: [f64; 2], start: [f64; 2]) -> f64 {
    f(p, backward_argmax(p, start))
}

#[kernel(value)]
fn forward_greatest(p: [f64; 2], start: [f64; 2]) -> f64 {
    f(p, forward_argmax(p, start))
}

#[kernel(value)]
fn rr(start: [f64; 2]) -> [f64; 4] {
    let greatest = |p| backward_greatest(p, start);
    let p = descend(greatest, |p| grad(greatest)(p), start);
    concat(p, backward_argmax(p, start))
}

#[kernel(value)]
fn rf(start: [f64; 2]) -> [f64; 4] {
    let greatest = |p| forward_greatest(p, start);
    let p = descend(greatest, |p| grad(greatest)(p), start);
    concat(p, forward_argmax(p, start))
}

#[kernel(value)]
fn fr(start: [f64; 2]) -> [f64; 4] {
    let greatest = |p| backward_greatest(p, start);
    let p = descend(greatest, |p| forward(greatest, p), start);
    concat(p, backward_argmax(p, start))
}

#[kernel(value)]
fn ff(start: [f64; 2]) -> [f64; 4] {
    let greatest = |p| forward_greatest(p, start);
    let p = descend(greatest, |p| forward(greatest, p), start);
    concat(p, forward_argmax(p, start))
}

/// `rr`, `rf`, `fr` or `ff`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let start: Array1<f64> = Fields::of(input)?.vector_of("start", 2)?;
    match function {
        "rr" => Ok(Task::new(move || Cpu.run(rr, (&start,)))),
        "rf" => Ok(Task::new(move || Cpu.run(rf, (&start,)))),
        "fr" => Ok(Task::new(move || Cpu.run(fr, (&start,)))),
        "ff" => Ok(Task::new(move || Cpu.run(ff, (&start,)))),
        _ => Err(unknown("saddle", function)),
    }
}
