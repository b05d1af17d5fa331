//! A derivative that a kernel leaves out.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel(value, jvp)]
fn energy(x: [f64; n]) -> f64 {
    (x * x).sum()
}

fn main() {
    let x = array![1.0, 2.0];
    let _ = jvp(energy)(&x, &x);
    let _ = grad(energy)(&x);
}
