//! Sizes: the example programs of the notes on size inference (Henriksen), with literal, named, computed and unnamed
//! dimensions. Sizes are polynomials in normal form, so equal expressions need no check; what is left unequal is one
//! check when the kernel is called. Programs that must not compile are in the `ui` folder.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, array};

// S1, the running example: `concat`, rows to (sum, product), and both mapped over an outer axis. The result has 2m columns.

#[kernel]
fn joined(xs: [f64; n], ys: [f64; m]) -> [f64; n + m] {
    build(n + m, |i| if i < n { xs[i] } else { ys[i - n] })
}

#[kernel]
fn sums_and_products(vss: [[f64; k]; m]) -> [f64; 2 * m] {
    let (ys, zs) = map(|vs| (sum(vs), prod(vs)), vss);
    joined(ys, zs)
}

#[kernel]
fn mapped(vsss: [[[f64; k]; m]; n]) -> [[f64; 2 * m]; n] {
    map(|vss| sums_and_products(vss), vsss)
}

#[kernel]
fn lifted(vsss: [[[f64; k]; m]; n]) -> [[f64; 2 * m]; n] {
    sums_and_products(vsss)
}

#[test]
fn s1_running_example() {
    let square = array![[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]];
    let result = array![[3.0, 7.0, 2.0, 12.0], [11.0, 15.0, 30.0, 56.0]];
    assert_eq!(mapped(&square), result);
    assert_eq!(lifted(&square), result);
    let narrow = array![[[1.0, 2.0, 3.0, 4.0]], [[0.0, 1.0, 0.0, 2.0]], [[2.0, 2.0, 2.0, 2.0]]];
    let result = array![[10.0, 24.0], [3.0, 0.0], [8.0, 16.0]];
    assert_eq!(mapped(&narrow), result);
    assert_eq!(lifted(&narrow), result);
}

#[test]
fn s1_gradient() {
    let narrow = array![[[1.0, 2.0, 3.0, 4.0]], [[0.0, 1.0, 0.5, 2.0]], [[2.0, 2.0, 2.0, 2.0]]];
    let seed = array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
    let (_, cotangent) = vjp(mapped)(&narrow, &seed);
    let expected =
        array![[[241.0, 121.0, 81.0, 61.0]], [[22.0, 2.0, 2.0, 2.0]], [[243.0, 243.0, 243.0, 243.0]]];
    assert_close(cotangent.clone(), expected, 1e-13);
    assert_gradient(|v: &Array3<f64>| (mapped(v) * &seed).sum(), &narrow, &cotangent);
}

#[test]
fn s1_empty_arrays_keep_their_sizes() {
    assert_eq!(mapped(&Array3::<f64>::zeros((0, 3, 2))).shape(), [0, 6]);
    assert_eq!(mapped(&Array3::<f64>::zeros((2, 0, 2))).shape(), [2, 0]);
    assert_eq!(mapped(&Array3::<f64>::zeros((1, 2, 0))), array![[0.0, 0.0, 1.0, 1.0]]);
}

// S2b: branches with equal shapes.

#[kernel]
fn counted_or_doubled(count: bool, xs: [f64; n]) -> [f64; n] {
    if count { iota(n) as f64 } else { map(|x| 2.0 * x, xs) }
}

#[test]
fn s2b_branches_of_equal_shape() {
    let xs = array![5.0, 6.0, 7.0];
    let ones = Array1::ones(3);
    assert_eq!(vjp(counted_or_doubled)(true, &xs, &ones), (array![0.0, 1.0, 2.0], Array1::zeros(3)));
    assert_eq!(vjp(counted_or_doubled)(false, &xs, &ones), (array![10.0, 12.0, 14.0], 2.0 * ones));
}

// S3: unnamed sizes used as one: a check when called. An annotation asks for the same check between named sizes.

#[kernel]
fn product_of_unnamed(a: [f64], b: [f64; _]) -> [f64] {
    a * b
}

