//! `sort`, `argsort`, `sort_by_key`: order, ties, rows, derivatives.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Axis, array};

#[kernel]
fn sorted(x: [f64; n]) -> [f64; n] {
    sort(x)
}

#[kernel]
fn order(x: [f64; n]) -> [i64; n] {
    argsort(x)
}

#[kernel]
fn both(x: [f32; n]) -> ([f32; n], [i64; n]) {
    (x.sort(), x.argsort())
}

#[kernel]
fn integers(
    x: [i64; n],
    y: [i32; n],
    z: [u32; n],
    flags: [bool; n],
) -> ([i64; n], [i32; n], [u32; n], [i64; n]) {
    (sort(x), sort(y), sort(z), argsort(flags))
}

#[kernel]
fn by_key(keys: [f64; n], x: [[f64; m]; n], labels: [i64; n]) -> ([[f64; m]; n], [i64; n]) {
    sort_by_key(keys, (x, labels))
}

#[kernel]
fn rows(x: [[f64; m]; n]) -> [[f64; m]; n] {
    sort(x)
}

#[kernel]
fn columns(x: [[f64; m]; n]) -> [[f64; n]; m] {
    map(|c| sort(c), transpose(x))
}

/// The mean of all but the `k` smallest and the `k` largest.
#[kernel]
fn trimmed_mean(x: [f64; n], k: i64) -> f64 {
    let s = sort(x);
    sum(build(n, |i| if i >= k && i < n - k { s[i] } else { 0.0 })) / ((n - 2 * k) as f64)
}

/// An L-statistic: weights by rank.
#[kernel]
fn ranked(x: [f64; n], w: [f64; n]) -> f64 {
    sum(sort(x.powi(3)) * w.sin())
}

#[kernel]
fn median_of_rows(x: [[f64; m]; n]) -> f64 {
    map(
        |r| {
            let s = sort(r);
            s[m / 2] * s[0]
        },
        x,
    )
    .sum()
}

#[kernel]
fn branch(x: [f64; n], c: f64) -> [f64; n] {
    if c > 0.0 { sort(x) * c } else { x }
}

/// The one-dimensional Wasserstein distance of two samples.
#[kernel(hvp)]
fn distance(x: [f64; n], y: [f64; n]) -> f64 {
    let d = sort(x) - sort(y);
    sum(d * d) / (n as f64)
}

/// Numbers in no order.
fn numbers(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| ((i * 7919 + 13) % 10007) as f64 * 0.37 - 1500.0)
}

#[test]
fn vectors() {
    assert_eq!(sorted(&array![3.0, -1.0, 2.0]), array![-1.0, 2.0, 3.0]);
    assert_eq!(sorted(&array![5.0]), array![5.0]);
    assert_eq!(sorted(&Array1::zeros(0)).len(), 0);
    assert_eq!(order(&Array1::zeros(0)).len(), 0);
    let (s, o) = both(&array![2.0, 1.0, 2.0, 1.0]);
    assert_eq!((s, o), (array![1.0, 1.0, 2.0, 2.0], array![1, 3, 0, 2]));
    let x = array![3, -1, i64::MIN, i64::MAX];
    let (a, b, c, d) = integers(
        &x,
        &array![1, i32::MIN, 0, -1],
        &array![7, u32::MAX, 0, 7],
        &array![true, false, true, false],
    );
    assert_eq!(a, array![i64::MIN, -1, 3, i64::MAX]);
    assert_eq!(b, array![i32::MIN, -1, 0, 1]);
    assert_eq!(c, array![0, 7, 7, u32::MAX]);
    assert_eq!(d, array![1, 3, 0, 2]);
}

