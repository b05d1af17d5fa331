//! A recurrent network that predicts a chaotic series.
//!
//! Mackey and Glass's equation, a model of how blood cells are made with a delay,
//!
//! ```text
//! dx/dt = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x(t),
//! ```
//!
//! is measured with noise every 3 units of time. A cell with long short-term memory reads the measurements one after the other,
//!
//! ```text
//! c <- sigmoid(f) c + sigmoid(i) tanh(g),    h <- sigmoid(o) tanh(c),
//! ```
//!
//! where the gates `i, f, o, g` are affine in the measurement and in `h`, and tells the next one from `h`. Its gradient goes backwards
//! through 60 measurements, of 16 pieces of the series at a time.
//!
//! The picture shows the error while the network learns, and what it does on a part of the series that it has not seen: it reads on
//! the left of the line; on the right it reads nothing but its own predictions.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl::random::{key, normal, normal_at};
use array_dsl_examples::picture::{self, BLUE, GRAY, ORANGE, Panel, numbered};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array1, Array2, Axis, s};

/// The cell: what comes from the measurement, from the cell itself, and goes out.
#[derive(Record, Clone, Debug)]
struct Cell {
    #[shape(4 * h)]
    from_input: Array1<f64>,
    #[shape(h, 4 * h)]
    from_state: Array2<f64>,
    #[shape(4 * h)]
    bias: Array1<f64>,
    #[shape(h)]
    out: Array1<f64>,
    out_bias: f64,
}

/// Memory and output of the cells after they have read one number each.
#[kernel]
fn read(cell: &Cell, x: [f64; b], c: [[f64; h]; b], y: [[f64; h]; b]) -> ([[f64; h]; b], [[f64; h]; b]) {
    let z = outer(x, cell.from_input) + matmul(y, cell.from_state) + cell.bias;
    let gate = |k| z[s![.., k * h..(k + 1) * h]];
    let c = sigmoid(gate(0)) * c + sigmoid(gate(1)) * tanh(gate(2));
    (c, sigmoid(gate(3)) * tanh(c))
}

/// For each number of the series what the cell takes the next one to be. From the step `alone` on it reads its own predictions.
#[kernel]
fn predicted(cell: &Cell, series: [[f64; b]; n], alone: usize) -> [[f64; b]; n] {
    let (mut c, mut y) = (zeros((b, h)), zeros((b, h)));
    let mut next = zeros(b);
    let mut all = zeros((n, b));
    for t in 0..n {
        let x = if t < alone { series[t] } else { next };
        (c, y) = read(cell, x, c, y);
        next = x + matvec(y, cell.out) + cell.out_bias; // it tells the change
        all[t] = next;
    }
    all
}

/// The mean square of the error, without the first predictions, for which the cell has read too little.
#[kernel]
fn loss(cell: &Cell, #[no_grad] series: [[f64; b]; n + 1]) -> f64 {
    let off = predicted(cell, series[..n], n) - series[1..];
    mean(flatten(off[10..] * off[10..]))
}

/// A step of Adam.
#[kernel(value)]
fn adam(p: &Cell, mean: &Cell, square: &Cell, gradient: &Cell, rate: f64) -> (Cell, Cell, Cell) {
    let mean = 0.9 * mean + 0.1 * gradient;
    let square = 0.99 * square + 0.01 * gradient * gradient;
    (p - rate * mean / (sqrt(square) + 1e-8), mean, square)
}

/// The series, measured `count` times.
#[kernel(value)]
fn mackey_glass(count: usize, noise: f64) -> [f64; count] {
    let n = 6 * count + 300;
    let mut x = 1.2 * ones(n);
    for t in 34..n - 1 {
        let late = x[t - 34];
        x[t + 1] = x[t] + 0.5 * (0.2 * late / (1.0 + late.powi(10)) - 0.1 * x[t]);
    }
    build(count, |k| x[300 + 6 * k] + normal_at(key(2), k, 0.0, noise))
}

