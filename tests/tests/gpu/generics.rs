//! Generic kernels: instances, and what they are made of when other kernels call them.

use array_dsl::prelude::*;

use super::agreement::{LENGTHS, agree, noise};

#[kernel(f32)]
fn leaky<T: Float>(x: T) -> T {
    if x > 0.0 { x } else { 0.1 * x }
}

#[kernel]
fn newton<T: Float>(f: impl Fn(T) -> T, x: T) -> T {
    let mut x = x;
    for _ in 0..5 {
        x = x - f(x) / grad(f)(x);
    }
    x
}

#[kernel]
fn square_roots(a: [f32; n]) -> [f32; n] {
    build(n, |i| newton(|x| x * x - leaky(a[i]).abs() - 1.0, 1.5))
}

#[test]
fn generic_kernels() {
    agree(leaky.of::<f32>(), (0.5f32,), 0.0);
    agree(grad(leaky.of::<f32>()), (-0.5f32,), 0.0);
    for n in LENGTHS {
        agree(square_roots, (noise(n, 1),), 1e-5);
        agree(vjp(square_roots), (noise(n, 1), noise(n, 2)), 1e-5);
    }
}
