//! Rows of different lengths, which data say: sparse matrices by rows, windows of a user's width, recurrences along a row.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

use array_dsl::Cpu;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

/// Rows that begin at `start` in lists of columns and values.
struct Rows {
    start: Array1<i64>,
    column: Array1<i64>,
    value: Array1<f64>,
}

impl Rows {
    fn new(lengths: &[usize], columns: usize) -> Rows {
        let ends = lengths.iter().scan(0, |at, n| {
            *at += *n as i64;
            Some(*at)
        });
        let start: Array1<i64> = [0].into_iter().chain(ends).collect();
        let n: usize = lengths.iter().sum();
        let column = Array1::from_shape_fn(n, |k| ((7 * k + k / 3) % columns) as i64);
        let value = Array1::from_shape_fn(n, |k| (k as f64 * 0.37).sin() + 0.2);
        Rows { start, column, value }
    }

    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    fn len(&self) -> usize {
        self.start.len() - 1
    }
}

fn samples() -> Vec<Rows> {
    let long: Vec<usize> = (0..150).map(|i| if i == 77 { 900 } else { i % 4 }).collect();
    [&[][..], &[0], &[3], &[0, 0, 0], &[1, 0, 5, 2, 0], &[70, 1, 33, 0, 32, 31], &long]
        .map(|l| Rows::new(l, 11))
        .into()
}

fn vector(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 0.3 + (i as f64 * 1.3).cos())
}

#[kernel]
fn sparse(start: [i64; q], column: [i64; k], value: [f64; k], x: [f64; n]) -> [f64; q - 1] {
    build(q - 1, |i| {
        let mut s = 0.0;
        for p in start[i]..start[i + 1] {
            s += value[p] * x[column[p]];
        }
        s
    })
}

/// The same with the number of elements, several sums, and a product of functions.
#[kernel]
fn statistics(start: [i64; q], value: [f64; k]) -> ([f64; q - 1], [f64; q - 1], [f64; q - 1]) {
    build(q - 1, |i| {
        let count = start[i + 1] - start[i];
        let (mut sum, mut most, mut product) = (0.5, -10.0, 1.0);
        for p in 0..count {
            let v = value[start[i] + p];
            sum += exp(v) * v;
            most = max(most, sin(v));
            product *= 1.0 + 0.1 * v;
        }
        (sum, most, product)
    })
}

/// Each state needs the one before.
#[kernel]
fn filtered(start: [i64; q], value: [f64; k], first: [f64; q]) -> [f64; q - 1] {
    build(q - 1, |i| {
        let (mut s, mut t) = (first[i], 0.25);
        for p in start[i]..start[i + 1] {
            let u = sin(s) * t + value[p];
            t = 0.5 * t + 0.1 * s * s;
            s = u;
        }
        s + t
    })
}

/// A sum of all rows, in one loop nest.
#[kernel]
fn energy(start: [i64; q], column: [i64; k], value: [f64; k], x: [f64; n]) -> f64 {
    let mut e = 0.0;
    for i in 0..n {
        for p in start[i]..start[i + 1] {
            e += value[p] * exp(-abs(x[i] - 0.9 * x[column[p] % n]));
        }
    }
    e
}

/// Rows of matrices, with a sum over columns inside.
#[kernel]
fn gathered(start: [i64; q], column: [i64; k], table: [[f64; d]; n], y: [f64; d]) -> [f64; q - 1] {
    build(q - 1, |i| {
        let mut s = 0.0;
        for p in start[i]..start[i + 1] {
            s += tanh(sum(build(d, |c| table[column[p]][c] * y[c])));
        }
        s
    })
}

#[test]
fn sparse_matrices() {
    for a in samples() {
        let x = vector(11);
        let y = sparse(&a.start, &a.column, &a.value, &x);
        assert_eq!(y.len(), a.len());
        for i in 0..a.len() {
            let by_hand: f64 = a.row(i).map(|p| a.value[p] * x[a.column[p] as usize]).sum();
            assert!((y[i] - by_hand).abs() < 1e-12, "{i}");
        }
        assert_checks!(sparse, (&a.start, &a.column, &a.value, &x));
    }
}

#[test]
fn several_folds() {
    for a in samples() {
        let (sums, most, products) = statistics(&a.start, &a.value);
        for i in 0..a.len() {
            let row = || a.row(i).map(|p| a.value[p]);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-12 * b.abs().max(1.0);
            assert!(near(sums[i], 0.5 + row().map(|v| v.exp() * v).sum::<f64>()), "{i}");
            assert!(near(most[i], row().map(f64::sin).fold(-10.0, f64::max)), "{i}");
            assert!(near(products[i], row().map(|v| 1.0 + 0.1 * v).product()), "{i}");
        }
        assert_checks!(statistics, (&a.start, &a.value));
    }
}

#[test]
fn recurrences() {
    for a in samples() {
        let first = vector(a.start.len());
        let found = filtered(&a.start, &a.value, &first);
        for i in 0..a.len() {
            let step = |(s, t): (f64, f64), p: usize| (s.sin() * t + a.value[p], 0.5 * t + 0.1 * s * s);
            let (s, t) = a.row(i).fold((first[i], 0.25), step);
            assert!((found[i] - (s + t)).abs() < 1e-12, "{i}");
        }
        assert_checks!(filtered, (&a.start, &a.value, &first));
    }
}

#[test]
fn sums_of_all_rows() {
    for a in samples().into_iter().filter(|a| a.len() > 0) {
        let x = vector(a.len());
        let one =
            |i: usize, p: usize| a.value[p] * (-(x[i] - 0.9 * x[a.column[p] as usize % a.len()]).abs()).exp();
        let by_hand: f64 =
            (0..a.len()).flat_map(|i| a.row(i).map(move |p| (i, p))).map(|(i, p)| one(i, p)).sum();
        assert!((energy(&a.start, &a.column, &a.value, &x) - by_hand).abs() < 1e-11);
        assert_checks!(energy, (&a.start, &a.column, &a.value, &x));
    }
}

