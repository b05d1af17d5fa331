//! `check_grad`: forward mode, reverse mode and differences agree, and a wrong point is reported.

use array_dsl::Verdict;
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
    assert_eq!((check.entries, check.verdict()), (13, Verdict::Agrees));
    check.assert();
}

#[test]
fn differences_disagree_at_a_kink() {
    let h = f64::EPSILON.cbrt() / 2.0;
    let check = check_grad(kink, (&array![1.0, h],)).unwrap();
    assert!(check.differences > 0.01, "{check}");
    assert_eq!(check.worst, ("x", 1));
    assert!(check.forward_reverse < 1e-12, "{check}");
    assert_eq!(check.verdict(), Verdict::Kink, "{check}");
    assert!(check.to_string().contains("a kink here?"), "{check}");
}

#[test]
fn single_precision() {
    #[kernel]
    fn cubes(x: [f32; n]) -> f32 {
        x.powi(3).sum()
    }
    let check = check_grad(cubes, (&array![1.0f32, -2.0, 0.5],)).unwrap();
    assert!(check.agrees(1e-2), "{check}");
    check.assert();
}

#[kernel]
fn wrong_slope(x: f64, cotangent: f64) -> f64 {
    3.0 * x * cotangent
}

#[kernel(vjp = wrong_slope)]
fn square(x: f64) -> f64 {
    x * x
}

#[test]
fn a_wrong_rule_is_no_kink() {
    let check = check_grad(square, (1.5,)).unwrap();
    assert_eq!(check.verdict(), Verdict::Differs, "{check}");
    let message = std::panic::catch_unwind(|| check.assert()).unwrap_err();
    let message = message.downcast_ref::<String>().expect("a text");
    assert!(message.contains("kernel `square`: the gradient is wrong"), "{message}");
    assert!(message.contains("`x`[0], derivative"), "{message}");
}

#[kernel]
fn smoothed(x: [f64; n]) -> f64 {
    sum(sqrt(x * x + 1e-4))
}

/// Where a function bends much one quotient is off by more than the tolerance, and no kink.
#[test]
fn curvature_is_neither_a_kink_nor_an_error() {
    let at = [0.005, 0.01];
    let h = f64::EPSILON.cbrt();
    let [x, _] = at;
    let f = |x: f64| (x * x + 1e-4).sqrt();
    let off = (f(x + h) - f(x - h)) / (2.0 * h) - x / f(x);
    let check = check_grad(smoothed, (&ndarray::arr1(&at),)).unwrap();
    assert!(off.abs() > check.tolerance, "{off:e} {check}");
    check.assert();
}

#[kernel]
fn logarithm(x: f64) -> f64 {
    x.ln()
}

/// Close to the end of a domain differences tell nothing, which is no agreement.
#[test]
fn steps_out_of_the_domain_are_no_agreement() {
    let x = 1.5 * f64::EPSILON.cbrt();
    assert!((x - 2.0 * f64::EPSILON.cbrt()).ln().is_nan());
    let check = check_grad(logarithm, (x,)).unwrap();
    assert_eq!(check.verdict(), Verdict::Differs, "{check}");
}

#[kernel]
fn nearly_right(x: f64, cotangent: f64) -> f64 {
    2.000001 * x * cotangent
}

#[kernel(vjp = nearly_right)]
fn square_of(x: f64) -> f64 {
    x * x
}

/// What differs by a little more than differences do is told all the same.
#[test]
fn a_slightly_wrong_rule_is_found() {
    let check = check_grad(square_of, (1.5,)).unwrap();
    assert_eq!(check.verdict(), Verdict::Differs, "{check}");
}
