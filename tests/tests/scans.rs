//! Prefix scans: the worked examples of Robert Schenck's thesis (T19), of a study of the Dex paper (E31) and of the study of
//! sizes (S13), products with zeros, ties, lengths around the ends of chunks, second order, single precision, the same bits
//! on any number of threads.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

/// Numbers around 1, some of them negative.
fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 1.0 + 0.9 * (i as f64 * 0.71).sin() - if i % 7 == 3 { 2.0 } else { 0.0 })
}

/// Numbers whose products and sums stay small, however many.
fn gentle(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 0.5 * (i as f64 * 0.37).cos())
}

/// Lengths around the ends of chunks, and one of many chunks.
const LENGTHS: [usize; 6] = [0, 1, 255, 256, 257, 70_000];

// T19: sums and products of prefixes.

#[kernel]
fn sums(xs: [f64; n]) -> [f64; n] {
    scan(add, 0.0, xs)
}

#[kernel]
fn sums_before(xs: [f64; n]) -> [f64; n] {
    scan_exclusive(add, 0.0, xs)
}

#[kernel]
fn products(xs: [f64; n]) -> [f64; n] {
    scan(mul, 1.0, xs)
}

#[kernel]
fn products_before(xs: [f64; n]) -> [f64; n] {
    scan_exclusive(mul, 1.0, xs)
}

/// The same by an operator that is not known to the compiler.
#[kernel]
fn products_by_closure(xs: [f64; n]) -> [f64; n] {
    scan(|a, b| (a + a) * b * 0.5, 1.0, xs)
}

#[test]
fn t19_scans() {
    let xs = array![2.0, 3.0, 4.0];
    let ones = Array1::ones(3);
    let weights = array![1.0, 2.0, 3.0];
    assert_eq!(vjp(products)(&xs, &ones), (array![2.0, 6.0, 24.0], array![16.0, 10.0, 6.0]));
    assert_eq!(vjp(products_by_closure)(&xs, &ones), (array![2.0, 6.0, 24.0], array![16.0, 10.0, 6.0]));
    assert_eq!(vjp(sums)(&xs, &weights), (array![2.0, 5.0, 9.0], array![6.0, 5.0, 3.0]));
    assert_eq!(vjp(sums_before)(&xs, &weights), (array![0.0, 2.0, 5.0], array![5.0, 3.0, 0.0]));
    assert_eq!(vjp(products_before)(&xs, &ones), (array![1.0, 2.0, 6.0], array![4.0, 2.0, 0.0]));
    assert_eq!(jvp(sums)(&xs, &weights).1, array![1.0, 3.0, 6.0]);
    assert_eq!(jvp(products)(&xs, &array![1.0, 0.0, 0.0]).1, array![1.0, 3.0, 12.0]);
}

// S13: scans of rows, position by position.

#[kernel]
fn column_sums(xss: [[f64; m]; n]) -> [[f64; m]; n] {
    scan(add, zeros(m), xss)
}

#[kernel]
fn column_products(xss: [[f64; m]; n]) -> [[f64; m]; n] {
    scan(|x, y| x * y, ones(m), xss)
}

#[kernel]
fn row_products(xss: [[f64; m]; n]) -> [[f64; m]; n] {
    cumprod(xss)
}

#[test]
fn s13_scans_of_rows() {
    let xss = array![[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]];
    assert_eq!(column_sums(&xss), array![[1.0, 2.0, 3.0], [5.0, 2.0, 9.0]]);
    assert_eq!(column_products(&xss), array![[1.0, 2.0, 3.0], [4.0, 0.0, 18.0]]);
    assert_eq!(row_products(&xss), array![[1.0, 2.0, 6.0], [4.0, 0.0, 0.0]]);
    let ones = Array2::ones((2, 3));
    assert_eq!(vjp(column_sums)(&xss, &ones).1, array![[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]]);
    assert_eq!(vjp(column_products)(&xss, &ones).1, array![[5.0, 1.0, 7.0], [1.0, 2.0, 3.0]]);
    assert_eq!(vjp(row_products)(&xss, &ones).1, array![[9.0, 4.0, 2.0], [1.0, 28.0, 0.0]]);
    for shape in [(0, 3), (3, 0), (1, 1), (300, 2), (2, 300)] {
        let xss = Array2::from_shape_vec(shape, wave(shape.0 * shape.1).to_vec()).unwrap();
        let mut expected = xss.clone();
        expected.accumulate_axis_inplace(ndarray::Axis(0), |a, b| *b += a);
        assert_close(column_sums(&xss), expected, 1e-12);
    }
}

// E31: places where the parts of a ragged array begin.

