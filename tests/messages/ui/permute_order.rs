//! An order of axes that is none.

use array_dsl::prelude::*;

#[kernel]
fn swapped(x: [[f64; m]; n]) -> [[f64; n]; m] {
    permute(x, (1, 1))
}

fn main() {}
