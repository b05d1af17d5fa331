//! Functions in rows that end before a vector does: lanes without a point compute with zeros and change nothing. Of every length up to
//! several vectors, each element has the bits that it has alone.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

use array_dsl::Cpu;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

/// Below, at and above vectors of 4, 8 and 16 numbers, sets of 32 lanes, and blocks of 64.
const LENGTHS: [usize; 18] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 14, 16, 17, 31, 33, 47, 63, 65, 100];

fn waves(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((3 * i + 7 * j) as f64 * 0.71).sin())
}

/// One row and one column at a time.
fn alone(x: &Array2<f64>, f: impl Fn(&Array2<f64>) -> Array2<f64>) -> Array2<f64> {
    let one = |v: &f64| f(&array![[*v]])[[0, 0]];
    x.map(one)
}

#[kernel]
fn gated(x: [[f64; k]; n]) -> [[f64; k]; n] {
    map(|r| build(k, |j| sigmoid(3.0 * r[j]) * tanh(r[j]) + if r[j] > 0.5 { ln(r[j]) } else { 0.0 }), x)
}

#[kernel]
fn gated_32(x: [[f32; k]; n]) -> [[f32; k]; n] {
    map(|r| build(k, |j| sigmoid(3.0 * r[j]) * tanh(r[j]) + if r[j] > 0.5 { ln(r[j]) } else { 0.0 }), x)
}

#[test]
fn rows_that_are_stored() {
    for k in LENGTHS {
        let x = waves(5, k);
        assert_eq!(gated(&x), alone(&x, |x| gated(x)), "{k}");
        let narrow = x.mapv(|v| v as f32);
        let one = |v: &f32| gated_32(&array![[*v]])[[0, 0]];
        assert_eq!(gated_32(&narrow), narrow.map(one), "{k}");
    }
    assert_checks!(gated, (&waves(3, 9),));
}

/// Folds of all kinds of one row, whose functions are stored besides.
#[kernel]
fn folded(x: [[f64; k]; n]) -> ([[f64; k]; n], [f64; n], [f64; n], [i64; n], [i64; n]) {
    let rows = map(
        |r| {
            let e = exp(r * r - 1.0);
            (e, sum(e), maximum(sin(r)), argmin(cos(r)), sum(map(|e| floor(4.0 * e) as i64, e)))
        },
        x,
    );
    rows
}

#[test]
fn rows_that_are_folded() {
    for k in LENGTHS.into_iter().filter(|k| *k > 0) {
        let x = waves(6, k);
        let (e, total, greatest, least, whole) = folded(&x);
        for (i, r) in x.axis_iter(Axis(0)).enumerate() {
            let by_hand = r.mapv(|v| (v * v - 1.0).exp());
            assert!(e.row(i).iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-15), "{k} {i}");
            assert!((total[i] - by_hand.sum()).abs() < 1e-13 * k as f64, "{k} {i}");
            let highest = r.iter().map(|v| v.sin()).fold(f64::MIN, f64::max);
            assert!((greatest[i] - highest).abs() < 1e-15, "{k} {i}");
            let lowest = r.iter().map(|v| v.cos()).fold(f64::MAX, f64::min);
            assert!((r[least[i] as usize].cos() - lowest).abs() < 1e-15, "{k} {i}");
            let floors: i64 = e.row(i).iter().map(|v| (4.0 * v).floor() as i64).sum();
            assert_eq!(whole[i], floors, "{k} {i}");
        }
    }
}

/// A short state in a loop of steps, whole and in place.
#[kernel]
fn steps(x: [[f64; k]; t], w: [f64; k]) -> ([f64; k], [f64; k]) {
    let mut h = zeros(k);
    let mut total = zeros(k);
    for s in 0..t {
        h = tanh(w * h + x[s]);
        for j in 0..k {
            total[j] = total[j] * sigmoid(h[j]) + exp(total[j] - h[j] * h[j] - 3.0);
        }
    }
    (h, total)
}