#[kernel]
fn product_with_annotation(a: [f64; n], b: [f64; m]) -> [f64; n] {
    let b: [f64; n] = b;
    map(|x, y| x * y, a, b)
}

#[test]
fn s3_check_at_run_time() {
    let (a, b) = (array![1.0, 2.0, 3.0], array![4.0, 5.0, 6.0]);
    assert_eq!(product_of_unnamed(&a, &b), array![4.0, 10.0, 18.0]);
    assert_eq!(product_with_annotation(&a, &b), array![4.0, 10.0, 18.0]);
    let short = array![4.0, 5.0];
    let text = Cpu.run(product_of_unnamed, (&a, &short)).unwrap_err().to_string();
    let differ = "kernel `product_of_unnamed`: sizes that must be equal differ: b.len() = 2 and a.len() = 3";
    assert!(text.starts_with(differ), "{text}");
    let text = Cpu.run(product_with_annotation, (&a, &short)).unwrap_err().to_string();
    let differ = "kernel `product_with_annotation`: sizes that must be equal differ: m = 2 and n = 3";
    assert!(text.starts_with(differ), "{text}");
}

// S4: one name, checked on entry.

#[kernel]
fn product_of_named(a: [f64; n], b: [f64; n]) -> [f64; n] {
    map(mul, a, b)
}

#[test]
fn s4_check_on_entry() {
    assert_eq!(product_of_named(&array![1.0, 2.0], &array![3.0, 4.0]), array![3.0, 8.0]);
    let text = Cpu.run(product_of_named, (&array![1.0, 2.0], &array![3.0])).unwrap_err().to_string();
    assert!(
        text.contains("argument `b`, dimension 0: expected n = 2 (from argument `a`), found 1"),
        "{text}"
    );
}

// S9, S9b: equalities that the normal form decides.

#[kernel]
fn one_row(a: [[f64; m]; n]) -> [f64; n * m] {
    reshape(a, (m * n,))
}

#[kernel]
fn both_orders(a: [f64; n], b: [f64; m]) -> [f64; m + n] {
    concat(a, b) - concat(b, a)
}

#[kernel]
fn of_square_of_sum(a: [f64; n], b: [f64; m]) -> [f64; n * n + 2 * n * m + m * m] {
    flatten(outer(joined(a, b), joined(a, b)))
}

