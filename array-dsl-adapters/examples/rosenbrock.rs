//! The minimum of Rosenbrock's function in a hundred dimensions by two solvers of argmin, of which one takes the gradient alone and the
//! other the Hessian as well. Both end where every coordinate is one.

use argmin::core::{Error, Executor, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use array_dsl::prelude::*;
use array_dsl_adapters::argmin::Problem;

#[kernel(hessian)]
fn rosenbrock(x: [f64; n], #[no_grad] a: f64, #[no_grad] b: f64) -> f64 {
    let (p, q) = (x[..n - 1], x[1..]);
    sum(b * (q - p * p).powi(2) + (a - p).powi(2))
}

/// Says how far a solver came.
fn report(solver: &str, state: &impl State<Param = Vec<f64>, Float = f64>) {
    let best = state.get_best_param().map_or(&[][..], |x| x);
    let off = best.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
    println!("{solver}: {} iterations, at most {off:.1e} away from the minimum", state.get_iter());
    assert!(best.len() == 100 && off < 1e-5);
}

fn main() -> Result<(), Error> {
    let problem = Problem::new(rosenbrock, (1.0, 100.0));
    let start: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 1.2 } else { 1.0 }).collect();

    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
    let found = Executor::new(problem, solver)
        .configure(|s| s.param(start.clone()).max_iters(1000).target_cost(1e-20))
        .run()?;
    report("L-BFGS", found.state());

    let solver = TrustRegion::new(Steihaug::new());
    let found = Executor::new(problem, solver)
        .configure(|s| s.param(start).max_iters(1000).target_cost(1e-20))
        .run()?;
    report("trust region", found.state());
    Ok(())
}
