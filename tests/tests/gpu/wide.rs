//! Numbers of 64 bits: floats to all their digits, integers beyond 2^31, and what both are combined by.

use array_dsl::{Error, prelude::*};
use ndarray::{Array, Array1, Array2, Dimension, array};

use super::agreement::{LENGTHS, SHAPES, agree, integers, is_skipped, noise, on, own_gpu};

/// A few units in the last place, for each of a few dozen operations.
const TOLERANCE: f64 = 1e-14;

/// Numbers in (-1, 1) with all digits of an `f64`.
fn doubles<D: Dimension>(shape: D, seed: u32) -> Array<f64, D> {
    noise(shape, seed).mapv(|x| f64::from(x) * (1.0 + 1.0 / 3e7))
}

/// Integers on both sides of zero, most of them beyond 32 bits.
fn longs(n: usize, seed: u32) -> Array1<i64> {
    noise(n, seed).mapv(|x| (f64::from(x) * 1e15) as i64)
}

#[kernel]
fn arithmetic(x: [f64; n], y: [f64; n], s: f64) -> [[f64; n]; 8] {
    build((8, n), |k, i| {
        let (x, y) = (x[i], y[i]);
        match k {
            0 => x * s + y / 3.0 - 0.1,
            1 => x.sqrt() + y.abs(),
            2 => x.min(y) - x.max(s),
            3 => (x * 10.0).floor() + (y * 10.0).ceil() + (x * 10.0).trunc() + (y * 10.0).round(),
            4 => x % (y + 0.01),
            5 => {
                if x < y {
                    x.signum()
                } else {
                    f64::NEG_INFINITY
                }
            }
            6 => x.recip() + (i as f64) / (n as f64),
            _ => x.powi(3) - y.powi(-2),
        }
    })
}

#[kernel]
fn converted(
    x: [f64; n],
    k: [i64; n],
) -> ([f32; n], [i32; n], [i64; n], [u32; n], [f64; n], [i32; n], [bool; n]) {
    let large = map(|v| v * 1e12, x);
    (
        map(|v| v as f32, x),
        map(|v| v as i32, large),
        map(|v| v as i64, large),
        map(|v| v as u32, large),
        map(|v| v as f64, k),
        map(|v| v as i32, k),
        map(|v| v > 0 && v != 7, k),
    )
}

#[test]
fn arithmetic_and_conversions() {
    for n in LENGTHS {
        let (x, y) = (doubles(ndarray::Ix1(n), 1), doubles(ndarray::Ix1(n), 2));
        agree(arithmetic, (x.clone(), y.clone(), 0.1f64), TOLERANCE);
        agree(vjp(arithmetic), (x.clone(), y, 0.1f64, doubles(ndarray::Ix2(8, n), 3)), 1e-12);
        agree(converted, (x, longs(n, 4)), 0.0);
    }
    let ends = array![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 5e-324, f64::MAX, 1e300];
    agree(converted, (ends, array![i64::MAX, i64::MIN, -1, 1 << 31, (1 << 32) - 1, 7, 0]), 0.0);
}

#[kernel]
fn mean_and_variance(x: [[f64; m]; n]) -> ([f64; n], [f64; n], [i64; n], f64) {
    let each = map(|r| sum(r) / m as f64, x);
    let squares = map(|r, c| sum((r - c) * (r - c)), x, each);
    (each, squares, argmin(x), maximum(map(maximum, x)))
}

#[kernel]
fn loss(w: [[f64; k]; m], x: [[f64; m]; n]) -> f64 {
    let y = matmul(x, w);
    sum(map(sum, y * y)) / n as f64
}

#[kernel]
fn product(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    matmul(a, b)
}

