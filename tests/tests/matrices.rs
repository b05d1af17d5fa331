//! Jacobians, Hessians and batches, which kernels have on request.

use array_dsl::prelude::*;
use ndarray::{Array2, array};

#[kernel(jacobian)]
fn cartesian(r: f64, angle: f64) -> (f64, f64) {
    (r * angle.cos(), r * angle.sin())
}

#[kernel(jacobian)]
fn neighbors(x: [f32; n]) -> [f32; n] {
    build(n, |i| x[i] * x[(i + 1) % n])
}

#[kernel(jacobian)]
fn layer(w: [[f64; n]; m], #[no_grad] x: [f64; n]) -> [f64; m] {
    matvec(w, x).tanh()
}

#[kernel(hessian)]
fn rosenbrock(x: [f64; n]) -> f64 {
    build(n - 1, |i| {
        let (valley, slope) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
        100.0 * valley * valley + slope * slope
    })
    .sum()
}

#[kernel(hessian)]
fn bilinear(x: [f64; n], w: [f64; n]) -> f64 {
    (x * w).sum() + (w * w * w).sum()
}

#[kernel(vmap)]
fn norm(x: [f64; n], p: f64) -> f64 {
    x.abs().powf(p).sum().powf(1.0 / p)
}

#[test]
fn jacobians() {
    assert_eq!(jacobian(cartesian)(2.0, 0.0), ((1.0, 0.0), (0.0, 2.0)));
    let j = jacobian(neighbors)(&array![2.0, 3.0, 5.0]);
    assert_eq!(j, array![[3.0, 2.0, 0.0], [0.0, 5.0, 3.0], [5.0, 0.0, 2.0]]);
    assert_eq!(jacobian(neighbors)(&array![]), Array2::<f32>::zeros((0, 0)));
    // Rows of other units do not matter to a unit.
    let j = jacobian(layer)(&Array2::zeros((2, 3)), &array![1.0, 2.0, 3.0]);
    assert_eq!(j.shape(), [2, 2, 3]);
    assert_eq!(j.index_axis(ndarray::Axis(0), 1), array![[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]);
}

#[test]
fn hessians() {
    assert_eq!(hessian(rosenbrock)(&array![1.0, 1.0]), array![[802.0, -400.0], [-400.0, 200.0]]);
    let ((xx, xw), (wx, ww)) = hessian(bilinear)(&array![1.0, 2.0], &array![3.0, 4.0]);
    assert_eq!((xx, xw), (Array2::zeros((2, 2)), Array2::eye(2)));
    assert_eq!((wx, ww), (Array2::eye(2), array![[18.0, 0.0], [0.0, 24.0]]));
}

#[test]
fn batches() {
    let x = array![[3.0, 4.0], [1.0, -1.0], [0.0, 0.0]];
    assert_eq!(vmap(norm)(&x, &array![2.0, 1.0, 1.0]), array![5.0, 2.0, 0.0]);
    let wrong = Cpu.run(vmap(norm), (&x, &array![1.0, 2.0])).expect_err("a batch of three and one of two");
    let text = wrong.to_string();
    assert!(text.contains("`norm`") && text.contains("`p`") && text.contains("found 2"), "{text}");
}

#[kernel(jacobian)]
fn mixed(x: [[f64; m]; n], w: [f64; m]) -> ([[f64; m]; n], f64) {
    let y = x * w;
    (build((n, m), |i, j| y[i][j] * y[n - 1 - i][(j + 1) % m].sin()), y.flatten().sum().cos())
}

#[kernel(jacobian)]
fn norms(x: [[f64; m]; n]) -> [f32; n] {
    map(|row| (row * row).sum().sqrt() as f32, x)
}

#[kernel(jacobian)]
fn narrowed(x: [f64; n], w: f32) -> ([f32; n], f64) {
    (x as f32 * w, w as f64 * x.sum())
}

#[kernel(hessian, jacobian)]
fn steps(x: [f64; n], w: f64) -> f64 {
    let mut y = x;
    for _t in 0..3 {
        y = build(n, |i| (w * y[i] + y[(i + 1) % n]).sin());
    }
    (y * y).sum()
}

#[kernel(jacobian)]
fn chosen(x: [f64; n], count: usize) -> [f64; count] {
    build(count, |i| x[i % n] * i as f64)
}

fn numbers(n: usize) -> ndarray::Array1<f64> {
    (0..n).map(|i| (i as f64 * 0.7).sin() + 1.5).collect()
}

// Strips that divide the number of directions, that do not, that are wider than it, and of one direction.
#[test]
fn any_number_of_directions_at_a_time_gives_the_same() {
    use array_dsl::directions_at_once;
    let (x, w) = (Array2::from_shape_vec((3, 4), numbers(12).to_vec()).expect("12 numbers"), numbers(4));
    let (all, rows, bends) = (jacobian(mixed)(&x, &w), jacobian(norms)(&x), hessian(steps)(&numbers(7), 0.9));
    let picked = jacobian(chosen)(&numbers(3), 5);
    for count in [0, 1, 2, 3, 5, 7, 8, 11, 12, 13, 100, usize::MAX] {
        directions_at_once(count, || {
            assert_eq!(jacobian(mixed)(&x, &w), all, "{count}");
            assert_eq!(jacobian(norms)(&x), rows, "{count}");
            assert_eq!(hessian(steps)(&numbers(7), 0.9), bends, "{count}");
            assert_eq!(jacobian(chosen)(&numbers(3), 5), picked, "{count}");
            assert_eq!(jacobian(neighbors)(&array![]), Array2::<f32>::zeros((0, 0)), "{count}");
            assert_eq!(jacobian(neighbors)(&array![3.0]), array![[6.0]], "{count}");
            assert_eq!(hessian(steps)(&array![], 0.9).0.0.shape(), [0, 0], "{count}");
        });
    }
    // Entry by entry: tangents along units.
    let ((by_x, by_w), (sum_by_x, _)) = all;
    for (at, _) in x.indexed_iter() {
        let mut unit = Array2::zeros((3, 4));
        unit[at] = 1.0;
        let (_, (column, slope)) = jvp(mixed)(&x, &w, &unit, &ndarray::Array1::zeros(4));
        for (r, expected) in column.indexed_iter() {
            assert!((by_x[[r.0, r.1, at.0, at.1]] - expected).abs() < 1e-14);
        }
        assert!((sum_by_x[at] - slope).abs() < 1e-14);
    }
    assert_eq!(by_w.shape(), [3, 4, 4]);
    assert_eq!(rows.shape(), [3, 3, 4]);
    assert_eq!(rows[[1, 0, 2]], 0.0);
    type Single = (Array2<f32>, ndarray::Array1<f32>);
    let ((a, b), (c, d)): (Single, (ndarray::Array1<f64>, f64)) = jacobian(narrowed)(&array![1.0, 3.0], 0.5);
    assert_eq!((a, b), (array![[0.5, 0.0], [0.0, 0.5]], array![1.0, 3.0]));
    assert_eq!((c, d), (array![0.5, 0.5], 4.0));
    assert_eq!(picked.row(4), array![0.0, 4.0, 0.0]);
}
