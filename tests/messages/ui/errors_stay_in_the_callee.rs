//! A wrong kernel gives one error, and its callers none.

use array_dsl::prelude::*;

use ndarray::array;

#[kernel]
fn wrong(x: [f64; n], #[no_grad] labels: [i64; n]) -> f64 {
    (x * labels).sum()
}

#[kernel]
fn calls_it(x: [f64; n], #[no_grad] labels: [i64; n]) -> f64 {
    2.0 * wrong(x, labels)
}

#[kernel]
fn calls_that(x: [f64; n], #[no_grad] labels: [i64; n]) -> f64 {
    calls_it(x, labels) + 1.0
}

fn main() -> Result<(), Error> {
    let (x, labels) = (array![1.0, 2.0], array![1, 2]);
    let value: f64 = wrong(&x, &labels);
    let gradient: ndarray::Array1<f64> = grad(calls_it)(&x, &labels);
    let (_, slope) = jvp(calls_that)(&x, &labels, &x);
    let (_, back) = vjp(calls_that)(&x, &labels, 1.0);
    let curvature = hvp(wrong)(&x, &labels, &x);
    println!("{}", value + slope + gradient.sum() + back.sum() + curvature.sum());
    println!("{:?}", Cpu.run(value_and_grad(wrong), (&x, &labels))?);
    Ok(())
}
