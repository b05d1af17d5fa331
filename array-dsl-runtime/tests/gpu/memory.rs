//! Reuse of buffers, pipelines made once, batches.

use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuInput};
use ndarray::{Array1, Ix1};

use crate::programs::{SCALED, SCALED_TWICE};
use crate::{gpu, noise};

fn scaled(gpu: &Gpu, x: &GpuArray<f32, Ix1>) -> GpuArray<f32, Ix1> {
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::scalar(2f32)];
    let results = gpu.execute(&SCALED, &inputs, &[x.len() as i64]).unwrap();
    GpuArray::from_buffer(gpu, results[0].clone(), x.raw_dim())
}

#[test]
fn dropped_buffers_are_reused() {
    let Some(gpu) = gpu() else { return };
    let x = gpu.upload(&Array1::from_vec(noise(1000, 8))).unwrap();
    let expected = x.download().unwrap().mapv(|x| 2.0 * x + 1.0);
    for round in 0..50 {
        let y = scaled(&gpu, &x);
        let shared = y.clone();
        drop(y);
        assert_eq!(shared.download().unwrap(), expected);
        let s = gpu.statistics();
        assert_eq!((s.buffers_allocated, s.buffers_reused), (2, round));
        // An array that is a little smaller fits too.
        assert_eq!(s.bytes_allocated, 2 * 4096);
    }
    gpu.trim();
    drop(scaled(&gpu, &x));
    assert_eq!(gpu.statistics().buffers_allocated, 3);
}

#[test]
fn intermediate_arrays_are_given_back() {
    let Some(gpu) = gpu() else { return };
    let x = gpu.upload(&Array1::from_vec(noise(5000, 9))).unwrap();
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::scalar(2f32)];
    let y = gpu.execute(&SCALED_TWICE, &inputs, &[5000]).unwrap();
    assert_eq!(gpu.statistics().buffers_allocated, 3);
    let z = gpu.execute(&SCALED_TWICE, &inputs, &[5000]).unwrap();
    assert_eq!(gpu.statistics().buffers_allocated, 4);
    let [y, z] = [y, z].map(|r| GpuArray::<f32, Ix1>::from_buffer(&gpu, r[0].clone(), Ix1(5000)));
    assert_eq!(y.download().unwrap(), z.download().unwrap());
}

#[test]
fn an_upload_does_not_overtake_recorded_work_on_the_same_memory() {
    let Some(gpu) = gpu() else { return };
    for round in 0..20 {
        let first = Array1::from_elem(3000, round as f32);
        let x = gpu.upload(&first).unwrap();
        let y = scaled(&gpu, &x);
        drop(x);
        // Takes the memory of `x`, which the recorded work still reads.
        let other = gpu.upload(&Array1::from_elem(3000, -1f32)).unwrap();
        assert_eq!(y.download().unwrap(), Array1::from_elem(3000, 2.0 * round as f32 + 1.0));
        assert_eq!(other.download().unwrap(), Array1::from_elem(3000, -1f32));
    }
    assert!(gpu.statistics().buffers_allocated <= 3);
}

#[test]
fn pipelines_are_made_once() {
    let Some(gpu) = gpu() else { return };
    let x = gpu.upload(&Array1::from_vec(noise(100, 10))).unwrap();
    for _ in 0..5 {
        scaled(&gpu, &x);
    }
    // Another program with the same shader.
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::Scalar(0)];
    gpu.execute(&SCALED_TWICE, &inputs, &[100]).unwrap();
    assert_eq!(gpu.statistics().pipelines_created, 1);
    assert_eq!(gpu.statistics().dispatches, 7);
}

#[test]
fn many_dispatches_go_in_one_submission() {
    let Some(gpu) = gpu() else { return };
    let x = gpu.upload(&Array1::from_vec(noise(100, 11))).unwrap();
    let last = (0..64).fold(x.clone(), |x, _| scaled(&gpu, &x));
    assert_eq!(gpu.statistics().submissions, 0);
    last.download().unwrap();
    assert_eq!(gpu.statistics().submissions, 1);
    // Without a download, full batches are submitted.
    let _last = (0..64 * 40).fold(x, |x, _| scaled(&gpu, &x));
    assert_eq!(gpu.statistics().submissions, 40);
}

#[test]
fn threads_share_a_device() {
    let Some(gpu) = gpu() else { return };
    // Many rounds: a thread that waits for the device may be the one that delivers another thread's download.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let gpu = gpu.clone();
            scope.spawn(move || {
                for round in 0..500 {
                    let x = Array1::from_vec(noise(500 + thread, round * 4 + thread as u32));
                    let y = scaled(&gpu, &gpu.upload(&x).unwrap());
                    assert_eq!(y.download().unwrap(), x.mapv(|x| 2.0 * x + 1.0));
                }
            });
        }
    });
}
