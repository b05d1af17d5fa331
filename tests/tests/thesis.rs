//! The worked examples of Robert Schenck's thesis (2024), T1 to T23: reverse and forward mode of scalar programs,
//! `map`, `reduce`, `scatter`, nested maps; k-means; matrix product. Those with loops are in `loops.rs`, those with scans in
//! `scans.rs` and `operators.rs`.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, array};

// T1, figure 3.1: three intermediate values, two results.

#[kernel]
fn two_results(x0: f64, x1: f64) -> (f64, f64) {
    let v0 = x0.sin();
    let v1 = x1 * v0;
    let v2 = v0 * v1;
    (v1 + v2, v2.cos())
}

#[test]
fn t1_value() {
    assert_close(two_results(0.5, 2.0), (1.41854877, 0.89618666), 1e-8);
}

#[test]
fn t1_reverse() {
    let (value, first) = vjp(two_results)(0.5, 2.0, 1.0, 0.0);
    assert_close(value, (1.41854877, 0.89618666), 1e-8);
    assert_close(first, (3.43810709, 0.70927439), 1e-8);
    let (_, second) = vjp(two_results)(0.5, 2.0, 0.0, 1.0);
    assert_close(second, (-0.74668298, -0.10197869), 1e-8);
    assert_gradient(|(a, b)| two_results(*a, *b).0, &(0.5, 2.0), &first);
    assert_gradient(|(a, b)| two_results(*a, *b).1, &(0.5, 2.0), &second);
}

#[test]
fn t1_forward() {
    let (value, by_x0) = jvp(two_results)(0.5, 2.0, 1.0, 0.0);
    assert_close(value, (1.41854877, 0.89618666), 1e-8);
    assert_close(by_x0, (3.43810709, -0.74668298), 1e-8);
    let (_, by_x1) = jvp(two_results)(0.5, 2.0, 0.0, 1.0);
    assert_close(by_x1, (0.70927439, -0.10197869), 1e-8);
}

#[test]
fn t1_dot_product_identity() {
    // <seed, J tangent> = <J^T seed, tangent> for any seed and tangent.
    let (_, (t0, t1)) = jvp(two_results)(0.5, 2.0, 0.3, -0.7);
    let (_, (c0, c1)) = vjp(two_results)(0.5, 2.0, -1.1, 0.4);
    assert_close(-1.1 * t0 + 0.4 * t1, 0.3 * c0 - 0.7 * c1, 1e-13);
}

// T2: forward over reverse.

#[kernel(hvp)]
fn third_power(x: f64) -> f64 {
    x * x * x
}

#[test]
fn t2_second_derivative() {
    for x in [-2.0, 0.0, 0.5, 3.0] {
        assert_close(grad(third_power)(x), 3.0 * x * x, 1e-14);
        assert_close(grad(grad(third_power))(x), 6.0 * x, 1e-14);
        assert_close(hvp(third_power)(x, 1.0), 6.0 * x, 1e-14);
        assert_close(hvp(third_power)(x, -0.5), -3.0 * x, 1e-14);
    }
}

// T3, the program of the introduction.

#[kernel]
fn sine_of_product(x0: f64, x1: f64) -> f64 {
    let v = x0 * x1;
    v.sin()
}

#[test]
fn t3_forward_mode() {
    let (x0, x1, t0, t1) = (0.7f64, -1.3f64, 0.25f64, 2.0f64);
    let (value, tangent) = jvp(sine_of_product)(x0, x1, t0, t1);
    assert_close(value, (x0 * x1).sin(), 1e-14);
    assert_close(tangent, (x0 * x1).cos() * (t0 * x1 + x0 * t1), 1e-14);
}

#[test]
fn t3_reverse_mode() {
    let at = (0.7, -1.3);
    let found = grad(sine_of_product)(at.0, at.1);
    let cosine = (at.0 * at.1).cos();
    assert_close(found, (cosine * at.1, cosine * at.0), 1e-14);
    assert_gradient(|(a, b)| sine_of_product(*a, *b), &at, &found);
}

// T4: a value used twice.

#[kernel]
fn fan_out(x: f64) -> f64 {
    x * x + x
}

#[test]
fn t4_fan_out() {
    for x in [-3.0, 0.0, 0.25, 10.0] {
        assert_close(value_and_grad(fan_out)(x), (x * x + x, 2.0 * x + 1.0), 1e-14);
    }
}

// T5: a branch.

#[kernel]
fn bent(x: f64) -> f64 {
    if x > 0.0 { x * x } else { -x }
}

#[test]
fn t5_branch() {
    assert_eq!(value_and_grad(bent)(3.0), (9.0, 6.0));
    assert_eq!(value_and_grad(bent)(-3.0), (3.0, -1.0));
    assert_eq!(jvp(bent)(3.0, 2.0), (9.0, 12.0));
    assert_eq!(jvp(bent)(-3.0, 2.0), (3.0, -2.0));
}

