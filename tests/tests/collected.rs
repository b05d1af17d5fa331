//! Sums over points that the points themselves add up, on their way: what all share, rows that are read there and back, and places that
//! the points decide.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

/// Points beside the lanes and the tasks: none, one, some of a block, whole blocks, several tasks.
const POINTS: [usize; 9] = [0, 1, 7, 16, 17, 64, 65, 300, 5000];
const TRIPS: [usize; 5] = [0, 1, 2, 9, 40];

#[kernel]
fn driven(u: [f64; m], start: [f64; n]) -> f64 {
    let ends = build(n, |i| {
        let mut x = start[i];
        for t in 0..m {
            x = sin(x) + u[t];
        }
        x
    });
    sum(ends * ends)
}

/// Linear least squares for a polynomial, and what it gives at each point.
#[kernel]
fn fit(c: [f64; m], t: [f64; n], #[no_grad] y: [f64; n]) -> (f64, [f64; n]) {
    let found = build(n, |i| {
        let mut fit = 0.0;
        let mut power = 1.0;
        for j in 0..m {
            fit += c[j] * power;
            power *= t[i];
        }
        fit
    });
    (sum((y - found) * (y - found)), found)
}

#[kernel]
fn logistic(x: [[f64; d]; n], y: [f64; n], w: [f64; d], b: f64) -> f64 {
    let mut loss = 0.0;
    for i in 0..n {
        loss += ln(1.0 + exp(-y[i] * (dot(x[i], w) + b)));
    }
    loss
}

/// Columns of what loops of points make; the histories are a result.
#[kernel]
fn columns(x: [f64; n], k: usize) -> ([[f64; k]; n], [f64; k], [f64; k], f64) {
    let paths = build(n, |i| {
        let at = x[i];
        scan(|s, _| s, 0.0, build(k, |j| at + (j as f64) * 0.5))
    });
    let squares = build(k, |j| sum(build(n, |i| paths[i][j] * paths[i][j])));
    let scaled = build(k, |j| 1.0 + 2.0 * sum(build(n, |i| paths[i][j])));
    (paths, squares, scaled, sum(map(|p| sum(p), paths)))
}

/// Functions of what rows give, between rows: of lengths that are not known, with choices, and stored in between.
#[kernel]
fn softened(x: [[f64; d]; n], w: [f64; d]) -> ([[f64; d]; n], [f64; n], [i64; n]) {
    let all = build(n, |i| {
        let far = exp(-dot(x[i], x[i]) / 10.0);
        let z = tanh(dot(x[i], w)) * far;
        let z = if z > 0.0 { z } else { 0.1 * z };
        let most = maximum(abs(x[i] * z));
        (x[i] * z + most.exp(), ln(1.0 + most), argmax(x[i] * w))
    });
    (all.0, all.1, all.2)
}

/// Steps of a descent, each a loss over all points.
#[kernel]
fn trained(x: [[f64; d]; n], y: [f64; n], steps: usize) -> [f64; d] {
    let mut w = build(d, |j| 0.1 * (j as f64));
    for _ in 0..steps {
        let mut g = build(d, |_| 0.0);
        for i in 0..n {
            let r = tanh(dot(x[i], w)) - y[i];
            for j in 0..d {
                g[j] += r * x[i][j];
            }
        }
        w = w - 0.01 * g;
    }
    w
}

/// Pairs by elements: rows of rows with functions between them, at both levels.
#[kernel]
fn attended(q: [[f64; d]; n], k: [[f64; d]; m]) -> f64 {
    let mut all = 0.0;
    for i in 0..n {
        let mut s = 1.0;
        for j in 0..m {
            s += exp(tanh(dot(q[i], k[j])));
        }
        all += ln(s);
    }
    all
}

/// What the sum of some points gives, other sums of the same points need.
#[kernel]
fn centered(x: [[f64; d]; n], w: [f64; d]) -> (f64, [f64; d]) {
    let z = build(n, |i| tanh(dot(x[i], w)));
    let m = 2.0 * sum(z) + 1.0;
    (m, build(d, |j| sum(build(n, |i| (z[i] - m) * x[i][j]))))
}

/// A step whose place data decide, which is outside where they are wrong.
#[kernel]
fn indexed(u: [f64; m], #[no_grad] at: [[i64; k]; n]) -> f64 {
    build(n, |i| {
        let mut x = 0.1;
        for t in 0..k {
            x = sin(x) + u[at[i][t]];
        }
        x
    })
    .sum()
}

fn waves(n: usize, by: f64) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * by).sin())
}

fn rows(n: usize, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |(i, j)| ((3 * i + 7 * j) as f64 * 0.37).sin())
}

#[test]
fn gradients_agree_three_ways() {
    for n in [0, 1, 3, 17, 65] {
        let (x, y) = (waves(n, 0.7), waves(n, 1.3));
        for m in [0, 1, 2, 9] {
            assert_checks!(driven, (&waves(m, 0.3), &x));
            assert_checks!(fit, (&waves(m, 0.3), &x, &y));
            assert_checks!(logistic, (&rows(n, m), &y, &waves(m, 0.9), 0.3));
            assert_checks!(columns, (&x, m as i64));
            assert_checks!(attended, (&rows(n, 3), &rows(m, 3)));
            assert_checks!(centered, (&rows(n, m), &waves(m, 0.9)));
            assert_checks!(trained, (&rows(n, m), &y, 3));
        }
    }
}

