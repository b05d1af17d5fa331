//! A name in capitals is a constant's, for which rustc looks.

use array_dsl::prelude::*;

#[kernel]
fn padded(x: [f64; n]) -> [f64; n + MARGIN] {
    concat(x, zeros(MARGIN))
}

fn main() {}
