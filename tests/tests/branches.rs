//! Points whose code branches beside functions: for indices that are outside, or angles that are long. Elements are read before
//! the functions then, and both sides of choices are computed, in lanes; what comes out, and what fails, is what it would be alone.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use array_dsl::{Cpu, Error};
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

/// Below, at and above vectors, sets of 32 lanes, blocks of 64, and what one task does.
const LENGTHS: [usize; 11] = [0, 1, 7, 8, 9, 31, 33, 63, 65, 200, 10_000];

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| if i % 5 == 3 { 0.0 } else { (i as f64 * 0.71).sin() * 3.0 })
}

fn places(n: usize, m: usize) -> Array1<i64> {
    Array1::from_shape_fn(n, |i| ((i * 7919 + 3) % m) as i64)
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

/// Choices whose angles are on one side.
#[kernel]
fn chosen(x: [f64; n]) -> [f64; n] {
    map(|x| if x == 0.0 { 1.0 } else { sin(x) / x }, x)
}

/// Choices in choices.
#[kernel]
fn chosen_twice(x: [f64; n]) -> f64 {
    sum(map(
        |x| {
            if x > 0.0 { if x > 1.0 { cos(x) * 2.0 } else { exp(x) } } else { tan(x * 0.25) }
        },
        x,
    ))
}

#[test]
fn angles_on_one_side() {
    let twice = |x: &f64| match *x {
        x if x > 1.0 => x.cos() * 2.0,
        x if x > 0.0 => x.exp(),
        x => (x * 0.25).tan(),
    };
    for n in LENGTHS {
        let x = wave(n);
        assert_close(chosen(&x), x.mapv(sinc), 1e-14);
        let expected: f64 = x.iter().map(twice).sum();
        assert!((chosen_twice(&x) - expected).abs() <= 1e-12 * n as f64, "{n}");
    }
    assert_checks!(chosen, (&(wave(70) + 0.03),));
    let x = wave(70) + 0.03;
    assert_gradient(|x| chosen_twice(x), &x, &grad(chosen_twice)(&x));
}

/// Angles that are long, of points that use them and of points that do not.
#[test]
fn long_angles() {
    let x = array![0.0, 1e22, 2.0, -1e300, -0.0, f64::INFINITY, f64::NAN, 0.5];
    for n in [1, 4, 8, 70] {
        let x = Array1::from_shape_fn(n, |i| x[i % 8]);
        for (x, y) in x.iter().zip(chosen(&x)) {
            let expected = sinc(*x);
            assert!(
                y == expected || (y - expected).abs() < 1e-15 || (y.is_nan() && expected.is_nan()),
                "{x} {y}"
            );
        }
    }
}

/// Elements of rows that data tell, in a point's functions.
#[kernel]
fn pulled(x: [[f64; 3]; n], ends: [[i64; 2]; m]) -> ([[f64; 3]; m], [f64; m]) {
    let both = map(
        |e| {
            let d = x[e[0]] - x[e[1]];
            let squared = dot(d, d) + 0.01;
            (d * exp(-squared), sin(squared.sqrt()))
        },
        ends,
    );
    both
}

/// Their sum.
#[kernel]
fn energy(x: [[f64; 3]; n], ends: [[i64; 2]; m]) -> f64 {
    let mut total = 0.0;
    for k in 0..m {
        let d = x[ends[k][0]] - x[ends[k][1]];
        total += exp(-dot(d, d)) * cos(d[0]);
    }
    total
}

/// The one that is best.
#[kernel]
fn best(x: [f64; n], at: [i64; m]) -> i64 {
    argmax(map(|k| sin(x[k]) + cos(2.0 * x[k]), at))
}

fn bodies(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, 3), |(i, j)| ((3 * i + 5 * j) as f64 * 0.37).sin())
}

fn pairs(m: usize, n: usize) -> Array2<i64> {
    Array2::from_shape_fn((m, 2), |(k, j)| ((k * 31 + 7 * j + 1) % n) as i64)
}

#[test]
fn elements_that_data_tell() {
    let x = bodies(20);
    for m in LENGTHS {
        let ends = pairs(m, 20);
        let difference = |k: usize, j: usize| x[[ends[[k, 0]] as usize, j]] - x[[ends[[k, 1]] as usize, j]];
        let squared = |k: usize| (0..3).map(|j| difference(k, j).powi(2)).sum::<f64>();
        let (forces, waves) = pulled(&x, &ends);
        let expected = Array2::from_shape_fn((m, 3), |(k, j)| difference(k, j) * (-squared(k) - 0.01).exp());
        assert_close(forces, expected, 1e-14);
        assert_close(waves, Array1::from_shape_fn(m, |k| (squared(k) + 0.01).sqrt().sin()), 1e-14);
        let expected: f64 = (0..m).map(|k| (-squared(k)).exp() * difference(k, 0).cos()).sum();
        assert!((energy(&x, &ends) - expected).abs() <= 1e-13 * m.max(1) as f64, "{m}");
        if m > 0 {
            let (x, at) = (wave(50), places(m, 50));
            let value = |k: i64| x[k as usize].sin() + (2.0 * x[k as usize]).cos();
            let largest = at.iter().map(|k| value(*k)).fold(f64::MIN, f64::max);
            assert!((value(at[best(&x, &at) as usize]) - largest).abs() < 1e-14, "{m}");
        }
    }
    assert_checks!(pulled, (&x, &pairs(70, 20)));
    assert_checks!(energy, (&x, &pairs(70, 20)));
}

/// A quotient or an element that is not there.
#[kernel]
fn divided(x: [f64; n], at: [i64; m], by: [i64; m]) -> [f64; m] {
    build(m, |i| exp(x[at[i]]) + sin(x[100 / by[i]]))
}

#[test]
fn what_fails_is_told() {
    let (x, m) = (wave(101), 200);
    for at in [0, 5, 63, 64, 199] {
        let (good, by) = (places(m, 101), Array1::from_elem(m, 4));
        let run = |places: &Array1<i64>, by: &Array1<i64>| {
            Cpu.run(divided, (&x, places, by)).map(|_: Array1<f64>| ()).expect_err("one is wrong")
        };
        let (mut bad, mut none) = (good.clone(), by.clone());
        (bad[at], none[at]) = (101, 0);
        assert!(matches!(run(&bad, &by), Error::IndexOutOfRange { index: 101, length: 101, .. }), "{at}");
        assert!(matches!(run(&good, &none), Error::DivisionByZero { .. }), "{at}");
    }
    // Of several blocks of points the first.
    let mut ends = pairs(300, 20);
    for (k, index) in [(250, -1), (130, 20), (60, -7)] {
        ends[[k, 1]] = index;
        let errors = [
            Cpu.run(pulled, (&bodies(20), &ends)).map(|_: (Array2<f64>, Array1<f64>)| ()),
            Cpu.run(energy, (&bodies(20), &ends)).map(|_: f64| ()),
        ];
        for error in errors {
            match error {
                Err(Error::IndexOutOfRange { index: told, length: 20, .. }) => assert_eq!(told, index),
                other => panic!("{other:?}"),
            }
        }
    }
}
