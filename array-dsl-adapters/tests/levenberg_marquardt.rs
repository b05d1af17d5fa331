//! The Jacobian against the crate's own differences, a fit with a known minimum, and errors.

use array_dsl::prelude::*;
use array_dsl_adapters::levenberg_marquardt::LeastSquares;
use levenberg_marquardt::{
    LeastSquaresProblem, LevenbergMarquardt, TerminationReason, differentiate_numerically,
};
use ndarray::{Array1, array};

/// Three residuals of two parameters, so that rows and columns cannot be taken for each other.
#[kernel(jacobian)]
fn waves(x: [f64; 2], #[no_grad] t: [f64; m]) -> [f64; m] {
    x[0] * sin(x[1] * t) + x[0] * x[0]
}

#[kernel(jacobian)]
fn line(x: [f64; 2], #[no_grad] t: [f64; m], #[no_grad] y: [f64; m]) -> [f64; m] {
    x[0] + x[1] * t - y
}

#[test]
fn the_jacobian_is_that_of_differences() {
    let mut problem = LeastSquares::new(waves, (array![0.1, 1.0, 2.5],), vec![1.3, 0.7]);
    let jacobian = problem.jacobian().unwrap();
    let differences = differentiate_numerically(&mut problem).unwrap();
    assert_eq!(jacobian.shape(), (3, 2));
    assert!((jacobian - differences).amax() < 1e-7);
}

#[test]
fn a_line_through_points_on_it_is_found() {
    let t = Array1::linspace(-1.0, 3.0, 9);
    let y = t.mapv(|t| 2.0 - 0.5 * t);
    let (found, report) = LevenbergMarquardt::new().minimize(LeastSquares::new(line, (&t, &y), vec![0.0; 2]));
    assert!(report.termination.was_successful(), "{:?}", report.termination);
    assert!((found.x()[0] - 2.0).abs() < 1e-9 && (found.x()[1] + 0.5).abs() < 1e-9);
    assert_eq!(found.error(), None);
}

#[test]
fn what_the_kernel_refuses_ends_the_minimization() {
    let problem = LeastSquares::new(line, (array![0.0, 1.0, 2.0], array![0.0, 1.0]), vec![0.0; 2]);
    let (found, report) = LevenbergMarquardt::new().minimize(problem);
    assert!(matches!(report.termination, TerminationReason::User(_)));
    let error = found.error().expect("an error of the kernel").to_string();
    assert!(error.contains("argument `y`, dimension 0: expected m = 3"), "{error}");
}