#[test]
fn reductions_and_products() {
    for (n, m) in SHAPES {
        if m > 0 {
            agree(mean_and_variance, (doubles(ndarray::Ix2(n, m), 1),), TOLERANCE);
        }
        agree(value_and_grad(loss), (doubles(ndarray::Ix2(m, 3), 2), doubles(ndarray::Ix2(n, m), 3)), 1e-12);
    }
    agree(mean_and_variance, (doubles(ndarray::Ix2(2, 100_000), 1),), 1e-13);
    for (n, k, m) in
        [(65, 130, 7), (1, 300, 129), (130, 17, 66), (300, 20, 10), (2, 9000, 2), (257, 300, 258)]
    {
        agree(product, (doubles(ndarray::Ix2(n, k), 4), doubles(ndarray::Ix2(k, m), 5)), 1e-12);
    }
}

#[kernel]
fn running(x: [f64; n], k: [i64; n]) -> ([f64; n], [i64; n], (f64, f64), [i64; n]) {
    let affine = reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, map(|v| v * 0.5, x)));
    (cumsum(x), cumsum(k), affine, scan(max, i64::MIN, k))
}

#[kernel]
fn affine_in_place(x: [f64; n], w: f64) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        y[i] = w * y[i - 1] + (1.0 - w) * y[i];
    }
    y
}

#[test]
fn prefixes_and_loops() {
    for n in LENGTHS {
        let x = doubles(ndarray::Ix1(n), 1);
        agree(running, (x.clone(), longs(n, 2)), 1e-12);
        agree(
            vjp(affine_in_place),
            (x.slice(ndarray::s![..n.min(20)]).to_owned(), 0.9f64, doubles(ndarray::Ix1(n.min(20)), 3)),
            1e-12,
        );
    }
    agree(running, (doubles(ndarray::Ix1(30_000), 1), longs(30_000, 2)), 1e-12);
}

#[kernel]
fn binned(at: [i64; n], x: [f64; n], k: [i64; n]) -> ([f64; 10], [f64; 10], [i64; 10], [i64; 10], [i64; 10]) {
    (
        hist(add, 0.0, 10, at, x),
        hist(max, f64::NEG_INFINITY, 10, at, x),
        hist(add, 0, 10, at, k),
        hist(min, i64::MAX, 10, at, k),
        hist(mul, 1, 10, at, k),
    )
}

#[kernel]
fn ordered(x: [f64; n], k: [i64; n]) -> ([f64; n], [i64; n], [i64; n], [f64; _]) {
    (sort(x), argsort(k), sort(k), filter(|v| v > 0.25, x))
}

#[test]
fn bins_and_sorts() {
    for n in LENGTHS {
        let (x, k) = (doubles(ndarray::Ix1(n), 1), longs(n, 2));
        let at = integers(n, 12, 3).mapv(|v| i64::from(v) - 1);
        agree(binned, (at.clone(), x.clone(), k.clone()), TOLERANCE);
        agree(vjp(binned_sums), (at, x.clone(), doubles(ndarray::Ix1(10), 4)), TOLERANCE);
        agree(ordered, (x, k), 0.0);
    }
}

#[kernel]
fn binned_sums(at: [i64; n], x: [f64; n]) -> [f64; 10] {
    hist(add, 0.0, 10, at, x)
}

#[kernel]
fn integer(a: [i64; n], b: [i64; n], s: i64) -> [[i64; n]; 13] {
    build((13, n), |k, i| {
        let (x, y) = (a[i], b[i]);
        match k {
            0 => x + y * 3 - s,
            1 => x * y,
            2 => x / (y % 1000 + 2000),
            3 => x % (y % 1000 + 2000),
            4 => x.rem_euclid(y % 1000 + 2000),
            5 => x.min(y) - x.max(y),
            6 => x.abs() * (x > 3) as i64 + x.signum(),
            7 => (x & y) | (x ^ 5),
            8 => (x << 40) >> 3,
            9 => x >> (y & 63),
            10 => -x,
            11 => !x,
            // An index, multiplied beyond 32 bits.
            _ => (i + 1) * (i + 2) * 1_000_003 + n * 5_000_000_000,
        }
    })
}