#[kernel]
fn offsets(lengths: [i64; n]) -> ([i64; n], i64) {
    (scan_exclusive(add, 0, lengths), lengths.sum())
}

#[test]
fn e31_offsets() {
    assert_eq!(offsets(&array![2, 0, 3]), (array![0, 2, 2], 5));
    assert_eq!(offsets(&Array1::zeros(0)), (Array1::zeros(0), 0));
}

// Cumulative products have correct derivatives at zeros: the cotangent of x[i] is the sum over k >= i of seed[k] times
// the product of all x[j], j <= k, but x[i].

#[kernel(hvp)]
fn sum_of_products(xs: [f64; n], w: [f64; n]) -> f64 {
    dot(cumprod(xs), w)
}

fn cumprod_adjoint(xs: &Array1<f64>, seed: &Array1<f64>) -> Array1<f64> {
    Array1::from_shape_fn(xs.len(), |i| {
        let but = |k: usize| (0..=k).filter(|j| *j != i).map(|j| xs[j]).product::<f64>();
        (i..xs.len()).map(|k| seed[k] * but(k)).sum()
    })
}

#[test]
fn cumulative_products_with_zeros() {
    let cases = [
        array![2.0, 0.0, 3.0, 4.0],
        array![0.0, 2.0, 3.0, 4.0],
        array![2.0, 3.0, 4.0, 0.0],
        array![0.0, 2.0, 0.0, 5.0],
        array![0.0, 0.0, 0.0, 0.0],
        array![0.0],
        array![7.0],
        array![],
    ];
    for xs in cases {
        let n = xs.len();
        let seed = array![1.0, 10.0, 100.0, 1000.0].slice(ndarray::s![..n]).to_owned();
        let expected = cumprod_adjoint(&xs, &seed);
        assert_close(vjp(products)(&xs, &seed).1, expected.clone(), 1e-14);
        assert_close(vjp(products_by_closure)(&xs, &seed).1, expected.clone(), 1e-14);
        assert_close(grad(sum_of_products)(&xs, &seed).0, expected.clone(), 1e-14);
        let tangent = gentle(n);
        let (_, slope) = jvp(products)(&xs, &tangent);
        assert_close(slope.dot(&seed), expected.dot(&tangent), 1e-13);
    }
}

#[test]
fn cumulative_products_of_many() {
    for n in LENGTHS {
        let mut xs = wave(n).mapv(|x| if x.abs() < 0.1 { 1.0 } else { x.signum() * x.abs().powf(0.01) });
        if n > 200 {
            // Behind the zero only the zero has a cotangent from there.
            xs[200] = 0.0;
        }
        let seed = gentle(n);
        let mut expected = Array1::zeros(n);
        let mut adjoint = 0.0;
        for i in (0..n).rev() {
            adjoint = seed[i] + if i + 1 < n { xs[i + 1] * adjoint } else { 0.0 };
            expected[i] = adjoint;
        }
        let mut product = 1.0;
        for i in 0..n {
            expected[i] *= product;
            product *= xs[i];
        }
        assert_close(vjp(products)(&xs, &seed).1, expected, 1e-11);
    }
}

#[test]
fn second_order_of_products_with_zeros() {
    // f = a w0 + a b w1 + a b c w2
    let w = array![1.0, 10.0, 100.0];
    let (t, z) = (array![1.0, 2.0, 3.0], Array1::zeros(3));
    for xs in [array![2.0, 3.0, 4.0], array![2.0, 0.0, 4.0], array![0.0, 3.0, 0.0], array![0.0, 0.0, 0.0]] {
        let (a, b, c) = (xs[0], xs[1], xs[2]);
        let expected = array![
            (w[1] + c * w[2]) * t[1] + b * w[2] * t[2],
            (w[1] + c * w[2]) * t[0] + a * w[2] * t[2],
            b * w[2] * t[0] + a * w[2] * t[1],
        ];
        assert_close(hvp(sum_of_products)(&xs, &w, &t, &z).0, expected, 1e-13);
    }
}

// Ties: the first of the extremal elements so far has the whole adjoint.

#[kernel]
fn peaks(xs: [f64; n]) -> [f64; n] {
    scan(max, f64::NEG_INFINITY, xs)
}

#[kernel]
fn valleys(xs: [f64; n]) -> [f64; n] {
    scan(min, f64::INFINITY, xs)
}

#[kernel]
fn peaks_by_closure(xs: [f64; n]) -> [f64; n] {
    scan(|a, b| a.max(b), f64::NEG_INFINITY, xs)
}

#[kernel]
fn peaks_before(xs: [f64; n]) -> [f64; n] {
    scan_exclusive(max, 0.0, xs)
}

