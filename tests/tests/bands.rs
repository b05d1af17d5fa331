//! Steps that have rows in common, in bands: the same numbers as by hand, at all sizes and on any number of threads, and the same errors.
//! Bands are small here (`assert-trusted`), so that few rows are several.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;
#[path = "../../array-dsl-compiler/tests/programs/bands.rs"]
mod programs;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, Axis};
use programs::{
    attention, causal, centered, classes, descent, descent_by_hand, layers, letters, mixture, nearest,
    numbered, of_itself, signs, skinned, spread,
};

/// None, one, and around the number of bands.
const ROWS: [usize; 8] = [0, 1, 2, 5, 7, 16, 33, 100];

fn matrix(n: usize, m: usize, step: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * m + j) as f64 * step).sin())
}

fn softmax(x: &Array2<f64>) -> Array2<f64> {
    let mut y = x.clone();
    for mut row in y.rows_mut() {
        let most = row.fold(f64::NEG_INFINITY, |m, v| m.max(*v));
        row.mapv_inplace(|v| (v - most).exp());
        let sum = row.sum();
        row /= sum;
    }
    y
}

#[test]
fn networks() {
    for n in ROWS {
        let (w, b, v) = (matrix(3, 4, 0.7), Array1::linspace(-0.2, 0.3, 4), matrix(4, 2, 0.9));
        let (x, y) = (matrix(n, 3, 0.31), matrix(n, 2, 0.53));
        if n > 0 {
            let off = (x.dot(&w) + &b).mapv(f64::tanh).dot(&v) - &y;
            assert_close(layers(&w, &b, &v, &x, &y), (&off * &off).sum() / n as f64, 1e-12);
            assert_checks!(layers, (&w, &b, &v, &x, &y));
            let loss = |w: &Array2<f64>| layers(w, &b, &v, &x, &y);
            assert_gradient(loss, &w, &grad(layers)(&w, &b, &v, &x, &y).0);
        }
        let class = Array1::from_shape_fn(n, |i| (i * 7 % 4) as i64);
        let shares = softmax(&x.dot(&w));
        let losses = shares.rows().into_iter().zip(&class).map(|(row, c)| -row[*c as usize].ln());
        assert_close(classes(&w, &x, &class), losses.sum(), 1e-11);
        assert_checks!(classes, (&w, &x, &class));
    }
}

#[test]
fn attentions() {
    for n in ROWS {
        let (q, k, v) = (matrix(n, 3, 0.31), matrix(6, 3, 0.47), matrix(6, 2, 0.59));
        assert_close(attention(&q, &k, &v), softmax(&(q.dot(&k.t()) / 3f64.sqrt())).dot(&v), 1e-12);
        assert_checks!(attention, (&q, &k, &v));
    }
    for n in [0, 1, 2, 7, 16, 33] {
        let (q, k, v) = (matrix(n, 3, 0.31), matrix(n, 3, 0.47), matrix(n, 3, 0.59));
        let mut scores = q.dot(&k.t());
        scores.indexed_iter_mut().filter(|((i, j), _)| j > i).for_each(|(_, s)| *s = -1e30);
        assert_close(causal(&q, &k, &v), softmax(&scores).dot(&v), 1e-12);
        assert_checks!(causal, (&q, &k, &v));
        let [wq, wk, wv] = [0.7, 0.8, 0.9].map(|step| matrix(3, 2, step));
        let scores = q.dot(&wq).dot(&q.dot(&wk).t());
        assert_close(of_itself(&q, &wq, &wk, &wv), softmax(&scores).dot(&q.dot(&wv)), 1e-12);
        assert_checks!(of_itself, (&q, &wq, &wk, &wv));
    }
}

