//! The twenty example programs of "Dual-Numbers Reverse AD for Functional Array Languages" (Smeding, Konarski,
//! Peyton Jones, Fitzgibbon, 2025), with the values the report states or its rules give. Programs that are
//! statements about representation (sharing, staging, types) are tested by the numbers they stand for.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array, Array1, Array2, Array4, array};

// 1. Doubling n times: without sharing of the adjoint's terms this takes 2^n steps.

#[kernel]
fn three_doublings(x0: f64) -> f64 {
    let x1 = x0 + x0;
    let x2 = x1 + x1;
    x2 + x2
}

#[kernel]
fn forty_doublings(x: f64) -> f64 {
    let x8 = five_more(three_doublings(x));
    let x16 = five_more(three_doublings(x8));
    let x24 = five_more(three_doublings(x16));
    let x32 = five_more(three_doublings(x24));
    five_more(three_doublings(x32))
}

#[kernel]
fn five_more(x0: f64) -> f64 {
    let x1 = x0 + x0;
    let x2 = x1 + x1;
    let x3 = x2 + x2;
    let x4 = x3 + x3;
    x4 + x4
}

#[kernel]
fn forty_doublings_of_arrays(x: [f64; n]) -> [f64; n] {
    forty_doublings(x)
}

#[test]
fn p1_doublings() {
    assert_eq!(value_and_grad(three_doublings)(1.5), (12.0, 8.0));
    let scale = 2f64.powi(40);
    assert_eq!(value_and_grad(forty_doublings)(1.5), (1.5 * scale, scale));
    assert_eq!(jvp(forty_doublings)(1.5, 3.0), (1.5 * scale, 3.0 * scale));
    let (value, cotangent) = vjp(forty_doublings_of_arrays)(&array![1.5, -2.0], &array![1.0, 0.5]);
    assert_eq!(value, array![1.5 * scale, -2.0 * scale]);
    assert_eq!(cotangent, array![scale, 0.5 * scale]);
}

// 2. Figure 4.

#[kernel]
fn figure_4(x: f64) -> f64 {
    let y = x.exp();
    let z = y.ln();
    y + z.sin() / z.cos()
}

#[test]
fn p2_figure_4() {
    assert_close(value_and_grad(figure_4)(0.0), (1.0, 2.0), 1e-14);
    let slope = grad(figure_4)(0.3);
    assert_close(slope, 0.3f64.exp() + 1.0 / 0.3f64.cos().powi(2), 1e-13);
}

// 3. A linear function is its own derivative.

#[kernel]
fn linear(x: f64, y: f64) -> f64 {
    2.0 * x + 5.0 * y
}

#[test]
fn p3_linear() {
    for (x, y) in [(0.0, 0.0), (1.5, -2.0), (-7.0, 3.0)] {
        let (value, tangent) = jvp(linear)(x, y, 0.5, -1.0);
        assert_eq!(value, linear(x, y));
        assert_eq!(tangent, linear(0.5, -1.0));
        assert_eq!(grad(linear)(x, y), (2.0, 5.0));
    }
}

// 4. Sum over the outer axis.

#[kernel]
fn outer_sums(a: [[f64; m]; n]) -> [f64; m] {
    sum(transpose(a))
}

#[kernel]
fn outer_sums_pointwise(a: [[f64; m]; n]) -> [f64; m] {
    build(m, |j| sum(build(n, |i| a[i][j])))
}

#[kernel]
fn weighted_outer_sums(a: [[f64; m]; n], #[no_grad] weights: [f64; m]) -> f64 {
    sum(outer_sums(a) * weights)
}

#[test]
fn p4_outer_sums() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let weights = array![1.0, 10.0, 100.0];
    assert_eq!(outer_sums(&a), array![12.0, 15.0, 18.0]);
    assert_eq!(outer_sums_pointwise(&a), array![12.0, 15.0, 18.0]);
    let every_row = array![[1.0, 10.0, 100.0], [1.0, 10.0, 100.0], [1.0, 10.0, 100.0]];
    assert_eq!(value_and_grad(weighted_outer_sums)(&a, &weights), (1962.0, every_row.clone()));
    assert_eq!(vjp(outer_sums_pointwise)(&a, &weights).1, every_row);
}

