//! Training on all cores: kernels take and give ndarray arrays, and the optimizer is plain ndarray.

use std::error::Error;

use array_dsl::prelude::*;
use ndarray::{Array, Array2, Dimension, Zip};

use crate::data::Images;
use crate::network::{loss, scores};
use crate::parameters::{Parameters, adam_rate};
use crate::train::Trainer;

/// A network that lives in main memory.
pub struct OnCpu {
    parameters: Parameters,
    mean: Parameters,
    square: Parameters,
    losses: Vec<f32>,
}

impl OnCpu {
    /// A network in its initial state.
    pub fn new() -> Self {
        let parameters = Parameters::initial();
        Self { parameters, mean: Parameters::zeros(), square: Parameters::zeros(), losses: Vec::new() }
    }
}

impl Trainer for OnCpu {
    fn step(&mut self, batch: &Images) -> Result<(), Box<dyn Error>> {
        let Self { parameters: p, mean, square, losses } = self;
        let (value, (dw1, db1, dw2, db2)) =
            value_and_grad(loss)(&p.w1, &p.b1, &p.w2, &p.b2, &batch.x, &batch.y);
        losses.push(value);
        let rate = adam_rate(losses.len() as i32);
        adam(&mut p.w1, &dw1, &mut mean.w1, &mut square.w1, rate);
        adam(&mut p.b1, &db1, &mut mean.b1, &mut square.b1, rate);
        adam(&mut p.w2, &dw2, &mut mean.w2, &mut square.w2, rate);
        adam(&mut p.b2, &db2, &mut mean.b2, &mut square.b2, rate);
        Ok(())
    }

    fn losses(&mut self) -> Result<&[f32], Box<dyn Error>> {
        Ok(&self.losses)
    }

    fn evaluate(&self, images: &Images) -> Result<(f32, Array2<f32>), Box<dyn Error>> {
        let p = &self.parameters;
        let value = loss(&p.w1, &p.b1, &p.w2, &p.b2, &images.x, &images.y);
        Ok((value, scores(&p.w1, &p.b1, &p.w2, &p.b2, &images.x)))
    }
}

fn adam<D: Dimension>(
    p: &mut Array<f32, D>,
    g: &Array<f32, D>,
    mean: &mut Array<f32, D>,
    square: &mut Array<f32, D>,
    rate: f32,
) {
    Zip::from(p).and(g).and(mean).and(square).for_each(|p, &g, mean, square| {
        *mean = 0.9 * *mean + 0.1 * g;
        *square = 0.999 * *square + 0.001 * g * g;
        *p -= rate * *mean / (square.sqrt() + 1e-8);
    });
}
