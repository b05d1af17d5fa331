//! Fields that a record does not have, or that it lacks.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

#[derive(Record)]
struct Net {
    #[shape(inputs, outputs)]
    weights: Array2<f64>,
    #[shape(outputs)]
    bias: Array1<f64>,
    scale: f64,
}

#[derive(Record)]
struct Point {
    x: f64,
    y: f64,
}

#[kernel]
fn misspelled(net: &Net) -> f64 {
    net.scale * sum(net.bais)
}

#[kernel]
fn unknown(p: Point) -> f64 {
    p.z
}

#[kernel]
fn numbered(p: Point) -> f64 {
    p.0
}

#[kernel]
fn of_a_tuple(p: (f64, f64)) -> f64 {
    p.x
}

#[kernel]
fn method(xs: [f64; n]) -> i64 {
    xs.len
}

#[kernel]
fn missing(x: f64) -> Net {
    Net { scale: x }
}

#[kernel]
fn twice(x: f64) -> Point {
    Point { x, y: x, x: 2.0 }
}

#[kernel]
fn base(p: Point, net: &Net) -> Point {
    Point { x: 1.0, ..net }
}

#[kernel]
fn pattern(p: Point) -> f64 {
    let Point { x } = p;
    x
}

#[kernel]
fn other_pattern(p: Point) -> f64 {
    let Net { bias, .. } = p;
    bias.sum()
}

#[kernel]
fn element(net: &Net) -> Net {
    Net { scale: 1, ..net }
}

#[kernel]
fn rank(net: &Net) -> Net {
    Net { bias: 1.0, ..net }
}

#[kernel]
fn sizes(net: &Net) -> Net {
    Net { bias: build(inputs, |i| 0.0), ..net }
}

#[kernel]
fn other_record(p: Point) -> Net {
    p
}

#[kernel]
fn length(p: Point) -> f64 {
    (p.x * p.x + p.y * p.y).sqrt()
}

#[kernel]
fn argument(net: &Net) -> f64 {
    length(net) + length((1.0, 2.0))
}

#[kernel]
fn assigned(p: Point) -> Point {
    let mut q = p;
    q.z = 1.0;
    q = (1.0, 2.0);
    q
}

#[kernel]
fn branches(p: Point, c: bool) -> Point {
    if c { p } else { (1.0, 2.0) }
}

#[derive(Record)]
struct Counted {
    x: f64,
    count: i64,
}

#[kernel]
fn with_an_integer(c: Counted) -> Counted {
    0.5 * c
}

#[kernel]
fn of_others(p: Point, net: &Net) -> Point {
    p + net
}

#[kernel]
fn compared(p: Point, q: Point) -> bool {
    p == q
}

#[kernel]
fn many(xs: [f64; n]) -> Point {
    build(n, |i| Point { x: xs[i], y: 0.0 })
}

fn main() {}
