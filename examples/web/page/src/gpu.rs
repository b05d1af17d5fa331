//! Training by WebGPU: parameters and the state of the optimizer never leave the device, and a browser must not be waited for,
//! so every call that may wait is the async form.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Ix0, Ix1, Ix2};

use crate::data::Images;
use crate::kernels::{adam_matrix, adam_vector, loss, scores};
use crate::parameters::adam_rate;
use crate::seen::{Seen, certainty, likeliest, probabilities};
use crate::slot::{Slot, Slots};

/// A network that lives on a GPU.
pub struct OnGpu {
    gpu: Gpu,
    slots: Slots,
    steps: i32,
    /// Losses of the latest steps, still on the device.
    pending: Vec<GpuArray<f32, Ix0>>,
}

impl OnGpu {
    /// A network in its initial state.
    ///
    /// # Errors
    /// What the GPU reports.
    pub fn new(gpu: Gpu) -> Result<OnGpu, Error> {
        Ok(OnGpu { slots: Slots::initial(&gpu)?, gpu, steps: 0, pending: Vec::new() })
    }

    /// The name of the GPU.
    pub fn name(&self) -> &str {
        &self.gpu.info().name
    }

    /// One step of Adam.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn step(&mut self, batch: &Images) -> Result<(), Error> {
        let OnGpu { gpu, slots: Slots { w1, b1, w2, b2 }, .. } = self;
        let (x, y) = (gpu.upload(&batch.x)?, gpu.upload(&batch.y)?);
        let arguments = (&w1.value, &b1.value, &w2.value, &b2.value, &x, &y);
        let (value, (dw1, db1, dw2, db2)) = gpu.run_async(value_and_grad(loss), arguments).await?;
        self.pending.push(value);
        self.steps += 1;
        let rate = adam_rate(self.steps);
        update_matrix(gpu, w1, &dw1, rate).await?;
        update_vector(gpu, b1, &db1, rate).await?;
        update_matrix(gpu, w2, &dw2, rate).await?;
        update_vector(gpu, b2, &db2, rate).await
    }

    /// The losses of the steps since the last call.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn losses(&mut self) -> Result<Vec<f32>, Error> {
        let mut losses = Vec::new();
        for value in self.pending.drain(..) {
            losses.push(value.item_async().await?);
        }
        Ok(losses)
    }

    /// The scores of images, one row to an image.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn scores(&self, images: &Images) -> Result<Array2<f32>, Error> {
        let x = self.gpu.upload(&images.x)?;
        self.scores_of(&x).await?.download_async().await
    }

    async fn scores_of(&self, x: &GpuArray<f32, Ix2>) -> Result<GpuArray<f32, Ix2>, Error> {
        let OnGpu { gpu, slots: Slots { w1, b1, w2, b2 }, .. } = self;
        gpu.run_async(scores, (&w1.value, &b1.value, &w2.value, &b2.value, x)).await
    }

    /// What it sees in a picture.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn look(&self, picture: &Array2<f32>) -> Result<Seen, Error> {
        let OnGpu { gpu, slots: Slots { w1, b1, w2, b2 }, .. } = self;
        let x = gpu.upload(picture)?;
        let rows = gpu.run_async(probabilities, (&self.scores_of(&x).await?,)).await?;
        let rows = rows.download_async().await?;
        let class = gpu.upload(&Array1::from(likeliest(&rows)))?;
        let arguments = (&w1.value, &b1.value, &w2.value, &b2.value, &x, &class);
        let gradient = gpu.run_async(grad(certainty), arguments).await?.download_async().await?;
        Ok(Seen { probabilities: rows.into_iter().collect(), gradient: gradient.into_iter().collect() })
    }
}

async fn update_vector(
    gpu: &Gpu,
    slot: &mut Slot<Ix1>,
    g: &GpuArray<f32, Ix1>,
    rate: f32,
) -> Result<(), Error> {
    let arguments = (&slot.value, g, &slot.mean, &slot.square, rate);
    let (value, mean, square) = gpu.run_async(adam_vector, arguments).await?;
    *slot = Slot { value, mean, square };
    Ok(())
}

async fn update_matrix(
    gpu: &Gpu,
    slot: &mut Slot<Ix2>,
    g: &GpuArray<f32, Ix2>,
    rate: f32,
) -> Result<(), Error> {
    let arguments = (&slot.value, g, &slot.mean, &slot.square, rate);
    let (value, mean, square) = gpu.run_async(adam_matrix, arguments).await?;
    *slot = Slot { value, mean, square };
    Ok(())
}
