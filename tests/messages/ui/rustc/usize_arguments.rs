//! What is no integer for a parameter that is a `usize`.

use array_dsl::prelude::*;
use ndarray::array;

#[kernel]
fn repeated(x: [f64; n], times: usize) -> [[f64; n]; times] {
    replicate(times, x)
}

#[kernel]
fn of_i64(x: f64, k: i64) -> f64 {
    x * k as f64
}

fn main() -> Result<(), Error> {
    let x = array![1.0, 2.0];
    repeated(&x, 2.0);
    Cpu.run(repeated, (&x, true))?;
    repeated(&x);
    // Only a `usize` is any integer.
    of_i64(1.0, x.len());
    Ok(())
}
