//! Products with compressed rows and reductions by segment, with gradients, where the device has arrays of integers of 64 bits.

use array_dsl::prelude::*;
use ndarray::{Array1, array};

use super::agreement::{gradients_agree, is_skipped, noise};
use super::sparse_kernels::f32s;

#[test]
fn functions_and_gradients() {
    if is_skipped() {
        return;
    }
    let (columns, starts) = (array![0i64, 3, 3, 1, 2], array![0i64, 2, 2, 5]);
    let (a, x): (Array1<f32>, Array1<f32>) = (noise(5, 3), noise(4, 4));
    gradients_agree!((a, x, columns, starts), 1e-4, f32s: of_products of_segments);
}
