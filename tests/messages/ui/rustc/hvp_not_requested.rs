//! Hessian-vector products that were not asked for.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn energy(x: [f64; n]) -> f64 {
    (x * x).sum()
}

fn main() {
    let x = array![1.0, 2.0];
    let _ = hvp(energy)(&x, &x);
}
