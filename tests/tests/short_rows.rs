//! Short loops that fold functions: several points make them together, in lanes, where the rows have fewer values than a vector; and
//! windows, whose points go together away from the ends; borders.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

use array_dsl::Cpu;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Axis};

/// Below, at and above the numbers of lanes and of points that go together.
const POINTS: [usize; 7] = [0, 1, 7, 8, 63, 64, 150];
/// Below, at and above the trips that are few, and those that fold in lanes.
const TRIPS: [usize; 8] = [0, 1, 2, 7, 8, 9, 31, 33];

fn waves(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((3 * i + 7 * j) as f64 * 0.71).sin())
}

/// Two folds of which one takes the least, with code before and after.
#[kernel]
fn softened(x: [[f64; m]; n], scale: [f64; n]) -> ([f64; n], [f64; n]) {
    let both = build(n, |i| {
        let s = scale[i] * scale[i] + 0.5;
        let mut total = 0.0;
        let mut least = 10.0;
        for j in 0..m {
            let e = exp(x[i][j] * s);
            total += e;
            least = min(least, tanh(x[i][j]) - e);
        }
        (ln(total + s), least)
    });
    (both.0, both.1)
}

#[test]
fn rows_of_every_length() {
    for n in POINTS {
        for m in TRIPS {
            let (x, scale) = (waves(n, m), Array1::from_shape_fn(n, |i| 0.01 * i as f64 - 0.4));
            let (soft, least) = softened(&x, &scale);
            for (i, row) in x.axis_iter(Axis(0)).enumerate() {
                let s = scale[i] * scale[i] + 0.5;
                let total: f64 = row.iter().map(|v| (v * s).exp()).sum();
                let by_hand = row.iter().map(|v| v.tanh() - (v * s).exp()).fold(10.0, f64::min);
                assert!((soft[i] - (total + s).ln()).abs() < 1e-13, "{n} {m} {i}");
                assert!((least[i] - by_hand).abs() < 1e-14 * by_hand.abs().max(1.0), "{n} {m} {i}");
            }
        }
    }
    for (n, m) in [(3, 2), (9, 7), (70, 3), (5, 8)] {
        assert_checks!(softened, (&waves(n, m), &Array1::from_elem(n, 0.3)));
    }
}

/// Where the elements are read is data; a row is far from the next one, and so are its elements.
#[kernel]
fn picked(x: [[f64; k]; n], at: [[i64; m]; n], rows: [i64; n]) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.0;
        for j in 0..m {
            s += sin(x[rows[i]][at[i][j]]) * exp(x[i][at[i][j]]);
        }
        s
    })
}

#[test]
fn elements_at_places_that_data_say() {
    for n in [1, 9, 70] {
        for m in TRIPS {
            let x = waves(n, 5);
            let at = Array2::from_shape_fn((n, m), |(i, j)| ((i + 2 * j) % 5) as i64);
            let rows = Array1::from_shape_fn(n, |i| (n - 1 - i) as i64);
            let found = picked(&x, &at, &rows);
            let by_hand = Array1::from_shape_fn(n, |i| {
                let one = |a: &i64| x[[n - 1 - i, *a as usize]].sin() * x[[i, *a as usize]].exp();
                at.row(i).iter().map(one).sum::<f64>()
            });
            assert!(found.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-14), "{n} {m}");
        }
    }
    let at = Array2::from_shape_fn((9, 3), |(i, j)| ((i + 2 * j) % 5) as i64);
    let found = Cpu.run(picked, (&waves(9, 5), &at, &Array1::from_elem(9, 9))).map_err(|e| e.to_string());
    assert!(found.is_err_and(|e| e.contains("9")));
}

/// A window whose points are summed: its folds take them in their order.
#[kernel]
fn roughness(x: [f64; n], width: f64) -> f64 {
    let mut s = 0.0;
    for i in 0..n {
        let mut near = 0.0;
        for j in max(0, i - 2)..min(n, i + 3) {
            near += exp(-(x[i] - x[j]) * (x[i] - x[j]) / width);
        }
        s += ln(near);
    }
    s
}