#[test]
fn states_of_every_length() {
    for k in LENGTHS {
        let (x, w) = (waves(7, k), Array1::from_shape_fn(k, |j| 0.1 * j as f64 - 0.4));
        let (h, total) = steps(&x, &w);
        for j in 0..k {
            let column = |a: ArrayView1<'_, f64>| a.to_owned().insert_axis(Axis(1));
            let (one, sum) = steps(&column(x.column(j)), &array![w[j]]);
            assert_eq!((h[j].to_bits(), total[j].to_bits()), (one[0].to_bits(), sum[0].to_bits()), "{k} {j}");
        }
    }
    assert_checks!(steps, (&waves(4, 9), &Array1::from_elem(9, 0.7)));
}

/// What rows leave in arrays that all share, at places that functions decide, or at one for all.
#[kernel(value)]
fn binned(x: [[f64; k]; n], bins: usize) -> ([f64; bins], f64) {
    let mut sums = zeros(bins);
    let mut all = 0.0;
    for i in 0..n {
        for j in 0..k {
            let e = exp(x[i][j]);
            sums[floor(e) as i64] += e;
            all += tanh(e);
        }
    }
    (sums, all)
}

#[test]
fn bins_of_every_length() {
    for k in LENGTHS {
        let x = waves(6, k);
        let (sums, all) = binned(&x, 3);
        let mut by_hand = [0.0; 3];
        for v in &x {
            by_hand[v.exp().floor() as usize] += v.exp();
        }
        assert!(sums.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-12), "{k}");
        assert!((all - x.iter().map(|v| v.exp().tanh()).sum::<f64>()).abs() < 1e-12, "{k}");
    }
}

/// Only points fail: of a lane without one the place that it would read is not compared.
#[kernel]
fn picked(x: [f64; m], at: [[i64; k]; n]) -> [[f64; k]; n] {
    map(|row| map(|p| exp(x[p]), row), at)
}

#[test]
fn places_outside_are_found() {
    let x = Array1::from_vec(vec![0.5, -0.25]);
    for k in LENGTHS {
        let mut at = Array2::from_shape_fn((3, k), |(i, j)| ((i + j) % 2) as i64);
        let found = Cpu.run(picked, (&x, &at)).expect("all are inside");
        assert!(found.iter().zip(&at).all(|(v, p)| (v - x[*p as usize].exp()).abs() < 1e-15), "{k}");
        if k > 0 {
            at[[2, k - 1]] = 2;
            let error = Cpu.run(picked, (&x, &at)).expect_err("one is outside").to_string();
            assert!(error.contains('2'), "{error}");
        }
    }
}

/// Angles that lanes without a point would make long.
#[kernel]
fn inverse(x: [[f64; k]; n]) -> [f64; n] {
    map(|r| sum(sin(1.0 / r)), x)
}

#[test]
fn angles_of_every_length() {
    for k in LENGTHS {
        let x = waves(4, k).mapv(|v| v + 2.0);
        for (found, r) in inverse(&x).iter().zip(x.rows()) {
            assert!((found - r.iter().map(|v| (1.0 / v).sin()).sum::<f64>()).abs() < 1e-13, "{k}");
        }
    }
}

/// Trips that data end, of a last vector as well.
#[kernel]
fn halved(x: [f64; n]) -> [f64; n] {
    map(
        |x| {
            let mut y = x;
            while y > 0.25 {
                y = y - tanh(y) * 0.5;
            }
            y
        },
        x,
    )
}

#[test]
fn trips_that_data_end() {
    for n in LENGTHS {
        let x = Array1::from_shape_fn(n, |i| 4.0 * (i as f64 * 0.7).sin());
        let found = halved(&x);
        for (v, x) in found.iter().zip(&x) {
            assert_eq!(v.to_bits(), halved(&array![*x])[0].to_bits(), "{n}");
        }
    }
}