// 5. The report's `scatter` adds, so it is `scatter_add` here; as a histogram it is the same.

#[kernel]
fn scatter_halves(xs: [f64; 9], #[no_grad] weights: [f64; 6]) -> f64 {
    sum(scatter_add(zeros(6), iota(9) / 2, xs) * weights)
}

#[kernel]
fn histogram_halves(xs: [f64; 9]) -> [f64; 6] {
    hist(add, 0.0, 6, build(9, |i| i / 2), xs)
}

#[test]
fn p5_scatter() {
    let xs = Array1::from_iter((1..=9).map(f64::from));
    let weights = Array1::from_iter((1..=6).map(f64::from));
    let gradient = array![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0];
    assert_eq!(value_and_grad(scatter_halves)(&xs, &weights), (155.0, gradient.clone()));
    let (bins, cotangent) = vjp(histogram_halves)(&xs, &weights);
    assert_eq!(bins, array![3.0, 7.0, 11.0, 15.0, 9.0, 0.0]);
    assert_eq!(cotangent, gradient);
}

// 6. A dot product written element by element.

#[kernel]
fn pointwise_dot(a: [f64; n], b: [f64; n]) -> f64 {
    sum(build(n, |i| a[i] * b[i]))
}

#[test]
fn p6_dot() {
    let (a, b) = (array![1.0, 2.0, 3.0], array![4.0, 5.0, 6.0]);
    let (value, gradients) = value_and_grad(pointwise_dot)(&a, &b);
    assert_eq!(value, 32.0);
    assert_eq!(gradients, (b, a));
}

// 7. One element of a self-convolution: the array is read at two different index expressions.

#[kernel]
fn self_convolution(a: [f64; n]) -> f64 {
    sum(build(n, |i| a[i] * a[n - 1 - i]))
}

#[test]
fn p7_self_convolution() {
    assert_eq!(value_and_grad(self_convolution)(&array![1.0, 2.0, 3.0]), (10.0, array![6.0, 4.0, 2.0]));
    let (value, gradient) = value_and_grad(self_convolution)(&array![1.0, 2.0, 3.0, 4.0]);
    assert_eq!((value, gradient), (20.0, array![8.0, 6.0, 4.0, 2.0]));
}

// 8. A build of a read and a constant.

#[kernel]
fn plus_one(a: [f64; k]) -> [f64; k] {
    build(k, |i| a[i] + 1.0)
}

#[test]
fn p8_plus_one() {
    let seed = array![1.0, -1.0, 0.5, 0.0];
    let (value, cotangent) = vjp(plus_one)(&array![1.0, 2.0, 3.0, 4.0], &seed);
    assert_eq!(value, array![2.0, 3.0, 4.0, 5.0]);
    assert_eq!(cotangent, seed);
}

// 9. Matrix product, point by point and with whole-array operations only.

#[kernel]
fn pointful_product(a: [[f64; m]; k], b: [[f64; n]; m]) -> [[f64; n]; k] {
    build((k, n), |i, j| sum(build(m, |p| a[[i, p]] * b[[p, j]])))
}

#[kernel]
fn first_order_product(a: [[f64; m]; k], b: [[f64; n]; m]) -> [[f64; n]; k] {
    sum(transpose(replicate(n, a)) * replicate(k, transpose(b)))
}

#[test]
fn p9_matrix_product() {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[5.0, 6.0], [7.0, 8.0]]);
    let ones = Array2::ones((2, 2));
    let product = array![[19.0, 22.0], [43.0, 50.0]];
    let gradients = (array![[11.0, 15.0], [11.0, 15.0]], array![[4.0, 4.0], [6.0, 6.0]]);
    assert_eq!(vjp(pointful_product)(&a, &b, &ones), (product.clone(), gradients.clone()));
    assert_eq!(vjp(first_order_product)(&a, &b, &ones), (product, gradients));
}

#[test]
fn p9_other_shapes() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let b = array![[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, -1.0, 2.0], [1.0, 1.0, 0.0, 3.0]];
    assert_eq!(pointful_product(&a, &b), a.dot(&b));
    assert_eq!(first_order_product(&a, &b), a.dot(&b));
}

// 10. Self-concatenation. Only the branch that is taken reads, so no index is out of range.

