//! Jacobians, Hessians and batches, which kernels have on request.

use array_dsl::prelude::*;
use ndarray::{Array2, array};

#[kernel(jacobian)]
fn cartesian(r: f64, angle: f64) -> (f64, f64) {
    (r * angle.cos(), r * angle.sin())
}

#[kernel(jacobian)]
fn neighbors(x: [f32; n]) -> [f32; n] {
    build(n, |i| x[i] * x[(i + 1) % n])
}

#[kernel(jacobian)]
fn layer(w: [[f64; n]; m], #[no_grad] x: [f64; n]) -> [f64; m] {
    matvec(w, x).tanh()
}

#[kernel(hessian)]
fn rosenbrock(x: [f64; n]) -> f64 {
    build(n - 1, |i| {
        let (valley, slope) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
        100.0 * valley * valley + slope * slope
    })
    .sum()
}

#[kernel(hessian)]
fn bilinear(x: [f64; n], w: [f64; n]) -> f64 {
    (x * w).sum() + (w * w * w).sum()
}

#[kernel(vmap)]
fn norm(x: [f64; n], p: f64) -> f64 {
    x.abs().powf(p).sum().powf(1.0 / p)
}

#[test]
fn jacobians() {
    assert_eq!(jacobian(cartesian)(2.0, 0.0), ((1.0, 0.0), (0.0, 2.0)));
    let j = jacobian(neighbors)(&array![2.0, 3.0, 5.0]);
    assert_eq!(j, array![[3.0, 2.0, 0.0], [0.0, 5.0, 3.0], [5.0, 0.0, 2.0]]);
    assert_eq!(jacobian(neighbors)(&array![]), Array2::<f32>::zeros((0, 0)));
    // Rows of other units do not matter to a unit.
    let j = jacobian(layer)(&Array2::zeros((2, 3)), &array![1.0, 2.0, 3.0]);
    assert_eq!(j.shape(), [2, 2, 3]);
    assert_eq!(j.index_axis(ndarray::Axis(0), 1), array![[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]);
}

#[test]
fn hessians() {
    assert_eq!(hessian(rosenbrock)(&array![1.0, 1.0]), array![[802.0, -400.0], [-400.0, 200.0]]);
    let ((xx, xw), (wx, ww)) = hessian(bilinear)(&array![1.0, 2.0], &array![3.0, 4.0]);
    assert_eq!((xx, xw), (Array2::zeros((2, 2)), Array2::eye(2)));
    assert_eq!((wx, ww), (Array2::eye(2), array![[18.0, 0.0], [0.0, 24.0]]));
}

#[test]
fn batches() {
    let x = array![[3.0, 4.0], [1.0, -1.0], [0.0, 0.0]];
    assert_eq!(vmap(norm)(&x, &array![2.0, 1.0, 1.0]), array![5.0, 2.0, 0.0]);
    let wrong = Cpu.run(vmap(norm), (&x, &array![1.0, 2.0])).expect_err("a batch of three and one of two");
    let text = wrong.to_string();
    assert!(text.contains("`norm`") && text.contains("`p`") && text.contains("found 2"), "{text}");
}