#[test]
fn ties_in_scans_go_to_the_first() {
    let xs = array![1.0, 3.0, 3.0, 2.0, 3.0, 5.0];
    let seed = array![1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0];
    let adjoint = array![1.0, 11_110.0, 0.0, 0.0, 0.0, 100_000.0];
    let value = array![1.0, 3.0, 3.0, 3.0, 3.0, 5.0];
    assert_eq!(vjp(peaks)(&xs, &seed), (value.clone(), adjoint.clone()));
    assert_eq!(vjp(peaks_by_closure)(&xs, &seed), (value.clone(), adjoint.clone()));
    assert_eq!(vjp(valleys)(&-xs.clone(), &seed), (-value, adjoint));
    let (value, adjoint) = vjp(peaks_before)(&xs, &seed);
    assert_eq!(value, array![0.0, 1.0, 3.0, 3.0, 3.0, 3.0]);
    assert_eq!(adjoint, array![10.0, 111_100.0, 0.0, 0.0, 0.0, 0.0]);
    let tangent = array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(jvp(peaks)(&xs, &tangent).1, array![1.0, 2.0, 2.0, 2.0, 2.0, 6.0]);
    // What the scan begins with is the first of all.
    let (value, adjoint) = vjp(peaks_before)(&array![0.0, -1.0, 0.0], &array![1.0, 10.0, 100.0]);
    assert_eq!((value, adjoint), (array![0.0, 0.0, 0.0], array![0.0, 0.0, 0.0]));
}

// Lengths: nothing, one element, and the ends of chunks.

#[kernel]
fn logs(xs: [f64; n]) -> [f64; n] {
    scan(|a, b| max(a, b) + (-(a - b).abs()).exp().ln_1p(), -1e300, xs)
}

#[kernel]
fn counted(flags: [bool; n]) -> [i64; n] {
    cumsum(map(|f| if f { 1 } else { 0 }, flags))
}

#[kernel]
fn seen(flags: [bool; n]) -> ([bool; n], [bool; n]) {
    (scan(or, false, flags), scan_exclusive(and, true, flags))
}

#[test]
fn scans_of_all_lengths() {
    for n in LENGTHS {
        let xs = wave(n);
        let inclusive = |op: fn(f64, f64) -> f64, neutral: f64| -> Array1<f64> {
            xs.iter()
                .scan(neutral, |s, x| {
                    *s = op(*s, *x);
                    Some(*s)
                })
                .collect()
        };
        let total = inclusive(|a, b| a + b, 0.0);
        assert_close(sums(&xs), total.clone(), 1e-11);
        assert_close(sums_before(&xs), &total - &xs, 1e-11);
        assert_eq!(peaks(&xs), inclusive(f64::max, f64::NEG_INFINITY));
        assert_eq!(valleys(&xs), inclusive(f64::min, f64::INFINITY));
        assert_close(logs(&xs), inclusive(|a, x| (a.exp() + x.exp()).ln(), f64::NEG_INFINITY), 1e-11);

        let seed = gentle(n);
        let mut from_behind = Array1::zeros(n);
        let mut s = 0.0;
        for i in (0..n).rev() {
            s += seed[i];
            from_behind[i] = s;
        }
        assert_close(vjp(sums)(&xs, &seed).1, from_behind.clone(), 1e-11);
        assert_close(vjp(sums_before)(&xs, &seed).1, &from_behind - &seed, 1e-11);
        // Each element's share of its own and all later sums of exponentials.
        let value = logs(&xs);
        let mut expected = Array1::zeros(n);
        let mut s = 0.0;
        for i in (0..n).rev() {
            s += seed[i] * (-value[i]).exp();
            expected[i] = s * xs[i].exp();
        }
        assert_close(vjp(logs)(&xs, &seed).1, expected, 1e-9);

        let flags = Array1::from_shape_fn(n, |i| i * i % 7 == 2);
        let mut count = 0;
        let counts: Array1<i64> = flags
            .iter()
            .map(|f| {
                count += i64::from(*f);
                count
            })
            .collect();
        assert_eq!(counted(&flags), counts);
        assert_eq!(seen(&flags).0, counts.mapv(|c| c > 0));
        assert_eq!(seen(&flags).1, Array1::from_shape_fn(n, |i| i == 0));
    }
}

#[test]
fn gradients_of_scans() {
    for n in [0, 1, 2, 3, 17] {
        let xs = wave(n);
        for check in [
            check_grad(sums, (&xs,)),
            check_grad(sums_before, (&xs,)),
            check_grad(products, (&xs,)),
            check_grad(products_before, (&xs,)),
            check_grad(products_by_closure, (&xs,)),
            check_grad(peaks, (&xs,)),
            check_grad(peaks_before, (&xs,)),
            check_grad(valleys, (&xs,)),
            check_grad(logs, (&xs,)),
        ] {
            let check = check.unwrap();
            assert!(check.agrees(1e-7), "{check}");
        }
    }
}

