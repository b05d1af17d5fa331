//! Structures that cannot be records.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, ArrayD, ArrayView1};
use std::sync::Arc;

#[derive(Record)]
struct Pair(f64, f64);

#[derive(Record)]
struct Nothing;

#[derive(Record)]
struct Empty {}

#[derive(Record)]
enum Choice {
    A,
    B,
}

#[derive(Record)]
struct Generic<T> {
    x: T,
}

#[derive(Record)]
struct Borrowed<'a> {
    x: ArrayView1<'a, f64>,
}

#[derive(Record)]
struct Fields {
    list: Vec<f64>,
    count: usize,
    fixed: [f64; 3],
    any: ArrayD<f64>,
    shared: Arc<Array1<f64>>,
    small: Array1<u8>,
    name: String,
    f: fn(f64) -> f64,
    one: Array1<f64>,
}

#[derive(Record)]
struct Shapes {
    #[shape(n)]
    too_few: Array2<f64>,
    #[shape(n)]
    scalar: f64,
    #[shape(n / 2)]
    half: Array1<f64>,
    #[shape]
    none: Array1<f64>,
}

#[derive(Record)]
struct Sizes {
    rate: f64,
    #[shape(rate)]
    by_a_float: Array1<f64>,
}

#[derive(Record)]
struct Itself {
    inner: Itself,
}

// An error is not repeated where the record is used.
#[kernel]
fn total(f: &Fields) -> f64 {
    f.one.sum()
}

#[derive(Record)]
struct Outer {
    inner: Fields,
}

mod types {
    use array_dsl::prelude::*;

    #[derive(Record)]
    #[allow(non_camel_case_types)]
    struct u8 {
        x: f64,
    }
}

fn main() {}
