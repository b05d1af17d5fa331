//! A network in training, on the GPU or the CPU of the browser.

use array_dsl::{Error, Gpu};
use ndarray::Array2;

use crate::cpu::OnCpu;
use crate::data::Images;
use crate::gpu::OnGpu;
use crate::seen::{Seen, likeliest};

/// See the module header.
pub enum Network {
    /// Parameters and optimizer stay on the device.
    OnGpu(Box<OnGpu>),
    /// The same kernels in WebAssembly.
    OnCpu(Box<OnCpu>),
}

impl Network {
    /// A network in its initial state on the browser's GPU.
    ///
    /// # Errors
    /// There is none, or it fails.
    pub async fn on_gpu() -> Result<Network, Error> {
        Ok(Network::OnGpu(Box::new(OnGpu::new(Gpu::new_async().await?)?)))
    }

    /// A network in its initial state in main memory.
    pub fn on_cpu() -> Network {
        Network::OnCpu(Box::new(OnCpu::new()))
    }

    /// Takes one step of Adam on a minibatch. It need not be over on return.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn step(&mut self, batch: &Images) -> Result<(), Error> {
        match self {
            Network::OnGpu(network) => network.step(batch).await,
            Network::OnCpu(network) => network.step(batch),
        }
    }

    /// The losses of the steps since the last call.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn losses(&mut self) -> Result<Vec<f32>, Error> {
        match self {
            Network::OnGpu(network) => network.losses().await,
            Network::OnCpu(network) => Ok(network.losses()),
        }
    }

    /// What it sees in a picture, one row of pixels.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn look(&self, picture: &Array2<f32>) -> Result<Seen, Error> {
        match self {
            Network::OnGpu(network) => network.look(picture).await,
            Network::OnCpu(network) => network.look(picture),
        }
    }

    /// The share of the images that it reads rightly.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn accuracy(&self, images: &Images) -> Result<f32, Error> {
        let scores = match self {
            Network::OnGpu(network) => network.scores(images).await?,
            Network::OnCpu(network) => network.scores(images)?,
        };
        let read = likeliest(&scores);
        let right = read.iter().zip(&images.y).filter(|(read, y)| read == y).count();
        Ok(right as f32 / images.len() as f32)
    }

    /// The device it is on, in words.
    pub fn device(&self) -> String {
        match self {
            Network::OnGpu(network) => format!("WebGPU, {}", network.name()),
            Network::OnCpu(_) => "CPU, WebAssembly".into(),
        }
    }
}
