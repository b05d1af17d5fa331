//! A function that is missing is one error, however many kernels call the one that calls it.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn total(x: [f64; n]) -> f64 {
    scaled(x).sum() + mean_of(x)
}

#[kernel]
fn scaled(x: [f64; n]) -> [f64; n] {
    x / norm2(x)
}

mod statistics {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn mean_of(x: [f64; n]) -> f64 {
        super::scaled(x).sum() / n as f64
    }
}

use statistics::mean_of;

fn main() {
    let x = array![1.0, 2.0];
    println!("{} {}", total(&x), grad(total)(&x));
}