#[test]
fn nan_is_last_and_the_zeros_are_equal() {
    let x = array![f64::NAN, 1.0, 0.0, -f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(order(&x), array![6, 2, 4, 1, 5, 0, 3]);
    let s = sorted(&x);
    assert_eq!(s.slice(ndarray::s![..5]), array![f64::NEG_INFINITY, 0.0, -0.0, 1.0, f64::INFINITY]);
    assert!(s[2].is_sign_negative() && s[1].is_sign_positive() && s[5].is_nan() && s[6].is_nan());
}

#[test]
fn many() {
    let x = numbers(100_000);
    let mut expected: Vec<i64> = (0..100_000).collect();
    expected.sort_by(|i, j| x[*i as usize].total_cmp(&x[*j as usize]));
    assert_eq!(order(&x).to_vec(), expected);
    let s = sorted(&x);
    assert_eq!(s.len(), expected.len());
    assert!(expected.iter().zip(&s).all(|(i, s)| x[*i as usize] == *s));
    // The order is unique, whatever the number of threads.
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    assert_eq!(single.install(|| order(&x)).to_vec(), expected);
}

#[test]
fn rows_and_keys() {
    let x = Array2::from_shape_fn((300, 500), |(i, j)| ((i * 31 + j * 17) % 101) as f64);
    let check = |found: &Array2<f64>, x: &Array2<f64>| {
        assert_eq!(found.dim(), x.dim());
        for (f, x) in found.axis_iter(Axis(0)).zip(x.axis_iter(Axis(0))) {
            let mut x = x.to_vec();
            x.sort_by(f64::total_cmp);
            assert_eq!(f.to_vec(), x);
        }
    };
    check(&rows(&x), &x);
    check(&columns(&x), &x.t().to_owned());
    let (y, labels) = by_key(
        &array![2.0, 0.0, 1.0, 0.0],
        &array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        &array![0, 1, 2, 3],
    );
    assert_eq!(labels, array![1, 3, 2, 0]);
    assert_eq!(y, array![[3.0, 4.0], [7.0, 8.0], [5.0, 6.0], [1.0, 2.0]]);
    assert_eq!(branch(&array![2.0, 1.0], 3.0), array![3.0, 6.0]);
    assert_eq!(branch(&array![2.0, 1.0], -3.0), array![2.0, 1.0]);
}

#[test]
fn derivatives() {
    let x = numbers(12) / 1000.0;
    assert_eq!(grad(trimmed_mean)(&array![4.0, 0.0, 2.0, 9.0], 1), array![0.5, 0.0, 0.5, 0.0]);
    let w = Array1::from_shape_fn(12, |i| 0.1 * i as f64);
    for check in [
        check_grad(ranked, (&x, &w)).unwrap(),
        check_grad(branch, (&x, 1.25)).unwrap(),
        check_grad(median_of_rows, (&x.to_shape((3, 4)).unwrap(),)).unwrap(),
        check_grad(by_key, (&x, &x.to_shape((12, 1)).unwrap(), &Array1::zeros(12))).unwrap(),
        check_grad(rows, (&x.to_shape((4, 3)).unwrap(),)).unwrap(),
        check_grad(sorted, (&Array1::zeros(0),)).unwrap(),
    ] {
        assert!(check.agrees(1e-6), "{check}");
    }
}

#[test]
fn second_order() {
    let (x, y) = (array![1.0, 5.0, 3.0], array![2.0, 0.0, 7.0]);
    // The distance is sum (x[p] - y[q])^2 / n around here.
    let (by_x, _) = grad(distance)(&x, &y);
    let pairs = array![1.0 - 0.0, 5.0 - 7.0, 3.0 - 2.0];
    assert_eq!(by_x, &pairs * (2.0 / 3.0));
    let (hx, hy) = hvp(distance)(&x, &y, &array![1.0, 0.0, 0.0], &Array1::zeros(3));
    let two_thirds = 2.0 / 3.0;
    assert_eq!(hx, array![two_thirds, 0.0, 0.0]);
    assert_eq!(hy, array![0.0, -two_thirds, 0.0]);
}