#[test]
fn sums_over_windows() {
    for n in [0, 1, 2, 4, 5, 6, 63, 64, 65, 69, 70, 500] {
        let x = waves(1, n).row(0).to_owned();
        let one = |i: usize| -> f64 {
            let near = i.saturating_sub(2)..n.min(i + 3);
            near.map(|j| (-(x[i] - x[j]) * (x[i] - x[j]) / 0.3).exp()).sum::<f64>().ln()
        };
        let by_hand: f64 = (0..n).map(one).sum();
        assert!((roughness(&x, 0.3) - by_hand).abs() <= 1e-12 * by_hand.abs(), "{n}");
    }
    for n in [2, 5, 9, 80] {
        assert_checks!(roughness, (&waves(1, n).row(0).to_owned(), 0.3));
    }
}

/// Angles that are too long for vectors are found in short rows and in windows as everywhere.
#[kernel(value)]
fn angles(x: [[f64; m]; n]) -> ([f64; n], f64) {
    let rows = build(n, |i| sum(sin(x[i])));
    let mut all = 0.0;
    for i in 0..n {
        let mut near = 0.0;
        for k in max(0, i - 1)..min(n, i + 2) {
            near += cos(x[k][0]);
        }
        all += near * near;
    }
    (rows, all)
}

#[test]
fn angles_of_every_length() {
    for m in [1, 3, 8] {
        let x =
            Array2::from_shape_fn((70, m), |(i, j)| if (i + j) % 9 == 0 { 1e300 } else { 1e3 * i as f64 });
        let (rows, all) = angles(&x);
        for (found, row) in rows.iter().zip(x.rows()) {
            assert!((found - row.iter().map(|v| v.sin()).sum::<f64>()).abs() < 1e-13);
        }
        let near = |i: usize| (i.saturating_sub(1)..70.min(i + 2)).map(|k| x[[k, 0]].cos()).sum::<f64>();
        let by_hand: f64 = (0..70).map(|i| near(i) * near(i)).sum();
        assert!((all - by_hand).abs() < 1e-11, "{all} {by_hand}");
    }
}

/// Loops of a point's own array and a short row, at points that fold.
#[kernel]
fn mixed(x: [[f64; m]; n], v: [f64; n]) -> ([f64; n], f64, i64) {
    let each = build(n, |i| {
        let mut r = [v[i], 0.5];
        for t in 0..4 {
            r[t % 2] = r[(t + 1) % 2].sin() + 0.1 * v[i];
        }
        let mut s = r[1];
        for j in 0..m {
            s += exp(x[i][j] * r[0]);
        }
        s
    });
    (each, sum(each * each), argmax(each))
}

#[test]
fn loops_of_both_kinds() {
    for n in [1, 8, 64, 150] {
        for m in TRIPS {
            let (x, v) = (waves(n, m), waves(1, n).row(0).to_owned());
            let (each, squares, most) = mixed(&x, &v);
            let by_hand = Array1::from_shape_fn(n, |i| {
                let mut r = [v[i], 0.5];
                for t in 0..4 {
                    r[t % 2] = r[(t + 1) % 2].sin() + 0.1 * v[i];
                }
                r[1] + x.row(i).iter().map(|x| (x * r[0]).exp()).sum::<f64>()
            });
            assert!((&each - &by_hand).iter().all(|d| d.abs() < 1e-12), "{n} {m}");
            assert!((squares - by_hand.dot(&by_hand)).abs() < 1e-10 * squares, "{n} {m}");
            assert!(by_hand.iter().all(|e| *e <= by_hand[most as usize]), "{n} {m}");
        }
    }
    assert_checks!(mixed, (&waves(9, 3), &waves(1, 9).row(0).to_owned()));
}

