//! Robertson's chemical reaction, the test of stiff solvers: three species, rates that differ by nine orders of magnitude. The solution
//! at t = 40 is that of the literature, and its derivatives by the rates are those of difference quotients.

use array_dsl::prelude::*;
use array_dsl_adapters::diffsol::Rhs;
use diffsol::{
    DiffsolError, NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod, SensitivitiesOdeSolverMethod,
};

#[kernel]
fn robertson(x: [f64; 3], k: [f64; 3], #[no_grad] _t: f64) -> [f64; 3] {
    let (slow, back, fast) = (k[0] * x[0], k[1] * x[1] * x[2], k[2] * x[1] * x[1]);
    [back - slow, slow - back - fast, fast]
}

const RATES: [f64; 3] = [0.04, 1.0e4, 3.0e7];

type Matrix = NalgebraMat<f64>;
type Solver = NalgebraLU<f64>;

/// The state at t = 40 for some rates.
fn solve(rhs: &Rhs<robertson>, rates: [f64; 3]) -> Result<[f64; 3], DiffsolError> {
    let problem = OdeBuilder::<Matrix>::new()
        .p(rates)
        .rtol(1e-9)
        .atol([1e-12, 1e-15, 1e-12])
        .rhs_implicit(rhs.value(), rhs.jacobian())
        .init(|_, _, x| x.copy_from_slice(&[1.0, 0.0, 0.0]), 3)
        .build()?;
    let (x, _) = problem.bdf::<Solver>()?.solve_dense(&[40.0])?;
    Ok([x[(0, 0)], x[(1, 0)], x[(2, 0)]])
}

fn main() -> Result<(), DiffsolError> {
    let rhs = Rhs::new(robertson, ());
    let x = solve(&rhs, RATES)?;
    let literature = [0.715827, 9.18553e-6, 0.284164];
    println!("at t = 40: {x:?}");
    assert!(x.iter().zip(literature).all(|(x, l)| (x - l).abs() < 1e-5 * l));

    let problem = OdeBuilder::<Matrix>::new()
        .p(RATES)
        .rtol(1e-8)
        .atol([1e-10, 1e-14, 1e-10])
        .sens_rtol(1e-8)
        .sens_atol([1e-10, 1e-14, 1e-10])
        .rhs_sens_implicit(rhs.value(), rhs.jacobian(), rhs.by_parameters())
        .init_sens(|_, _, x| x.copy_from_slice(&[1.0, 0.0, 0.0]), |_, _, _, dx| dx.fill(0.0), 3)
        .build()?;
    let (_, by_rates, _) = problem.bdf_sens::<Solver>()?.solve_dense_sensitivities(&[40.0])?;
    for (k, by_rate) in by_rates.iter().enumerate() {
        let h = 1e-4 * RATES[k];
        let shifted =
            |h: f64| solve(&rhs, std::array::from_fn(|i| if i == k { RATES[i] + h } else { RATES[i] }));
        let quotient = (shifted(h)?[0] - shifted(-h)?[0]) / (2.0 * h);
        let found = by_rate[(0, 0)];
        println!("its first part by rate {k}: {found:.6e}, by differences {quotient:.6e}");
        assert!((found - quotient).abs() < 1e-4 * quotient.abs());
    }
    assert!(rhs.error().is_none());
    Ok(())
}
