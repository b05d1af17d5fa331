//! The eight schools of Rubin (1981): what coaching does to test scores, in a hierarchical model, sampled by nuts-rs. The means of the
//! posterior are those of the literature, where the effect is 4.4 points and differs by 3.6 from school to school.

use array_dsl::prelude::*;
use array_dsl_adapters::nuts_rs::LogDensity;
use ndarray::array;
use nuts_rs::rand::{SeedableRng, rngs::SmallRng};
use nuts_rs::{Chain, CpuMath, DiagNutsSettings, Settings};

/// The effect `mu`, the logarithm of the deviation `tau` between schools, and the deviation of each school in units of `tau`.
#[kernel]
fn posterior(x: [f64; n], #[no_grad] effects: [f64; schools], #[no_grad] errors: [f64; schools]) -> f64 {
    let (mu, tau, each) = (x[0], exp(x[1]), x[2..2 + schools]);
    let off = (effects - (mu + tau * each)) / errors;
    // Of the deviation a Cauchy distribution, and the logarithm's own density.
    let of_tau = x[1] - ln(1.0 + (tau / 5.0).powi(2));
    of_tau - 0.5 * ((mu / 5.0).powi(2) + dot(each, each) + dot(off, off))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let effects = array![28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    let errors = array![15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
    let n = 2 + effects.len();
    let density = LogDensity::new(posterior, (effects, errors), n);

    let settings = DiagNutsSettings { num_tune: 500, ..Default::default() };
    let mut rng = SmallRng::seed_from_u64(8);
    let mut chain = settings.new_chain(0, CpuMath::new(density), &mut rng)?;
    chain.set_position(&vec![0.1; n])?;
    let draws = 3000;
    let (mut mu, mut tau) = (0.0, 0.0);
    for k in 0..500 + draws {
        let (x, _) = chain.draw()?;
        if k >= 500 {
            mu += x[0] / draws as f64;
            tau += x[1].exp() / draws as f64;
        }
    }
    println!("the effect is {mu:.2}, and differs by {tau:.2} from school to school");
    assert!((mu - 4.4).abs() < 0.4 && (tau - 3.6).abs() < 0.4);
    Ok(())
}
