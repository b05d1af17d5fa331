//! Conventions of meaning: ties, branches that are not taken, singular points under a zero cotangent, products with
//! zeros, empty arrays, and what scatter and histograms ignore.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

// Ties: reductions give the whole adjoint to the first extremal element, binary functions to the first argument.

#[kernel]
fn least(xs: [f64; n]) -> f64 {
    minimum(xs)
}

#[kernel]
fn greatest(xs: [f64; n]) -> f64 {
    xs.maximum()
}

#[kernel]
fn smaller(a: f64, b: f64) -> f64 {
    a.min(b)
}

#[kernel]
fn larger(a: f64, b: f64) -> f64 {
    max(a, b)
}

#[kernel]
fn rectified(xs: [f64; n]) -> f64 {
    sum(max(xs, 0.0))
}

#[kernel]
fn places(xs: [f64; n]) -> (i64, i64) {
    (argmin(xs), argmax(xs))
}

#[kernel]
fn magnitude(x: f64) -> f64 {
    x.abs()
}

#[test]
fn ties_in_reductions_go_to_the_first() {
    assert_eq!(grad(least)(&array![2.0, 1.0, 1.0, 1.0]), array![0.0, 1.0, 0.0, 0.0]);
    assert_eq!(grad(greatest)(&array![2.0, 3.0, 0.0, 3.0]), array![0.0, 1.0, 0.0, 0.0]);
    assert_eq!(jvp(least)(&array![2.0, 1.0, 1.0], &array![7.0, 5.0, -3.0]), (1.0, 5.0));
    assert_eq!(places(&array![3.0, 1.0, 5.0, 1.0, 5.0]), (1, 2));
}

#[test]
fn ties_in_functions_of_two_go_to_the_first() {
    assert_eq!(value_and_grad(smaller)(2.0, 2.0), (2.0, (1.0, 0.0)));
    assert_eq!(value_and_grad(larger)(2.0, 2.0), (2.0, (1.0, 0.0)));
    assert_eq!(grad(smaller)(1.0, 2.0), (1.0, 0.0));
    assert_eq!(grad(smaller)(2.0, 1.0), (0.0, 1.0));
    assert_eq!(grad(larger)(1.0, 2.0), (0.0, 1.0));
    assert_eq!(grad(larger)(2.0, 1.0), (1.0, 0.0));
}

