//! The error function and the gamma function's logarithm and derivatives, in both types and to second order.

use array_dsl::prelude::*;
use ndarray::{Array1, array};

/// The negative log-likelihood of counts by a negative binomial distribution.
#[kernel(hvp)]
fn counts(r: f64, p: f64, #[no_grad] seen: [f64; n]) -> f64 {
    let each = lgamma(seen + r) - lgamma(r) - lgamma(seen + 1.0) + r * p.ln() + seen * (1.0 - p).ln();
    -sum(each)
}

/// That of times of which some are only known to be later, under a normal distribution.
#[kernel(hvp)]
fn censored(mean: f64, #[no_grad] times: [f64; n], #[no_grad] late: [bool; n]) -> f64 {
    let each = map(
        |t, l| {
            let z = (t - mean) / std::f64::consts::SQRT_2;
            if l { -(0.5 * z.erfc()).ln() } else { z * z }
        },
        times,
        late,
    );
    sum(each)
}

#[kernel]
fn single(x: [f32; n]) -> ([f32; n], [f32; n], [f32; n], [f32; n]) {
    (x.erf(), x.erfc(), x.lgamma(), x.digamma())
}

#[kernel]
fn double(x: [f64; n]) -> ([f64; n], [f64; n], [f64; n], [f64; n]) {
    (x.erf(), x.erfc(), x.lgamma(), x.digamma())
}

#[test]
fn likelihoods() {
    let seen = array![0.0, 3.0, 1.0, 7.0, 2.0];
    // gamma(k + 2) / gamma(2) k! is k + 1.
    let exact: f64 = seen.iter().map(|k| (k + 1.0f64).ln() + 2.0 * 0.4f64.ln() + k * 0.6f64.ln()).sum();
    assert!((counts(2.0, 0.4, &seen) + exact).abs() < 1e-12);
    let check = check_grad(counts, (2.5, 0.4, &seen)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
    // digamma' (x + k) - digamma'(x) is a sum of squares.
    let (curvature, _) = hvp(counts)(2.5, 0.4, &seen, 1.0, 0.0);
    let squares: f64 =
        seen.iter().map(|k| (0..*k as i32).map(|j| (2.5 + f64::from(j)).powi(-2)).sum::<f64>()).sum();
    assert!((curvature - squares).abs() < 1e-12, "{curvature} {squares}");
    let (times, late) = (array![1.0, 2.5, 30.0], array![true, false, true]);
    let check = check_grad(censored, (1.5, &times, &late)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
    // Far in the tail the complement keeps its digits: the hazard is about the distance.
    let slope = grad(censored)(1.5, &array![30.0], &array![true]);
    assert!((slope + 28.5 + 1.0 / 28.5).abs() < 1e-3, "{slope}");
}

#[test]
fn both_types_agree() {
    let x = Array1::linspace(0.05, 6.0, 200);
    let (a, b) = (single(&x.mapv(|v| v as f32)), double(&x.mapv(|v| f64::from(v as f32))));
    for (a, b) in [(a.0, b.0), (a.1, b.1), (a.2, b.2), (a.3, b.3)] {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            assert!((f64::from(*a) - b).abs() <= 1e-6 * b.abs() + 1e-7, "{a} {b}");
        }
    }
}
