//! Generic kernels that are wrong by themselves.

use array_dsl::prelude::*;

#[kernel]
fn unknown<T: Float>(x: T) -> T {
    x + offset
}

#[kernel]
fn two_arguments(f: impl Fn(f64) -> f64) -> f64 {
    f(1.0, 2.0)
}

#[kernel]
fn rows(f: impl Fn(f64) -> [f64; 3]) -> f64 {
    f(1.0)
}

#[kernel]
fn double_only<T: Float>(x: T) -> f64 {
    x + 1.0
}

#[kernel]
fn halved<T: Number>(x: T) -> T {
    x * 0.5
}

#[kernel]
fn same_type<T: Float, U: Float>(x: T, y: U) -> T {
    x * y
}

#[kernel]
fn shown<T: Display>(x: T) -> T {
    x
}

#[kernel]
fn returned(x: f64) -> impl Fn(f64) -> f64 {
    x
}

#[kernel]
fn pointer(f: fn(f64) -> f64) -> f64 {
    f(1.0)
}

#[kernel]
fn constrained(x: f64) -> f64
where
    f64: Copy,
{
    x
}

#[kernel(f32)]
fn not_generic(x: f32) -> f32 {
    x
}

#[kernel(f64)]
fn applied<T: Float>(f: impl Fn(T) -> T, x: T) -> T {
    f(x)
}

#[kernel(f64)]
fn two_types<T: Float, U: Float>(x: T, y: U) -> T {
    x * y as T
}

#[kernel(i64)]
fn float_only<T: Float>(x: T) -> T {
    x
}

#[kernel(hvp)]
fn no_instance<T: Float>(x: T) -> T {
    x * x
}

#[kernel(value)]
fn only_its_value<T: Float>(x: T) -> T {
    x * x
}

#[kernel(vjp = no_instance)]
fn ruled<T: Float>(x: T) -> T {
    x
}

fn main() {}
