//! Buffers and pipelines are made once and used again; work is handed to the device in batches.

use array_dsl::prelude::*;

use super::agreement::{is_skipped, noise, own_gpu};

#[kernel]
fn energy(w: [[f32; m]; n], x: [f32; m]) -> f32 {
    let y = matvec(w, x).tanh();
    sum(y * y) / n as f32
}

#[kernel]
fn stepped(w: [[f32; m]; n], g: [[f32; m]; n], rate: f32) -> [[f32; m]; n] {
    w - rate * g
}

#[test]
fn many_runs_use_what_the_first_ones_made() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let (mut w, x) = (gpu.upload(&noise((30, 20), 1)).unwrap(), gpu.upload(&noise(20, 2)).unwrap());
    let mut losses = Vec::new();
    let mut run = |times: usize| {
        for _ in 0..times {
            let (loss, (dw, _)) = gpu.run(value_and_grad(energy), (&w, &x)).unwrap();
            w = gpu.run(stepped, (&w, &dw, 0.5)).unwrap();
            losses.push(loss);
        }
    };
    run(20);
    gpu.synchronize().unwrap();
    let first = gpu.statistics();
    run(200);
    gpu.synchronize().unwrap();
    let then = gpu.statistics();
    assert_eq!(then.pipelines_created, first.pipelines_created);
    // A loss of each run stays, so those buffers are new; whatever else is needed has been there before.
    let new = then.buffers_allocated - first.buffers_allocated;
    assert!(new <= 200 + 8, "{new} new buffers");
    assert!(then.buffers_reused - first.buffers_reused >= 400, "{first:?} {then:?}");
    let (dispatches, submissions) =
        (then.dispatches - first.dispatches, then.submissions - first.submissions);
    assert!(dispatches >= 400 && submissions * 16 <= dispatches, "{dispatches} in {submissions} batches");
    let values: Vec<f32> = losses.iter().map(|l| l.item().unwrap()).collect();
    assert!(values.windows(2).all(|w| w[1] <= w[0] * 1.001), "the loss falls: {values:?}");
}

#[test]
fn sizes_need_no_new_pipelines() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let run = |n: usize| {
        let (w, x) = (gpu.upload(&noise((n, n), 1)).unwrap(), gpu.upload(&noise(n, 2)).unwrap());
        gpu.run(energy, (&w, &x)).unwrap().item().unwrap()
    };
    run(3);
    run(3);
    let before = gpu.statistics().pipelines_created;
    for n in 4..30 {
        run(n);
    }
    assert_eq!(gpu.statistics().pipelines_created, before);
}
