//! What complex numbers have not.

use array_dsl::prelude::*;

#[kernel]
fn largest(z: [Complex<f64>; n]) -> Complex<f64> {
    z.maximum()
}

#[kernel]
fn compared(z: Complex<f64>, w: Complex<f64>) -> bool {
    z < w
}

#[kernel]
fn ordered(z: [Complex<f64>; n]) -> [Complex<f64>; n] {
    sort(z)
}

#[kernel]
fn special(z: Complex<f64>) -> Complex<f64> {
    z.erf()
}

#[kernel]
fn of_integers(z: Complex<i32>) -> f64 {
    1.0
}

#[kernel]
fn mixed(z: Complex<f32>, x: f64) -> Complex<f32> {
    z * x
}

#[kernel]
fn converted(z: Complex<f64>) -> f64 {
    z as f64
}

#[kernel]
fn made(k: i64) -> Complex<f64> {
    Complex::new(k, 1.0)
}

#[kernel]
fn arguments(z: Complex<f64>) -> Complex<f64> {
    z.scale()
}

#[kernel]
fn matrix(z: Complex<f64>) -> f64 {
    jacobian(|w| w * w)(z);
    1.0
}

#[kernel(jacobian)]
fn wanted(z: [Complex<f64>; n]) -> [Complex<f64>; n] {
    z * z
}

#[kernel]
fn field(z: Complex<f64>) -> f64 {
    z.real
}

const TURN: Complex<f64> = Complex::new(0.0, 1.0);

#[kernel]
fn constant(z: Complex<f64>) -> Complex<f64> {
    z * Complex::new(1.0, 0.0) + TURN
}

#[derive(Record)]
struct Signal {
    samples: ndarray::Array1<Complex<f64>>,
}

#[kernel]
fn norms<T: Float>(z: [Complex<T>; n]) -> [T; n] {
    map(|z| z.norm(), z)
}

#[kernel]
fn halved<T: Float>(x: [T; n]) -> [T; n] {
    0.5 * x
}

#[kernel]
fn real_for_complex(x: [f64; n]) -> [f64; n] {
    norms(x)
}

#[kernel]
fn complex_for_real(z: [Complex<f64>; n]) -> [f64; n] {
    halved(z)
}

#[kernel]
fn other_parts(z: Complex<f32>, w: Complex<f64>) -> Complex<f64> {
    z * w
}

#[kernel]
fn takes_complex(z: Complex<f64>) -> f64 {
    z.norm()
}

#[kernel]
fn given_real(x: f64) -> f64 {
    takes_complex(x)
}

fn main() {}