#[kernel]
fn twice_in_a_row(a: [f64; 10]) -> [f64; 20] {
    build(20, |i| if i < 10 { a[i] } else { a[i - 10] })
}

#[kernel]
fn twice_in_a_row_of_any_length(a: [f64; n]) -> [f64; 2 * n] {
    build(2 * n, |i| if i < n { a[i] } else { a[i - n] })
}

#[test]
fn p10_self_concatenation() {
    let a = Array1::from_iter((0..10).map(f64::from));
    let weights = Array1::from_iter((0..20).map(f64::from));
    let gradient = Array1::from_iter((0..10).map(|j| f64::from(2 * j + 10)));
    let (value, cotangent) = vjp(twice_in_a_row)(&a, &weights);
    assert_eq!((&value * &weights).sum(), 1020.0);
    assert_eq!(cotangent, gradient);
    let (longer, cotangent) = vjp(twice_in_a_row_of_any_length)(&a, &weights);
    assert_eq!(longer, value);
    assert_eq!(cotangent, gradient);
}

// 11. `filter` is the report's example of what its language cannot express; it has no test here because sizes that
// only the data can tell belong to the tests of `filter`.

// 12. One element-wise expression, fused and as whole-array arithmetic.

#[kernel]
fn squares_plus_fused(a: [f64; n], b: [f64; n]) -> f64 {
    sum(build(a.len(), |i| a[i].powi(2) + b[i]))
}

#[kernel]
fn squares_plus_bulk(a: [f64; n], b: [f64; n]) -> f64 {
    sum(a * a + b)
}

#[test]
fn p12_fused_and_bulk() {
    let (a, b) = (array![1.0, 2.0, 3.0, 4.0], array![5.0, 6.0, 7.0, 8.0]);
    let gradients = (array![2.0, 4.0, 6.0, 8.0], Array1::ones(4));
    assert_eq!(value_and_grad(squares_plus_fused)(&a, &b), (56.0, gradients.clone()));
    assert_eq!(value_and_grad(squares_plus_bulk)(&a, &b), (56.0, gradients));
}

// 13. Three doublings of an array in named steps.

#[kernel]
fn named_doublings(inp: [f64; n]) -> [f64; n] {
    let x = inp + inp;
    let y = x + x;
    let z = y + y;
    z
}

#[test]
fn p13_sharing() {
    let seed = array![1.0, 0.5, -2.0];
    let (value, cotangent) = vjp(named_doublings)(&array![1.0, 2.0, 3.0], &seed);
    assert_eq!(value, array![8.0, 16.0, 24.0]);
    assert_eq!(cotangent, seed * 8.0);
}

// 14. Three elements of a reversed array.

#[kernel]
fn last_three(a: [f64; n]) -> f64 {
    let backwards = reverse(a);
    backwards[0] + backwards[1] + backwards[2]
}

#[test]
fn p14_reversed() {
    let (value, gradient) = value_and_grad(last_three)(&array![1.0, 2.0, 3.0, 4.0]);
    assert_eq!((value, gradient), (9.0, array![0.0, 1.0, 1.0, 1.0]));
}

// 15. The report's staged recursion, unrolled: add one and double by turns.

#[kernel]
fn one_turn(v: [f64; k]) -> [f64; k] {
    2.0 * (v + 1.0)
}

#[kernel]
fn three_turns(v: [f64; k]) -> [f64; k] {
    one_turn(v) + 1.0
}

#[kernel]
fn four_turns(v: [f64; k]) -> [f64; k] {
    one_turn(one_turn(v))
}

#[test]
fn p15_staging() {
    let (v, ones) = (array![1.0, 2.0], Array1::ones(2));
    assert_eq!(vjp(three_turns)(&v, &ones), (array![5.0, 7.0], array![2.0, 2.0]));
    assert_eq!(vjp(four_turns)(&v, &ones), (array![10.0, 14.0], array![4.0, 4.0]));
}

// 16. An intermediate array with two uses.

#[kernel]
fn used_twice(x: [f64; n]) -> f64 {
    let expensive = x.exp() * x.sin();
    sum(expensive.cos()) + dot(expensive, expensive)
}