#[test]
fn mixtures_and_centers() {
    let weight = Array1::linspace(-0.5, 0.5, 4);
    let (mean, factor) =
        (matrix(4, 2, 0.7), Array3::from_shape_fn((4, 2, 2), |(c, r, s)| ((c * 4 + r * 2 + s) as f64).cos()));
    for n in ROWS {
        let x = matrix(n, 2, 0.31);
        let of = |row: ndarray::ArrayView1<f64>| {
            let terms = (0..4).map(|c| {
                let u = factor.index_axis(Axis(0), c).dot(&(&row - &mean.row(c)));
                (weight[c] - 0.5 * u.dot(&u)).exp()
            });
            terms.sum::<f64>().ln()
        };
        assert_close(mixture(&weight, &mean, &factor, &x), x.rows().into_iter().map(of).sum(), 1e-11);
        assert_checks!(mixture, (&weight, &mean, &factor, &x));
        let (distances, which) = nearest(&x, &mean);
        for (i, row) in x.rows().into_iter().enumerate() {
            let to = |j: usize| (&row - &mean.row(j)).mapv(|d| d * d).sum();
            let least = (0..4).min_by(|a, b| to(*a).total_cmp(&to(*b))).expect("a center");
            assert_eq!(which[i], least as i64);
            assert!((distances[i] - to(least)).abs() < 1e-12);
        }
        assert_checks!(nearest, (&x, &mean));
    }
}

#[test]
fn what_bands_make() {
    for n in ROWS {
        let (x, w, v) = (matrix(n, 3, 0.31), matrix(3, 5, 0.7), matrix(5, 3, 0.9));
        let y = x.dot(&w);
        let (positive, squares) = signs(&x, &w);
        assert_eq!(positive, y.mapv(|v| v > 0.0));
        assert_close(squares, (&y * &y).sum_axis(Axis(0)), 1e-12);
        assert_checks!(signs, (&x, &w));
        if n > 0 {
            let z = (&y - &y.mean_axis(Axis(0)).expect("rows")).mapv(f64::tanh);
            let next = |i: usize| if i + 1 < n { i + 1 } else { i };
            let steps = Array2::from_shape_fn((n, 5), |(i, j)| z[[i, j]] - z[[next(i), j]]);
            assert_close(centered(&x, &w, &v), steps.dot(&v), 1e-12);
            assert_checks!(centered, (&x, &w, &v));
        }
        let number = |i: usize, j: usize| (y[[i, j]] + (i * 5 + j) as f64).sin();
        let by_hand =
            Array2::from_shape_fn((n, 5), |(i, j)| number(i, j) * if i % 2 == 0 { 1.0 } else { y[[i, 0]] });
        assert_close(numbered(&x, &w), by_hand, 1e-11);
        assert_checks!(numbered, (&x, &w));
    }
}

#[test]
fn bands_in_a_loop() {
    for n in [0, 1, 7, 33] {
        let (start, x, y) = (matrix(3, 2, 0.7), matrix(n, 3, 0.31), matrix(n, 2, 0.53));
        let mut w = start.clone();
        for _ in 0..4 {
            let t = x.dot(&w).mapv(f64::tanh);
            let slope = x.t().dot(&(2.0 * (&t - &y) * (1.0 - &t * &t)));
            w = w - 0.1 * slope;
        }
        assert_close(descent(&start, &x, &y, 4), w.clone(), 1e-11);
        assert_checks!(descent, (&start, &x, &y, 4));
        assert_close(descent_by_hand(&start, &x, &y, 4), w, 1e-11);
        assert_checks!(descent_by_hand, (&start, &x, &y, 4));
    }
}

/// Directions of a Jacobian come after its points in memory: then all of them are the columns of one product.
#[test]
fn directions_of_points() {
    for n in ROWS {
        let angle = Array1::linspace(-1.0, 1.5, 26);
        let (weights, base) = (matrix(n, 26, 0.37), matrix(n, 2, 0.53));
        let (points, slopes) = (skinned(&angle, &weights, &base), jacobian(skinned)(&angle, &weights, &base));
        for v in 0..n {
            let (x, y) = (base[[v, 0]], base[[v, 1]]);
            let turned = |a: f64| [a.cos() * x - a.sin() * y, a.sin() * x + a.cos() * y];
            for i in 0..2 {
                let by_hand: f64 = (0..26).map(|b| weights[[v, b]] * turned(angle[b])[i]).sum();
                assert!((points[[v, i]] - by_hand).abs() < 1e-12);
                for b in 0..26 {
                    let turned = turned(angle[b] + std::f64::consts::FRAC_PI_2);
                    assert!((slopes[[v, i, b]] - weights[[v, b]] * turned[i]).abs() < 1e-12);
                }
            }
        }
        assert_checks!(skinned, (&angle, &weights, &base));
    }
}

