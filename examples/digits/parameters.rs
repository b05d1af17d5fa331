//! What is trained: the weights and biases, the state every run starts from, and the rate of each step.

use ndarray::{Array1, Array2};

use crate::data::{CLASSES, SIDE};
use crate::random::Random;

/// Images to a minibatch.
pub const BATCH: usize = 64;
const HIDDEN: usize = 32;
const ETA: f32 = 5e-3;
const INITIAL_SEED: u64 = 3;

/// Weights and biases of the two layers, or anything else of these shapes.
pub struct Parameters {
    /// Weights into the hidden layer, (pixels, hidden).
    pub w1: Array2<f32>,
    /// Biases of the hidden layer.
    pub b1: Array1<f32>,
    /// Weights out of the hidden layer, (hidden, classes).
    pub w2: Array2<f32>,
    /// Biases of the scores.
    pub b2: Array1<f32>,
}

impl Parameters {
    /// The state every run starts from: uniform weights after Glorot, no biases.
    pub fn initial() -> Self {
        let mut random = Random::new(INITIAL_SEED);
        let mut layer = |from: usize, to: usize| {
            let bound = (6.0 / (from + to) as f32).sqrt();
            Array2::from_shape_simple_fn((from, to), || random.symmetric(bound))
        };
        let (w1, w2) = (layer(SIDE * SIDE, HIDDEN), layer(HIDDEN, CLASSES));
        Self { w1, b1: Array1::zeros(HIDDEN), w2, b2: Array1::zeros(CLASSES) }
    }

    /// Zeros of the same shapes.
    pub fn zeros() -> Self {
        Self {
            w1: Array2::zeros((SIDE * SIDE, HIDDEN)),
            b1: Array1::zeros(HIDDEN),
            w2: Array2::zeros((HIDDEN, CLASSES)),
            b2: Array1::zeros(CLASSES),
        }
    }
}

/// Adam's rate at step `t`, counted from 1, with the correction of both running means folded in.
pub fn adam_rate(t: i32) -> f32 {
    (f64::from(ETA) * (1.0 - 0.999f64.powi(t)).sqrt() / (1.0 - 0.9f64.powi(t))) as f32
}
