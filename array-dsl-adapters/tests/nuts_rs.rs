//! The density against a closed form, and the moments of what the sampler draws.

use array_dsl::prelude::*;
use array_dsl_adapters::nuts_rs::{DensityError, LogDensity};
use ndarray::{Array1, array};
use nuts_rs::rand::{SeedableRng, rngs::SmallRng};
use nuts_rs::{Chain, CpuLogpFunc, CpuMath, DiagNutsSettings, LogpError, Settings};

#[kernel]
fn normal(x: [f64; n], #[no_grad] mean: [f64; n], #[no_grad] deviation: [f64; n]) -> f64 {
    let z = (x - mean) / deviation;
    -0.5 * dot(z, z)
}

#[kernel]
fn exponential(x: [f64; n]) -> f64 {
    sum(ln(x) - x)
}

const MEAN: [f64; 2] = [3.0, -1.0];
const DEVIATION: [f64; 2] = [0.5, 2.0];

fn density() -> LogDensity<normal, (Array1<f64>, Array1<f64>)> {
    LogDensity::new(normal, (MEAN.to_vec().into(), DEVIATION.to_vec().into()), 2)
}

#[test]
fn value_and_gradient_are_those_of_the_closed_form() {
    let mut density = density();
    // Twice, as the second takes the memory of the first.
    for x in [[0.5, 1.5], [-2.0, 4.0]] {
        let mut gradient = [0.0; 2];
        let value = density.logp(&x, &mut gradient).unwrap();
        let z: [f64; 2] = std::array::from_fn(|i| (x[i] - MEAN[i]) / DEVIATION[i]);
        assert!((value + 0.5 * (z[0] * z[0] + z[1] * z[1])).abs() < 1e-12);
        assert!((0..2).all(|i| (gradient[i] + z[i] / DEVIATION[i]).abs() < 1e-12));
    }
}

#[test]
fn draws_have_the_moments_of_the_density() {
    let settings = DiagNutsSettings { num_tune: 300, ..Default::default() };
    let mut rng = SmallRng::seed_from_u64(3);
    let mut chain = settings.new_chain(0, CpuMath::new(density()), &mut rng).unwrap();
    chain.set_position(&[0.0, 0.0]).unwrap();
    let draws: Vec<_> = (0..2300).map(|_| chain.draw().unwrap().0).skip(300).collect();
    for i in 0..2 {
        let n = draws.len() as f64;
        let mean = draws.iter().map(|x| x[i]).sum::<f64>() / n;
        let deviation = (draws.iter().map(|x| (x[i] - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((mean - MEAN[i]).abs() < 0.15 * DEVIATION[i], "{mean}");
        assert!((deviation / DEVIATION[i] - 1.0).abs() < 0.1, "{deviation}");
    }
}

#[test]
fn points_without_a_density_are_divergences_and_errors_are_not() {
    let mut gradient = [7.0; 2];
    let outside = LogDensity::new(exponential, (), 2).logp(&[1.0, -1.0], &mut gradient).unwrap_err();
    assert!(matches!(outside, DensityError::NotFinite(..)) && outside.is_recoverable());
    assert_eq!(gradient, [7.0; 2]);
    let wrong = LogDensity::new(normal, (array![0.0, 0.0], array![1.0]), 2);
    let wrong = wrong.clone().logp(&[0.0, 0.0], &mut gradient).unwrap_err();
    assert!(!wrong.is_recoverable());
    assert!(wrong.to_string().contains("argument `deviation`, dimension 0: expected n = 2"), "{wrong}");
}