// T7, figure 3.8: a branch and a map under a map.

#[kernel]
fn rows_by_flag(flags: [bool; n], rows: [[f64; m]; n]) -> [[f64; m]; n] {
    map(|c, row| if c { map(|a| a.sin(), row) } else { map(|a| a * a, row) }, flags, rows)
}

#[test]
fn t7_branch_between_maps() {
    let flags = array![false, true, false];
    let rows = array![[1.0, 2.0], [0.5, -0.25], [-3.0, 0.0]];
    let seed = array![[1.0, 10.0], [2.0, 4.0], [1.0, 5.0]];
    let (value, cotangent) = vjp(rows_by_flag)(&flags, &rows, &seed);
    let (s, t) = (0.5f64, -0.25f64);
    assert_close(value, array![[1.0, 4.0], [s.sin(), t.sin()], [9.0, 0.0]], 1e-14);
    assert_close(cotangent, array![[2.0, 40.0], [2.0 * s.cos(), 4.0 * t.cos()], [-6.0, 0.0]], 1e-14);
}

// T13: a map.

#[kernel]
fn sine_times_itself(xs: [f64; n]) -> [f64; n] {
    map(|a| a.sin() * a, xs)
}

#[test]
fn t13_map() {
    let xs = array![0.0, 0.5, -1.5, 3.0];
    let (value, cotangent) = vjp(sine_times_itself)(&xs, &Array1::ones(4));
    assert_close(value, xs.mapv(|a: f64| a.sin() * a), 1e-14);
    assert_close(cotangent.clone(), xs.mapv(|a: f64| a.cos() * a + a.sin()), 1e-14);
    assert_gradient(|x: &Array1<f64>| sine_times_itself(x).sum(), &xs, &cotangent);
}

// T14: a map with a free array, read through indices.

#[kernel]
fn read_through(xs: [f64; n], is: [i64; k]) -> [f64; k] {
    map(|i| xs[i], is)
}

#[test]
fn t14_free_array() {
    let (value, cotangent) =
        vjp(read_through)(&array![5.0, 6.0, 7.0], &array![1, 1, 0], &array![1.0, 2.0, 3.0]);
    assert_eq!(value, array![6.0, 6.0, 5.0]);
    assert_eq!(cotangent, array![3.0, 3.0, 0.0]);
}

// T15: products, with zeros among the factors.

#[kernel]
fn product_by_name(xs: [f64; n]) -> f64 {
    reduce(mul, 1.0, xs)
}

#[kernel]
fn product_by_closure(xs: [f64; n]) -> f64 {
    reduce(|a, b| a * b, 1.0, xs)
}

#[kernel]
fn product_by_prod(xs: [f64; n]) -> f64 {
    xs.prod()
}

#[test]
fn t15_product() {
    let cases = [
        (array![2.0, 4.0, 3.0], 24.0, array![12.0, 6.0, 8.0]),
        (array![2.0, 0.0, 3.0], 0.0, array![0.0, 6.0, 0.0]),
        (array![0.0, 0.0, 3.0], 0.0, array![0.0, 0.0, 0.0]),
    ];
    for (xs, value, gradient) in cases {
        assert_close(value_and_grad(product_by_name)(&xs), (value, gradient.clone()), 1e-14);
        assert_close(value_and_grad(product_by_closure)(&xs), (value, gradient.clone()), 1e-14);
        assert_close(value_and_grad(product_by_prod)(&xs), (value, gradient.clone()), 1e-14);
        assert_gradient(|x: &Array1<f64>| product_by_prod(x), &xs, &gradient);
    }
}

// T16: a minimum with a tie; a product of matrices, whose operator does not commute.

#[kernel]
fn least_of(xs: [f64; n]) -> f64 {
    reduce(min, f64::INFINITY, xs)
}

#[kernel]
fn greatest_of(xs: [f64; n]) -> f64 {
    reduce(|a, b| a.max(b), f64::NEG_INFINITY, xs)
}

#[test]
fn t16_minimum() {
    let xs = array![3.0, 1.0, 2.0, 1.0];
    assert_eq!(value_and_grad(least_of)(&xs), (1.0, array![0.0, 1.0, 0.0, 0.0]));
    assert_eq!(value_and_grad(greatest_of)(&-xs), (-1.0, array![0.0, 1.0, 0.0, 0.0]));
}

#[kernel]
fn product_of_three(ms: [[[f64; 2]; 2]; 3]) -> [[f64; 2]; 2] {
    matmul(matmul(ms[0], ms[1]), ms[2])
}

#[test]
fn t16_matrix_product() {
    let ms = array![[[1.0, 2.0], [0.5, -1.0]], [[0.0, 1.0], [3.0, 2.0]], [[2.0, -0.5], [1.0, 1.5]]];
    let seed = array![[1.0, 0.3], [-0.7, 2.0]];
    let (value, cotangent) = vjp(product_of_three)(&ms, &seed);
    assert_close(value, array![[17.0, 4.5], [-7.5, -0.75]], 1e-14);
    assert_gradient(|m: &Array3<f64>| (product_of_three(m) * &seed).sum(), &ms, &cotangent);
}

