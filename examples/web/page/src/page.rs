//! What the page's script sees.

use ndarray::Array2;
use wasm_bindgen::prelude::*;

use array_dsl::Gpu;

use crate::data::{self, CLASSES, Images, SIDE};
use crate::network::Network;
use crate::parameters::BATCH;
use crate::{checks, late, seen::Seen};

#[wasm_bindgen]
unsafe extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn log_error(message: &str);
}

/// A panic would else say no more than that something unreachable was reached.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| log_error(&panic.to_string())));
}

fn failed(error: impl ToString) -> JsError {
    JsError::new(&error.to_string())
}

/// A network with its images and where its training has come to. One call at a time.
#[wasm_bindgen]
pub struct Training {
    network: Network,
    training: Images,
    test: Images,
    epoch: usize,
    /// What is left of the epoch, the next one last.
    batches: Vec<Images>,
    note: String,
}

#[wasm_bindgen]
impl Training {
    /// Begins on the browser's GPU, or on the CPU if there is none or `cpu` is set.
    ///
    /// # Errors
    /// The images are not what they should be.
    pub async fn begin(cpu: bool) -> Result<Training, JsError> {
        let (training, test) = data::load().map_err(failed)?;
        let (network, note) = if cpu {
            (Network::on_cpu(), "The page was asked to do without WebGPU.".to_string())
        } else {
            match Network::on_gpu().await {
                Ok(network) => (network, String::new()),
                Err(error) => (Network::on_cpu(), format!("It is done without WebGPU: {error}.")),
            }
        };
        Ok(Training { network, training, test, epoch: 0, batches: Vec::new(), note })
    }

    /// The device, in words.
    pub fn device(&self) -> String {
        self.network.device()
    }

    /// Why it is on the CPU; else empty.
    pub fn note(&self) -> String {
        self.note.clone()
    }

    /// Takes so many steps and returns the loss of each, before its update.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn train(&mut self, steps: u32) -> Result<Vec<f32>, JsError> {
        for _ in 0..steps {
            if self.batches.is_empty() {
                self.batches = self.training.minibatches(self.epoch, BATCH);
                self.batches.reverse();
                self.epoch += 1;
            }
            if let Some(batch) = self.batches.pop() {
                self.network.step(&batch).await.map_err(failed)?;
            }
        }
        self.network.losses().await.map_err(failed)
    }

    /// The probability of each class for a picture of `side * side` pixels in 0..1, then how the logarithm of the largest
    /// changes with each pixel.
    ///
    /// # Errors
    /// The picture has other than that many pixels; what the GPU reports.
    pub async fn look(&self, picture: Vec<f32>) -> Result<Vec<f32>, JsError> {
        let picture = Array2::from_shape_vec((1, SIDE * SIDE), picture).map_err(failed)?;
        let Seen { mut probabilities, gradient } = self.network.look(&picture).await.map_err(failed)?;
        probabilities.extend(gradient);
        Ok(probabilities)
    }

    /// The share of the test images that are read rightly.
    ///
    /// # Errors
    /// What the GPU reports.
    pub async fn accuracy(&self) -> Result<f32, JsError> {
        self.network.accuracy(&self.test).await.map_err(failed)
    }

    /// The pixels of a test image, counted around, then its class.
    pub fn example(&self, index: usize) -> Vec<f32> {
        let index = index % self.test.len().max(1);
        let mut pixels: Vec<f32> = self.test.x.row(index).to_vec();
        pixels.push(self.test.y[index] as f32);
        pixels
    }
}

/// Pixels along one side of a picture.
#[wasm_bindgen]
pub fn side() -> usize {
    SIDE
}

/// Number of classes.
#[wasm_bindgen]
pub fn classes() -> usize {
    CLASSES
}

/// Checks what the async forms promise on the browser's GPU. What is wrong, if anything.
pub async fn checked() -> Result<(), String> {
    let gpu = Gpu::new_async().await.map_err(|e| e.to_string())?;
    checks::blocking_forms_say_so(&gpu)?;
    checks::all(&gpu).await?;
    late::checked(&gpu).await
}

/// See [`checked`]. Empty if nothing is wrong.
#[wasm_bindgen]
pub async fn check() -> String {
    checked().await.err().unwrap_or_default()
}
