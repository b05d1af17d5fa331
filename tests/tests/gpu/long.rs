//! Gradients that are parts of a `vjp`.

use array_dsl::prelude::*;
use ndarray::array;

use super::agreement::{is_skipped, own_gpu};
use super::long_kernels::long;

#[test]
fn gradients_of_long_kernels() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = array![0.7f32, 0.2];
    let on_gpu = gpu.upload(&x).unwrap();
    let (value, (dx, dscale)) = value_and_grad(long)(&x, 0.3);
    let (v, (gx, gscale)) = gpu.run(value_and_grad(long), (&on_gpu, 0.3)).unwrap();
    let (hx, hscale) = gpu.run(grad(long), (&on_gpu, 0.3)).unwrap();
    let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()), "{a} {b}");
    near(v.item().unwrap(), value);
    for (g, s) in [(gx, gscale), (hx, hscale)] {
        g.download().unwrap().iter().zip(&dx).for_each(|(a, b)| near(*a, *b));
        near(s.item().unwrap(), dscale);
    }
}