#[test]
fn p16_shared_intermediate() {
    let x = array![0.1, -0.4, 1.2, 0.7];
    let e = x.mapv(|x: f64| x.exp() * x.sin());
    let slope = x.mapv(|x: f64| x.exp() * (x.sin() + x.cos()));
    let (value, gradient) = value_and_grad(used_twice)(&x);
    assert_close(value, e.mapv(f64::cos).sum() + e.dot(&e), 1e-13);
    assert_close(gradient.clone(), slope * e.mapv(|e| 2.0 * e - e.sin()), 1e-13);
    assert_gradient(|x: &Array1<f64>| used_twice(x), &x, &gradient);
}

// 17. A condition at the top.

#[kernel]
fn log_or_itself(x: f64) -> f64 {
    if 0.0 < x { (x + 1.0).ln() } else { x }
}

#[test]
fn p17_condition() {
    assert_close(value_and_grad(log_or_itself)(2.0), (1.0986122886681098, 1.0 / 3.0), 1e-14);
    assert_eq!(value_and_grad(log_or_itself)(-5.0), (-5.0, 1.0));
}

// 18. Shapes: sizes read from the outermost in; axes permuted as NumPy does.

#[kernel]
fn three_by_two() -> [[f64; 2]; 3] {
    zeros((3, 2))
}

#[kernel]
fn last_axis_first(a: [[[[f64; s]; r]; q]; p]) -> [[[[f64; r]; q]; p]; s] {
    permute(a, [3, 0, 1, 2])
}

#[test]
fn p18_shapes() {
    assert_eq!(three_by_two(), Array2::<f64>::zeros((3, 2)));
    let count = 5 * 3 * 6 * 9;
    let a: Array4<f64> =
        Array::from_shape_vec((5, 3, 6, 9), (0..count).map(f64::from).collect()).expect("the counts agree");
    let (moved, back) = vjp(last_axis_first)(&a, &a.view().permuted_axes([3, 0, 1, 2]));
    assert_eq!(moved.shape(), [9, 5, 3, 6]);
    assert_eq!(moved, a.view().permuted_axes([3, 0, 1, 2]));
    assert_eq!(back, a, "the cotangent of a permutation is the opposite permutation");
}

// 19. The built-in dot product as an ordinary, a forward and a reverse program.

#[kernel]
fn dot_product(a: [f64; n], b: [f64; n]) -> f64 {
    dot(a, b)
}

#[test]
fn p19_dot_product() {
    let (a, b) = (array![1.0, 2.0, 3.0], array![4.0, 5.0, 6.0]);
    assert_eq!(dot_product(&a, &b), 32.0);
    assert_eq!(value_and_grad(dot_product)(&a, &b), (32.0, (b.clone(), a.clone())));
    let (da, db) = (array![1.0, 0.0, -1.0], array![0.5, 0.25, 2.0]);
    assert_eq!(jvp(dot_product)(&a, &b, &da, &db), (32.0, -2.0 + 7.0));
}

// 20. Builds under builds that read across the outer index.

#[kernel]
fn transposed_by_builds(q: [[f64; m]; n]) -> [[f64; n]; m] {
    build(m, |j| build(n, |i| q[i][j]))
}

#[kernel]
fn two_apart(q: [[f64; n]; n]) -> [[f64; n - 2]; n - 2] {
    build(n - 2, |i| build(n - 2, |j| q[i][j] + q[i + 2][j]))
}

#[test]
fn p20_nested_builds() {
    let q = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let (turned, cotangent) = vjp(transposed_by_builds)(&q, &array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(turned, q.t());
    assert_eq!(cotangent, array![[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);

    let q = Array2::from_shape_fn((4, 4), |(i, j)| (4 * i + j) as f64);
    let (sums, cotangent) = vjp(two_apart)(&q, &array![[1.0, 10.0], [100.0, 1000.0]]);
    assert_eq!(sums, array![[8.0, 10.0], [16.0, 18.0]]);
    let rows = array![
        [1.0, 10.0, 0.0, 0.0],
        [100.0, 1000.0, 0.0, 0.0],
        [1.0, 10.0, 0.0, 0.0],
        [100.0, 1000.0, 0.0, 0.0]
    ];
    assert_eq!(cotangent, rows);
}
