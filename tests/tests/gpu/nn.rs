//! Layers of networks, with gradients.

use array_dsl::prelude::*;
use ndarray::{Array3, Array4};

use super::agreement::{agree, is_skipped, noise};
use super::nn_kernels::f32s;

#[test]
fn functions_and_gradients() {
    if is_skipped() {
        return;
    }
    let (x, k): (Array3<f32>, Array4<f32>) = (noise((2, 4, 5), 3), noise((3, 2, 3, 2), 4));
    agree(value_and_grad(f32s::of_filters), (x.clone(), k.clone()), 1e-4);
    agree(value_and_grad(f32s::of_pools), (x.clone(), k.clone()), 1e-4);
    agree(value_and_grad(f32s::of_layers), (x, k), 1e-4);
}
