//! Products with compressed rows, and reductions by segment: against dense matrices and loops, with derivatives to the second
//! order.

use array_dsl::prelude::*;
use array_dsl::segment::{segment_max, segment_mean, segment_min, segment_softmax, segment_sum};
use array_dsl::sparse::{csr_matmat, csr_matvec, csr_transposed_matvec};
use ndarray::{Array1, Array2, array};

#[path = "common/sparse.rs"]
mod kernels;
use kernels::{f32s, f64s};

#[path = "common/host.rs"]
#[macro_use]
mod host;

host! {
    h_matvec(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], x: [f64; n]) -> [f64; m] = csr_matvec(a, columns, starts, x);
    h_matvecs(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], x: [[f64; n]; b]) -> [[f64; m]; b] = csr_matvec(a, columns, starts, x);
    h_matmat(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], x: [[f64; c]; n]) -> [[f64; c]; m] = csr_matmat(a, columns, starts, x);
    h_transposed(a: [f64; k], columns: [i64; k], starts: [i64; m + 1], y: [f64; m], n: usize) -> [f64; n]
        = csr_transposed_matvec(a, columns, starts, y, n);
    h_sum(x: [f64; n], s: [i64; n], count: usize) -> [f64; count] = segment_sum(x, s, count);
    h_sums(x: [[f64; n]; b], s: [i64; n], count: usize) -> [[f64; count]; b] = segment_sum(x, s, count);
    h_mean(x: [f64; n], s: [i64; n], count: usize) -> [f64; count] = segment_mean(x, s, count);
    h_max(x: [f64; n], s: [i64; n], count: usize) -> [f64; count] = segment_max(x, s, count);
    h_min(x: [f64; n], s: [i64; n], count: usize) -> [f64; count] = segment_min(x, s, count);
    h_softmax(x: [f64; n], s: [i64; n], count: usize) -> [f64; n] = segment_softmax(x, s, count);
}

type Vector = Array1<f64>;

fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

fn noise(n: usize, seed: u64) -> Vector {
    let mut next = words(seed);
    Array1::from_shape_simple_fn(n, || next() as f64 / f64::from(1u32 << 30) - 1.0)
}

fn choices(n: usize, below: usize, seed: u64) -> Array1<i64> {
    let mut next = words(seed);
    Array1::from_shape_simple_fn(n, || (next() % below.max(1) as u64) as i64)
}

/// The entries, columns and starts of some matrix, some of whose rows are empty, and some of whose places have two entries; and the
/// matrix.
fn matrix(rows: usize, columns: usize, seed: u64) -> (Vector, Array1<i64>, Array1<i64>, Array2<f64>) {
    let lengths = choices(rows, if columns == 0 { 1 } else { 4 }, seed);
    let mut starts = vec![0];
    lengths.iter().for_each(|l| starts.push(starts[starts.len() - 1] + l));
    let k = starts[rows] as usize;
    let (values, at) = (noise(k, seed + 1), choices(k, columns, seed + 2));
    let mut dense = Array2::zeros((rows, columns));
    for i in 0..rows {
        for e in starts[i] as usize..starts[i + 1] as usize {
            dense[[i, at[e] as usize]] += values[e];
        }
    }
    (values, at, Array1::from(starts), dense)
}

#[track_caller]
fn near(a: &Vector, b: &Vector) {
    assert_eq!(a.len(), b.len());
    assert!((a - b).iter().all(|d| d.abs() < 1e-13), "{a}\n{b}");
}

#[test]
fn products_are_those_of_dense_matrices() {
    for (m, n) in [(0, 0), (0, 3), (3, 0), (1, 1), (7, 5), (200, 31)] {
        let (a, columns, starts, dense) = matrix(m, n, 3);
        let (x, y) = (noise(n, 7), noise(m, 8));
        near(&h_matvec(&a, &columns, &starts, &x), &dense.dot(&x));
        near(&h_transposed(&a, &columns, &starts, &y, n), &dense.t().dot(&y));
        let b = Array2::from_shape_fn((n, 3), |(i, j)| x[i] * (j as f64 - 1.0) + 1.0);
        let (found, expected) = (h_matmat(&a, &columns, &starts, &b), dense.dot(&b));
        assert!((&found - &expected).iter().all(|d| d.abs() < 1e-13));
        let rows = h_matvecs(&a, &columns, &starts, &b.t().to_owned());
        assert!((&rows.t() - &expected).iter().all(|d| d.abs() < 1e-13));
    }
    // Entries before the first row and after the last one.
    let (a, columns) = (array![9.0, 1.0, 2.0, 9.0], array![0, 0, 1, 1]);
    assert_eq!(h_matvec(&a, &columns, &array![1, 2, 3], &array![3.0, 5.0]), array![3.0, 10.0]);
    assert_eq!(h_transposed(&a, &columns, &array![1, 2, 3], &array![3.0, 5.0], 2), array![3.0, 10.0]);
}

