//! Records on the device: the same structure, uploaded, differentiated and updated without a download.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

use super::agreement::{is_skipped, own_gpu};

#[derive(Record, Clone, Debug, PartialEq)]
struct Layer {
    #[shape(inputs, outputs)]
    w: Array2<f32>,
    #[shape(outputs)]
    b: Array1<f32>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Net {
    layer: Layer,
    gain: f32,
    steps: i64,
    #[shape(outputs)]
    used: Array1<bool>,
    weights: (f32, Array1<i32>),
}

fn net() -> Net {
    let layer = Layer { w: array![[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], b: array![0.1, -0.2, 0.3] };
    let used = array![true, false, true];
    Net { layer, gain: 1.5, steps: 2, used, weights: (0.5, array![3, 1, 2]) }
}

#[kernel]
fn loss(net: &Net, #[no_grad] x: [[f32; inputs]; n]) -> f32 {
    let z = net.gain * matmul(x, net.layer.w) + net.layer.b;
    let kept = map(|row| map(|v, used| if used { v * v } else { 0.0 }, row, net.used), z);
    let each = kept * map(|k| k as f32, net.weights.1);
    each.flatten().sum() * net.weights.0 + build(net.steps, |i| net.gain * i as f32).sum()
}

#[kernel]
fn descend(net: &Net, by: &Net, rate: f32) -> Net {
    let layer = Layer { w: net.layer.w - rate * by.layer.w, b: net.layer.b - rate * by.layer.b };
    let weights = (net.weights.0 - rate * by.weights.0, net.weights.1);
    Net { layer, gain: net.gain - rate * by.gain, weights, ..net }
}

fn close(a: &Net, b: &Net) {
    let near = |x: f32, y: f32| assert!((x - y).abs() <= 1e-4 * y.abs().max(1.0), "{x} {y}");
    assert_eq!((a.layer.w.dim(), a.layer.b.dim()), (b.layer.w.dim(), b.layer.b.dim()));
    a.layer.w.iter().zip(&b.layer.w).for_each(|(x, y)| near(*x, *y));
    a.layer.b.iter().zip(&b.layer.b).for_each(|(x, y)| near(*x, *y));
    near(a.gain, b.gain);
    near(a.weights.0, b.weights.0);
    assert_eq!((a.steps, &a.used, &a.weights.1), (b.steps, &b.used, &b.weights.1));
}

#[test]
fn a_record_goes_there_and_back() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let on_gpu: GpuRecord<Net> = gpu.upload(&net()).unwrap();
    assert_eq!(on_gpu.layer.w.shape(), [2, 3]);
    assert_eq!(on_gpu.gain.item(), Ok(1.5));
    assert_eq!(on_gpu.clone().download().unwrap(), net());
    assert_eq!(on_gpu.layer.download().unwrap(), net().layer);
    assert!(format!("{on_gpu:?}").starts_with("GpuNet { layer: GpuLayer { w: GpuArray<f32>[2, 3] on"));
}

#[test]
fn gradients_are_records_on_the_device() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = array![[1.0, 2.0], [0.5, -1.0]];
    let (value, g) = value_and_grad(loss)(&net(), &x);
    let (net_on, x_on) = (gpu.upload(&net()).unwrap(), gpu.upload(&x).unwrap());
    let (value_on, g_on) = gpu.run(value_and_grad(loss), (&net_on, &x_on)).unwrap();
    assert!((value_on.item().unwrap() - value).abs() < 1e-4 * value.abs());
    let found = g_on.download().unwrap();
    close(&found, &g);
    assert_eq!((found.steps, found.used, found.weights.1), (0, array![false, false, false], array![0, 0, 0]));

    let (_, slope) = jvp(loss)(&net(), &x, &g);
    let (_, slope_on) = gpu.run(jvp(loss), (&net_on, &x_on, &g_on)).unwrap();
    assert!((slope_on.item().unwrap() - slope).abs() < 1e-3 * slope.abs());
    let (made, (by_net, by_g, by_rate)) = vjp(descend)(&net(), &g, 0.25, &net());
    let (made_on, (by_net_on, by_g_on, by_rate_on)) =
        gpu.run(vjp(descend), (&net_on, &g_on, 0.25, &net_on)).unwrap();
    close(&made_on.download().unwrap(), &made);
    close(&by_net_on.download().unwrap(), &by_net);
    close(&by_g_on.download().unwrap(), &by_g);
    assert!((by_rate_on.item().unwrap() - by_rate).abs() < 1e-3 * by_rate.abs());
}

/// The scalars of a gradient and of what is made of it are on the device, and kernels take them from there without a wait:
/// nothing is submitted before the download.
#[test]
fn records_are_trained_without_a_download() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = array![[1.0, 2.0], [0.5, -1.0]];
    let (mut at, mut at_on) = (net(), gpu.upload(&net()).unwrap());
    let x_on = gpu.upload(&x).unwrap();
    gpu.synchronize().unwrap();
    let before = gpu.statistics();
    for _ in 0..3 {
        at = descend(&at, &grad(loss)(&at, &x), 0.01);
        let g_on = gpu.run(grad(loss), (&at_on, &x_on)).unwrap();
        at_on = gpu.run(descend, (&at_on, &g_on, 0.01)).unwrap();
    }
    assert_eq!(gpu.statistics().submissions, before.submissions);
    close(&at_on.download().unwrap(), &at);
    assert!(loss(&at, &x) < loss(&net(), &x));
}

#[kernel]
fn counted(net: &Net) -> Net {
    Net { steps: net.steps + 1, ..net }
}

/// A computed integer may be a size of the next kernel, so that reads it.
#[test]
fn integers_of_the_device_are_sizes() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let more = gpu.run(counted, (&gpu.upload(&net()).unwrap(),)).unwrap();
    assert_eq!(more.steps.item(), Ok(3));
    let x = array![[1.0, 2.0]];
    let value = gpu.run(loss, (&more, &gpu.upload(&x).unwrap())).unwrap().item().unwrap();
    let expected = loss(&counted(&net()), &x);
    assert!((value - expected).abs() < 1e-4 * expected.abs());
}

#[test]
fn sizes_of_device_records_are_checked() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let wrong = Net { used: array![true], ..net() };
    let x = gpu.upload(&Array2::<f32>::ones((2, 2))).unwrap();
    let error = gpu.run(loss, (&gpu.upload(&wrong).unwrap(), &x)).unwrap_err().to_string();
    let start = "kernel `loss`: argument `net.used`, dimension 0: expected outputs = 3 (from argument `net.layer.w`), found 1";
    assert!(error.starts_with(start), "{error}");
}
