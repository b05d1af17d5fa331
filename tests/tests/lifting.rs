//! Rank lifting: functions and operators applied to arguments of too high or too low a rank, as in the thesis's AUTOMAP
//! examples A1 to A17 and the program T24 (X-matrix); A14, mri-q, is among the tuples. Programs that are ambiguous or ill-sized are in
//! the `ui` folder.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, Axis, array};

// A1 to A4: scalar functions of vectors.

#[kernel]
fn roots(xs: [f64; n]) -> [f64; n] {
    sqrt(xs)
}

#[kernel]
fn roots_by_method(xs: [f64; n]) -> [f64; n] {
    xs.sqrt()
}

#[kernel]
fn vector_sum(xs: [f64; n], ys: [f64; n]) -> [f64; n] {
    xs + ys
}

#[kernel]
fn one_more_on_either_side(xs: [f64; n]) -> ([f64; n], [f64; n]) {
    (xs + 1.0, 1.0 + xs)
}

#[kernel]
fn negated(xs: [[f64; m]; n]) -> [[f64; m]; n] {
    -xs
}

#[test]
fn a1_scalar_function_of_a_vector() {
    assert_eq!(roots(&array![1.0, 4.0, 9.0]), array![1.0, 2.0, 3.0]);
    assert_eq!(roots_by_method(&array![1.0, 4.0, 9.0]), array![1.0, 2.0, 3.0]);
    assert_eq!(vjp(roots)(&array![1.0, 4.0], &array![1.0, 8.0]).1, array![0.5, 2.0]);
    assert_eq!(negated(&array![[1.0, -2.0]]), array![[-1.0, 2.0]]);
}

#[test]
fn a2_to_a4_operators() {
    assert_eq!(vector_sum(&array![1.0, 2.0, 3.0], &array![4.0, 5.0, 6.0]), array![5.0, 7.0, 9.0]);
    let (left, right) = one_more_on_either_side(&array![3.0, 4.0, 5.0]);
    assert_eq!(left, array![4.0, 5.0, 6.0]);
    assert_eq!(right, left);
}

// A5, A6: operands of different rank are aligned at their last axes.

#[kernel]
fn scaled_cube(a: [[[f64; p]; m]; n], c: f64) -> [[[f64; p]; m]; n] {
    a * c
}

#[kernel]
fn matrix_plus_vector(mat: [[f64; m]; n], vec: [f64; m]) -> [[f64; m]; n] {
    mat + vec
}

#[kernel]
fn vector_minus_matrix(vec: [f64; m], mat: [[f64; m]; n]) -> [[f64; m]; n] {
    vec - mat
}

#[test]
fn a5_scalar_times_cube() {
    let a = Array3::from_shape_fn((2, 3, 2), |(i, j, k)| (6 * i + 2 * j + k) as f64);
    let ones = Array3::ones((2, 3, 2));
    let (value, (a_adj, c_adj)) = vjp(scaled_cube)(&a, 3.0, &ones);
    assert_eq!(value, 3.0 * &a);
    assert_eq!(a_adj, 3.0 * ones);
    assert_eq!(c_adj, 66.0);
}

#[test]
fn a6_matrix_and_vector() {
    let (mat, vec) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![10.0, 20.0, 30.0]);
    let seed = array![[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]];
    let (value, adjoints) = vjp(matrix_plus_vector)(&mat, &vec, &seed);
    assert_eq!(value, array![[11.0, 22.0, 33.0], [14.0, 25.0, 36.0]]);
    assert_eq!(adjoints, (seed.clone(), array![11.0, 22.0, 33.0]));
    let (value, adjoints) = vjp(vector_minus_matrix)(&vec, &mat, &seed);
    assert_eq!(value, array![[9.0, 18.0, 27.0], [6.0, 15.0, 24.0]]);
    assert_eq!(adjoints, (array![11.0, 22.0, 33.0], -seed));
}

#[test]
fn a6_the_last_axes_must_agree() {
    let text = Cpu
        .run(matrix_plus_vector, (&Array2::<f64>::zeros((2, 3)), &Array1::<f64>::zeros(2)))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("argument `vec`, dimension 0: expected m = 3 (from argument `mat`), found 2"),
        "{text}"
    );
}

// A7, A8: a kernel over scalars, applied to arrays.