#[test]
fn integers_wrap_at_64_bits() {
    for n in LENGTHS {
        agree(integer, (longs(n, 1), longs(n, 2), 1i64 << 40), 0.0);
    }
    let (a, b) = (array![i64::MAX, i64::MIN, 1 << 62, -7], array![i64::MAX, 2, 3, 1 << 62]);
    agree(integer, (a, b, -3i64), 0.0);
}

#[kernel]
fn pairs(x: [f32; n]) -> (f32, i64) {
    (sum(x) / (n * n) as f32, n * n * n)
}

#[kernel]
fn picked(x: [f32; n], at: [i64; k]) -> [f32; k] {
    x[at]
}

#[kernel]
fn divided(a: [i64; n], b: [i64; n]) -> [i64; n] {
    a / b
}

#[test]
fn products_of_sizes_are_numbers() {
    // More pairs than 32 bits can count.
    agree(pairs, (noise(70_000, 1),), 1e-5);
    agree(picked, (noise(300, 1), integers(1000, 300, 2).mapv(i64::from)), 0.0);
}

#[test]
fn what_is_wrong_is_said() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x: Array1<f32> = noise(3, 1);
    for (index, reported) in
        [(3, 3), (-1, -1), (1 << 40, i64::from(i32::MAX)), (i64::MIN, i64::from(i32::MIN))]
    {
        match on(&gpu, picked, &(x.clone(), array![0i64, index])) {
            Err(Error::IndexOutOfRange { index, length: 3, .. }) => assert_eq!(index, reported),
            other => panic!("{other:?}"),
        }
    }
    let zero = on(&gpu, divided, &(array![1i64 << 40, 2], array![1i64, 0]));
    assert!(matches!(zero, Err(Error::DivisionByZero { .. })), "{zero:?}");
    let overflow = on(&gpu, divided, &(array![i64::MIN], array![-1i64]));
    assert_eq!(overflow, Ok(array![i64::MIN]));
}

#[derive(Record, Clone, Debug)]
struct Oscillator {
    #[shape(n)]
    x: Array1<f64>,
    stiffness: f64,
    steps: i64,
}

#[kernel(value_and_grad)]
fn energy(o: &Oscillator) -> f64 {
    0.5 * o.stiffness * sum(o.x * o.x) * o.steps as f64
}

#[kernel]
fn stiffer(o: &Oscillator) -> Oscillator {
    Oscillator { stiffness: 3.0 * o.stiffness, ..o }
}

#[test]
fn records_have_long_scalars() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let o = Oscillator { x: doubles(ndarray::Ix1(300), 1), stiffness: 1.0 / 3.0, steps: 1 << 33 };
    let on_gpu = gpu.upload(&o).unwrap();
    let (value, gradient) = gpu.run(value_and_grad(energy), (&on_gpu,)).unwrap();
    let (expected, g) = value_and_grad(energy)(&o);
    let (value, gradient) = (value.item().unwrap(), gradient.download().unwrap());
    assert!((value / expected - 1.0).abs() < 1e-14, "{value} {expected}");
    assert!((gradient.stiffness / g.stiffness - 1.0).abs() < 1e-14);
    assert_eq!(gradient.x.len(), g.x.len());
    assert!(gradient.x.iter().zip(&g.x).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()));
    // A scalar that the device has computed goes on as an argument.
    let stiff = gpu.run(stiffer, (&on_gpu,)).unwrap();
    let again = gpu.run(energy, (&stiff,)).unwrap().item().unwrap();
    let expected = energy(&stiffer(&o));
    assert!((again / expected - 1.0).abs() < 1e-14, "{again} {expected}");
}

#[test]
fn matrices_that_are_views() {
    // Transposed arrays are uploaded in their order.
    let a: Array2<f64> = doubles(ndarray::Ix2(20, 31), 1);
    agree(product, (a.t().to_owned(), a.clone()), 1e-13);
}
