//! Handwritten digits: trains a small network with gradients that array-dsl derives at compile time, on all cores
//! or on a GPU, and draws the loss curve and what was read to `digits.png`.
//!
//! ```text
//! cargo run --release --example digits
//! cargo run --release --example digits -- --gpu
//! ```

mod cpu;
mod data;
mod gpu;
mod network;
mod options;
mod parameters;
mod plot;
mod random;
mod slot;
mod train;

use std::error::Error;
use std::process::ExitCode;

use array_dsl::prelude::Gpu;

use crate::cpu::OnCpu;
use crate::data::Images;
use crate::gpu::OnGpu;
use crate::options::Options;
use crate::train::{History, first_losses, largest_difference, train};

/// The share of test images that must be read rightly.
const REQUIRED_ACCURACY: f32 = 0.96;
/// How many steps of the GPU's loss curve are compared with the CPU's.
const COMPARED_STEPS: usize = 50;
/// How far they may be apart.
const ALLOWED_DIFFERENCE: f32 = 1e-3;

fn main() -> ExitCode {
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{}", options::HELP);
            return ExitCode::from(2);
        }
    };
    if options.help {
        print!("{}", options::HELP);
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let (training, test) = data::load()?;
    println!("{} images for training, {} for testing", training.len(), test.len());
    let history = if options.gpu {
        train_on_gpu(&training, &test, options.epochs)?
    } else {
        train(&mut OnCpu::new(), &training, &test, options.epochs)?
    };
    println!("time per step: {:.1?}", history.step_time);
    println!("test accuracy: {:.2} %", 100.0 * history.accuracy);

    plot::draw(&options.out, &history, &test)?;
    println!("loss curve and test images: {}", options.out.display());
    if history.accuracy < REQUIRED_ACCURACY {
        return Err(format!("the test accuracy is below {:.0} %", 100.0 * REQUIRED_ACCURACY).into());
    }
    Ok(())
}

fn train_on_gpu(training: &Images, test: &Images, epochs: usize) -> Result<History, Box<dyn Error>> {
    let gpu = Gpu::new().map_err(|error| format!("cannot train on a GPU: {error}"))?;
    println!("adapter: {}", gpu.info().name);
    let history = train(&mut OnGpu::new(gpu)?, training, test, epochs)?;

    let steps = COMPARED_STEPS.min(history.train.len());
    let reference = first_losses(&mut OnCpu::new(), training, steps)?;
    let difference = largest_difference(&history.train, &reference);
    println!("largest relative difference from the CPU in {steps} steps: {difference:.1e}");
    if difference > ALLOWED_DIFFERENCE || difference.is_nan() {
        return Err(
            format!("the GPU's loss curve is not the CPU's: the bound is {ALLOWED_DIFFERENCE:e}").into()
        );
    }
    Ok(history)
}
