//! Roots, fixed points and minima, and differential equations: what they are, and derivatives of the first and second order against
//! differences and closed forms.

use array_dsl::implicit::{fixed_point, minimize, root};
use array_dsl::ode::odeint;
use array_dsl::prelude::*;
use ndarray::{Array1, array};

#[kernel(value, grad, vjp, jvp, hvp)]
fn crossing(r: f64, k: f64) -> f64 {
    let (x, _) = root(|x| [x[0] * x[0] + x[1] * x[1] - r * r, x[1] - k * exp(-x[0])], [1.0, 1.0]);
    x[0] + 2.0 * x[1]
}

#[kernel(value, grad, vjp, jvp, hvp)]
fn kepler(mean: f64, eccentricity: f64) -> f64 {
    let (e, _) = fixed_point(|e| [mean + eccentricity * sin(e[0])], [mean]);
    e[0] * e[0]
}

/// A valley with a bottom that is not quadratic.
#[kernel]
fn valley(x: [f64; 2], a: f64, b: f64) -> f64 {
    (a - x[0]).powi(2) + b * (x[1] - x[0] * x[0]).powi(2) + 0.1 * x[1].powi(4)
}

#[kernel(value, grad, vjp, jvp, hvp)]
fn bottom(a: f64, b: f64) -> f64 {
    let (x, _) = minimize(|x| valley(x, a, b), [-1.2, 1.0]);
    x[0] + 3.0 * x[1]
}

#[kernel(value)]
fn found(a: f64, b: f64) -> (f64, f64, f64, [f64; 2], f64) {
    let (_, of_root) = root(|x| [x[0] * x[0] - a, x[1] - x[0] * b], [1.0, 1.0]);
    let (_, of_point) = fixed_point(|x| cos(x), [a]);
    let (_, none) = root(|x| [x[0] * x[0] + 1.0], [b]);
    let (x, of_minimum) = minimize(|x| (a - x[0]).powi(2) + b * (x[1] - x[0] * x[0]).powi(2), [-1.2, 1.0]);
    (of_root, of_point, none, x, of_minimum)
}

#[test]
fn what_is_found_and_how_far_off_it_is() {
    let (of_root, of_point, none, x, of_minimum) = found(1.0, 100.0);
    assert!(of_root < 1e-13 && of_point < 1e-15 && of_minimum < 1e-6, "{of_root} {of_point} {of_minimum}");
    assert!((x - array![1.0, 1.0]).iter().all(|d| d.abs() < 1e-7), "Rosenbrock's valley");
    assert!(none >= 1.0, "what has no root is as far off as it says: {none}");
    let e = kepler(1.0, 0.3).sqrt();
    assert!((e - 0.3 * e.sin() - 1.0).abs() < 1e-15);
}

/// Hessian times `(1, 0.5)` against differences of gradients.
macro_rules! second_order {
    ($kernel:ident, $a:expr, $b:expr) => {
        let h = 1e-4;
        let (p, m) = (grad($kernel)($a + h, $b + 0.5 * h), grad($kernel)($a - h, $b - 0.5 * h));
        let (x, y) = hvp($kernel)($a, $b, 1.0, 0.5);
        let (ex, ey) = ((p.0 - m.0) / (2.0 * h), (p.1 - m.1) / (2.0 * h));
        assert!(
            (x - ex).abs() < 1e-6 * (1.0 + ex.abs()) && (y - ey).abs() < 1e-6 * (1.0 + ey.abs()),
            "{x} {ex}, {y} {ey}"
        );
    };
}

#[test]
fn derivatives_to_the_second_order() {
    for check in [
        check_grad(crossing, (2.0, 1.5)).unwrap(),
        check_grad(kepler, (1.0, 0.3)).unwrap(),
        check_grad(bottom, (1.0, 10.0)).unwrap(),
    ] {
        assert!(check.agrees(1e-6), "{check}");
    }
    second_order!(crossing, 2.0, 1.5);
    second_order!(kepler, 1.0, 0.3);
    second_order!(bottom, 1.0, 10.0);
}

#[kernel(value)]
fn bells(times: [f64; n], tolerance: f64) -> [[f64; 1]; n] {
    odeint(|t, x| [-2.0 * t * x[0]], [1.0], times, tolerance)
}

#[kernel(value)]
fn explosion(times: [f64; n]) -> [[f64; 1]; n] {
    odeint(|_, x| [x[0] * x[0]], [1.0], times, 1e-8)
}

#[kernel]
fn pendulum(angle: f64, length: f64, times: [f64; n]) -> f64 {
    let x = odeint(|_, x| [x[1], -9.81 / length * sin(x[0])], [angle, 0.0], times, 1e-10);
    sum(flatten(x * x))
}

/// Forward, back, and nowhere.
#[test]
fn solutions() {
    let times = array![0.0, 0.5, 0.5, 1.0, 2.0, 0.0, -1.0];
    // From 2 back to 0 an error grows by e^4.
    for (tolerance, most) in [(1e-4, 5e-3), (1e-8, 5e-7), (1e-12, 5e-11)] {
        let x = bells(&times, tolerance);
        assert_eq!(x.dim(), (7, 1));
        let off = times.iter().zip(&x).map(|(t, x)| (x - (-t * t).exp()).abs()).fold(0.0, f64::max);
        assert!(off < most, "{tolerance}: {off}");
    }
    assert_eq!(bells(&array![3.0], 1e-8), array![[1.0]]);
    assert_eq!(bells(&Array1::zeros(0), 1e-8).dim(), (0, 1));
    let x = explosion(&array![0.0, 0.5, 0.9, 1.5, 2.0]);
    assert!((x[[1, 0]] - 2.0).abs() < 1e-6 && (x[[2, 0]] - 10.0).abs() < 1e-4, "{x}");
    assert!(x[[3, 0]].is_nan() && x[[4, 0]].is_nan(), "it has no end: {x}");
}

#[test]
fn derivatives_of_solutions() {
    let check = check_grad(pendulum, (0.5, 2.0, &array![0.0, 0.5, 1.0, 0.25])).unwrap();
    assert!(check.agrees(1e-6), "{check}");
    assert_eq!(check.entries, 6);
}
