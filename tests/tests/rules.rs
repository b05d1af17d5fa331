//! Derivatives that the user writes: `#[kernel(vjp = rule)]`.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

// A rule that is the derivative, of a function whose own one is worse: the norm at 0.

#[kernel]
fn norm_rule(x: [f64; n], ct: f64) -> [f64; n] {
    let r = sum(x * x).sqrt();
    if r > 0.0 { x / r * ct } else { x }
}

#[kernel(vjp = norm_rule, hvp, jacobian)]
fn norm(x: [f64; n]) -> f64 {
    sum(x * x).sqrt()
}

#[kernel]
fn shifted(x: [f64; n], y: [f64; n]) -> f64 {
    norm(x - y) + norm(x)
}

#[test]
fn the_rule_is_the_derivative() {
    let (zero, x) = (Array1::<f64>::zeros(3), array![3.0, 0.0, 4.0]);
    assert_eq!(value_and_grad(norm)(&zero), (0.0, zero.clone()));
    assert_eq!(value_and_grad(norm)(&x), (5.0, array![0.6, 0.0, 0.8]));
    assert_eq!(jvp(norm)(&x, &array![1.0, 7.0, 0.0]), (5.0, 0.6));
    assert_eq!(jacobian(norm)(&x), array![0.6, 0.0, 0.8]);
    // It has derivatives itself.
    let v = array![1.0, 2.0, -1.0];
    let expected = (&v - &(&x * (x.dot(&v) / 25.0))) / 5.0;
    assert_close(hvp(norm)(&x, &v), expected, 1e-14);
    // And in kernels that call it.
    let (dx, dy) = grad(shifted)(&x, &x);
    assert_eq!((dx, dy), (array![0.6, 0.0, 0.8], zero));
    let y = array![1.0, 1.0, 1.0];
    let check = check_grad(shifted, (&x, &y)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// A rule that says something else than the derivative: the reversal of a gradient, and a straight-through estimate.

#[kernel]
fn reversed_rule(x: f64, ct: f64) -> f64 {
    -ct + 0.0 * x
}

#[kernel(vjp = reversed_rule)]
fn reversed(x: f64) -> f64 {
    x
}

#[kernel]
fn through_rule(x: f64, ct: f64) -> f64 {
    if x.abs() < 2.0 { ct } else { 0.0 }
}

#[kernel(vjp = crate::through_rule)]
fn rounded(x: f64) -> f64 {
    x.round()
}

#[kernel]
fn adversarial(w: [f64; n], x: [f64; n]) -> f64 {
    sum(reversed(w) * rounded(x))
}

#[test]
fn rules_of_numbers_are_lifted() {
    let (w, x) = (array![1.0, 2.0, 3.0], array![0.6, -1.4, 5.2]);
    let (value, (dw, dx)) = value_and_grad(adversarial)(&w, &x);
    assert_eq!(value, 1.0 - 2.0 + 15.0);
    assert_eq!(dw, array![-1.0, 1.0, -5.0]);
    assert_eq!(dx, array![1.0, 2.0, 0.0]);
    let (_, t) = jvp(adversarial)(&w, &x, &array![1.0, 0.0, 0.0], &array![0.0, 1.0, 1.0]);
    assert_eq!(t, -1.0 + 2.0);
}

// Several arguments, one of them not differentiated, several results; sizes of other names.

#[kernel]
fn solve_rule(
    a: [[f64; m]; m],
    b: [f64; m],
    steps: usize,
    ct: [f64; m],
    rest: f64,
) -> ([[f64; m]; m], [f64; m]) {
    // Of x = a^-1 b: b_ct = a^-T ct, a_ct = -b_ct x^T, by the iteration that the kernel itself makes.
    let mut x = zeros(dim(b, 0));
    let mut z = zeros(dim(b, 0));
    for _ in 0..steps {
        x += b - matvec(a, x);
        z += ct - matvec(transpose(a), z);
    }
    (outer(-z, x) + 0.0 * rest, z)
}

#[kernel(vjp = solve_rule)]
fn solve(a: [[f64; n]; n], b: [f64; n], steps: usize) -> ([f64; n], f64) {
    let mut x = zeros(dim(b, 0));
    for _ in 0..steps {
        x += b - matvec(a, x);
    }
    (x, stop_gradient(norm(b - matvec(a, x))))
}

#[kernel]
fn answer(a: [[f64; n]; n], b: [f64; n]) -> f64 {
    let (x, _) = solve(a, b, 60);
    sum(x * x)
}

#[test]
fn implicit_differentiation() {
    let a =
        Array2::from_shape_fn((3, 3), |(i, j)| if i == j { 1.0 } else { 0.1 * (i as f64 - 2.0 * j as f64) });
    let b = array![1.0, 2.0, 3.0];
    let (da, db) = grad(answer)(&a, &b);
    assert_gradient(|a| answer(a, &b), &a, &da);
    assert_gradient(|b| answer(&a, b), &b, &db);
    let check = check_grad(answer, (&a, &b)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// In loops, in nests, and where it depends on a condition.

#[kernel]
fn iterated(x: [f64; n], steps: usize) -> f64 {
    let mut y = x;
    for k in 0..steps {
        y = if k % 2 == 0 { 0.5 * y + norm(y) } else { y * y };
    }
    sum(y)
}

#[kernel]
fn rows(a: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| if a[i][0] > 0.0 { norm(a[i]) } else { -1.0 })
}

#[test]
fn in_loops_and_nests() {
    let x = array![0.3, -0.2, 0.5];
    let check = check_grad(iterated, (&x, 3)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
    let a = array![[3.0, 4.0], [-1.0, 0.0], [0.5, 0.5]];
    let check = check_grad(rows, (&a,)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
    let (_, d) = vjp(rows)(&a, &array![1.0, 1.0, 0.0]);
    assert_close(d, array![[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]], 1e-15);
}

#[kernel]
fn inside(x: [f64; n]) -> [f64; n] {
    grad(|y| norm(y) * y[0])(x)
}

#[test]
fn of_derivatives_inside_kernels() {
    assert_close(inside(&array![3.0, 4.0]), array![5.0 + 9.0 / 5.0, 12.0 / 5.0], 1e-14);
    let check = check_grad(inside, (&array![3.0, 4.0],)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}