/// By hand, point by point, on the way there and back.
fn driven_by_hand(u: &Array1<f64>, start: &Array1<f64>) -> (f64, Array1<f64>, Array1<f64>) {
    let (mut value, mut du, mut dstart) = (0.0, Array1::zeros(u.len()), Array1::zeros(start.len()));
    for (i, &s) in start.iter().enumerate() {
        let mut path = vec![s];
        for &v in u {
            path.push(path[path.len() - 1].sin() + v);
        }
        let end = path[u.len()];
        value += end * end;
        let mut adj = 2.0 * end;
        for t in (0..u.len()).rev() {
            du[t] += adj;
            adj *= path[t].cos();
        }
        dstart[i] = adj;
    }
    (value, du, dstart)
}

fn assert_close(found: &Array1<f64>, wanted: &Array1<f64>) {
    assert_eq!(found.len(), wanted.len());
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-10 * (1.0 + b.abs());
    assert!(found.iter().zip(wanted).all(close), "{found}\n{wanted}");
}

#[test]
fn all_blocks_and_tasks_add_up() -> Result<(), array_dsl::Error> {
    for n in POINTS {
        for m in TRIPS {
            let (u, start) = (waves(m, 0.3), waves(n, 0.7));
            let (value, du, dstart) = driven_by_hand(&u, &start);
            let (found, (gu, gstart)) = Cpu.run(value_and_grad(driven), (&u, &start))?;
            assert!((found - value).abs() <= 1e-10 * (1.0 + value.abs()), "{n} {m}: {found} {value}");
            assert_close(&gu, &du);
            assert_close(&gstart, &dstart);
        }
    }
    Ok(())
}

#[test]
fn blocks_of_points_are_the_points() -> Result<(), array_dsl::Error> {
    for n in POINTS {
        for d in [0, 1, 2, 7, 8, 9, 33, 100] {
            let (x, y, w) = (rows(n, d), waves(n, 1.3), waves(d, 0.9));
            let at = |i: usize| x.row(i).dot(&w) + 0.3;
            let loss: f64 = (0..n).map(|i| (1.0 + (-y[i] * at(i)).exp()).ln()).sum();
            let found = Cpu.run(logistic, (&x, &y, &w, 0.3))?;
            assert!((found - loss).abs() <= 1e-10 * (1.0 + loss.abs()), "{n} {d}: {found} {loss}");
            let (_, dy, dw, db) = Cpu.run(grad(logistic), (&x, &y, &w, 0.3))?;
            let slope = |i: usize| -1.0 / (1.0 + (y[i] * at(i)).exp());
            assert_close(&dy, &Array1::from_shape_fn(n, |i| slope(i) * at(i)));
            let column = |j: usize| (0..n).map(|i| slope(i) * y[i] * x[[i, j]]).sum::<f64>();
            assert_close(&dw, &Array1::from_shape_fn(d, column));
            assert_close(
                &Array1::from_elem(1, db),
                &Array1::from_elem(1, (0..n).map(|i| slope(i) * y[i]).sum()),
            );
            if d == 0 {
                continue;
            }
            let (rows, logs, places) = Cpu.run(softened, (&x, &w))?;
            for i in 0..n {
                let row = x.row(i);
                let z = row.dot(&w).tanh() * (-row.dot(&row) / 10.0).exp();
                let z = if z > 0.0 { z } else { 0.1 * z };
                let most = row.iter().map(|v| (v * z).abs()).fold(f64::NEG_INFINITY, f64::max);
                assert!((logs[i] - (1.0 + most).ln()).abs() <= 1e-12);
                assert_close(&rows.row(i).to_owned(), &row.map(|v| v * z + most.exp()));
                let best = (0..d).fold(0, |b, j| if row[j] * w[j] > row[b] * w[b] { j } else { b });
                assert_eq!(places[i], best as i64);
            }
        }
    }
    Ok(())
}

#[test]
fn columns_are_those_of_what_is_there() -> Result<(), array_dsl::Error> {
    for n in POINTS {
        for k in [0, 1, 7, 33] {
            let (paths, squares, scaled, total) = Cpu.run(columns, (&waves(n, 0.7), k))?;
            assert_close(
                &squares,
                &Array1::from_shape_fn(k as usize, |j| paths.column(j).map(|x| x * x).sum()),
            );
            assert_close(&scaled, &Array1::from_shape_fn(k as usize, |j| 1.0 + 2.0 * paths.column(j).sum()));
            assert!((total - paths.sum()).abs() <= 1e-8 * (1.0 + total.abs()));
        }
    }
    Ok(())
}

#[test]
fn threads_change_no_bit() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let (u, x) = (waves(40, 0.3), waves(5000, 0.7));
            let by_start = Cpu.run(value_and_grad(driven), (&u, &x)).expect("it runs");
            let by_weights =
                Cpu.run(grad(logistic), (&rows(5000, 9), &x, &waves(9, 0.9), 0.3)).expect("it runs");
            (by_start, by_weights)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_wrong_index_is_told_whatever_the_threads() {
    let u = waves(5, 0.3);
    let mut at = Array2::from_shape_fn((500, 4), |(i, t)| ((i + t) % 5) as i64);
    let right = Cpu.run(grad(indexed), (&u, &at)).expect("all are inside");
    assert_eq!(right.len(), 5);
    assert_checks!(indexed, (&u, &at));
    (at[[77, 2]], at[[401, 0]]) = (5, -1);
    let told = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| Cpu.run(grad(indexed), (&u, &at)).expect_err("an index is outside").to_string())
    };
    let first = told(1);
    assert!(first.contains("out of range for length 5") && first.contains("collected.rs:"), "{first}");
    assert_eq!(first, told(3));
}