// T20: k-means. The cost's Hessian by the centers is diagonal, so one product with ones gives all of it, and
// Newton's step is the move to the means of the clusters.

#[kernel(hvp)]
fn clustering_cost(centers: [[f64; d]; k], #[no_grad] points: [[f64; d]; n]) -> f64 {
    sum(map(
        |p| {
            minimum(map(
                |c| {
                    let away = p - c;
                    sum(away * away)
                },
                centers,
            ))
        },
        points,
    ))
}

#[test]
fn t20_k_means() {
    let points = array![[0.0, 0.0], [0.0, 1.0], [4.0, 4.0], [5.0, 4.0], [4.0, 6.0]];
    let centers = array![[0.5, 0.5], [4.0, 5.0]];
    let (value, gradient) = value_and_grad(clustering_cost)(&centers, &points);
    assert_eq!(value, 5.0);
    assert_eq!(gradient, array![[2.0, 0.0], [-2.0, 2.0]]);
    assert_gradient(|c: &Array2<f64>| clustering_cost(c, &points), &centers, &gradient);

    let curvature = hvp(clustering_cost)(&centers, &points, &Array2::ones((2, 2)));
    assert_eq!(curvature, array![[4.0, 4.0], [6.0, 6.0]]);
    let means = array![[0.0, 0.5], [13.0 / 3.0, 14.0 / 3.0]];
    assert_close(&centers - &(gradient / curvature), means, 1e-14);
}

// T21: a scatter replaces; what is replaced gets no cotangent.

#[kernel]
fn put(xs: [f64; n], is: [i64; k], vs: [f64; k]) -> [f64; n] {
    scatter(xs, is, vs)
}

#[test]
fn t21_scatter() {
    let xs = array![1.0, 2.0, 3.0, 4.0];
    let (is, vs) = (array![2, 0], array![7.0, 8.0]);
    let (value, (xs_adj, vs_adj)) = vjp(put)(&xs, &is, &vs, &array![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(value, array![8.0, 2.0, 7.0, 4.0]);
    assert_eq!(vs_adj, array![3.0, 1.0]);
    assert_eq!(xs_adj, array![0.0, 2.0, 0.0, 4.0]);
    assert_eq!(xs, array![1.0, 2.0, 3.0, 4.0], "the argument is left as it was");
}

// T22 and T23: matrix product, built in and as nested maps.

#[kernel]
fn product_built_in(x: [[f64; k]; n], y: [[f64; m]; k]) -> [[f64; m]; n] {
    matmul(x, y)
}

#[kernel]
fn product_by_maps(xss: [[f64; k]; n], yss: [[f64; m]; k]) -> [[f64; m]; n] {
    map(|xs| map(|ys| reduce(add, 0.0, map(mul, xs, ys)), transpose(yss)), xss)
}

#[test]
fn t22_matrix_product() {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[5.0, 6.0], [7.0, 8.0]]);
    let (value, adjoints) = vjp(product_built_in)(&a, &b, &Array2::ones((2, 2)));
    assert_eq!(value, array![[19.0, 22.0], [43.0, 50.0]]);
    assert_eq!(adjoints, (array![[11.0, 15.0], [11.0, 15.0]], array![[4.0, 4.0], [6.0, 6.0]]));
}

#[test]
fn t23_matrix_product_by_maps() {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[5.0, 6.0], [7.0, 8.0]]);
    let (value, adjoints) = vjp(product_by_maps)(&a, &b, &Array2::ones((2, 2)));
    assert_eq!(value, array![[19.0, 22.0], [43.0, 50.0]]);
    assert_eq!(adjoints, (array![[11.0, 15.0], [11.0, 15.0]], array![[4.0, 4.0], [6.0, 6.0]]));
}

#[test]
fn t23_forms_agree_on_other_shapes() {
    let a = Array2::from_shape_fn((3, 5), |(i, j)| (i as f64 - 1.3) * 0.7 + j as f64);
    let b = Array2::from_shape_fn((5, 4), |(i, j)| (i as f64 - 2.1) * (j as f64 + 0.4));
    let seed = Array2::from_shape_fn((3, 4), |(i, j)| 1.0 + i as f64 - 0.5 * j as f64);
    let (value, adjoints) = vjp(product_built_in)(&a, &b, &seed);
    assert_close(value.clone(), a.dot(&b), 1e-13);
    assert_close(adjoints.clone(), (seed.dot(&b.t()), a.t().dot(&seed)), 1e-13);
    let (value_by_maps, adjoints_by_maps) = vjp(product_by_maps)(&a, &b, &seed);
    assert_close(value_by_maps, value, 1e-13);
    assert_close(adjoints_by_maps, adjoints, 1e-13);
}
