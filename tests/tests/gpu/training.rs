//! The digits example: twenty steps of Adam on the GPU give the losses that they give on the CPU.

use array_dsl::prelude::*;
use ndarray::{Array, Array1, Array2, Dimension, Ix1, Ix2};

use super::agreement::{is_skipped, own_gpu};
use super::data::{self, CLASSES, Images, SIDE};
use super::network::{adam_matrix, adam_vector, loss};
use super::random::Random;

const STEPS: usize = 20;
const HIDDEN: usize = 32;

/// Adam's rate at step `t`, counted from 1.
fn rate(t: usize) -> f32 {
    let t = t as i32;
    (5e-3 * (1.0 - 0.999f64.powi(t)).sqrt() / (1.0 - 0.9f64.powi(t))) as f32
}

fn initial() -> (Array2<f32>, Array1<f32>, Array2<f32>, Array1<f32>) {
    let mut random = Random::new(3);
    let mut layer = |from: usize, to: usize| {
        Array2::from_shape_simple_fn((from, to), || random.symmetric((6.0 / (from + to) as f32).sqrt()))
    };
    let (w1, w2) = (layer(SIDE * SIDE, HIDDEN), layer(HIDDEN, CLASSES));
    (w1, Array1::zeros(HIDDEN), w2, Array1::zeros(CLASSES))
}

fn batches() -> Vec<Images> {
    let (training, _) = data::load().expect("the images");
    (0..).flat_map(|epoch| training.minibatches(epoch, 64)).take(STEPS).collect()
}

/// Parameters, running mean of the gradient, running mean of its square.
type OnCpu<D> = (Array<f32, D>, Array<f32, D>, Array<f32, D>);
type OnGpu<D> = (GpuArray<f32, D>, GpuArray<f32, D>, GpuArray<f32, D>);

fn on_cpu(batches: &[Images]) -> Vec<f32> {
    fn state<D: Dimension>(p: Array<f32, D>) -> OnCpu<D> {
        let zeros = Array::zeros(p.raw_dim());
        (p, zeros.clone(), zeros)
    }
    let (w1, b1, w2, b2) = initial();
    let (mut w1, mut b1, mut w2, mut b2) = (state(w1), state(b1), state(w2), state(b2));
    let matrix = |s: &mut OnCpu<Ix2>, g: &Array2<f32>, r: f32| *s = adam_matrix(&s.0, g, &s.1, &s.2, r);
    let vector = |s: &mut OnCpu<Ix1>, g: &Array1<f32>, r: f32| *s = adam_vector(&s.0, g, &s.1, &s.2, r);
    let mut losses = Vec::new();
    for (t, Images { x, y }) in (1..).zip(batches) {
        let (value, (dw1, db1, dw2, db2)) = value_and_grad(loss)(&w1.0, &b1.0, &w2.0, &b2.0, x, y);
        matrix(&mut w1, &dw1, rate(t));
        vector(&mut b1, &db1, rate(t));
        matrix(&mut w2, &dw2, rate(t));
        vector(&mut b2, &db2, rate(t));
        losses.push(value);
    }
    losses
}

fn on_gpu(gpu: &Gpu, batches: &[Images]) -> Result<Vec<f32>, Error> {
    fn state<D: Dimension>(gpu: &Gpu, p: &Array<f32, D>) -> Result<OnGpu<D>, Error> {
        let zeros = gpu.upload(&Array::zeros(p.raw_dim()))?;
        Ok((gpu.upload(p)?, zeros.clone(), zeros))
    }
    let matrix = |s: &mut OnGpu<Ix2>, g: &GpuArray<f32, Ix2>, r: f32| {
        gpu.run(adam_matrix, (&s.0, g, &s.1, &s.2, r)).map(|new| *s = new)
    };
    let vector = |s: &mut OnGpu<Ix1>, g: &GpuArray<f32, Ix1>, r: f32| {
        gpu.run(adam_vector, (&s.0, g, &s.1, &s.2, r)).map(|new| *s = new)
    };
    let (w1, b1, w2, b2) = initial();
    let (mut w1, mut b1) = (state(gpu, &w1)?, state(gpu, &b1)?);
    let (mut w2, mut b2) = (state(gpu, &w2)?, state(gpu, &b2)?);
    let mut losses = Vec::new();
    for (t, Images { x, y }) in (1..).zip(batches) {
        let (x, y) = (gpu.upload(x)?, gpu.upload(y)?);
        let arguments = (&w1.0, &b1.0, &w2.0, &b2.0, &x, &y);
        let (value, (dw1, db1, dw2, db2)) = gpu.run(value_and_grad(loss), arguments)?;
        matrix(&mut w1, &dw1, rate(t))?;
        vector(&mut b1, &db1, rate(t))?;
        matrix(&mut w2, &dw2, rate(t))?;
        vector(&mut b2, &db2, rate(t))?;
        losses.push(value);
    }
    losses.iter().map(GpuArray::item).collect()
}

#[test]
fn twenty_steps_give_the_same_losses() {
    if is_skipped() {
        return;
    }
    let batches = batches();
    let expected = on_cpu(&batches);
    let gpu = own_gpu();
    let found = on_gpu(&gpu, &batches).unwrap();
    // A launch is what a step on a fast device takes longest for.
    let dispatches = gpu.statistics().dispatches;
    assert!(dispatches <= 30 * STEPS as u64, "{dispatches} dispatches in {STEPS} steps");
    assert_eq!(found.len(), STEPS);
    for (step, (a, e)) in found.iter().zip(&expected).enumerate() {
        assert!((a - e).abs() <= 1e-4 * e.abs(), "step {step}: {a} on the GPU, {e} on the CPU");
    }
    assert!(expected[STEPS - 1] < 0.8 * expected[0], "it learns: {expected:?}");
}
