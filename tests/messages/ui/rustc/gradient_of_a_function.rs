//! A plain function where a kernel is expected.

use array_dsl::prelude::*;

fn square(x: f64) -> f64 {
    x * x
}

fn main() {
    let _ = grad(square)(2.0);
    let _ = Cpu.run(square, (2.0,));
}
