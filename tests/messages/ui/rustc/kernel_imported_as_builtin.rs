use array_dsl::prelude::*;

mod m {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn mine(x: [f64; n]) -> [f64; n] {
        x * 2.0
    }
}

use m::mine as softmax;

#[kernel]
fn used(x: [f64; n]) -> [f64; n] {
    softmax(x) + exp(x)
}

fn main() {}
