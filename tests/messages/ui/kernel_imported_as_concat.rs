use array_dsl::prelude::*;

mod m {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn mine(a: [f64; n], b: [f64; n]) -> [f64; n] {
        a + b
    }
}

use m::mine as concat;

#[kernel]
fn used(x: [f64; n]) -> f64 {
    sum(concat(x, x))
}

#[kernel]
fn unused(x: [f64; n]) -> f64 {
    x.log(2.0).sum()
}

fn main() {}
