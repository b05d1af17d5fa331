//! `hist` and `reduce_by_index`: values, derivatives, ties and zeros, operators of one's own.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, array};

#[kernel(jacobian)]
fn products(is: [i64; n], vs: [f64; n]) -> [f64; 4] {
    hist(mul, 1.0, 4, is, vs)
}

#[kernel]
fn products_into(dest: [f64; k], is: [i64; n], vs: [f64; n]) -> [f64; k] {
    reduce_by_index(dest, mul, is, vs)
}

#[kernel(jacobian)]
fn least_into(dest: [f64; k], is: [i64; n], vs: [f64; n]) -> [f64; k] {
    reduce_by_index(dest, min, is, vs)
}

#[kernel]
fn greatest_into(dest: [f64; k], is: [i64; n], vs: [f64; n]) -> [f64; k] {
    reduce_by_index(dest, max, is, vs)
}

#[kernel(hvp)]
fn weighted_products(is: [i64; n], vs: [f64; n], #[no_grad] w: [f64; k]) -> f64 {
    sum(hist(mul, 1.0, k, is, vs) * w)
}

#[kernel(hvp)]
fn square_of_least(dest: [f64; k], is: [i64; n], vs: [f64; n]) -> f64 {
    let y = reduce_by_index(dest, min, is, vs * vs);
    dot(y, y)
}

#[kernel]
fn put(xs: [f64; n], is: [i64; k], vs: [f64; k]) -> [f64; n] {
    scatter(xs, is, vs)
}

/// Rows, by what the user says and by what is counted.
#[kernel]
fn put_rows(xs: [[f64; m]; n], is: [i64; k], vs: [[f64; m]; k]) -> [[f64; m]; n] {
    scatter(xs, is, vs)
}

#[test]
fn of_values_for_one_place_the_one_that_stays_has_a_derivative() {
    let is = array![2, 0, 2, 5, -1, 2, 1];
    let (xs, vs) = (wave(4), wave(7));
    let seed = array![1.0, 10.0, 100.0, 1000.0];
    let (value, (dest, values)) = vjp(put)(&xs, &is, &vs, &seed);
    assert_eq!(value, array![vs[1], vs[6], vs[5], xs[3]]);
    assert_eq!(dest, array![0.0, 0.0, 0.0, 1000.0]);
    assert_eq!(values, array![0.0, 1.0, 0.0, 0.0, 0.0, 100.0, 10.0]);
    let (xs, vs) =
        (Array2::from_elem((4, 2), 0.5), Array2::from_shape_fn((7, 2), |(i, j)| (i * 2 + j) as f64));
    let seed = Array2::from_shape_fn((4, 2), |(i, j)| (i * 10 + j + 1) as f64);
    let (_, (dest, values)) = vjp(put_rows)(&xs, &is, &vs, &seed);
    assert_eq!(dest.row(3), seed.row(3));
    assert_eq!(dest.sum(), seed.row(3).sum());
    for (i, place) in [None, Some(0), None, None, None, Some(2), Some(1)].into_iter().enumerate() {
        assert_eq!(values.row(i), place.map_or(Array1::zeros(2), |k: usize| seed.row(k).to_owned()));
    }
    let (tangent_of_xs, tangent) =
        (Array2::zeros((4, 2)), Array2::from_shape_fn((7, 2), |(i, j)| (i + j) as f64));
    let (_, along) = jvp(put_rows)(&xs, &is, &vs, &tangent_of_xs, &tangent);
    let (forward, reverse) = ((&along * &seed).sum(), (&values * &tangent).sum());
    assert_eq!(forward, reverse);
}

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 1.7).sin() + 0.05 * (i % 3) as f64)
}

fn places(n: usize, k: i64) -> Array1<i64> {
    Array1::from_shape_fn(n, |i| (i as i64 * 7919 + 3) % (k + 2) - 1)
}

