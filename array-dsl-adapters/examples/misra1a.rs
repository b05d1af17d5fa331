//! The problem Misra1a of NIST's reference data for nonlinear regression: how much dye a substance takes up under pressure. The fit and
//! the deviations of its parameters agree with the certified values.

use array_dsl::prelude::*;
use array_dsl_adapters::levenberg_marquardt::LeastSquares;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use ndarray::array;

#[kernel(jacobian)]
fn uptake(b: [f64; 2], #[no_grad] pressure: [f64; m], #[no_grad] volume: [f64; m]) -> [f64; m] {
    b[0] * (1.0 - exp(-b[1] * pressure)) - volume
}

/// What NIST certifies: the parameters, and their standard deviations.
const CERTIFIED: [(f64, f64); 2] = [(2.3894212918e2, 2.7070075241e0), (5.5015643181e-4, 7.2668688436e-6)];

fn main() {
    let pressure = array![
        77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0
    ];
    let volume = array![
        10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78
    ];
    let free = (volume.len() - 2) as f64;
    let problem = LeastSquares::new(uptake, (pressure, volume), vec![500.0, 1e-4]);
    let (fit, report) = LevenbergMarquardt::new().with_tol(1e-14).minimize(problem);
    assert!(fit.error().is_none(), "{:?}", fit.error());

    // The covariance is that of the linear problem at the minimum.
    let jacobian = fit.jacobian().expect("the kernel has run there");
    let variance = 2.0 * report.objective_function / free;
    let covariance =
        (jacobian.transpose() * jacobian).try_inverse().expect("two parameters that differ") * variance;
    for (k, (value, deviation)) in CERTIFIED.into_iter().enumerate() {
        let (found, of_found) = (fit.x()[k], covariance[(k, k)].sqrt());
        println!("b{} = {found:.10e} +- {of_found:.4e}, certified {value:.10e} +- {deviation:.4e}", k + 1);
        assert!((found - value).abs() < 1e-7 * value);
        assert!((of_found - deviation).abs() < 1e-5 * deviation);
    }
}
