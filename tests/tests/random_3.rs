//! Part 3 of the random programs; see `random/mod.rs`.

mod random;

use random::*;

include!(concat!(env!("OUT_DIR"), "/random_3.rs"));

#[test]
fn compiled_programs_are_the_interpreted_ones() {
    compare_on_cpu(ON_CPU);
}

#[test]
fn programs_on_the_gpu_are_the_interpreted_ones() {
    compare_on_gpu(ON_GPU);
}