#[test]
fn s9_products_commute() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let (row, cotangent) = vjp(one_row)(&a, &array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(row, array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(cotangent, a);
}

#[test]
fn s9b_sums_commute() {
    let (a, b) = (array![1.0, 2.0], array![10.0, 20.0, 30.0]);
    let (value, (a_adj, b_adj)) = vjp(both_orders)(&a, &b, &array![1.0, 2.0, 4.0, 8.0, 16.0]);
    assert_eq!(value, array![-9.0, -18.0, -20.0, 19.0, 28.0]);
    assert_eq!(a_adj, array![1.0 - 8.0, 2.0 - 16.0]);
    assert_eq!(b_adj, array![4.0 - 1.0, 8.0 - 2.0, 16.0 - 4.0]);
    assert_eq!(of_square_of_sum(&array![1.0], &array![2.0]), array![1.0, 2.0, 2.0, 4.0]);
}

// S10: a reshape to sizes that only the call knows.

#[kernel]
fn folded(a: [f64; n], p: usize, q: usize) -> [[f64; q]; p] {
    reshape(a, (p, q))
}

#[test]
fn s10_reshape_is_checked() {
    let a = array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(folded(&a, 2, 3), array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(folded(&a, 3, 2), array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(folded(&a, 6, 1).shape(), [6, 1]);
    let text = Cpu.run(folded, (&a, 4, 2)).unwrap_err().to_string();
    let differ = "kernel `folded`: sizes that must be equal differ: n = 6 and p * q = 8";
    assert!(text.starts_with(differ), "{text}");
}

// S12: a size that can become negative.

#[kernel]
fn differences(a: [f64; n]) -> [f64; n - 1] {
    map(|i| a[i + 1] - a[i], iota(n - 1))
}

#[kernel]
fn differences_of_slices(a: [f64; n]) -> [f64; n - 1] {
    a[1..n] - a[..n - 1]
}

#[test]
fn s12_differences() {
    let a = array![1.0, 4.0, 9.0, 16.0];
    let expected = (array![3.0, 5.0, 7.0], array![-1.0, -9.0, -90.0, 100.0]);
    let seed = array![1.0, 10.0, 100.0];
    assert_eq!(vjp(differences)(&a, &seed), expected);
    assert_eq!(vjp(differences_of_slices)(&a, &seed), expected);
    let nothing = Array1::<f64>::zeros(0);
    assert_eq!(differences(&array![7.0]), nothing);
    assert_eq!(differences_of_slices(&array![7.0]), nothing);
}

#[test]
fn two_negative_sizes_of_a_branch_that_is_not_taken_are_no_points() {
    // Neighboring axes are one, of the product of their extents: here of two numbers that nobody has checked.
    assert_eq!(built_if(&array![1.0, 2.0], -2, -2, 0), 0.0);
    assert_eq!(built_if(&array![1.0, 2.0], -2, 3, 0), 0.0);
    assert_eq!(built_if(&array![1.0, 2.0], 2, 2, 1), 0.0);
    assert!(Cpu.run(built_if, (&array![1.0, 2.0], -2, -2, 1)).is_err());
    // Flattened, they are as many elements as their product says, and there are none.
    let (x, seed) = (array![3.0], 1.0);
    for (n, m) in [(-1, -2), (-2, -2), (-2, 3)] {
        assert_eq!(vjp(summed_if)(&x, n, m, 0, seed), (0.0, array![0.0]));
        assert!(Cpu.run(summed_if, (&x, n, m, 1)).is_err());
    }
    assert_eq!(summed_if(&x, 2, 2, 1), 30.0);
}

#[kernel]
fn summed_if(x: [f64; k], n: i64, m: i64, on: i64) -> f64 {
    if on > 0 {
        let q = build((n, m), |i, j| x[0] * ((i + j) as f64));
        let mut s = flatten(q);
        s[0] = 0.0;
        for i in 0..n {
            s[i] = s[i + 1] - s[i + 1];
        }
        let more = sum(scatter_add(zeros(n * m), argsort(s), s)) + dot(s, reverse(s));
        sort(flatten(q))[3] + sum(cumsum(flatten(q))) + (argsort(flatten(q))[3] as f64) + more * 0.0
    } else {
        0.0
    }
}

#[kernel]
fn built_if(w: [f64; k], n: i64, m: i64, on: i64) -> f64 {
    if on > 0 {
        let t = build((n, m), |b, c| (b + c) as f64);
        let r = argsort(flatten(t));
        let q = build((k, n, m), |a, b, c| t[b][c] * w[a]);
        let s = argsort(flatten(q));
        q[0][0][0] + (s[0] as f64) + (r[0] as f64)
    } else {
        0.0
    }
}

#[test]
fn s12_negative_sizes_are_errors() {
    let nothing = Array1::<f64>::zeros(0);
    let text = Cpu.run(differences, (&nothing,)).unwrap_err().to_string();
    assert!(text.contains("kernel `differences`") && text.contains("n - 1") && text.contains("-1"), "{text}");
    let text = Cpu.run(differences_of_slices, (&nothing,)).unwrap_err().to_string();
    assert!(text.contains("kernel `differences_of_slices`"), "{text}");
}

// S14: sums of columns, with a neutral row.

#[kernel]
fn column_sums(xss: [[f64; m]; n]) -> [f64; m] {
    reduce(add, zeros(m), xss)
}

#[kernel]
fn column_sums_by_transpose(xss: [[f64; m]; n]) -> [f64; m] {
    sum(transpose(xss))
}

#[test]
fn s14_column_sums() {
    let xss = array![[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]];
    let seed = array![1.0, 2.0, 3.0];
    let expected = (array![11.0, 22.0, 33.0], array![[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
    assert_eq!(vjp(column_sums)(&xss, &seed), expected);
    assert_eq!(vjp(column_sums_by_transpose)(&xss, &seed), expected);
    assert_eq!(column_sums(&Array2::<f64>::zeros((0, 3))), Array1::<f64>::zeros(3));
}

// S15, S15b: matrix product; with unnamed inner sizes the check is made outside of both maps and only if they run.

#[kernel]
fn product_named(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    map(|row| map(|column| sum(row * column), transpose(b)), a)
}

#[kernel]
fn product_unnamed(a: [[f64; _]; n], b: [[f64; m]; _]) -> [[f64; m]; n] {
    map(|row| map(|column| sum(row * column), transpose(b)), a)
}

#[test]
fn s15_matrix_product() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let b = array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
    assert_eq!(product_named(&a, &b), array![[4.0, 5.0], [10.0, 11.0]]);
    assert_eq!(product_unnamed(&a, &b), array![[4.0, 5.0], [10.0, 11.0]]);
    let text = Cpu.run(product_named, (&a, &a)).unwrap_err().to_string();
    assert!(
        text.contains("argument `b`, dimension 0: expected k = 3 (from argument `a`), found 2"),
        "{text}"
    );
    let text = Cpu.run(product_unnamed, (&a, &a)).unwrap_err().to_string();
    let differ = "kernel `product_unnamed`: sizes that must be equal differ: b.len() = 2 and a.len() = 3";
    assert!(text.starts_with(differ), "{text}");
}

#[test]
fn s15b_no_check_where_nothing_is_computed() {
    let wide = Array2::<f64>::zeros((0, 3));
    assert_eq!(product_unnamed(&wide, &Array2::<f64>::zeros((2, 4))).shape(), [0, 4]);
    let tall = Array2::<f64>::zeros((5, 3));
    assert_eq!(product_unnamed(&tall, &Array2::<f64>::zeros((2, 0))).shape(), [5, 0]);
    assert!(Cpu.run(product_unnamed, (&tall, &Array2::<f64>::zeros((2, 4)))).is_err());
}

// Further: literal and computed dimensions of arguments, and sizes as values.

#[kernel]
fn cross_product(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[kernel]
fn piecewise_area(edges: [f64; n + 1], heights: [f64; n]) -> f64 {
    sum(build(n, |i| (edges[i + 1] - edges[i]) * heights[i]))
}

#[kernel]
fn average(xs: [f64; n]) -> f64 {
    xs.sum() / n as f64
}

#[kernel]
fn area_of_shape(a: [[f64; m]; n]) -> i64 {
    n * m + a.len()
}

#[kernel]
fn middle(a: [f64; n], lo: i64, hi: i64) -> [f64; _] {
    a[lo..hi]
}

#[test]
fn literal_sizes() {
    let (a, b) = (array![1.0, 2.0, 3.0], array![4.0, 5.0, 6.0]);
    assert_eq!(cross_product(&a, &b), array![-3.0, 6.0, -3.0]);
    let text = Cpu.run(cross_product, (&a, &array![1.0, 2.0])).unwrap_err().to_string();
    assert!(text.contains("argument `b`, dimension 0: expected 3, found 2"), "{text}");
}

#[test]
fn computed_sizes_of_arguments() {
    let (edges, heights) = (array![0.0, 1.0, 3.0, 6.0], array![5.0, 1.0, 2.0]);
    let (area, (by_edges, by_heights)) = value_and_grad(piecewise_area)(&edges, &heights);
    assert_eq!(area, 13.0);
    assert_eq!(by_heights, array![1.0, 2.0, 3.0]);
    assert_eq!(by_edges, array![-5.0, 4.0, -1.0, 2.0]);
    let text = Cpu.run(piecewise_area, (&heights, &heights)).unwrap_err().to_string();
    assert!(text.contains("argument `edges`, dimension 0: expected n + 1 = 4"), "{text}");
    assert!(text.contains("found 3"), "{text}");
}

#[test]
fn sizes_as_values() {
    assert_eq!(value_and_grad(average)(&array![1.0, 2.0, 3.0, 6.0]), (3.0, array![0.25, 0.25, 0.25, 0.25]));
    assert_eq!(area_of_shape(&Array2::<f64>::zeros((3, 5))), 18);
}

#[test]
fn slices_between_arguments() {
    let a = array![1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(middle(&a, 1, 4), array![2.0, 3.0, 4.0]);
    assert_eq!(middle(&a, 2, 2), Array1::<f64>::zeros(0));
    assert_eq!(middle(&a, 0, 5), a);
    assert!(Cpu.run(middle, (&a, 3, 6)).is_err());
    assert!(Cpu.run(middle, (&a, 4, 3)).is_err());
    assert!(Cpu.run(middle, (&a, -1, 3)).is_err());
}

// Remainders and quotients by a size are certain to be inside only where there are points.

#[kernel]
fn beside_an_empty_axis(x: [f64; m], y: [f64; m], z: [f64; n]) -> [[f64; m]; n] {
    build((n, m), |j, i| x[j % m] * y[i] + z[j])
}

#[kernel]
fn pairs_beside_an_empty_axis(x: [[f64; m]; n], y: [f64; m]) -> [[f64; m]; n * m] {
    build((n * m, m), |k, i| x[k / m][k % m] * y[i])
}

#[kernel]
fn anywhere_beside_an_empty_axis(x: [f64; m], y: [f64; m], at: [i64; n]) -> [[f64; m]; n] {
    build((n, m), |j, i| x[at[j].rem_euclid(m)] * y[i])
}

#[test]
fn remainders_by_nothing() {
    let (none, z, at) = (Array1::zeros(0), array![1.0, 2.0], array![7, -3]);
    assert_eq!(beside_an_empty_axis(&none, &none, &z).dim(), (2, 0));
    let (_, cotangents) = vjp(beside_an_empty_axis)(&none, &none, &z, &Array2::zeros((2, 0)));
    assert_eq!(cotangents, (none.clone(), none.clone(), array![0.0, 0.0]));
    assert_eq!(pairs_beside_an_empty_axis(&Array2::zeros((2, 0)), &none).dim(), (0, 0));
    assert_eq!(anywhere_beside_an_empty_axis(&none, &none, &at).dim(), (2, 0));
    let (x, y) = (array![1.0, 2.0, 3.0], array![1.0, 10.0, 100.0]);
    assert_eq!(anywhere_beside_an_empty_axis(&x, &y, &at), array![[2.0, 20.0, 200.0], [1.0, 10.0, 100.0]]);
    let pairs = pairs_beside_an_empty_axis(&array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &y);
    assert_eq!(pairs.row(4), array![5.0, 50.0, 500.0]);
}

// A check is a reason for the reads that come after it, not for those before.

#[kernel]
fn summed_before(y: [f64; m], q: [f64; n]) -> f64 {
    let s = sum(build(m, |i| q[i]));
    let w: [f64; n] = y;
    s + sum(w)
}

#[kernel]
fn prefixes_before(y: [f64; m], q: [f64; n]) -> (f64, [f64; n]) {
    let h = cumsum(build(m, |i| q[i]));
    let w: [f64; n] = y;
    (h[0], w)
}

#[kernel]
fn result_of_another_size(x: [f64; n], w: [f64; k]) -> [f64; n + 1 - k] {
    build(n + 1 + k, |i| sum(build(k, |j| x[i + j] * w[j])))
}

#[kernel]
fn sliced_after(x: [f64; n], k: i64) -> f64 {
    let s = cumsum(build(k, |i| x[i]));
    let t = x[0..k];
    s[0] + sum(t)
}

#[kernel]
fn sliced_by_data(x: [f64; n], at: [i64; m]) -> f64 {
    let k = at[0];
    let s = sum(build(k, |i| x[i] * x[i]));
    s + sum(x[..k] * s)
}

#[kernel]
fn windows_after(x: [f64; n], k: i64) -> f64 {
    let s = sum(build(k, |i| x[i]));
    s + sum(flatten(windows(x * s, k)))
}

#[test]
fn checks_are_no_reasons_for_what_comes_before() {
    let q = array![2.0];
    for m in [0, 1, 4, 100_000] {
        let y = Array1::<f64>::ones(m);
        let same = m == 1;
        assert_eq!(Cpu.run(summed_before, (&y, &q)).is_ok(), same, "{m}");
        assert_eq!(Cpu.run(grad(summed_before), (&y, &q)).is_ok(), same, "{m}");
        assert_eq!(Cpu.run(prefixes_before, (&y, &q)).is_ok(), same, "{m}");
        assert_eq!(Cpu.run(result_of_another_size, (&q, &y)).is_ok(), m == 0, "{m}");
        let k = m as i64;
        let inside = m <= 1;
        assert_eq!(Cpu.run(sliced_after, (&q, k)).is_ok(), same, "{m}");
        assert_eq!(Cpu.run(sliced_by_data, (&q, &array![k])).is_ok(), inside, "{m}");
        assert_eq!(Cpu.run(grad(sliced_by_data), (&q, &array![k])).is_ok(), inside, "{m}");
        assert_eq!(Cpu.run(windows_after, (&q, k)).is_ok(), inside, "{m}");
    }
    for k in [-1, i64::MIN, i64::MAX] {
        assert!(Cpu.run(sliced_after, (&q, k)).is_err(), "{k}");
        assert!(Cpu.run(sliced_by_data, (&q, &array![k])).is_err(), "{k}");
        assert!(Cpu.run(windows_after, (&q, k)).is_err(), "{k}");
    }
}

// A number is an array of one element when it is flattened, and the other way round.

#[kernel]
fn flattened_product(x: [f64; n]) -> f64 {
    sum(flatten(1.0 * 2.0)) + 0.0 * sum(x)
}

#[kernel]
fn flattened_sum(x: [f64; n]) -> f64 {
    sum(flatten(sum(x * x)))
}

#[kernel]
fn reshaped_sums(x: [[f64; m]; n]) -> [[[f64; 1]; 1]; n] {
    map(|r| reshape(sum(r), (1, 1)), x)
}

#[kernel]
fn only_row(a: [[f64; m]; n]) -> [f64; m] {
    flatten(a)
}

#[test]
fn numbers_are_arrays_of_one_element() {
    let x = array![5.0, 6.0];
    assert_eq!(flattened_product(&x), 2.0);
    assert_eq!(flattened_product(&Array1::zeros(0)), 2.0);
    assert_eq!(flattened_sum(&x), 61.0);
    assert_eq!(grad(flattened_sum)(&x), array![10.0, 12.0]);
    assert_eq!(reshaped_sums(&array![[1.0, 2.0], [3.0, 4.0]]), array![[[3.0]], [[7.0]]]);
    assert_eq!(only_row(&array![[1.0, 2.0, 3.0]]), array![1.0, 2.0, 3.0]);
    assert!(Cpu.run(only_row, (&Array2::zeros((2, 3)),)).is_err());
    assert_eq!(Cpu.run(only_row, (&Array2::zeros((2, 0)),)).map(|r| r.len()).ok(), Some(0));
    assert!(Cpu.run(only_row, (&Array2::zeros((0, 3)),)).is_err());
}

// Where one extent is zero the others may be beyond all memory, and so may their products.

#[kernel]
fn sums_of_boxes(v: [f64; n], a: i64, b: i64, c: i64) -> [f64; n] {
    let (a, b, c) = (a as usize, b as usize, c as usize);
    map(|x| sum(build(a, |i| sum(build(b, |j| sum(build(c, |k| x * (i + j * k) as f64)))))), v)
}

#[test]
fn many_times_nothing_is_nothing() {
    let (v, many) = (array![1.0, 2.0], 1i64 << 40);
    assert_eq!(sums_of_boxes(&v, 0, many, many), array![0.0, 0.0]);
    assert_eq!(sums_of_boxes(&v, 2, 3, 4), array![48.0, 96.0]);
}
