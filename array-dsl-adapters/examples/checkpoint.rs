//! A network in training is written to a file, as one does now and then, and training goes on from what is read again: the weights are
//! those of a training without a break, to the last bit.

use array_dsl::prelude::*;
use array_dsl_adapters::safetensors::{load_like, save};
use ndarray::{Array1, Array2, array};

#[derive(Record, Clone, Debug, PartialEq)]
struct Layer {
    weights: Array2<f64>,
    bias: Array1<f64>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Net {
    hidden: Layer,
    out: Layer,
    steps: i64,
}

#[kernel]
fn loss(net: &Net, #[no_grad] x: [[f64; 2]; n], #[no_grad] y: [f64; n]) -> f64 {
    let hidden = tanh(matmul(x, net.hidden.weights) + net.hidden.bias);
    let out = matmul(hidden, net.out.weights) + net.out.bias;
    let off = build(n, |i| out[i][0] - y[i]);
    dot(off, off) / n as f64
}

#[kernel]
fn step(net: &Net, gradient: &Net, rate: f64) -> Net {
    Net {
        hidden: net.hidden - rate * gradient.hidden,
        out: net.out - rate * gradient.out,
        steps: net.steps + 1,
    }
}

fn train(net: &Net, steps: usize) -> Net {
    // The exclusive or, which no network without a hidden layer can tell.
    let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let y = array![0.0, 1.0, 1.0, 0.0];
    (0..steps).fold(net.clone(), |net, _| step(&net, &grad(loss)(&net, &x, &y), 0.2))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wave = |n, m| Array2::from_shape_fn((n, m), |(i, j)| (1.0 + 2.3 * i as f64 + 1.7 * j as f64).sin());
    let start = Net {
        hidden: Layer { weights: wave(2, 8), bias: Array1::zeros(8) },
        out: Layer { weights: wave(8, 1), bias: Array1::zeros(1) },
        steps: 0,
    };
    let file = std::env::temp_dir().join(format!("array-dsl-checkpoint-{}.safetensors", std::process::id()));
    save(&train(&start, 500), &file)?;
    let resumed = train(&load_like(&start, &file)?, 1500);
    std::fs::remove_file(&file)?;

    let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let off = loss(&resumed, &x, &array![0.0, 1.0, 1.0, 0.0]);
    println!("after {} steps the loss is {off:.1e}", resumed.steps);
    assert!(off < 1e-3 && resumed == train(&start, 2000));
    Ok(())
}
