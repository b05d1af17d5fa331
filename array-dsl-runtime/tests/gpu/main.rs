//! The GPU side with programs written by hand. There must be a GPU (a software one will do), unless the
//! environment says `ARRAY_DSL_GPU=skip`.

mod contract;
mod errors;
mod memory;
mod points;
mod programs;
mod reduce;
mod sort;

use array_dsl_runtime::gpu::Gpu;

/// The device that all tests of a thread of the test run share; `None` if GPU tests are to be skipped.
fn gpu() -> Option<Gpu> {
    if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
        println!("skipped: ARRAY_DSL_GPU=skip");
        return None;
    }
    // A device of its own for each test, so that index errors and counters of one test are not seen by
    // another.
    Some(Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without"))
}

/// Numbers in (-1, 1) without a pattern.
fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}
