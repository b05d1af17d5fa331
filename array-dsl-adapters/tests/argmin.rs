//! Cost, gradient and Hessian against closed forms, and what argmin's solvers find with them.

use argmin::core::{CostFunction, Executor, Gradient, Hessian, Operator, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::BFGS;
use array_dsl::prelude::*;
use array_dsl_adapters::argmin::Problem;
use ndarray::{Array1, Array2, array};

/// Half the square of `a x - b`.
#[kernel(hessian)]
fn half_square(x: [f64; n], #[no_grad] a: [[f64; n]; m], #[no_grad] b: [f64; m]) -> f64 {
    let off = matvec(a, x) - b;
    0.5 * dot(off, off)
}

#[kernel]
fn residuals(x: [f64; n], #[no_grad] a: [[f64; n]; m], #[no_grad] b: [f64; m]) -> [f64; m] {
    matvec(a, x) - b
}

fn data() -> (Array2<f64>, Array1<f64>) {
    (array![[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], array![1.0, -2.0, 0.25])
}

#[test]
fn derivatives_are_those_of_the_closed_form() {
    let (a, b) = data();
    let (problem, x) = (Problem::new(half_square, (&a, &b)), vec![0.7, -1.5]);
    let off = a.dot(&array![0.7, -1.5]) - &b;
    assert!((problem.cost(&x).unwrap() - 0.5 * off.dot(&off)).abs() < 1e-12);
    let gradient = a.t().dot(&off);
    assert!(problem.gradient(&x).unwrap().iter().zip(&gradient).all(|(g, e)| (g - e).abs() < 1e-12));
    let (hessian, expected) = (problem.hessian(&x).unwrap(), a.t().dot(&a));
    assert!(expected.indexed_iter().all(|((i, j), e)| (hessian[i][j] - e).abs() < 1e-12));
    assert_eq!(Problem::new(residuals, (&a, &b)).apply(&x).unwrap(), off.to_vec());
}

#[test]
fn solvers_find_the_minimum() {
    let (a, b) = data();
    // The normal equations by Cramer's rule.
    let (m, r) = (a.t().dot(&a), a.t().dot(&b));
    let det = m[[0, 0]] * m[[1, 1]] - m[[0, 1]] * m[[1, 0]];
    let best = [(r[0] * m[[1, 1]] - r[1] * m[[0, 1]]) / det, (m[[0, 0]] * r[1] - m[[1, 0]] * r[0]) / det];
    let close = |x: &Vec<f64>| x.iter().zip(best).all(|(x, b)| (x - b).abs() < 1e-6);
    let problem = Problem::new(half_square, (a, b));

    let one = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    let bfgs = Executor::new(problem.clone(), BFGS::new(MoreThuenteLineSearch::new()))
        .configure(|s| s.param(vec![5.0, 5.0]).inv_hessian(one).max_iters(100))
        .run()
        .unwrap();
    assert!(close(bfgs.state().get_best_param().unwrap()));
    let newton = Executor::new(problem, NewtonCG::new(MoreThuenteLineSearch::new()))
        .configure(|s| s.param(vec![5.0, 5.0]).max_iters(100))
        .run()
        .unwrap();
    assert!(close(newton.state().get_best_param().unwrap()));
}

#[test]
fn what_the_kernel_refuses_is_an_error_of_the_problem() {
    let (a, b) = data();
    let problem = Problem::new(half_square, (&a, &b));
    for error in [problem.cost(&vec![1.0; 3]).err(), problem.gradient(&vec![1.0; 3]).err()] {
        let error = error.unwrap().downcast::<Error>().expect("an error of the kernel");
        assert!(error.to_string().contains("argument `a`, dimension 1: expected n = 3"), "{error}");
    }
}
