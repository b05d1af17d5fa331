//! Types that are no records, and records where there cannot be one.

use array_dsl::prelude::*;

#[derive(Record, Clone)]
struct Point {
    x: f64,
    y: f64,
}

#[kernel]
fn many(points: [Point; n]) -> f64 {
    points.x.sum()
}

#[kernel]
fn annotated(xs: [f64; n]) -> f64 {
    let points: [Point; n] = build(n, |i| Point { x: xs[i], y: 0.0 });
    points.x.sum()
}

#[kernel]
fn cast(x: f64) -> f64 {
    let y = x as Point;
    x
}

#[kernel]
fn array_of(x: f64) -> [f64; 2] {
    [x, x]
}

#[kernel]
fn called(x: f64) -> f64 {
    Point(x, x).x
}

#[kernel]
fn of_a_kernel(p: array_of) -> f64 {
    1.0
}

#[kernel]
fn array(x: &ndarray::Array2<f64>) -> f64 {
    x.flatten().sum()
}

fn main() {}
