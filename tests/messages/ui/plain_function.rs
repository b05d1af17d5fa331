//! Functions without `#[kernel]`, here and in a module.

use array_dsl::prelude::*;

fn helper(x: f64) -> f64 {
    x + 1.0
}

mod far {
    pub fn helper(x: f64) -> f64 {
        x + 2.0
    }
}

#[kernel]
fn calls_one(x: [f64; n]) -> [f64; n] {
    map(helper, x)
}

#[kernel]
fn calls_another(x: f64) -> f64 {
    far::helper(x)
}

fn main() {
    println!("{} {}", helper(1.0), far::helper(1.0));
}