/// A point's own array in memory, beside a row that is short by its size and a window that is short by constants.
#[kernel]
fn own(x: [[f64; m]; n], at: [i64; n]) -> [f64; n] {
    build(n, |i| {
        let mut r = [0.1, 0.2, 0.3, 0.4, 0.5];
        for t in 0..7 {
            r[(t + at[i]) % 5] = 0.5 * r[(t + 1) % 5] + sin(r[(2 * t) % 5]);
        }
        let mut s = 0.0;
        for j in 0..m {
            s += exp(x[i][j] * r[at[i]]);
        }
        for k in max(0, i - 1)..min(n, i + 2) {
            s += exp(r[(at[k] + 1) % 5]);
        }
        s
    })
}

#[test]
fn rows_beside_an_array_of_the_points_own() {
    for n in POINTS {
        for m in TRIPS {
            let (x, at) = (waves(n, m), Array1::from_shape_fn(n, |i| (i % 5) as i64));
            let by_hand = Array1::from_shape_fn(n, |i| {
                let mut r = [0.1, 0.2, 0.3, 0.4, 0.5];
                for t in 0..7 {
                    r[(t + i % 5) % 5] = 0.5 * r[(t + 1) % 5] + f64::sin(r[(2 * t) % 5]);
                }
                let row: f64 = x.row(i).iter().map(|x| (x * r[i % 5]).exp()).sum();
                let near = i.saturating_sub(1)..n.min(i + 2);
                row + near.map(|k| r[(k % 5 + 1) % 5].exp()).sum::<f64>()
            });
            let found = own(&x, &at);
            assert!((&found - &by_hand).iter().all(|d| d.abs() < 1e-13), "{n} {m}");
        }
    }
    let at = Array1::from_shape_fn(9, |i| (i % 5) as i64);
    assert_checks!(own, (&waves(9, 3), &at));
}

/// Windows that have no place.
#[kernel]
fn empty(x: [f64; n]) -> [f64; n] {
    build(n, |i| {
        let mut s = 1.0;
        for j in max(0, i)..min(0, i) {
            s += x[j].exp();
        }
        for j in max(5, i)..min(1, n) {
            s += x[j].exp();
        }
        s
    })
}

/// Elements beyond the border are those at it; also where there is none.
#[kernel]
fn clamped(x: [[f64; m]; n], y: [f64; k]) -> ([[f64; m]; n], [[f64; k]; n]) {
    let stencil = build((n, m), |i, j| {
        let near = x[min(i + 1, n - 1)][j] + x[max(i - 1, 0)][j];
        sin(near + x[i][min(j + 2, m - 1)] * x[(i - 2).clamp(0, n - 1)][(j - 1).max(0)] - x[i][j])
    });
    (stencil, build((n, k), |i, j| y[j] * i as f64 + y[min(i, k - 1)]))
}

#[test]
fn borders() {
    for n in [0, 1, 2, 7, 64] {
        let ones = empty(&waves(1, n).row(0).to_owned());
        assert!(ones.iter().all(|v| *v == 1.0));
        for (m, k) in [(0, 0), (1, 3), (5, 0), (9, 2)] {
            let (x, y) = (waves(n, m), waves(1, k).row(0).to_owned());
            let (found, rows) = clamped(&x, &y);
            let at =
                |i: i64, j: i64| x[[i.clamp(0, n as i64 - 1) as usize, j.clamp(0, m as i64 - 1) as usize]];
            for ((i, j), value) in found.indexed_iter() {
                let (i, j) = (i as i64, j as i64);
                let near = at(i + 1, j) + at(i - 1, j);
                let by_hand = (near + at(i, j + 2) * at(i - 2, j - 1) - at(i, j)).sin();
                assert!((value - by_hand).abs() < 1e-14, "{n} {m} {i} {j}");
            }
            assert_eq!(rows.dim(), (n, k));
        }
    }
    for (n, m, k) in [(1, 1, 1), (2, 3, 1), (7, 5, 4)] {
        assert_checks!(clamped, (&waves(n, m), &waves(1, k).row(0).to_owned()));
    }
}