#[test]
fn products_with_zeros() {
    // One zero, two of them, none, and three in the bins; two indices are outside.
    let is = array![0, 2, 0, 1, 1, 0, -1, 3, 3, 3, 4];
    let vs = array![2.0, 4.0, 0.0, 0.0, 0.0, 3.0, 9.0, 0.0, 0.0, 0.0, 9.0];
    let (value, adjoint) = vjp(products)(&is, &vs, &array![1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(value, array![0.0, 0.0, 4.0, 0.0]);
    assert_eq!(adjoint, array![0.0, 100.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let (_, tangent) = jvp(products)(&is, &vs, &Array1::ones(11));
    assert_eq!(tangent, array![6.0, 0.0, 1.0, 0.0]);

    // Second derivatives of `a b c` with `b = 0`, and of `d e` with both zero.
    let (is, vs) = (array![0, 0, 0, 1, 1], array![2.0, 0.0, 3.0, 0.0, 0.0]);
    let along = array![0.5, 0.25, -1.0, 2.0, 3.0];
    let found = hvp(weighted_products)(&is, &vs, &array![1.0, 10.0], &along);
    assert_close(found, array![0.75, -0.5, 0.5, 30.0, 20.0], 1e-14);
    let gradient = grad(weighted_products)(&is, &vs, &array![1.0, 10.0]);
    assert_gradient(|vs| weighted_products(&is, vs, &array![1.0, 10.0]), &vs, &gradient);
}

#[test]
fn the_target_is_a_factor() {
    let (dest, is, vs) = (array![0.0, 2.0, 5.0], array![0, 0, 1], array![3.0, 4.0, 5.0]);
    let (value, adjoints) = vjp(products_into)(&dest, &is, &vs, &Array1::ones(3));
    assert_eq!(value, array![0.0, 10.0, 5.0]);
    assert_eq!(adjoints, (array![12.0, 5.0, 1.0], array![0.0, 0.0, 2.0]));
    // The target's zero and one of the values.
    let (_, adjoints) = vjp(products_into)(&dest, &is, &array![0.0, 4.0, 5.0], &Array1::ones(3));
    assert_eq!(adjoints, (array![0.0, 5.0, 1.0], array![0.0, 0.0, 2.0]));
}

#[test]
fn ties_go_to_the_target_and_then_to_the_first() {
    let (dest, is) = (array![2.0, 7.0, 1.0], array![0, 0, 1, 1, -5, 3]);
    let vs = array![2.0, 2.0, 3.0, 3.0, 0.0, 0.0];
    let seed = array![1.0, 10.0, 100.0];
    let (value, adjoints) = vjp(least_into)(&dest, &is, &vs, &seed);
    assert_eq!(value, array![2.0, 3.0, 1.0]);
    assert_eq!(adjoints, (array![1.0, 0.0, 100.0], array![0.0, 0.0, 10.0, 0.0, 0.0, 0.0]));
    let tangents = (array![1.0, 2.0, 3.0], array![4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    assert_eq!(jvp(least_into)(&dest, &is, &vs, &tangents.0, &tangents.1).1, array![1.0, 6.0, 3.0]);
    let (value, adjoints) = vjp(greatest_into)(&-&dest, &is, &-&vs, &seed);
    assert_eq!(value, array![-2.0, -3.0, -1.0]);
    assert_eq!(adjoints, (array![1.0, 0.0, 100.0], array![0.0, 0.0, 10.0, 0.0, 0.0, 0.0]));
}

#[test]
fn second_derivatives_go_to_the_winners() {
    // The value 1.5 to the fourth, and the target's 0.5 squared.
    let (dest, is, vs) = (array![4.0, 0.5], array![0, 0, 1], array![1.5, 3.0, 1.0]);
    let found = hvp(square_of_least)(&dest, &is, &vs, &Array1::ones(2), &Array1::ones(3));
    assert_close(found, (array![0.0, 2.0], array![27.0, 0.0, 0.0]), 1e-14);
}

#[test]
fn derivatives_by_differences() {
    for (n, k) in [(0, 3), (1, 1), (9, 0), (40, 3), (40, 1), (3, 50)] {
        let (dest, is, vs) = (wave(k) * 1.3, places(n, k as i64), wave(n));
        for check in [
            check_grad(products_into, (&dest, &is, &vs)).unwrap(),
            check_grad(least_into, (&dest, &is, &vs)).unwrap(),
            check_grad(greatest_into, (&dest, &is, &vs)).unwrap(),
            check_grad(square_of_least, (&dest, &is, &vs)).unwrap(),
            check_grad(weighted_products, (&is, &vs, &dest)).unwrap(),
        ] {
            assert!(check.agrees(1e-6), "{n} {k}: {check}");
        }
    }
}

// T18: an operator of one's own.

#[kernel(jacobian)]
fn log_sums(is: [i64; n], vs: [f64; n]) -> [f64; 3] {
    hist(|a, b| a.max(b) + (-(a - b).abs()).exp().ln_1p(), f64::NEG_INFINITY, 3, is, vs)
}

#[test]
fn t18_logarithms_of_sums() {
    let (is, vs) = (array![0, 1, 0], array![2.0, 5.0, 3.0]);
    let (value, adjoint) = vjp(log_sums)(&is, &vs, &array![1.0, 10.0, 7.0]);
    let sum = 2f64.exp() + 3f64.exp();
    assert_close(value, array![sum.ln(), 5.0, f64::NEG_INFINITY], 1e-14);
    assert_close(adjoint, array![2f64.exp() / sum, 10.0, 3f64.exp() / sum], 1e-14);
    let (is, vs) = (places(30, 3), wave(30));
    let check = check_grad(log_sums, (&is, &vs)).unwrap();
    assert!(check.forward_reverse < 1e-12, "{check}");
}

#[test]
fn matrices_of_derivatives() {
    let (is, vs) = (array![0, 0, 1], array![2.0, 0.0, 3.0]);
    let found = jacobian(products)(&is, &vs);
    assert_eq!(found, array![[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3], [0.0; 3]]);
    let (by_dest, by_vs) = jacobian(least_into)(&array![1.0, 9.0], &is, &vs);
    assert_eq!(by_dest, Array2::<f64>::zeros((2, 2)));
    assert_eq!(by_vs, array![[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    let sum = 1.0 + 2f64.exp();
    let found = jacobian(log_sums)(&is, &vs);
    assert_close(found, array![[2f64.exp() / sum, 1.0 / sum, 0.0], [0.0, 0.0, 1.0], [0.0; 3]], 1e-14);
}

// Several values at once.

/// Number, sum and greatest: built-in operators side by side.
#[kernel]
fn statistics(is: [i64; n], vs: [f64; n], k: usize) -> ([i64; k], [f64; k], [f64; k]) {
    hist(
        |(a, b, c), (d, e, f)| (a + d, b + e, c.max(f)),
        (0, 0.0, f64::NEG_INFINITY),
        k,
        is,
        (replicate(n, 1), vs, vs),
    )
}

/// The least value of each bin and where it is.
#[kernel]
fn least_and_where(is: [i64; n], vs: [f64; n], k: usize) -> ([f64; k], [i64; k]) {
    hist(
        |(a, i), (b, j)| if a < b || (a == b && i < j) { (a, i) } else { (b, j) },
        (f64::INFINITY, -1),
        k,
        is,
        (vs, iota(n)),
    )
}

/// Numbers, means and sums of squared deviations, merged (Chan et al.).
#[kernel]
fn moments(is: [i64; n], vs: [f64; n], k: usize) -> ([f64; k], [f64; k], [f64; k]) {
    hist(
        |(n, m, s), (o, p, t)| {
            let d = p - m;
            (n + o, m + d * o / (n + o), s + t + d * d * n * o / (n + o))
        },
        (0.0, 0.0, 0.0),
        k,
        is,
        (replicate(n, 1.0), vs, zeros(n)),
    )
}

#[test]
fn several_values_at_once() {
    for (n, k) in [(0, 3), (1, 1), (7, 0), (50, 4), (50, 1), (5, 60), (40_000, 7)] {
        let (is, vs) = (places(n, k), wave(n).mapv(|x| (x * 8.0).round() / 8.0));
        let bin = |b: i64| -> Vec<(i64, f64)> {
            let points = is.iter().zip(&vs).enumerate().filter(|(_, (i, _))| **i == b);
            points.map(|(p, (_, v))| (p as i64, *v)).collect()
        };
        let (count, sum, greatest) = statistics(&is, &vs, k);
        let (least, place) = least_and_where(&is, &vs, k);
        let (numbers, means, squares) = moments(&is, &vs, k);
        for b in 0..k as usize {
            let points = bin(b as i64);
            let total: f64 = points.iter().map(|p| p.1).sum();
            assert_eq!(count[b], points.len() as i64);
            assert_close(sum[b], total, 1e-12);
            assert_eq!(greatest[b], points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max));
            let first = points.iter().fold((-1, f64::INFINITY), |a, p| if p.1 < a.1 { *p } else { a });
            assert_eq!((place[b], least[b]), first);
            assert_eq!(numbers[b], points.len() as f64);
            if !points.is_empty() {
                let mean = total / points.len() as f64;
                assert_close(means[b], mean, 1e-10);
                assert_close(squares[b], points.iter().map(|p| (p.1 - mean).powi(2)).sum(), 1e-10);
            }
        }
        if n < 100 {
            let distinct = wave(n);
            let check = check_grad(moments, (&is, &distinct, k)).unwrap();
            assert!(check.agrees(1e-6), "{check}");
            let check = check_grad(least_and_where, (&is, &distinct, k)).unwrap();
            assert!(check.forward_reverse < 1e-12, "{check}");
        }
    }
}

// Kernels as operators, free variables, rows and small arrays.

#[kernel]
fn joined(a: f64, b: f64) -> f64 {
    a + b + a * b
}

#[kernel]
fn joined_by_index(dest: [f64; k], is: [i64; n], vs: [f64; n]) -> [f64; k] {
    reduce_by_index(dest, joined, is, vs)
}

#[kernel]
fn joined_with(dest: [f64; k], is: [i64; n], vs: [f64; n], w: f64) -> [f64; k] {
    reduce_by_index(dest, |a, b| a + b + w * a * b, is, vs)
}

#[kernel]
fn joined_rows(is: [i64; n], vs: [[f64; m]; n], w: [f64; m], k: usize) -> [[f64; m]; k] {
    hist(joined, w * 0.0, k, is, vs)
}

#[kernel]
fn least_rows(is: [i64; n], vs: [[f64; m]; n], e: [f64; m], k: usize) -> [[f64; m]; k] {
    hist(min, e, k, is, vs)
}

#[kernel]
fn joined_in_each_row(is: [[i64; m]; n], vs: [[f64; m]; n]) -> [[f64; 5]; n] {
    build(n, |i| hist(joined, 0.0, 5, is[i], vs[i]))
}

#[kernel]
fn products_in_each_row(is: [[i64; m]; n], vs: [[f64; m]; n]) -> ([[f64; 5]; n], [[f64; 5]; n]) {
    (hist(mul, 1.0, 5, is, vs), map(|i, v| hist(max, -9.0, 5, i, v), is, vs))
}

/// Products of diagonal matrices, which commute.
#[kernel]
fn diagonals(dest: [[[f64; 2]; 2]; k], is: [i64; n], a: [f64; n], b: [f64; n]) -> [[[f64; 2]; 2]; k] {
    reduce_by_index(dest, matmul, is, build(n, |i| [[a[i], 0.0], [0.0, b[i]]]))
}

#[test]
fn operators_of_several_kinds() {
    for (n, k) in [(0, 3), (1, 1), (7, 0), (30, 4), (30, 1), (5, 60)] {
        let (dest, is, vs) = (wave(k) * 0.3, places(n, k as i64), wave(n) * 0.5);
        let mut expected = dest.clone();
        for (i, v) in is.iter().zip(&vs) {
            if let Some(x) = usize::try_from(*i).ok().and_then(|i| expected.get_mut(i)) {
                *x += v + *x * v;
            }
        }
        assert_close(joined_by_index(&dest, &is, &vs), expected.clone(), 1e-12);
        assert_close(joined_with(&dest, &is, &vs, 1.0), expected, 1e-12);
        let m = 3;
        let rows = Array2::from_shape_fn((n, m), |(i, j)| (i as f64 * 1.3 + j as f64).sin() * 0.5);
        let found = joined_rows(&is, &rows, &Array1::ones(m), k as i64);
        for j in 0..m {
            let column = rows.column(j).to_owned();
            assert_close(found.column(j).to_owned(), joined_by_index(&Array1::zeros(k), &is, &column), 1e-12);
        }
        let one = Array3::from_shape_fn((k, 2, 2), |(_, i, j)| f64::from(u8::from(i == j)));
        let found = diagonals(&one, &is, &vs, &(&vs + 1.0));
        let each = products_into(&Array1::ones(k), &is, &vs);
        assert_close(found.slice(ndarray::s![.., 0, 0]).to_owned(), each, 1e-12);
        assert!(found.slice(ndarray::s![.., 0, 1]).iter().all(|x| *x == 0.0));
        for check in [
            check_grad(joined_by_index, (&dest, &is, &vs)).unwrap(),
            check_grad(joined_with, (&dest, &is, &vs, 0.7)).unwrap(),
            check_grad(joined_rows, (&is, &rows, &Array1::ones(m), k as i64)).unwrap(),
            check_grad(least_rows, (&is, &rows, &Array1::ones(m), k as i64)).unwrap(),
            check_grad(diagonals, (&one, &is, &vs, &(&vs + 1.0))).unwrap(),
        ] {
            assert!(check.agrees(1e-6), "{n} {k}: {check}");
        }
    }
}

#[test]
fn rows_inside_build() {
    for (n, m) in [(0, 4), (4, 0), (1, 1), (3, 12)] {
        let is = Array2::from_shape_fn((n, m), |(i, j)| (i * 5 + j * 3) as i64 % 7 - 1);
        let vs = Array2::from_shape_fn((n, m), |(i, j)| (i as f64 * 1.3 + j as f64).sin() * 0.5);
        let found = joined_in_each_row(&is, &vs);
        let (product, greatest) = products_in_each_row(&is, &vs);
        for i in 0..n {
            let (at, v) = (is.row(i).to_owned(), vs.row(i).to_owned());
            assert_close(found.row(i).to_owned(), joined_by_index(&Array1::zeros(5), &at, &v), 1e-12);
            assert_close(product.row(i).to_owned(), products_into(&Array1::ones(5), &at, &v), 1e-12);
            assert_close(
                greatest.row(i).to_owned(),
                greatest_into(&Array1::from_elem(5, -9.0), &at, &v),
                0.0,
            );
        }
        for check in [
            check_grad(joined_in_each_row, (&is, &vs)).unwrap(),
            check_grad(products_in_each_row, (&is, &vs)).unwrap(),
        ] {
            assert!(check.agrees(1e-6), "{n} {m}: {check}");
        }
    }
}

// Other numbers.

#[kernel]
fn single(is: [i32; n], vs: [f32; n], k: usize) -> ([f32; k], [f32; k]) {
    (hist(min, 9.0, k, is, vs), hist(|a, b| a + b + a * b, 0.0, k, is, vs))
}

/// The operator does not commute: points of a bin are combined in their order.
#[kernel]
fn digits(is: [u32; n], vs: [i64; n], k: usize) -> [i64; k] {
    hist(|(a, p), (b, q)| (a * q + b, p * q), (0, 1), k, is, (vs, replicate(n, 10))).0
}

#[kernel]
fn parities(is: [i64; n], vs: [bool; n], odd: [bool; k]) -> ([bool; k], [bool; k]) {
    (reduce_by_index(odd, |a, b| a ^ b, is, vs), reduce_by_index(odd, |a, b| a || b, is, vs))
}

#[test]
fn other_numbers() {
    let found = digits(&array![1, 0, 1, 7, 1, 0], &array![1, 2, 3, 4, 5, 6], 3);
    assert_eq!(found, array![26, 135, 0]);
    let found =
        parities(&array![0, 1, 0, 1, 5], &array![true, true, true, false, true], &array![false, false]);
    assert_eq!(found, (array![false, true], array![true, true]));
    let (is, vs) = (array![0, 1, 0, -1], array![0.5f32, 2.0, 1.0, 7.0]);
    assert_eq!(single(&is, &vs, 3), (array![0.5, 2.0, 9.0], array![2.0, 2.0, 0.0]));
    let check = check_grad(single, (&is, &vs, 3)).unwrap();
    assert!(check.agrees(1e-2), "{check}");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    for n in [1000, 70_000, 300_007] {
        let (dest, is, vs) = (wave(9), places(n, 9), wave(n) * 0.01);
        let results: Vec<_> = [1, 2, 7]
            .into_iter()
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let seed = Array1::ones(9);
                    (
                        vjp(joined_by_index)(&dest, &is, &vs, &seed),
                        vjp(products_into)(&dest, &is, &(&vs + 1.0), &seed),
                        vjp(least_into)(&dest, &is, &vs, &seed),
                    )
                })
            })
            .collect();
        assert!(results[0] == results[1] && results[0] == results[2], "{n}");
    }
}