#[kernel]
fn between(v: f64, w: f64, t: f64) -> f64 {
    v + (w - v) * t
}

#[kernel]
fn between_vectors(vs: [f64; n], ws: [f64; n], t: f64) -> [f64; n] {
    between(vs, ws, t)
}

#[kernel]
fn between_vectors_each(vs: [f64; n], ws: [f64; n], ts: [f64; n]) -> [f64; n] {
    between(vs, ws, ts)
}

#[kernel]
fn many_between(v: f64, w: f64, ts: [f64; n]) -> [f64; n] {
    between(v, w, ts)
}

#[test]
fn a8_kernel_over_scalars() {
    let (vs, ws) = (array![0.0, 1.0, 2.0], array![4.0, 5.0, 10.0]);
    assert_eq!(between(0.0, 4.0, 0.25), 1.0);
    assert_eq!(between_vectors(&vs, &ws, 0.25), array![1.0, 2.0, 4.0]);
    assert_eq!(between_vectors_each(&vs, &ws, &array![0.0, 0.5, 1.0]), array![0.0, 3.0, 10.0]);
    assert_eq!(many_between(2.0, 4.0, &array![0.0, 0.5, 1.0]), array![2.0, 3.0, 4.0]);
    let (_, (v_adj, w_adj, ts_adj)) =
        vjp(many_between)(2.0, 4.0, &array![0.0, 0.5, 1.0], &array![1.0, 10.0, 100.0]);
    assert_eq!((v_adj, w_adj), (6.0, 105.0));
    assert_eq!(ts_adj, array![2.0, 20.0, 200.0]);
}

// A10, A11, T24: the X-matrix has a diagonal and an anti-diagonal.

#[kernel]
fn x_matrix(size: usize) -> [[bool; size]; size] {
    let diagonal = build((size, size), |i, j| i == j);
    diagonal || reverse(diagonal)
}

#[kernel]
fn is_x_matrix(a: [[i64; n]; n]) -> bool {
    all(flatten(x_matrix(n) == (a != 0)))
}

#[test]
fn a10_x_matrix() {
    assert_eq!(x_matrix(3), array![[true, false, true], [false, true, false], [true, false, true]]);
}

#[test]
fn t24_check() {
    assert!(is_x_matrix(&array![[1, 0, 2], [0, 3, 0], [4, 0, 5]]));
    assert!(!is_x_matrix(&array![[1, 0, 2], [0, 0, 0], [4, 0, 5]]));
    assert!(!is_x_matrix(&array![[1, 7, 2], [0, 3, 0], [4, 0, 5]]));
}

// A12, A13: a map whose body is lifted.

#[kernel]
fn rows_are_multiples(xs: [f64; n], ys: [f64; m]) -> [[f64; n]; m] {
    map(|y| xs * y, ys)
}

#[kernel]
fn outer_by_lifting(xs: [f64; n], ys: [f64; m]) -> [[f64; m]; n] {
    map(|x| x * ys, xs)
}

#[test]
fn a12_a13_outer_products() {
    let (xs, ys) = (array![1.0, 2.0, 3.0], array![10.0, 100.0]);
    assert_eq!(rows_are_multiples(&xs, &ys), array![[10.0, 20.0, 30.0], [100.0, 200.0, 300.0]]);
    let seed = array![[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]];
    let (value, (xs_adj, ys_adj)) = vjp(outer_by_lifting)(&xs, &ys, &seed);
    assert_eq!(value, array![[10.0, 100.0], [20.0, 200.0], [30.0, 300.0]]);
    assert_eq!(xs_adj, array![10.0, 100.0, 20.0]);
    assert_eq!(ys_adj, array![7.0, 2.0]);
}

// A15 to A17: reductions are functions of a vector.

#[kernel]
fn matrix_times_vector(xss: [[f64; m]; n], ys: [f64; m]) -> [f64; n] {
    sum(xss * ys)
}

#[kernel]
fn row_sums(xss: [[f64; m]; n]) -> [f64; n] {
    reduce(add, 0.0, xss)
}

#[kernel]
fn sums_of_cube(a: [[[f64; p]; m]; n]) -> [[f64; m]; n] {
    a.sum()
}

#[kernel]
fn total(a: [[[f64; p]; m]; n]) -> f64 {
    sum(flatten(a))
}

