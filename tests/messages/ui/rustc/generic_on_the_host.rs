//! Generic kernels are called by the host for the types that they are made for.

use array_dsl::prelude::*;

#[kernel(f32)]
fn relu<T: Float>(x: T) -> T {
    max(x, 0.0)
}

#[kernel]
fn applied(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    f(x)
}

fn main() {
    let _ = relu.of::<f64>()(1.0);
    let _ = grad(relu)(1.0);
    let _ = Cpu.run(applied, (1.0,));
}
