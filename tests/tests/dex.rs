//! Example programs of the Dex paper (Paszke et al., 2021) and of a study of it, with their numbers: pointwise
//! comprehensions, gathers, branches per element, products with zeros, stencils, broadcasts, second order.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

// E1: transposition by index.

#[kernel]
fn turned(m: [[f64; c]; r]) -> [[f64; r]; c] {
    build((c, r), |i, j| m[j][i])
}

#[test]
fn e1_transpose() {
    let m = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(turned(&m), array![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
}

// E2, E20: matrix product and its reverse.

#[kernel]
fn product(x: [[f64; k]; n], y: [[f64; m]; k]) -> [[f64; m]; n] {
    build((n, m), |i, j| sum(build(k, |l| x[i][l] * y[l][j])))
}

fn factors() -> (Array2<f64>, Array2<f64>) {
    (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
}

#[test]
fn e2_matrix_product() {
    let (x, y) = factors();
    assert_eq!(product(&x, &y), array![[4.0, 5.0], [10.0, 11.0]]);
}

#[test]
fn e20_matrix_product_in_reverse() {
    let (x, y) = factors();
    let (_, (x_adj, y_adj)) = vjp(product)(&x, &y, &Array2::ones((2, 2)));
    assert_eq!(x_adj, array![[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]);
    assert_eq!(y_adj, array![[5.0, 5.0], [7.0, 7.0], [9.0, 9.0]]);
    assert_gradient(|(x, y)| product(x, y).sum(), &(x, y), &(x_adj, y_adj));
}

// E4: from two indices to one and back.

#[kernel]
fn uncurried(x: [[f64; m]; n]) -> [f64; n * m] {
    flatten(x)
}

#[kernel]
fn curried(xs: [f64; k], n: usize, m: usize) -> [[f64; m]; n] {
    build((n, m), |i, j| xs[i * m + j])
}

#[kernel]
fn there_and_back(x: [[f64; m]; n]) -> [[f64; m]; n] {
    let flat = uncurried(x);
    build((n, m), |i, j| flat[i * m + j])
}

#[test]
fn e4_curry() {
    let (x, _) = factors();
    let flat = uncurried(&x);
    assert_eq!(flat, array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(curried(&flat, 2, 3), x);
    let (same, cotangent) = vjp(there_and_back)(&x, &(2.0 * &x));
    assert_eq!(same, x);
    assert_eq!(cotangent, 2.0 * x);
}

// E13, E23: sums of powers, first and second order.

#[kernel(hvp)]
fn sum_of_squares(x: [f64; n]) -> f64 {
    sum(build(n, |i| x[i] * x[i]))
}

#[kernel(hvp)]
fn sum_of_cubes(x: [f64; n]) -> f64 {
    sum(x * x * x)
}

#[test]
fn e13_sum_of_squares() {
    let x = array![1.0, 2.0, 3.0, 4.0];
    assert_eq!(value_and_grad(sum_of_squares)(&x), (30.0, array![2.0, 4.0, 6.0, 8.0]));
    let direction = array![1.0, -1.0, 0.5, 0.0];
    assert_eq!(hvp(sum_of_squares)(&x, &direction), 2.0 * direction);
}

#[test]
fn e23_second_order() {
    let x = array![1.0, 2.0, 3.0];
    assert_eq!(grad(sum_of_cubes)(&x), array![3.0, 12.0, 27.0]);
    // The Hessian is diagonal: its product with ones is its diagonal.
    assert_eq!(hvp(sum_of_cubes)(&x, &Array1::ones(3)), array![6.0, 12.0, 18.0]);
    assert_eq!(hvp(sum_of_cubes)(&x, &array![0.0, 1.0, 0.0]), array![0.0, 12.0, 0.0]);
}

// E14: a function of gathered elements; an element read twice gets both contributions.

#[kernel]
fn sine_of_gathered(x: [f64; n], ix: [i64; k]) -> [f64; k] {
    build(k, |i| x[ix[i]].sin())
}

#[kernel]
fn sine_of_gather(x: [f64; n], ix: [i64; k]) -> [f64; k] {
    gather(x, ix).sin()
}

#[test]
fn e14_gather() {
    let (x, ix) = (array![0.0, 1.0, 2.0, 3.0], array![0, 2, 2, 3, 0]);
    let y = array![0.0, 0.909297, 0.909297, 0.141120, 0.0];
    let x_adj = array![2.0, 0.0, -0.832294, -0.989992];
    assert_close(vjp(sine_of_gathered)(&x, &ix, &Array1::ones(5)), (y.clone(), x_adj.clone()), 1e-6);
    assert_close(vjp(sine_of_gather)(&x, &ix, &Array1::ones(5)), (y, x_adj), 1e-6);
    let exact = array![2.0, 0.0, 2.0 * 2f64.cos(), 3f64.cos()];
    assert_close(vjp(sine_of_gathered)(&x, &ix, &Array1::ones(5)).1, exact, 1e-14);
}

// E15: a histogram of weights, the sum that a reduction by key is.

#[kernel]
fn binned_squares(x: [f64; n], ix: [i64; n]) -> [f64; 3] {
    hist(add, 0.0, 3, ix, x * x)
}

#[kernel]
fn energy_of_bins(x: [f64; n], ix: [i64; n]) -> f64 {
    let bins = binned_squares(x, ix);
    sum(bins * bins)
}

#[test]
fn e15_weighted_histogram() {
    let (x, ix) = (array![1.0, 2.0, 3.0, 4.0, 5.0], array![0, 2, 2, 1, 0]);
    let (bins, x_adj) = vjp(binned_squares)(&x, &ix, &array![1.0, 10.0, 100.0]);
    assert_eq!(bins, array![26.0, 16.0, 13.0]);
    assert_eq!(x_adj, array![2.0, 400.0, 600.0, 80.0, 10.0]);
    assert_eq!(grad(energy_of_bins)(&x, &ix), array![104.0, 104.0, 156.0, 256.0, 520.0]);
}

// E22: a branch chosen per element.

#[kernel]
fn sine_or_square(x: [f64; n], s: [i64; n]) -> [f64; n] {
    build(n, |i| if s[i] < 1 { x[i].sin() } else { x[i] * x[i] })
}

#[test]
fn e22_branch_per_element() {
    let (x, s) = (array![0.0, 1.0, 2.0, 3.0], array![0, 1, 0, 1]);
    let (y, x_adj) = vjp(sine_or_square)(&x, &s, &Array1::ones(4));
    assert_close(y, array![0.0, 1.0, 0.909297, 9.0], 1e-6);
    assert_close(x_adj.clone(), array![1.0, 2.0, -0.416147, 6.0], 1e-6);
    assert_gradient(|x: &Array1<f64>| sine_or_square(x, &s).sum(), &x, &x_adj);
}

// E24: products of rows, one of them with a zero: no division by the element.

#[kernel]
fn row_products(v: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| reduce(mul, 1.0, v[i]))
}

#[kernel]
fn row_products_lifted(v: [[f64; m]; n]) -> [f64; n] {
    prod(v)
}

#[test]
fn e24_row_products() {
    let v = array![[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]];
    let expected = (array![6.0, 0.0], array![[6.0, 3.0, 2.0], [0.0, 24.0, 0.0]]);
    assert_close(vjp(row_products)(&v, &Array1::ones(2)), expected.clone(), 1e-14);
    assert_close(vjp(row_products_lifted)(&v, &Array1::ones(2)), expected, 1e-14);
}

// E25: a periodic stencil.

#[kernel]
fn times_neighbor(x: [f64; n]) -> [f64; n] {
    build(n, |i| x[i] * x[(i + 1) % n])
}

#[kernel]
fn times_rotated(x: [f64; n]) -> [f64; n] {
    x * rotate(x, 1)
}

#[test]
fn e25_periodic_stencil() {
    let x = array![1.0, 2.0, 3.0, 4.0];
    let expected = (array![2.0, 6.0, 12.0, 4.0], array![6.0, 4.0, 6.0, 4.0]);
    assert_eq!(vjp(times_neighbor)(&x, &Array1::ones(4)), expected);
    assert_eq!(vjp(times_rotated)(&x, &Array1::ones(4)), expected);
}

// E26: a value that every element reads; its adjoint is a sum.

#[kernel]
fn scaled(w: f64, x: [f64; n]) -> [f64; n] {
    build(n, |i| w * x[i])
}

#[test]
fn e26_broadcast() {
    let x = array![1.0, 2.0, 3.0, 4.0];
    let (y, (w_adj, x_adj)) = vjp(scaled)(2.5, &x, &Array1::ones(4));
    assert_eq!(y, array![2.5, 5.0, 7.5, 10.0]);
    assert_eq!(x_adj, array![2.5, 2.5, 2.5, 2.5]);
    assert_eq!(w_adj, 10.0);
}
