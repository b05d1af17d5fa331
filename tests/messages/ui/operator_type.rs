//! Operators that do not combine two values into one of their type.

use array_dsl::prelude::*;

#[kernel]
fn smaller(x: [f64; n]) -> f64 {
    reduce(|a, b| a < b, f64::INFINITY, x)
}

#[kernel]
fn pair(x: [f64; n]) -> f64 {
    reduce(|a, b| (a.min(b), a.max(b)), 0.0, x).0
}

#[kernel]
fn four_parameters(a: [f64; n], b: [f64; n]) -> ([f64; n], [f64; n]) {
    scan(|a, b, c, d| (a * c, b * c + d), (1.0, 0.0), (a, b))
}

#[kernel]
fn one_array_for_two_values(x: [f64; n]) -> (f64, f64) {
    reduce(|(a, b), (c, d)| (a + c, b.max(d)), (0.0, 0.0), x)
}

#[kernel]
fn start_of_another_type(x: [f64; n]) -> f64 {
    reduce(add, 0, x)
}

#[kernel]
fn start_of_another_rank(x: [f64; n]) -> [f64; n] {
    scan(add, zeros(n), x)
}

#[kernel]
fn pair_into_bins(at: [i64; n], x: [f64; n]) -> [f64; 3] {
    hist(|a, b| (a, b), 0.0, 3, at, x)
}

#[kernel]
fn one_array_for_two_bins(at: [i64; n], x: [f64; n]) -> ([f64; 3], [f64; 3]) {
    hist(|(a, b), (c, d)| (a + c, b.max(d)), (0.0, 0.0), 3, at, x)
}

#[kernel]
fn scalars_for_bins(at: [i64; n], x: [f64; n]) -> f64 {
    reduce_by_index(0.0, |a, b| a + b + a * b, at, x)
}

#[kernel]
fn float_indices(at: [f64; n], x: [f64; n]) -> [f64; 3] {
    hist(hypot, 0.0, 3, at, x)
}

fn main() {}