#[kernel]
fn square_distance(p: [f64; d], c: [f64; d]) -> f64 {
    let away = p - c;
    sum(away * away)
}

#[kernel]
fn nearest(p: [f64; d], centers: [[f64; d]; k]) -> f64 {
    minimum(square_distance(p, centers))
}

#[kernel]
fn extremes_of_rows(a: [[f64; m]; n]) -> ([f64; n], [f64; n], [i64; n], [f64; n]) {
    (minimum(a), maximum(a), argmax(a), mean(a))
}

#[test]
fn a15_matrix_times_vector() {
    let (xss, ys) = (array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], array![10.0, 1.0]);
    let (value, (xss_adj, ys_adj)) = vjp(matrix_times_vector)(&xss, &ys, &array![1.0, 2.0, 3.0]);
    assert_eq!(value, array![12.0, 34.0, 56.0]);
    assert_eq!(xss_adj, array![[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]]);
    assert_eq!(ys_adj, array![22.0, 28.0]);
}

#[test]
fn a16_sums_of_rows() {
    let xss = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let (value, cotangent) = vjp(row_sums)(&xss, &array![1.0, 10.0]);
    assert_eq!(value, array![6.0, 15.0]);
    assert_eq!(cotangent, array![[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]]);
}

#[test]
fn a16_sums_of_a_cube() {
    let a = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (12 * i + 4 * j + k) as f64);
    assert_eq!(sums_of_cube(&a), a.sum_axis(Axis(2)));
    assert_eq!(value_and_grad(total)(&a), (276.0, Array3::ones((2, 3, 4))));
}

#[test]
fn a17_nearest_of_many() {
    let (p, centers) = (array![5.0, 4.0], array![[0.5, 0.5], [4.0, 5.0], [7.0, 7.0]]);
    let (value, (p_adj, centers_adj)) = value_and_grad(nearest)(&p, &centers);
    assert_eq!(value, 2.0);
    assert_eq!(p_adj, array![2.0, -2.0]);
    assert_eq!(centers_adj, array![[0.0, 0.0], [-2.0, 2.0], [0.0, 0.0]]);
    assert_gradient(|(p, c)| nearest(p, c), &(p, centers), &(p_adj, centers_adj));
}

#[test]
fn reductions_of_rows() {
    let (least, greatest, place, middle) = extremes_of_rows(&array![[3.0, 1.0, 5.0], [-1.0, -2.0, -6.0]]);
    assert_eq!(least, array![1.0, -6.0]);
    assert_eq!(greatest, array![5.0, -1.0]);
    assert_eq!(place, array![2, 0]);
    assert_eq!(middle, array![3.0, -3.0]);
}

// Casts and comparisons lift as functions do.

#[kernel]
fn number_above(xs: [f64; n], limit: f64) -> i64 {
    sum((xs > limit) as i64)
}

#[kernel]
fn any_and_all_above(xss: [[f64; m]; n], limit: f64) -> ([bool; n], [bool; n]) {
    (any(xss > limit), all(xss > limit))
}

#[kernel]
fn softmax_of_rows(z: [[f64; m]; n]) -> [[f64; m]; n] {
    softmax(z)
}

#[kernel]
fn logsumexp_of_rows(z: [[f64; m]; n]) -> [f64; n] {
    z.logsumexp()
}

#[test]
fn comparisons_and_casts() {
    assert_eq!(number_above(&array![1.0, 3.0, 2.0, 5.0], 1.5), 3);
    let (any_above, all_above) = any_and_all_above(&array![[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], 1.5);
    assert_eq!(any_above, array![true, true, false]);
    assert_eq!(all_above, array![false, true, false]);
}

#[test]
fn softmax_is_the_gradient_of_logsumexp() {
    let z = array![[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]];
    let (value, cotangent) = vjp(logsumexp_of_rows)(&z, &Array1::ones(2));
    assert_close(value, array![3.0 + (1.0 + (-1f64).exp() + (-2f64).exp()).ln(), 3f64.ln()], 1e-14);
    assert_close(cotangent.clone(), softmax_of_rows(&z), 1e-14);
    assert_gradient(|z: &Array2<f64>| logsumexp_of_rows(z).sum(), &z, &cotangent);
}
