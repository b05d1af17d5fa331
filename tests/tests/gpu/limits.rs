//! A device that has the least that WebGPU promises, as browsers and telephones have: programs fit, or are refused by what is missing.

use std::process::Command;

use array_dsl::Error;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

use super::agreement::{agree, integers, is_skipped, noise, own_gpu};

const VARIABLE: &str = "ARRAY_DSL_LIMITS";

#[kernel]
fn layers(w: [[f32; m]; k], v: [f32; m], x: [[f32; k]; n], at: [i32; n]) -> f32 {
    let hidden = tanh(matmul(x, w) + v);
    let rows = softmax(hidden);
    sum(build(n, |i| ln(rows[i][at[i] as usize] + 0.1))) + sum(cumsum(v))
}

#[kernel]
fn bins(x: [f32; n], at: [i32; n]) -> ([f32; 9], f32, i64) {
    (hist(add, 0.0, 9, at, x), maximum(x), argmax(x))
}

/// In a process of its own, whose devices are all such.
#[test]
fn the_least_of_webgpu() {
    if is_skipped() {
        return;
    }
    if std::env::var(VARIABLE).is_err() {
        let tests = std::env::current_exe().expect("the tests are a program");
        let name = "limits::the_least_of_webgpu";
        let run = Command::new(tests).args(["--exact", name]).env(VARIABLE, "webgpu").output();
        let run = run.expect("the tests start again");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let gpu = own_gpu();
    let limits = gpu.limits();
    assert!(!limits.f64 && !limits.i64 && limits.arrays <= 8, "{limits}");
    for (n, k, m) in [(0, 3, 2), (1, 1, 1), (300, 20, 70)] {
        let (w, v, x): (Array2<f32>, Array1<f32>, Array2<f32>) =
            (noise((k, m), 1), noise(m, 2), noise((n, k), 3));
        let at: Array1<i32> = integers(n, m as i32, 4);
        agree(value_and_grad(layers), (w, v, x, at), 1e-4);
    }
    let refused = |r: Result<(), Error>| match r {
        Err(Error::UnsupportedOnGpu { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let what = refused(gpu.upload(&Array1::<f64>::zeros(3)).map(drop));
    assert!(what.contains("floats of 64 bits"), "{what}");
    let (x, at): (Array1<f32>, Array1<i32>) = (noise(100, 5), integers(100, 9, 6));
    let arguments = (gpu.upload(&x).expect("f32"), gpu.upload(&at).expect("i32"));
    let what = refused(gpu.run(bins, (&arguments.0, &arguments.1)).map(drop));
    assert!(what.contains("integers of 64 bits"), "{what}");
}