#[test]
fn rows_of_tables() {
    let (table, w) = (matrix(4, 3, 0.37), matrix(3, 3, 0.7));
    for n in [0, 1, 2, 7, 33] {
        let mut text = Array1::from_shape_fn(n, |i| (i * 7 % 4) as i64);
        let x = Array2::from_shape_fn((n, 3), |(i, j)| table[[text[i] as usize, j]]);
        let by_hand = softmax(&x.dot(&w).dot(&x.t())).dot(&x) * &x;
        assert_close(letters(&table, &text, &w), by_hand, 1e-12);
        assert_checks!(letters, (&table, &text, &w));
        if n > 1 {
            text[n - 1] = 4;
            let wrong = Cpu.run(letters, (&table, &text, &w)).expect_err("there is no such letter");
            assert!(matches!(wrong, Error::IndexOutOfRange { index: 4, length: 4, .. }), "{wrong}");
        }
    }
}

#[test]
fn points_with_rows_of_their_own() {
    for n in ROWS {
        let x = Array3::from_shape_fn((n, 5, 4), |(i, j, k)| ((i * 20 + j * 4 + k) as f64 * 0.29).sin());
        let w = matrix(n, 2, 0.61);
        let means = Array2::from_shape_fn((5, n), |(j, i)| {
            let row = x.slice(ndarray::s![i, j, ..]);
            let weights = row.mapv(f64::exp);
            weights.dot(&row) / weights.sum()
        });
        assert_close(spread(&x, &w), means.dot(&w), 1e-12);
        assert_checks!(spread, (&x, &w));
    }
}

#[test]
fn threads_and_earlier_results_change_nothing() {
    let (q, k, v) = (matrix(100, 3, 0.31), matrix(6, 3, 0.47), matrix(6, 2, 0.59));
    let w = matrix(100, 2, 0.61);
    let run = || vjp(attention)(&q, &k, &v, &w);
    let on = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads").install(run);
    let first = on(1);
    for n in [2, 3, 7] {
        assert_eq!(first, on(n));
    }
    let mut out = run();
    out.0.fill(f64::NAN);
    out.1.0.fill(f64::NAN);
    out.1.1.fill(f64::NAN);
    vjp(attention).call_into((&q, &k, &v, &w), &mut out).expect("it runs");
    assert_eq!(first, out);
    // Memory that is too small, or larger.
    for rows in [3, 200] {
        let mut out = (Array2::zeros((rows, 2)), (Array2::zeros((rows, 3)), k.clone(), v.clone()));
        vjp(attention).call_into((&q, &k, &v, &w), &mut out).expect("it runs");
        assert_eq!(first, out);
    }
}

/// The first row that is wrong is told, whatever bands there are, on any number of threads.
#[test]
fn wrong_rows_are_told() {
    let (w, x) = (matrix(3, 4, 0.7), matrix(100, 3, 0.31));
    let mut class = Array1::from_shape_fn(100, |i| (i % 4) as i64);
    class[93] = 9;
    class[71] = -1;
    class[70] = 4;
    let message = |n: usize| {
        let run = || Cpu.run(grad(classes), (&w, &x, &class)).expect_err("two are wrong").to_string();
        rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads").install(run)
    };
    let one = Cpu.run(classes, (&w, &x, &class)).expect_err("two are wrong").to_string();
    assert!(one.contains("classes") && one.contains("bands.rs"), "{one}");
    assert_eq!([1, 2, 5].map(message), [1, 1, 1].map(|_| one.clone()));
}
