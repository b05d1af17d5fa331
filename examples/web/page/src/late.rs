//! What a browser reports later than it happens is the error of whoever reads what depends on it, and of nobody else.

use array_dsl::__rt::gpu::GpuArray;
use array_dsl::__rt::program::{Access, Elem, GpuArrayInfo, GpuHome, GpuProgram, GpuStep, Poly, Shader};
use array_dsl::prelude::*;
use ndarray::{Ix1, array};

use crate::checks::begun;

const N: Poly = Poly(&[(1, &[0])]);

/// Its shader is none, which the compiler never makes.
static BROKEN: GpuProgram = GpuProgram {
    name: "broken",
    arrays: &[GpuArrayInfo { name: "y", elem: Elem::F32, dims: &[N], home: GpuHome::Heap }],
    inputs: &[],
    results: &[0],
    steps: &[GpuStep::Points {
        shader: Shader {
            label: "broken",
            wgsl: "fn main() { nonsense }",
            words: &[],
            sizes: &[],
            bindings: &[(0, Access::Write)],
            status: false,
            each: 1,
            ends: None,
            needs: &[],
        },
        extents: &[N],
        private: None,
    }],
    sites: &[],
};

#[kernel(value)]
fn doubled(x: [f32; n]) -> [f32; n] {
    2.0 * x
}

/// Checks it. What is wrong.
///
/// # Errors
/// As a text.
pub async fn checked(gpu: &Gpu) -> Result<(), String> {
    // What was made before is not concerned.
    let x = gpu.upload(&array![1f32, 2.0]).map_err(|e| e.to_string())?;
    let before = gpu.run_async(doubled, (&x,)).await.map_err(|e| e.to_string())?;
    gpu.synchronize_async().await.map_err(|e| e.to_string())?;

    let results = gpu.execute_shaped(&BROKEN, &[], &[2]).await.map_err(|e| e.to_string())?;
    let [(broken, _)] = &results[..] else { return Err("there is one result".into()) };
    let broken: GpuArray<f32, Ix1> = GpuArray::from_buffer(gpu, broken.clone(), Ix1(2));
    // It is submitted, but nobody has heard anything: that it has failed is not known yet.
    begun(gpu.synchronize_async()).await;
    let later = gpu.run_async(doubled, (&broken,)).await.map_err(|e| e.to_string())?;
    for failed in [&later, &broken, &later] {
        let message = failed.download_async().await.err().map(|e| e.to_string()).unwrap_or_default();
        if !message.contains("work was not executed: shader `broken`") {
            return Err(format!("what a broken shader makes: `{message}`"));
        }
    }
    let after = gpu.run_async(doubled, (&x,)).await.map_err(|e| e.to_string())?;
    for right in [before, after] {
        let found = right.download_async().await;
        if found != Ok(array![2f32, 4.0]) {
            return Err(format!("beside a broken shader: {found:?}"));
        }
    }
    Ok(())
}
