//! A variable with the name of a kernel: rustc explains it.

use array_dsl::prelude::*;

#[kernel]
fn driven(x: f64) -> f64 {
    2.0 * x
}

fn main() {
    let driven = Cpu.run(driven, (1.0,)).unwrap();
}