// Scans of what is computed, in kernels with more around them.

#[kernel(hvp)]
fn drawdown(log_returns: [f64; n]) -> f64 {
    let wealth = cumsum(log_returns).exp();
    let peak = scan(max, 1.0, wealth);
    maximum(1.0 - wealth / peak)
}

#[kernel]
fn running_moments(xs: [f64; n]) -> ([f64; n], [f64; n]) {
    let count = build(n, |i| (i + 1) as f64);
    let mean = cumsum(xs) / count;
    (mean, cumsum(xs * xs) / count - mean * mean)
}

#[kernel]
fn segments(xs: [f64; n], starts: [bool; n]) -> [f64; n] {
    scan(|(a, s), (b, t)| (if t { b } else { a + b }, s || t), (0.0, false), (xs, starts)).0
}

#[kernel]
fn transmitted(density: [[f64; m]; n], color: [[f64; m]; n], step: f64) -> [f64; n] {
    build(n, |i| {
        let alpha = 1.0 - (-density[i] * step).exp();
        let through = scan_exclusive(mul, 1.0, 1.0 - alpha);
        sum(through * alpha * color[i])
    })
}

#[test]
fn scans_among_other_things() {
    let returns = array![0.1, -0.2, -0.1, 0.3, 0.4, -0.5, 0.2];
    let wealth: Array1<f64> = array![0.1, -0.1, -0.2, 0.1, 0.5, 0.0, 0.2].mapv(f64::exp);
    assert_close(drawdown(&returns), 1.0 - wealth[5] / wealth[4], 1e-14);
    let (mean, variance) = running_moments(&array![2.0, 4.0, 9.0]);
    assert_close(mean, array![2.0, 3.0, 5.0], 1e-14);
    assert_close(variance, array![0.0, 1.0, 26.0 / 3.0], 1e-13);
    let starts = array![true, false, false, true, false, true, false];
    assert_close(segments(&returns, &starts), array![0.1, -0.1, -0.2, 0.3, 0.7, -0.5, -0.3], 1e-14);
    let density = Array2::from_shape_vec((2, 5), wave(10).mapv(f64::abs).to_vec()).unwrap();
    let color = Array2::from_shape_vec((2, 5), gentle(10).to_vec()).unwrap();
    for check in [
        check_grad(drawdown, (&returns,)),
        check_grad(running_moments, (&returns,)),
        check_grad(segments, (&returns, &starts)),
        check_grad(transmitted, (&density, &color, 0.3)),
    ] {
        let check = check.unwrap();
        assert!(check.agrees(1e-7), "{check}");
    }
    assert_gradient(|xs: &Array1<f64>| drawdown(xs), &returns, &grad(drawdown)(&returns));
    // The largest fall is linear in nothing but its two ends: of 1 - e^d the second derivative is -e^d.
    let t = array![0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    assert_close(hvp(drawdown)(&returns, &t), &t * -(-0.5f64).exp(), 1e-13);
}

// Single precision.

#[kernel]
fn singles(xs: [f32; n], z: f32) -> ([f32; n], f32) {
    (cumprod(xs), reduce(|x, y| x + y + z * x * y, 0.0, xs))
}

#[test]
fn single_precision() {
    let xs = array![0.5f32, 2.0, -1.0, 3.0];
    let (prefixes, total) = singles(&xs, 0.25);
    assert_eq!(prefixes, array![0.5f32, 1.0, -1.0, -3.0]);
    // 1 + z r is the product of all 1 + z x.
    assert!(((1.0 + 0.25 * total) - 1.125 * 1.5 * 0.75 * 1.75).abs() < 1e-5);
    let check = check_grad(singles, (&xs, 0.25)).unwrap();
    assert!(check.agrees(1e-2), "{check}");
}

// The same bits on any number of threads.

/// Runs `f` with 1, 2 and 7 threads.
fn on_threads<T: Send + PartialEq + std::fmt::Debug>(f: impl Fn() -> T + Sync + Send) {
    let results: Vec<T> = [1, 2, 7]
        .into_iter()
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(&f))
        .collect();
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    for n in [1000, 70_000, 300_007] {
        let (a, b) = (gentle(n), wave(n));
        on_threads(|| sums(&b));
        on_threads(|| vjp(products)(&b.mapv(|x| x.signum() * x.abs().powf(0.01)), &a));
        on_threads(|| vjp(logs)(&b, &a));
    }
}
