//! Layers of networks, with gradients.

use array_dsl::prelude::*;
use ndarray::{Array3, Array4};

use super::agreement::{gradients_agree, is_skipped, noise};
use super::nn_kernels::f32s;

#[test]
fn functions_and_gradients() {
    if is_skipped() {
        return;
    }
    let (x, k): (Array3<f32>, Array4<f32>) = (noise((2, 4, 5), 3), noise((3, 2, 3, 2), 4));
    gradients_agree!((x, k), 1e-4, f32s: of_filters of_pools of_layers);
}