#[test]
fn the_slope_goes_where_the_value_comes_from() {
    // What is no number is neither the smaller nor the larger one.
    assert_eq!(value_and_grad(larger)(2.0, f64::NAN), (2.0, (1.0, 0.0)));
    assert_eq!(value_and_grad(larger)(f64::NAN, 2.0), (2.0, (0.0, 1.0)));
    assert_eq!(value_and_grad(smaller)(2.0, f64::NAN), (2.0, (1.0, 0.0)));
    assert_eq!(value_and_grad(smaller)(f64::NAN, 2.0), (2.0, (0.0, 1.0)));
    assert_eq!(jvp(larger)(2.0, f64::NAN, 3.0, 5.0), (2.0, 3.0));
    // A constant takes the place of what is no number, and has no slope.
    assert_eq!(grad(rectified)(&array![2.0, -1.0, f64::NAN, 0.0]), array![1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn the_derivative_of_abs_at_zero_is_zero() {
    assert_eq!(value_and_grad(magnitude)(0.0), (0.0, 0.0));
    assert_eq!(value_and_grad(magnitude)(-3.0), (3.0, -1.0));
    assert_eq!(value_and_grad(magnitude)(3.0), (3.0, 1.0));
}

// A branch that is not taken contributes nothing, whatever its derivative is there.

#[kernel]
fn safe_log(x: f64) -> f64 {
    if x > 0.0 { x.ln() } else { 0.0 }
}

#[kernel]
fn safe_logs(xs: [f64; n]) -> f64 {
    sum(map(|x| if x > 0.0 { x.ln() } else { 0.0 }, xs))
}

#[kernel]
fn safe_entropy(ps: [f64; n]) -> f64 {
    -sum(build(n, |i| {
        let p = ps[i];
        if p > 0.0 { p * p.ln() } else { 0.0 }
    }))
}

#[kernel]
fn guarded_read(xs: [f64; n], i: i64) -> f64 {
    if i >= 0 && i < n { xs[i] } else { 0.0 }
}

#[test]
fn branches_not_taken() {
    assert_eq!(value_and_grad(safe_log)(0.0), (0.0, 0.0));
    assert_eq!(value_and_grad(safe_log)(-1.0), (0.0, 0.0));
    assert_eq!(grad(safe_log)(2.0), 0.5);
    assert_eq!(grad(safe_logs)(&array![0.0, 2.0, -1.0, 4.0]), array![0.0, 0.5, 0.0, 0.25]);
    assert_eq!(jvp(safe_log)(0.0, 5.0), (0.0, 0.0));
    let (value, gradient) = value_and_grad(safe_entropy)(&array![1.0, 0.0]);
    assert_eq!(value, 0.0);
    assert_eq!(gradient, array![-1.0, 0.0]);
}

#[test]
fn reads_in_branches_not_taken() {
    let xs = array![1.0, 2.0];
    assert_eq!(value_and_grad(guarded_read)(&xs, 1), (2.0, array![0.0, 1.0]));
    assert_eq!(value_and_grad(guarded_read)(&xs, 2), (0.0, array![0.0, 0.0]));
    assert_eq!(value_and_grad(guarded_read)(&xs, -1), (0.0, array![0.0, 0.0]));
}

// A cotangent that is exactly zero contributes zero, even where the derivative is infinite.

#[kernel]
fn weighted_root(x: f64, w: f64) -> f64 {
    x.sqrt() * w
}

#[kernel]
fn weighted_log(x: f64, w: f64) -> f64 {
    x.ln() * w
}

#[kernel]
fn weighted_inverse(x: f64, w: f64) -> f64 {
    1.0 / x * w
}

#[kernel]
fn weighted_power(x: f64, w: f64) -> f64 {
    x.powf(0.5) * w
}

#[kernel]
fn weighted_arc(x: f64, w: f64) -> f64 {
    x.asin() * w
}

#[kernel]
fn weighted_length(x: f64, w: f64) -> f64 {
    x.hypot(0.0) * w
}

#[kernel]
fn chosen_roots(xs: [f64; n], #[no_grad] weights: [f64; n]) -> f64 {
    dot(xs.sqrt(), weights)
}

#[test]
fn zero_cotangents_at_singular_points() {
    assert_eq!(value_and_grad(weighted_root)(0.0, 0.0), (0.0, (0.0, 0.0)));
    assert_eq!(grad(weighted_log)(0.0, 0.0).0, 0.0);
    assert_eq!(grad(weighted_inverse)(0.0, 0.0).0, 0.0);
    assert_eq!(value_and_grad(weighted_power)(0.0, 0.0), (0.0, (0.0, 0.0)));
    assert_eq!(grad(weighted_arc)(1.0, 0.0).0, 0.0);
    assert_eq!(grad(weighted_length)(0.0, 0.0).0, 0.0);
    let gradient = grad(chosen_roots)(&array![0.0, 4.0, 0.0], &array![0.0, 1.0, 0.0]);
    assert_eq!(gradient, array![0.0, 0.25, 0.0]);
}

#[test]
fn other_cotangents_at_singular_points() {
    assert_eq!(grad(weighted_root)(0.0, 1.0).0, f64::INFINITY);
    assert_eq!(grad(weighted_log)(0.0, 1.0).0, f64::INFINITY);
}

#[test]
fn zero_tangents_at_singular_points() {
    assert_eq!(jvp(weighted_root)(0.0, 1.0, 0.0, 3.0), (0.0, 0.0));
    assert_eq!(jvp(weighted_power)(0.0, 1.0, 0.0, 3.0), (0.0, 0.0));
}

// Powers at base 0 have the derivatives of the limit where that is finite.

#[kernel]
fn power(a: f64, b: f64) -> f64 {
    a.powf(b)
}

#[kernel]
fn whole_power(a: f64, b: i64) -> f64 {
    a.powi(b)
}

#[test]
fn powf_at_zero() {
    assert_eq!(value_and_grad(power)(0.0, 2.0), (0.0, (0.0, 0.0)));
    assert_eq!(value_and_grad(power)(0.0, 1.0), (0.0, (1.0, 0.0)));
    assert_eq!(value_and_grad(power)(0.0, 3.5), (0.0, (0.0, 0.0)));
    assert_eq!(power(0.0, 0.0), 1.0);
    assert_eq!(grad(power)(0.0, 0.0).0, 0.0);
    assert_eq!(grad(power)(0.0, 0.5), (f64::INFINITY, 0.0));
}

#[test]
fn powf_elsewhere() {
    let at = (1.7, 2.3);
    let found = grad(power)(at.0, at.1);
    assert_close(found, (2.3 * 1.7f64.powf(1.3), 1.7f64.powf(2.3) * 1.7f64.ln()), 1e-13);
    assert_gradient(|(a, b)| power(*a, *b), &at, &found);
    // A negative base with a whole exponent has a derivative by the base.
    assert_close(grad(power)(-2.0, 3.0).0, 12.0, 1e-13);
}

#[test]
fn powi_at_zero_and_elsewhere() {
    assert_eq!(value_and_grad(whole_power)(0.0, 0), (1.0, 0.0));
    assert_eq!(value_and_grad(whole_power)(0.0, 1), (0.0, 1.0));
    assert_eq!(value_and_grad(whole_power)(0.0, 2), (0.0, 0.0));
    assert_eq!(value_and_grad(whole_power)(-2.0, 3), (-8.0, 12.0));
    assert_eq!(value_and_grad(whole_power)(2.0, -1), (0.5, -0.25));
}

// Products with zeros.

#[kernel(hvp)]
fn product(xs: [f64; n]) -> f64 {
    prod(xs)
}

#[test]
fn products_with_zeros() {
    let cases = [
        (array![2.0, 4.0, 3.0], array![12.0, 6.0, 8.0]),
        (array![2.0, 0.0, 3.0], array![0.0, 6.0, 0.0]),
        (array![0.0, 4.0, 0.0], array![0.0, 0.0, 0.0]),
        (array![0.0, 0.0, 0.0], array![0.0, 0.0, 0.0]),
        (array![0.0], array![1.0]),
        (array![7.0], array![1.0]),
    ];
    let direction = array![1.0, 10.0, 100.0];
    for (xs, gradient) in cases {
        assert_close(grad(product)(&xs), gradient.clone(), 1e-14);
        let tangent = direction.slice(ndarray::s![..xs.len()]).to_owned();
        let (value, slope) = jvp(product)(&xs, &tangent);
        assert_close(value, xs.product(), 1e-14);
        assert_close(slope, gradient.dot(&tangent), 1e-14);
    }
}

#[test]
fn second_derivatives_of_products_with_zeros() {
    // The Hessian of xyz is [[0, z, y], [z, 0, x], [y, x, 0]].
    let direction = array![1.0, 10.0, 100.0];
    assert_close(hvp(product)(&array![2.0, 4.0, 3.0], &direction), array![430.0, 203.0, 24.0], 1e-13);
    assert_close(hvp(product)(&array![2.0, 0.0, 3.0], &direction), array![30.0, 203.0, 20.0], 1e-13);
    assert_close(hvp(product)(&array![0.0, 4.0, 0.0], &direction), array![400.0, 0.0, 4.0], 1e-13);
}

// Empty arrays: a reduction gives its neutral element.

#[kernel]
fn sums_of_nothing(xs: [f64; n]) -> (f64, f64, f64, f64, f64) {
    (sum(xs), prod(xs), minimum(xs), maximum(xs), mean(xs))
}

#[kernel]
fn truths_of_nothing(xs: [bool; n]) -> (bool, bool) {
    (any(xs), all(xs))
}

#[kernel]
fn whole_extremes(xs: [i64; n]) -> (i64, i64) {
    (minimum(xs), maximum(xs))
}

#[kernel]
fn average(xs: [f64; n]) -> f64 {
    mean(xs)
}

#[kernel]
fn every_sum(a: [[f64; m]; n]) -> ([f64; n], [f64; m], f64) {
    (sum(a), sum(transpose(a)), sum(flatten(a)))
}

#[test]
fn reductions_of_nothing() {
    let (total, multiplied, low, high, middle) = sums_of_nothing(&Array1::zeros(0));
    assert_eq!((total, multiplied, low, high), (0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY));
    assert!(middle.is_nan());
    assert_eq!(truths_of_nothing(&Array1::from_elem(0, true)), (false, true));
    assert_eq!(whole_extremes(&Array1::zeros(0)), (i64::MAX, i64::MIN));
}

#[test]
fn gradients_of_nothing() {
    let nothing = Array1::<f64>::zeros(0);
    assert_eq!(grad(least)(&nothing), nothing);
    assert_eq!(grad(product)(&nothing), nothing);
    assert_eq!(grad(average)(&nothing), nothing);
    assert_eq!(value_and_grad(safe_logs)(&nothing), (0.0, nothing.clone()));
    assert_eq!(jvp(greatest)(&nothing, &nothing), (f64::NEG_INFINITY, 0.0));
}

#[test]
fn argmin_of_nothing_is_an_error() {
    let error = Cpu.run(places, (&Array1::<f64>::zeros(0),)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("kernel `places`") && text.contains("conventions.rs:"), "{text}");
}

#[test]
fn empty_matrices() {
    let (rows, columns, whole) = every_sum(&Array2::<f64>::zeros((0, 3)));
    assert_eq!((rows, columns, whole), (Array1::zeros(0), Array1::zeros(3), 0.0));
    let (rows, columns, whole) = every_sum(&Array2::<f64>::zeros((2, 0)));
    assert_eq!((rows, columns, whole), (Array1::zeros(2), Array1::zeros(0), 0.0));
}

#[test]
fn mean_of_something() {
    assert_eq!(value_and_grad(average)(&array![1.0, 2.0, 6.0, 7.0]), (4.0, array![0.25, 0.25, 0.25, 0.25]));
}

// f32 throughout.

#[kernel]
fn mean_square(xs: [f32; n], scale: f32) -> f32 {
    mean(xs * xs) * scale
}

#[test]
fn single_precision() {
    let (value, (gradient, by_scale)) = value_and_grad(mean_square)(&array![1f32, 2.0, 3.0, 4.0], 2.0);
    assert_eq!((value, by_scale), (15f32, 7.5f32));
    assert_eq!(gradient, array![1f32, 2.0, 3.0, 4.0]);
}

// What is stopped, and what scatter and histograms leave out.

#[kernel]
fn half_stopped(x: f64) -> f64 {
    x * stop_gradient(x)
}

#[kernel]
fn placed(dest: [f64; n], is: [i64; k], vs: [f64; k]) -> [f64; n] {
    scatter(dest, is, vs)
}

#[kernel]
fn added(dest: [f64; n], is: [i64; k], vs: [f64; k]) -> [f64; n] {
    scatter_add(dest, is, vs)
}

#[kernel]
fn counted(is: [i64; k], vs: [f64; k]) -> [f64; 3] {
    hist(add, 0.0, 3, is, vs)
}

#[test]
fn stopped_gradients() {
    assert_eq!(value_and_grad(half_stopped)(3.0), (9.0, 3.0));
    assert_eq!(jvp(half_stopped)(3.0, 2.0), (9.0, 6.0));
}

#[test]
fn indices_outside_the_target_are_ignored() {
    let dest = array![1.0, 2.0, 3.0];
    let (is, vs) = (array![-1, 0, 3, 2, i64::MIN], array![10.0, 20.0, 30.0, 40.0, 50.0]);
    let seed = array![1.0, 2.0, 4.0];
    let vs_adj = array![0.0, 1.0, 0.0, 4.0, 0.0];

    let (value, adjoints) = vjp(placed)(&dest, &is, &vs, &seed);
    assert_eq!(value, array![20.0, 2.0, 40.0]);
    assert_eq!(adjoints, (array![0.0, 2.0, 0.0], vs_adj.clone()));

    let (value, adjoints) = vjp(added)(&dest, &is, &vs, &seed);
    assert_eq!(value, array![21.0, 2.0, 43.0]);
    assert_eq!(adjoints, (seed.clone(), vs_adj.clone()));

    let (value, cotangent) = vjp(counted)(&is, &vs, &seed);
    assert_eq!(value, array![20.0, 0.0, 40.0]);
    assert_eq!(cotangent, vs_adj);
}

#[test]
fn equal_values_may_meet_in_a_scatter() {
    assert_eq!(placed(&array![1.0, 2.0], &array![1, 1, 1], &array![9.0, 9.0, 9.0]), array![1.0, 9.0]);
}

// Reductions that shift by the largest element stay finite.

#[kernel]
fn log_sum_exp(z: [f64; n]) -> f64 {
    logsumexp(z)
}

#[test]
fn logsumexp_of_extreme_numbers() {
    let (value, gradient) = value_and_grad(log_sum_exp)(&array![1000.0, 1000.0]);
    assert_close(value, 1000.0 + 2f64.ln(), 1e-14);
    assert_close(gradient, array![0.5, 0.5], 1e-14);
    let (value, gradient) = value_and_grad(log_sum_exp)(&array![f64::NEG_INFINITY, 3.0]);
    assert_close(value, 3.0, 1e-14);
    assert_close(gradient, array![0.0, 1.0], 1e-14);
    assert_eq!(log_sum_exp(&array![f64::NEG_INFINITY, f64::NEG_INFINITY]), f64::NEG_INFINITY);
}

#[kernel]
fn shares(z: [f64; n]) -> [f64; n] {
    softmax(z)
}

/// Parts of less than 1e-288 of the largest count as nothing, so that products with them are normal numbers or zero.
#[test]
fn softmax_of_what_is_far_below() {
    let z = array![0.0, -663.0, -665.0, -730.0, f64::NEG_INFINITY];
    let parts = shares(&z);
    assert_close(parts.clone(), array![1.0, (-663f64).exp(), 0.0, 0.0, 0.0], 1e-300);
    assert!(parts[1] > 0.0 && parts.iter().skip(2).all(|p| *p == 0.0), "{parts}");
    let (value, gradient) = value_and_grad(log_sum_exp)(&z);
    assert_eq!((value, gradient), (0.0, parts));
    assert!(shares(&array![1.0, f64::NAN]).iter().all(|p| p.is_nan()));
    assert!(log_sum_exp(&array![1.0, f64::NAN]).is_nan());
    // Of the largest exponent of all, not of zero.
    assert_close(shares(&array![-5000.0, -5000.0]), array![0.5, 0.5], 1e-15);
}
