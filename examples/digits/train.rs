//! Training, the same for the CPU and the GPU: epochs of minibatches, and what is recorded of them.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ndarray::{Array1, Array2};

use crate::data::Images;
use crate::parameters::BATCH;

/// A network in training on some device.
pub trait Trainer {
    /// Takes one step of Adam on a minibatch. It need not be over on return.
    fn step(&mut self, batch: &Images) -> Result<(), Box<dyn Error>>;
    /// The loss of every step so far, before its update. Waits for all steps to be over.
    fn losses(&mut self) -> Result<&[f32], Box<dyn Error>>;
    /// The loss on `images` and their scores, one row to an image.
    fn evaluate(&self, images: &Images) -> Result<(f32, Array2<f32>), Box<dyn Error>>;
}

/// What is known after training.
pub struct History {
    /// Training loss of each step.
    pub train: Vec<f32>,
    /// Steps done and test loss after each epoch.
    pub test: Vec<(usize, f32)>,
    /// The digit read from each test image at the end.
    pub predictions: Vec<i32>,
    /// Share of test images read rightly at the end, 0 to 1.
    pub accuracy: f32,
    /// Time for one step, the median over the epochs.
    pub step_time: Duration,
}

/// Trains for a number of epochs, at least one, with a progress bar on the terminal.
pub fn train(
    trainer: &mut dyn Trainer,
    training: &Images,
    test: &Images,
    epochs: usize,
) -> Result<History, Box<dyn Error>> {
    let bar = ProgressBar::new((epochs * training.len().div_ceil(BATCH)) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {msg}")?);
    let mut history = History {
        train: vec![],
        test: vec![],
        predictions: vec![],
        accuracy: 0.0,
        step_time: Duration::ZERO,
    };
    let mut times = Vec::new();
    for epoch in 0..epochs {
        let batches = training.minibatches(epoch, BATCH);
        let start = Instant::now();
        for batch in &batches {
            trainer.step(batch)?;
            bar.inc(1);
        }
        history.train = trainer.losses()?.to_vec();
        times.push(start.elapsed() / batches.len() as u32);

        let (value, scores) = trainer.evaluate(test)?;
        history.test.push((history.train.len(), value));
        history.predictions = classify(&scores);
        history.accuracy = share_equal(&history.predictions, &test.y);
        bar.set_message(format!("test loss {value:.4}, accuracy {:.2} %", 100.0 * history.accuracy));
    }
    bar.finish();
    times.sort();
    history.step_time = times[times.len() / 2];
    Ok(history)
}

/// The losses of the first `steps` steps of the same training.
pub fn first_losses(
    trainer: &mut dyn Trainer,
    training: &Images,
    steps: usize,
) -> Result<Vec<f32>, Box<dyn Error>> {
    for batch in (0..).flat_map(|epoch| training.minibatches(epoch, BATCH)).take(steps) {
        trainer.step(&batch)?;
    }
    Ok(trainer.losses()?.to_vec())
}

/// The largest `|a - b| / |b|` over the steps both curves have.
pub fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    // Not `f32::max`, which would drop a NaN.
    let differences = a.iter().zip(b).map(|(a, b)| ((a - b) / b).abs());
    differences.fold(0.0, |largest, d| if largest.is_nan() || d <= largest { largest } else { d })
}

fn classify(scores: &Array2<f32>) -> Vec<i32> {
    let best =
        |row: ndarray::ArrayView1<f32>| (0..row.len()).fold(0, |b, j| if row[j] > row[b] { j } else { b });
    scores.rows().into_iter().map(|row| best(row) as i32).collect()
}

fn share_equal(predictions: &[i32], labels: &Array1<i32>) -> f32 {
    let equal = predictions.iter().zip(labels).filter(|(p, y)| p == y).count();
    equal as f32 / labels.len() as f32
}
