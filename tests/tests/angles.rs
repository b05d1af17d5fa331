//! `sin`, `cos` and `tan` of every finite number, wherever they stand in a kernel.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

#[kernel]
fn each(x: [f64; n]) -> ([f64; n], [f64; n], [f64; n]) {
    (x.sin(), x.cos(), x.tan())
}

#[kernel]
fn each_short(x: [f32; n]) -> ([f32; n], [f32; n], [f32; n]) {
    (x.sin(), x.cos(), x.tan())
}

#[kernel]
fn total(x: [f64; n]) -> f64 {
    sum(2.0 * x.sin() + x.cos())
}

#[kernel]
fn columns(x: [[f64; m]; n]) -> [f64; m] {
    sum(transpose(x.sin()))
}

#[kernel]
fn running(x: [f64; n]) -> [f64; n] {
    cumsum(x.cos())
}

#[kernel]
fn one(x: f64) -> f64 {
    x.sin()
}

#[kernel]
fn scattered(x: [f64; n], at: [i64; n]) -> [f64; 3] {
    hist(add, 0.0, 3, at, x.sin())
}

#[kernel]
fn in_place(x: [f64; n], trips: i64) -> [f64; n] {
    let mut y = x;
    for _ in 0..trips {
        y = 1e12 * y.sin();
    }
    y
}

#[kernel]
fn recurrence(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        y[i] = 1e15 * sin(y[i - 1] + x[i]);
    }
    y
}

/// What points add up, with loops of their own and with rows, and what goes to an array that was something before.
#[kernel]
fn added_up(x: [f64; n], a: [f64; m]) -> (f64, f64, [f64; n]) {
    let ends = build(n, |i| {
        let mut y = x[i];
        for t in 0..m {
            y = sin(y) + a[t];
        }
        y
    });
    let mut total = 0.5;
    for i in 0..n {
        total += cos(maximum(x[i] * a));
    }
    (sum(ends), total, ends)
}

/// Angles of all lengths: of `long` of them, one in ten is beyond 1e9.
fn angles(n: usize, long: bool) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| {
        let x = (i as f64 * 0.7).sin() * 100.0;
        if long && i % 10 == 3 { x * 10f64.powi(8 + i as i32 % 250) } else { x }
    })
}

#[track_caller]
fn assert_near(
    found: impl IntoIterator<Item = f64>,
    expected: impl IntoIterator<Item = f64>,
    tolerance: f64,
) {
    let (found, expected): (Vec<f64>, Vec<f64>) =
        (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.into_iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{i}: {f} instead of {e}");
    }
}

#[test]
fn arrays_of_angles_of_every_length() {
    for n in [1, 7, 64, 1000, 200_000] {
        let x = angles(n, true);
        let (sin, cos, tan) = each(&x);
        assert_near(sin, x.iter().map(|x| x.sin()), 5e-16);
        assert_near(cos, x.iter().map(|x| x.cos()), 5e-16);
        assert_near(tan, x.iter().map(|x| x.tan()), 1e-15);
        let short = x.mapv(|x| x as f32).mapv(|x| if x.is_finite() { x } else { f32::MAX });
        let (sin, cos, tan) = each_short(&short);
        let wide = || short.iter().map(|x| f64::from(*x));
        assert_near(sin.iter().map(|x| f64::from(*x)), wide().map(f64::sin), 2e-7);
        assert_near(cos.iter().map(|x| f64::from(*x)), wide().map(f64::cos), 2e-7);
        assert_near(tan.iter().map(|x| f64::from(*x)), wide().map(f64::tan), 4e-7);
    }
}

#[test]
fn a_long_angle_changes_no_other_result() {
    let (x, mut with) = (angles(5000, false), angles(5000, false));
    with[777] = 1e300;
    let (a, b) = (each(&x), each(&with));
    for i in (0..5000).filter(|i| *i != 777) {
        assert_eq!((a.0[i], a.1[i], a.2[i]), (b.0[i], b.1[i], b.2[i]));
    }
    assert_near([b.0[777]], [1e300f64.sin()], 5e-16);
}

#[test]
fn every_kind_of_loop() {
    let x = angles(70_000, true);
    let expected: f64 = x.iter().map(|x| 2.0 * x.sin() + x.cos()).sum();
    assert!((total(&x) - expected).abs() < 1e-8);
    let gradient = x.iter().map(|x| 2.0 * x.cos() - x.sin());
    assert_near(grad(total)(&x), gradient, 1e-15);
    let mut sum = 0.0;
    let prefixes = x.iter().map(|x| {
        sum += x.cos();
        sum
    });
    assert_near(running(&x), prefixes, 1e-10);
    let matrix = Array2::from_shape_fn((300, 40), |(i, j)| x[i * 40 + j]);
    let sums = matrix.columns().into_iter().map(|c| c.iter().map(|x| x.sin()).sum::<f64>());
    assert_near(columns(&matrix), sums, 1e-12);
    assert_near([one(1e22)], [1e22f64.sin()], 5e-16);
    let at = Array1::from_shape_fn(x.len(), |i| i as i64 % 3);
    let sums = (0..3).map(|k| x.iter().skip(k).step_by(3).map(|x| x.sin()).sum::<f64>());
    assert_near(scattered(&x, &at), sums, 1e-10);
}

#[test]
fn loops_that_read_what_they_write() {
    // The sine is right to the last bit or two, so a few trips follow the same orbit only from angles that are equal.
    let x = angles(100, true);
    assert_near(in_place(&x, 1), x.iter().map(|x| 1e12 * x.sin()), 1e-15);
    let twice = in_place(&in_place(&x, 1), 1);
    assert_eq!(in_place(&x, 2), twice);
    let x = array![0.5, 1e10, 0.25, 1e5];
    let y = recurrence(&x);
    for i in 1..4 {
        assert_near([y[i]], [1e15 * (y[i - 1] + x[i]).sin()], 1e-15);
    }
}

/// Sums that are begun again, in one task and in several.
#[test]
fn points_add_up_functions_of_long_angles() {
    for n in [1, 20, 5000] {
        for long in [false, true] {
            let (x, a) = (angles(n, long), array![0.3, -1.0, 0.1]);
            let (sum, cosines, ends) = Cpu.run(added_up, (&x, &a)).expect("it runs");
            let path = |x: &f64| a.iter().fold(*x, |y, a| y.sin() + a);
            let wanted: Vec<f64> = x.iter().map(path).collect();
            assert_near(ends, wanted.clone(), 1e-12);
            let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-12 * n as f64;
            assert!(near(sum, wanted.iter().sum()), "{n} {long}: {sum}");
            let greatest = |v: &f64| a.iter().map(|a| v * a).fold(f64::NEG_INFINITY, f64::max);
            let wanted = 0.5 + x.iter().map(|v| greatest(v).cos()).sum::<f64>();
            assert!(near(cosines, wanted), "{n} {long}: {cosines} {wanted}");
        }
    }
}