/// A cell of random numbers of this size.
#[kernel(value)]
fn random(h: usize, size: f64) -> Cell {
    Cell {
        from_input: normal(key(3), 0.0, size, 4 * h),
        from_state: reshape(normal(key(4), 0.0, size, 4 * h * h), (h, 4 * h)),
        bias: zeros(4 * h),
        out: normal(key(5), 0.0, size, h),
        out_bias: 0.0,
    }
}

const NOISE: f64 = 0.01;
const HIDDEN: usize = 12;
const PIECES: usize = 16;
const LENGTH: usize = 60;
/// So many numbers of the series are for learning.
const LEARNED: usize = 800;
const ITERATIONS: usize = 300;
/// How many numbers are read, and how many predicted from predictions.
const READ: usize = 100;
const ALONE: usize = 50;

fn main() -> ExitCode {
    program::main("lstm", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let measured = Cpu.run(mackey_glass, (LEARNED + READ + ALONE + 1, NOISE))?;
    let (center, deviation) = (measured.mean().unwrap_or(0.0), measured.std(0.0));
    let series = (measured - center) / deviation;
    let mut cell: Cell = Cpu.run(random, (HIDDEN, 0.3))?;
    let (mut mean, mut square) = (Cpu.run(random, (HIDDEN, 0.0))?, Cpu.run(random, (HIDDEN, 0.0))?);
    let mut losses = vec![];
    let bar = ProgressBar::new(ITERATIONS as u64);
    for k in 0..ITERATIONS {
        // Pieces that begin at other places each time.
        let begin = |p: usize| (p * (LEARNED - LENGTH) / PIECES + 37 * k) % (LEARNED - LENGTH);
        let pieces = Array2::from_shape_fn((LENGTH + 1, PIECES), |(t, p)| series[begin(p) + t]);
        let (value, gradient) = Cpu.run(value_and_grad(loss), (&cell, &pieces))?;
        losses.push(value);
        let rate = 0.03 * (1.0 - k as f64 / ITERATIONS as f64);
        (cell, mean, square) = Cpu.run(adam, (&cell, &mean, &square, &gradient, rate))?;
        bar.inc(1);
    }
    bar.finish_and_clear();

    let unseen = series.slice(s![LEARNED..]);
    let tell = |alone: usize| Cpu.run(predicted, (&cell, &unseen.insert_axis(Axis(1)), alone));
    let told = tell(READ)?;
    let step = tell(READ + ALONE)?;
    // Entry `t` tells the number `t + 1`.
    let error = |told: &Array2<f64>, of: std::ops::Range<usize>| {
        let count = of.len() as f64;
        (of.map(|t| (told[[t, 0]] - unseen[t + 1]).powi(2)).sum::<f64>() / count).sqrt()
    };
    let (next, alone) = (error(&step, 20..READ + ALONE), error(&told, READ..READ + ALONE));
    println!("loss: {:.2e} before, {:.2e} after", losses[0], losses[ITERATIONS - 1]);
    println!("deviation of the series: {deviation:.3}, of its noise {NOISE}; in units of the first one:");
    println!("error of the next number: {next:.3}; of {ALONE} numbers without reading: {alone:.3}");

    let roots: Vec<f64> = losses.iter().map(|l| l.sqrt()).collect();
    let learned = Panel::chart("error").log().line(numbered(&roots), BLUE, 2).below("steps");
    let series = Panel::chart("an unseen part")
        .legend("measured", ORANGE)
        .legend("predicted", BLUE)
        .y(-3.0..2.5)
        .line([(READ as f64, -3.0), (READ as f64, 2.5)], GRAY, 2)
        .line(numbered(&unseen), ORANGE, 2)
        .line(numbered(&told.column(0)).map(|(t, v)| (t + 1.0, v)).skip(10), BLUE, 2)
        .below("measurement");
    picture::save(out, (900, 340), &[&[learned, series.share(2.2)]])?;

    require(next < 0.15, "the network does not tell the next number")?;
    require(alone < 0.5, "the network loses the series at once without reading")
}
