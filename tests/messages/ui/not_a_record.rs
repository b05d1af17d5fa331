//! A structure without `derive(Record)`, in a kernel and in a record.

use array_dsl::prelude::*;

struct Plain {
    x: f64,
}

#[kernel]
fn of_plain(p: &Plain) -> f64 {
    p.x
}

#[derive(Record)]
struct Outer {
    inner: Plain,
}

fn main() {}
