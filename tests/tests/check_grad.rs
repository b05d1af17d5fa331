//! `check_grad`: forward mode, reverse mode and differences agree, and a wrong point is reported.

use array_dsl::prelude::*;
use ndarray::{Array2, array};

#[kernel]
fn loss(w: [[f64; m]; n], (a, at): (f64, [i64; n]), #[no_grad] x: [f64; m]) -> (f64, [f64; n]) {
    let rows = (w * x).sum().tanh() * a;
    (rows.sum(), build(n, |i| w[i][at[i]] * rows[i]))
}

#[kernel]
fn kink(x: [f64; n]) -> f64 {
    x.abs().sum()
}

#[test]
fn derivatives_agree() {
    let w = Array2::from_shape_fn((3, 4), |(i, j)| (i as f64 - 0.7 * j as f64).sin());
    let check = check_grad(loss, (&w, (1.5, &array![0, 3, 1]), &array![1.0, -0.5, 0.25, 2.0])).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    assert_eq!(check.entries, 13);
}

#[test]
fn differences_disagree_at_a_kink() {
    let h = f64::EPSILON.cbrt() / 2.0;
    let check = check_grad(kink, (&array![1.0, h],)).unwrap();
    assert!(check.differences > 0.01, "{check}");
    assert_eq!(check.worst, ("x", 1));
    assert!(check.forward_reverse < 1e-12, "{check}");
}

#[test]
fn single_precision() {
    #[kernel]
    fn cubes(x: [f32; n]) -> f32 {
        x.powi(3).sum()
    }
    let check = check_grad(cubes, (&array![1.0f32, -2.0, 0.5],)).unwrap();
    assert!(check.agrees(1e-2), "{check}");
}
