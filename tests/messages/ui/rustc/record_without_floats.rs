//! There is no derivative by a record without floats, and a plain structure cannot be uploaded.

use array_dsl::prelude::*;

#[derive(Record)]
struct Settings {
    count: i64,
}

#[kernel]
fn counted(s: &Settings) -> f64 {
    s.count as f64
}

fn main() {
    let _ = grad(counted)(&Settings { count: 1 });
}
