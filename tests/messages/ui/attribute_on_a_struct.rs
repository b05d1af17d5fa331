//! The attribute on something that is no function.

use array_dsl::prelude::*;

#[kernel]
struct Parameters {
    rate: f64,
}

fn main() {
    let _ = Parameters { rate: 0.1 }.rate;
}
