//! Rules that do not fit.

use array_dsl::prelude::*;

#[kernel]
fn too_few(x: [f64; n]) -> [f64; n] {
    x
}

#[kernel(vjp = too_few)]
fn first(x: [f64; n]) -> [f64; n] {
    x
}

#[kernel]
fn sized(x: [f64; n], ct: [f64; 3]) -> [f64; n] {
    x * ct[0]
}

#[kernel(vjp = sized)]
fn second(x: [f64; n]) -> [f64; 4] {
    [x[0], x[0], x[0], x[0]]
}

#[kernel(jvp = too_few)]
fn fourth(x: f64) -> f64 {
    x
}

#[kernel]
fn fits(x: [f64; n], ct: [f64; n]) -> [f64; n] {
    x * ct
}

#[kernel(vjp = fits, cpu = fourier)]
fn fifth(x: [f64; n]) -> [f64; n] {
    x
}

#[kernel(vjp = fits, cpu = fft)]
fn sixth(x: [f64; n]) -> [f64; n] {
    x
}

#[kernel(cpu = fft)]
fn seventh(re: [f64; n], im: [f64; n]) -> ([f64; n], [f64; n]) {
    (re, im)
}

fn main() {}