#[test]
fn array_code_in_a_row() {
    for a in samples() {
        for d in [0, 1, 3, 40] {
            let (table, y) = (Array2::from_shape_fn((11, d), |(i, j)| ((i + 3 * j) as f64).sin()), vector(d));
            let found = gathered(&a.start, &a.column, &table, &y);
            for i in 0..a.len() {
                let by_hand: f64 = a.row(i).map(|p| table.row(a.column[p] as usize).dot(&y).tanh()).sum();
                assert!((found[i] - by_hand).abs() < 1e-11, "{i} {d}");
            }
        }
        assert_checks!(gathered, (&a.start, &a.column, &Array2::from_elem((11, 2), 0.3), &vector(2)));
    }
}

/// Rows of rows: what lies in a group of rows.
#[kernel]
fn grouped(group: [i64; g], start: [i64; q], value: [f64; k]) -> [f64; g - 1] {
    build(g - 1, |i| {
        let mut s = 1.0;
        for r in group[i]..group[i + 1] {
            let mut t = 0.0;
            for p in start[r]..start[r + 1] {
                t += value[p] * value[p];
            }
            s += sqrt(t + 1.0) * s;
        }
        s
    })
}

#[test]
fn rows_of_rows() {
    let a = Rows::new(&[2, 0, 3, 1, 40, 0, 5], 11);
    let group = array![0, 2, 2, 6, 7];
    let found = grouped(&group, &a.start, &a.value);
    for i in 0..4 {
        let rows = group[i] as usize..group[i + 1] as usize;
        let norm = |r: usize| (a.row(r).map(|p| a.value[p].powi(2)).sum::<f64>() + 1.0).sqrt();
        let by_hand = rows.fold(1.0, |s, r| s + norm(r) * s);
        assert!((found[i] - by_hand).abs() < 1e-11 * by_hand, "{i}");
    }
    assert_checks!(grouped, (&group, &a.start, &a.value));
}

/// The width of the window is a number.
#[kernel]
fn smoothed(x: [f64; n], w: i64) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.0;
        for j in max(0, i - w)..min(n, i + w + 1) {
            s += x[j] * x[j];
        }
        sqrt(s + 1.0)
    })
}

#[test]
fn windows_of_any_width() {
    for n in [0, 1, 5, 40] {
        for w in [0i64, 1, 3, 39, 40, 1000, -1, -1000] {
            let x = vector(n);
            let found = smoothed(&x, w);
            for i in 0..n as i64 {
                let (from, to) = (0.max(i - w), (n as i64).min(i + w + 1));
                let by_hand: f64 = (from..to).map(|j| x[j as usize].powi(2)).sum();
                assert!((found[i as usize] - (by_hand + 1.0).sqrt()).abs() < 1e-12, "{n} {w} {i}");
            }
            assert_checks!(smoothed, (&x, w));
        }
        // Numbers of the user wrap; a range that ends before it begins has nothing in it.
        for w in [i64::MAX, i64::MIN, i64::MAX - 1] {
            let found = smoothed(&vector(n), w);
            let by_hand = |i: i64| {
                let (from, to) =
                    (0.max(i.wrapping_sub(w)), (n as i64).min(i.wrapping_add(w).wrapping_add(1)));
                ((from..to).map(|j| vector(n)[j as usize].powi(2)).sum::<f64>() + 1.0).sqrt()
            };
            assert!(found.iter().zip(0..).all(|(f, i)| (f - by_hand(i)).abs() < 1e-12), "{n} {w}");
        }
    }
}

/// Which element a row has that is greatest, and rows that end before they begin.
#[kernel]
fn last_above(start: [i64; q], end: [i64; q], value: [f64; k], level: f64) -> [i64; q] {
    build(q, |i| {
        let mut last = -1;
        for p in start[i]..end[i] {
            if value[p] > level {
                last = p;
            }
        }
        last
    })
}

#[test]
fn rows_that_end_before_they_begin() {
    let value = vector(20);
    let (start, end) = (array![3, 9, 0, 5, 20], array![9, 3, 20, 5, i64::MIN]);
    let found = last_above(&start, &end, &value, 0.4);
    for i in 0..5 {
        let by_hand = (start[i]..end[i]).rfind(|p| value[*p as usize] > 0.4).unwrap_or(-1);
        assert_eq!(found[i], by_hand, "{i}");
    }
}

#[test]
fn what_is_outside_is_an_error() {
    let a = Rows::new(&[2, 3], 11);
    let x = vector(11);
    for bad in [array![0, 2, 6], array![-1, 2, 5], array![0, 2, 1_000_000_000_000], array![i64::MIN, 2, 5]] {
        let found = Cpu.run(sparse, (&bad, &a.column, &a.value, &x)).map_err(|e| e.to_string());
        assert!(found.as_ref().is_err_and(|e| e.contains("sparse")), "{bad}: {found:?}");
        let found = Cpu.run(filtered, (&bad, &a.value, &vector(3))).map_err(|e| e.to_string());
        assert!(found.as_ref().is_err_and(|e| e.contains("filtered")), "{bad}: {found:?}");
        let seed = array![1.0, 1.0];
        let found = Cpu.run(vjp(sparse), (&bad, &a.column, &a.value, &x, &seed)).map_err(|e| e.to_string());
        assert!(found.is_err(), "{bad}: {found:?}");
    }
    let far = array![0, 99, 1, 2, 3];
    assert!(Cpu.run(sparse, (&a.start, &far, &a.value, &x)).is_err());
}
