//! Reductions and scans by operators of one's own: the worked examples T16, T27 and T29 of Robert Schenck's thesis and E11
//! of the Dex paper, which do not commute or have free variables, on all lengths, and their second order.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, array};

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

// T27: a linear recurrence, y[i] = a[i] y[i - 1] + b[i].

#[kernel]
fn recurrence(a: [f64; n], b: [f64; n]) -> ([f64; n], [f64; n]) {
    scan(|(a1, b1), (a2, b2)| (a1 * a2, a2 * b1 + b2), (1.0, 0.0), (a, b))
}

#[kernel(hvp)]
fn energy_of_recurrence(a: [f64; n], b: [f64; n]) -> f64 {
    let (_, y) = scan(|(a1, b1), (a2, b2)| (a1 * a2, a2 * b1 + b2), (1.0, 0.0), (a, b));
    sum(y * y)
}

#[kernel]
fn end_of_recurrence(a: [f64; n], b: [f64; n]) -> (f64, f64) {
    reduce(|(a1, b1), (a2, b2)| (a1 * a2, a2 * b1 + b2), (1.0, 0.0), (a, b))
}

#[test]
fn t27_linear_recurrence() {
    let (a, b) = (array![2.0, 3.0, 4.0], array![1.0, 1.0, 10.0]);
    assert_eq!(recurrence(&a, &b), (array![2.0, 6.0, 24.0], array![1.0, 4.0, 26.0]));
    assert_eq!(end_of_recurrence(&a, &b), (24.0, 26.0));
    for n in [0, 1, 2, 3, 9] {
        let (a, b) = (wave(n), gentle(n));
        let check = check_grad(recurrence, (&a, &b)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
        let check = check_grad(end_of_recurrence, (&a, &b)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
        let at = (a, b);
        let found = grad(energy_of_recurrence)(&at.0, &at.1);
        assert_gradient(|(a, b)| energy_of_recurrence(a, b), &at, &found);
    }
}

#[test]
fn recurrences_of_all_lengths() {
    for n in (0..=20).chain(LENGTHS) {
        let (a, b) = (gentle(n).mapv(|x| x + 0.5), wave(n));
        let (mut product, mut y) = (1.0, 0.0);
        let by_steps: Vec<(f64, f64)> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| {
                (product, y) = (product * a, a * y + b);
                (product, y)
            })
            .collect();
        let expected = (by_steps.iter().map(|s| s.0).collect(), by_steps.iter().map(|s| s.1).collect());
        assert_close(recurrence(&a, &b), expected, 1e-12);
        assert_close(end_of_recurrence(&a, &b), (product, y), 1e-12);
        // In reverse: y_adj[i] = 2 y[i] + a[i + 1] y_adj[i + 1].
        let (mut a_adj, mut b_adj) = (Array1::zeros(n), Array1::zeros(n));
        let mut adjoint = 0.0;
        for i in (0..n).rev() {
            adjoint = 2.0 * by_steps[i].1 + if i + 1 < n { a[i + 1] * adjoint } else { 0.0 };
            b_adj[i] = adjoint;
            a_adj[i] = if i > 0 { by_steps[i - 1].1 * adjoint } else { 0.0 };
        }
        assert_close(grad(energy_of_recurrence)(&a, &b), (a_adj, b_adj), 1e-10);
    }
}

#[test]
fn second_order_of_a_recurrence() {
    let (a, b) = (wave(6), gentle(6));
    let (ta, tb) = (gentle(6).mapv(|x| x + 0.1), wave(6));
    let moved = |h: f64| {
        let (a, b) = (&a + h * &ta, &b + h * &tb);
        grad(energy_of_recurrence)(&a, &b)
    };
    let (above, below) = (moved(1e-5), moved(-1e-5));
    let quotient = ((above.0 - below.0) / 2e-5, (above.1 - below.1) / 2e-5);
    assert_close(hvp(energy_of_recurrence)(&a, &b, &ta, &tb), quotient, 1e-6);
}

// T16, E11: products of 2 x 2 matrices, as arrays and as four numbers.

#[kernel]
fn product_of_matrices(ms: [[[f64; 2]; 2]; n], #[no_grad] one: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    reduce(matmul, one, ms)
}

#[kernel]
fn products_of_matrices(ms: [[[f64; 2]; 2]; n]) -> [[[f64; 2]; 2]; n] {
    scan(|x, y| matmul(x, y), [[1.0, 0.0], [0.0, 1.0]], ms)
}

#[kernel]
fn times((a, b, c, d): (f64, f64, f64, f64), (e, f, g, h): (f64, f64, f64, f64)) -> (f64, f64, f64, f64) {
    (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
}

#[kernel]
fn product_of_fours(a: [f64; n], b: [f64; n], c: [f64; n], d: [f64; n]) -> (f64, f64, f64, f64) {
    reduce(times, (1.0, 0.0, 0.0, 1.0), (a, b, c, d))
}

#[kernel]
fn products_of_fours(
    a: [f64; n],
    b: [f64; n],
    c: [f64; n],
    d: [f64; n],
) -> ([f64; n], [f64; n], [f64; n], [f64; n]) {
    scan(times, (1.0, 0.0, 0.0, 1.0), (a, b, c, d))
}

fn matrices(n: usize) -> Array3<f64> {
    // Rotations that shrink a little, no two of which commute with what lies between.
    Array3::from_shape_fn((n, 2, 2), |(i, r, c)| {
        let angle = i as f64 * 0.3;
        let shear = if (r, c) == (0, 1) { 0.01 * (i % 5) as f64 } else { 0.0 };
        shear
            + match (r, c) {
                (0, 1) => -angle.sin(),
                (1, 0) => angle.sin() * 0.98,
                _ => angle.cos(),
            }
    })
}

#[test]
fn t16_products_of_matrices() {
    let one = Array2::eye(2);
    for n in [0, 1, 2, 5] {
        let ms = matrices(n);
        let check = check_grad(product_of_matrices, (&ms, &one)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
        let check = check_grad(products_of_matrices, (&ms,)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
    }
}

#[test]
fn e11_order_matters() {
    let one = Array2::eye(2);
    let ms = array![[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]];
    let ms = ndarray::concatenate![ndarray::Axis(0), ms, ms];
    assert_eq!(product_of_matrices(&ms, &one), array![[5.0, 3.0], [3.0, 2.0]]);
}

#[test]
fn products_of_matrices_of_all_lengths() {
    for n in (0..=20).chain(LENGTHS) {
        let ms = matrices(n);
        let entry = |r: usize, c: usize| ms.slice(ndarray::s![.., r, c]).to_owned();
        let fours = [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)];
        let mut state: Array2<f64> = Array2::eye(2);
        let mut prefixes = Array3::zeros((n, 2, 2));
        for (m, mut out) in ms.outer_iter().zip(prefixes.outer_iter_mut()) {
            state = state.dot(&m);
            out.assign(&state);
        }
        assert_close(product_of_matrices(&ms, &Array2::eye(2)), state.clone(), 1e-10);
        assert_close(products_of_matrices(&ms), prefixes.clone(), 1e-10);
        let [a, b, c, d] = &fours;
        let (e, f, g, h) = product_of_fours(a, b, c, d);
        assert_close(array![[e, f], [g, h]], state, 1e-10);
        let (e, f, g, h) = products_of_fours(a, b, c, d);
        let found = ndarray::stack![ndarray::Axis(1), e, f, g, h];
        assert_close(found, prefixes.into_shape_with_order((n, 4)).unwrap(), 1e-10);
        if n < 10 {
            let check = check_grad(products_of_fours, (a, b, c, d)).unwrap();
            assert!(check.agrees(1e-7), "{check}");
            let check = check_grad(product_of_fours, (a, b, c, d)).unwrap();
            assert!(check.agrees(1e-7), "{check}");
        }
    }
}

// T29: the operator has a free variable, which has a derivative.

#[kernel(hvp)]
fn scaled_product(xs: [f64; n], z: f64) -> f64 {
    reduce(|x, y| x * y * z, 1.0 / z, xs)
}

#[kernel]
fn scaled_products(xs: [f64; n], z: f64) -> [f64; n] {
    scan(|x, y| x * y * z, 1.0 / z, xs)
}

#[kernel]
fn joined(xs: [f64; n], w: f64) -> f64 {
    reduce(|x, y| x + y + w * x * y, 0.0, xs)
}

#[test]
fn t29_free_variables() {
    let xs = array![1.5, -0.5, 2.0, 3.0];
    // The product is x y z w s^3, or s^-1 of nothing.
    assert_close(scaled_product(&xs, 0.5), -4.5 * 0.125, 1e-14);
    let at = (xs, 0.5);
    let found = grad(scaled_product)(&at.0, at.1);
    assert_close(found.1, -4.5 * 0.75, 1e-13);
    assert_gradient(|(xs, z)| scaled_product(xs, *z), &at, &found);
    let (xs_dot, z_dot) = hvp(scaled_product)(&at.0, at.1, &Array1::zeros(4), 1.0);
    assert_close(z_dot, -4.5 * 3.0, 1e-13);
    assert_close(xs_dot, array![-3.0, 9.0, -2.25, -1.5].mapv(|x| x * 3.0 * 0.25), 1e-13);
    for n in [0, 1, 2, 3, 8] {
        let xs = wave(n);
        let check = check_grad(scaled_product, (&xs, 0.7)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
        let check = check_grad(scaled_products, (&xs, 0.7)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
        let check = check_grad(joined, (&xs, 0.3)).unwrap();
        assert!(check.agrees(1e-7), "{check}");
    }
    assert_eq!(value_and_grad(scaled_product)(&Array1::zeros(0), 0.5), (2.0, (Array1::zeros(0), -4.0)));
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
        let (a, b) = (gentle(n).mapv(|x| x + 0.5), wave(n));
        on_threads(|| recurrence(&a, &b));
        on_threads(|| grad(energy_of_recurrence)(&a, &b));
        on_threads(|| end_of_recurrence(&a, &b));
    }
}
