//! Training on the GPU: parameters and the state of the optimizer never leave the device. Each step uploads its
//! minibatch; the losses stay on the device too until somebody asks for them.

use std::error::Error;

use array_dsl::prelude::*;
use ndarray::{Array2, Ix0, Ix1, Ix2};

use crate::data::Images;
use crate::network::{adam_matrix, adam_vector, loss, scores};
use crate::parameters::adam_rate;
use crate::slot::{Slot, Slots};
use crate::train::Trainer;

/// A network that lives on a GPU.
pub struct OnGpu {
    gpu: Gpu,
    slots: Slots,
    steps: i32,
    /// Losses of the latest steps, still on the device.
    pending: Vec<GpuArray<f32, Ix0>>,
    losses: Vec<f32>,
}

impl OnGpu {
    /// A network in its initial state.
    pub fn new(gpu: Gpu) -> Result<Self, Box<dyn Error>> {
        Ok(Self { slots: Slots::initial(&gpu)?, gpu, steps: 0, pending: Vec::new(), losses: Vec::new() })
    }
}

impl Trainer for OnGpu {
    fn step(&mut self, batch: &Images) -> Result<(), Box<dyn Error>> {
        let Self { gpu, slots: Slots { w1, b1, w2, b2 }, .. } = self;
        let (x, y) = (gpu.upload(&batch.x)?, gpu.upload(&batch.y)?);
        let arguments = (&w1.value, &b1.value, &w2.value, &b2.value, &x, &y);
        let (value, (dw1, db1, dw2, db2)) = gpu.run(value_and_grad(loss), arguments)?;
        self.pending.push(value);
        self.steps += 1;
        let rate = adam_rate(self.steps);
        update_matrix(gpu, w1, &dw1, rate)?;
        update_vector(gpu, b1, &db1, rate)?;
        update_matrix(gpu, w2, &dw2, rate)?;
        update_vector(gpu, b2, &db2, rate)
    }

    fn losses(&mut self) -> Result<&[f32], Box<dyn Error>> {
        for value in self.pending.drain(..) {
            self.losses.push(value.item()?);
        }
        Ok(&self.losses)
    }

    fn evaluate(&self, images: &Images) -> Result<(f32, Array2<f32>), Box<dyn Error>> {
        let Self { gpu, slots: Slots { w1, b1, w2, b2 }, .. } = self;
        let (x, y) = (gpu.upload(&images.x)?, gpu.upload(&images.y)?);
        let value = gpu.run(loss, (&w1.value, &b1.value, &w2.value, &b2.value, &x, &y))?;
        let rows = gpu.run(scores, (&w1.value, &b1.value, &w2.value, &b2.value, &x))?;
        Ok((value.item()?, rows.download()?))
    }
}

fn update_vector(
    gpu: &Gpu,
    slot: &mut Slot<Ix1>,
    g: &GpuArray<f32, Ix1>,
    rate: f32,
) -> Result<(), Box<dyn Error>> {
    let (value, mean, square) = gpu.run(adam_vector, (&slot.value, g, &slot.mean, &slot.square, rate))?;
    *slot = Slot { value, mean, square };
    Ok(())
}

fn update_matrix(
    gpu: &Gpu,
    slot: &mut Slot<Ix2>,
    g: &GpuArray<f32, Ix2>,
    rate: f32,
) -> Result<(), Box<dyn Error>> {
    let (value, mean, square) = gpu.run(adam_matrix, (&slot.value, g, &slot.mean, &slot.square, rate))?;
    *slot = Slot { value, mean, square };
    Ok(())
}
