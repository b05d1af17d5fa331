//! Messages about indices name what is indexed.

use array_dsl::prelude::*;

#[kernel]
fn first(grid: [[f64; m]; n], scale: f64) -> f64 {
    grid[0][0][1] + scale[0] + grid[scale][0]
}

#[kernel]
fn second(pairs: ([f64; n], [i64; n])) -> f64 {
    pairs.0[[0, 1]]
}

fn main() {}
