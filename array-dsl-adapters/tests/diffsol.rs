//! Solutions, sensitivities and adjoints against closed forms; sparse matrices; errors.

use array_dsl::prelude::*;
use array_dsl_adapters::diffsol::Rhs;
use diffsol::{
    AdjointOdeSolverMethod, FaerSparseLU, FaerSparseMat, NalgebraLU, NalgebraMat, NonLinearOpJacobian,
    OdeBuilder, OdeEquations, OdeSolverMethod, OdeSolverState, Op, SensitivitiesOdeSolverMethod,
};

/// Decay at a rate, towards a level that is bound: `level + (x0 - level) exp(-p t)`.
#[kernel]
fn decay(x: [f64; n], p: [f64; 1], #[no_grad] _t: f64, #[no_grad] level: f64) -> [f64; n] {
    -p[0] * (x - level)
}

/// Heat in a rod with cold ends.
#[kernel]
fn heat(x: [f64; n], p: [f64; 1], #[no_grad] _t: f64) -> [f64; n] {
    build(n, |i| {
        let left = if i > 0 { x[i - 1] } else { 0.0 };
        let right = if i + 1 < n { x[i + 1] } else { 0.0 };
        p[0] * (left - 2.0 * x[i] + right)
    })
}

type Dense = NalgebraMat<f64>;
type Solver = NalgebraLU<f64>;

const RATE: f64 = 0.4;
const LEVEL: f64 = 2.0;
const START: f64 = 5.0;

#[test]
fn sensitivities_are_those_of_the_closed_form() {
    let rhs = Rhs::new(decay, (LEVEL,));
    let problem = OdeBuilder::<Dense>::new()
        .p([RATE])
        .rtol(1e-8)
        .atol([1e-8])
        .sens_rtol(1e-8)
        .sens_atol([1e-8])
        .rhs_sens_implicit(rhs.value(), rhs.jacobian(), rhs.by_parameters())
        .init_sens(|_, _, x| x.fill(START), |_, _, _, dx| dx.fill(0.0), 1)
        .build()
        .unwrap();
    let times = [0.5, 3.0];
    let (x, by_p, _) = problem.bdf_sens::<Solver>().unwrap().solve_dense_sensitivities(&times).unwrap();
    for (k, t) in times.into_iter().enumerate() {
        let off = (START - LEVEL) * (-RATE * t).exp();
        assert!((x[(0, k)] - LEVEL - off).abs() < 1e-5);
        assert!((by_p[0][(0, k)] + t * off).abs() < 1e-5);
    }
}

/// The derivative of the integral of the state over time.
#[test]
fn adjoints_are_those_of_the_closed_form() {
    let rhs = Rhs::new(decay, (LEVEL,));
    let end = 3.0;
    let problem = OdeBuilder::<Dense>::new()
        .p([RATE])
        .rtol(1e-8)
        .atol([1e-8])
        .integrate_out(true)
        .rhs_adjoint_implicit(rhs.value(), rhs.jacobian(), rhs.adjoint(), rhs.adjoint_by_parameters())
        .init_adjoint(|_, _, x| x.fill(START), |_, _, _, y| y.fill(0.0), 1)
        .out_adjoint_implicit(
            |x, _, _, y| y[0] = x[0],
            |_, _, _, v, y| y[0] = v[0],
            |_, _, _, v, y| y[0] = -v[0],
            |_, _, _, _, y| y[0] = 0.0,
            1,
        )
        .build()
        .unwrap();
    let mut solver = problem.bdf::<Solver>().unwrap();
    let (checkpoints, ..) = solver.solve_with_checkpointing(end, None).unwrap();
    let adjoint = problem.bdf_solver_adjoint::<Solver, _>(checkpoints, Some(solver), None).unwrap();
    let (state, _) = adjoint.solve_adjoint_backwards_pass(&[], &[]).unwrap();
    let decayed = (-RATE * end).exp();
    let expected = (START - LEVEL) * (end * decayed / RATE - (1.0 - decayed) / (RATE * RATE));
    let found = state.as_ref().sg[0];
    assert!((found - expected).abs() < 1e-4 * expected.abs(), "{found} {expected}");
}

#[test]
fn a_stencil_has_the_pattern_of_a_stencil() {
    let (n, rate) = (50, 0.3);
    let rhs = Rhs::new(heat, ());
    let problem = OdeBuilder::<FaerSparseMat<f64>>::new()
        .p([rate])
        .rtol(1e-8)
        .atol([1e-10])
        .use_coloring(true)
        .rhs_implicit(rhs.value(), rhs.jacobian())
        // An eigenvector, which only decays.
        .init(
            |_, _, x| {
                let n = x.len() as f64;
                (1..).zip(x).for_each(|(i, x)| *x = (std::f64::consts::PI * i as f64 / (n + 1.0)).sin());
            },
            n,
        )
        .build()
        .unwrap();
    let pattern = problem.eqn.rhs().jacobian_sparsity().expect("a sparse matrix");
    assert_eq!(pattern.compute_nnz(), 3 * n - 2);
    let mut solver = problem.bdf::<FaerSparseLU<f64>>().unwrap();
    let (x, _) = solver.solve_dense(&[100.0]).unwrap();
    let angle = std::f64::consts::PI / (n as f64 + 1.0);
    let factor = (-2.0 * rate * (1.0 - angle.cos()) * 100.0).exp();
    for i in 0..n {
        let expected = factor * (angle * (i + 1) as f64).sin();
        assert!((x[(i, 0)] - expected).abs() < 1e-5, "{i}");
    }
    // Three colors, whatever the length: few products, not one for each column.
    let statistics = problem.eqn.rhs().statistics();
    assert!(statistics.number_of_jac_muls <= n + 3 * statistics.number_of_matrix_evals);
    assert!(rhs.error().is_none());
}

#[test]
fn what_the_kernel_refuses_ends_the_solution() {
    let rhs = Rhs::new(decay, (LEVEL,));
    let problem = OdeBuilder::<Dense>::new()
        .p([RATE, 1.0])
        .rhs_implicit(rhs.value(), rhs.jacobian())
        .init(|_, _, x| x.fill(START), 1)
        .build()
        .unwrap();
    let solved = problem.bdf::<Solver>().and_then(|mut solver| solver.solve_dense(&[1.0]).map(|_| ()));
    assert!(solved.is_err());
    let error = rhs.error().expect("an error of the kernel").to_string();
    assert!(error.contains("argument `p`, dimension 0: expected 1, found 2"), "{error}");
}