#[test]
fn what_is_outside_is_an_error() {
    let starts = array![0, 1];
    let x = array![1.0, 2.0];
    for wrong in [-1, 2] {
        let error = Cpu.run(h_matvec, (&array![1.0], &array![wrong], &starts, &x)).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfRange { .. }), "{error}");
        assert!(Cpu.run(h_transposed, (&array![1.0], &array![wrong], &starts, &array![1.0], 2)).is_err());
    }
    assert!(
        Cpu.run(h_matvec, (&array![1.0], &array![0], &array![0, 2], &x)).is_err(),
        "an entry that is not there"
    );
    assert!(Cpu.run(h_matvec, (&array![1.0], &array![0], &Array1::zeros(0), &x)).is_err(), "no start");
}

#[test]
fn segments_are_reduced() {
    for (n, count) in [(0, 0), (0, 2), (1, 1), (5, 9), (300, 7)] {
        let (x, s) = (noise(n, 11), choices(n, count, 12));
        let of = |k: usize| -> Vec<f64> {
            x.iter().zip(&s).filter(|(_, s)| **s == k as i64).map(|(x, _)| *x).collect()
        };
        let each = |f: &dyn Fn(&[f64]) -> f64| Array1::from_shape_fn(count, |k| f(&of(k)));
        near(&h_sum(&x, &s, count), &each(&|v| v.iter().sum()));
        assert_eq!(h_max(&x, &s, count), each(&|v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max)));
        assert_eq!(h_min(&x, &s, count), each(&|v| v.iter().copied().fold(f64::INFINITY, f64::min)));
        let mean = h_mean(&x, &s, count);
        for k in 0..count {
            let v = of(k);
            let expected = v.iter().sum::<f64>() / v.len() as f64;
            assert!((mean[k] - expected).abs() < 1e-14 || (v.is_empty() && mean[k].is_nan()));
        }
        let total = each(&|v| v.iter().map(|x| x.exp()).sum());
        near(&h_softmax(&x, &s, count), &Array1::from_shape_fn(n, |i| x[i].exp() / total[s[i] as usize]));
        let both = ndarray::stack![ndarray::Axis(0), x, x];
        near(&h_sums(&both, &s, count).row(1).to_owned(), &h_sum(&x, &s, count));
    }
    // Those of no segment.
    assert_eq!(h_sum(&array![1.0, 2.0, 4.0], &array![-1, 0, 2], 2), array![2.0, 0.0]);
    assert!(Cpu.run(h_softmax, (&array![1.0], &array![1], 1)).is_err());
    // Of elements that no exponential has.
    let low = f64::NEG_INFINITY;
    assert_eq!(h_softmax(&array![2000.0, 2000.0, low], &array![0, 0, 0], 1), array![0.5, 0.5, 0.0]);
}

macro_rules! derivatives {
    ($($name:ident)*) => {
        #[test]
        fn derivatives_to_the_second_order() {
            for m in [1, 3, 6] {
                let (a, columns, starts, _) = matrix(m, 4, 31);
                let (x, k) = (noise(4, 32), a.len());
                let (da, dx, h) = (noise(k, 33), noise(4, 34), 1e-5);
                $({
                    check_grad(f64s::$name, (&a, &x, &columns, &starts)).unwrap().assert();
                    let at = |t: f64| grad(f64s::$name)(&(&a + &(t * &da)), &(&x + &(t * &dx)), &columns, &starts);
                    let ((pa, px), (ma, mx)) = (at(h), at(-h));
                    let (ha, hx) = hvp(f64s::$name)(&a, &x, &columns, &starts, &da, &dx);
                    let scale = 1.0 + ha.iter().chain(&hx).fold(0.0f64, |m, v| m.max(v.abs()));
                    for (found, expected) in [(ha, (pa - ma) / (2.0 * h)), (hx, (px - mx) / (2.0 * h))] {
                        assert!((found - expected).iter().all(|d| d.abs() < 1e-7 * scale), "{} {m}", stringify!($name));
                    }
                    let (sa, sx) = (a.mapv(|x| x as f32), x.mapv(|x| x as f32));
                    let (value, (ga, _)) = value_and_grad(f32s::$name)(&sa, &sx, &columns, &starts);
                    let (expected, (ea, _)) = value_and_grad(f64s::$name)(&a, &x, &columns, &starts);
                    assert!((f64::from(value) - expected).abs() < 1e-4 * (1.0 + expected.abs()));
                    assert!((ga.mapv(f64::from) - ea).iter().all(|d| d.abs() < 1e-3 * scale));
                })*
            }
        }
    };
}

derivatives! { of_products of_segments }
