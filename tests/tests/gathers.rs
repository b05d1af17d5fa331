//! Elements and rows that data select. What was an index once is not compared again, in derivatives above all: so wrong ones must be
//! told wherever they are, and nothing may be read with one.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;

#[path = "../../array-dsl-compiler/tests/programs/tables.rs"]
mod tables;

use array_dsl::Error;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

/// The mean of embeddings, squared.
#[kernel]
fn embedded(e: [[f64; d]; m], at: [i64; n], y: [f64; n]) -> f64 {
    build(n, |i| (sum(e[at[i]] * e[at[i]]) - y[i]).powi(2)).sum()
}

/// A recurrent network over rows that words select.
#[kernel]
fn sequences(e: [[f64; d]; m], w: [[f64; d]; d], at: [[i64; k]; n]) -> f64 {
    build(n, |i| {
        let mut h = build(d, |_| 0.0);
        for t in 0..k {
            h = build(d, |a| tanh(dot(w[a], h) + e[at[i][t]][a]));
        }
        sum(h * h)
    })
    .sum()
}

/// Springs between points, by their two ends.
#[kernel]
fn springs(x: [[f64; 3]; m], ends: [[i64; 2]; n], rest: [f64; n]) -> f64 {
    let mut energy = 0.0;
    for e in 0..n {
        let by = x[ends[e][0]] - x[ends[e][1]];
        energy += (dot(by, by).sqrt() - rest[e]).powi(2);
    }
    energy
}

/// Areas of triangles by their corners, after steps in which the points follow their neighbors.
#[kernel]
fn mesh(x: [[f64; 2]; m], corners: [[i64; 3]; n], steps: usize) -> f64 {
    let mut at = x;
    for _ in 0..steps {
        let middle = build(n, |t| (at[corners[t][0]] + at[corners[t][1]] + at[corners[t][2]]) / 3.0);
        let mut pull = build((m, 2), |_, _| 0.0);
        for t in 0..n {
            pull[corners[t][0]] += 0.1 * middle[t];
        }
        at = at * 0.9 + pull;
    }
    build(n, |t| {
        let a = at[corners[t][1]] - at[corners[t][0]];
        let b = at[corners[t][2]] - at[corners[t][0]];
        (a[0] * b[1] - a[1] * b[0]).powi(2)
    })
    .sum()
}

/// Ratings by users and items of factors.
#[kernel]
fn ratings(u: [[f64; d]; m], v: [[f64; d]; q], by: [i64; n], of: [i64; n], y: [f64; n]) -> f64 {
    build(n, |r| (dot(u[by[r]], v[of[r]]) - y[r]).powi(2)).sum()
}

/// Selected by what was selected.
#[kernel]
fn chained(x: [f64; m], next: [i64; m], start: [i64; n]) -> f64 {
    build(n, |i| x[next[start[i]]] * x[start[i]]).sum() + build(n, |i| x[start[i]].sin()).sum()
}

/// Whose gradient needs no element.
#[kernel]
fn linear(x: [f64; m], at: [i64; n], y: [f64; n]) -> f64 {
    build(n, |i| x[at[i]] * y[i]).sum()
}

fn waves(n: usize, by: f64) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * by).sin())
}

fn rows(n: usize, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |(i, j)| ((i * d + j) as f64 * 0.7).sin())
}

fn places(n: usize, k: usize, m: usize) -> Array2<i64> {
    Array2::from_shape_fn((n, k), |(i, j)| ((i * 7 + j * 5 + i * j) % m) as i64)
}

#[test]
fn derivatives_agree() {
    let (m, d) = (11, 3);
    for n in [0, 1, 20, 300] {
        let at = places(n, 1, m).column(0).to_owned();
        let other = Array1::from_shape_fn(n, |i| (i * 3 % 5) as i64);
        assert_checks!(embedded, (&rows(m, d), &at, &waves(n, 0.3)));
        assert_checks!(sequences, (&rows(m, d), &(rows(d, d) * 0.4), &places(n, 4, m)));
        let apart = Array2::from_shape_fn((n, 2), |(i, j)| ((i * 7 + j * 5) % m) as i64);
        assert_checks!(springs, (&rows(m, 3), &apart, &waves(n, 0.3)));
        assert_checks!(mesh, (&rows(m, 2), &places(n, 3, m), 3));
        assert_checks!(ratings, (&rows(m, d), &rows(5, d), &at, &other, &waves(n, 0.3)));
        assert_checks!(linear, (&waves(m, 0.7), &at, &waves(n, 0.3)));
        let next = Array1::from_shape_fn(m, |i| ((i * 4 + 1) % m) as i64);
        assert_checks!(chained, (&waves(m, 0.7), &next, &at));
    }
}

#[test]
fn tables_are_added_to_together() {
    let m = 11;
    for n in [0, 1, 20, 300, 10_000] {
        let [at, other] =
            [1, 4].map(|by| Array1::from_shape_fn(n, |i| (i * 7 + i * i * by) as i64 % m as i64));
        let (a, b, x) = (waves(m, 0.7), waves(m, 0.9), waves(n, 0.3));
        let by_hand: f64 =
            at.iter().zip(&x).map(|(k, x)| (a[*k as usize] * x).sin() * b[*k as usize].exp()).sum();
        let found = tables::two_tables(&a, &b, &at, &x);
        assert!((found - by_hand).abs() <= 1e-12 * (1.0 + by_hand.abs()), "{found} {by_hand}");
        if n > 300 {
            continue;
        }
        assert_checks!(tables::two_tables, (&a, &b, &at, &x));
        assert_checks!(tables::springs, (&rows(m, 2), &at, &other, &x));
        assert_checks!(tables::views, (&rows(m, 6), &rows(m, 3), &at, &other, &rows(n, 2)));
        let [x, y] = [3.7, 2.3].map(|by| waves(n, by).mapv(|v| 3.5 + 3.4 * v));
        assert_checks!(tables::between, (&rows(8, 9), &x, &y));
    }
    // A wrong place, in whatever chunk, is told by the gradient as by the value.
    let (n, x) = (10_000, waves(10_000, 0.3));
    for wrong in [0, 4_321, n - 1] {
        let mut at = Array1::from_elem(n, 3);
        at[wrong] = 11;
        let (a, b) = (waves(m, 0.7), waves(m, 0.9));
        let run = Cpu.run(grad(tables::two_tables), (&a, &b, &at, &x));
        assert!(matches!(run, Err(Error::IndexOutOfRange { length: 11, .. })), "{run:?}");
        // Not a number is at the first place.
        let mut y = x.mapv(|v| 2.0 + v);
        y[wrong] = f64::NAN;
        let run = Cpu.run(grad(tables::between), (&rows(1, 4), &x, &y));
        assert!(matches!(run, Err(Error::IndexOutOfRange { length: 1, .. })), "{run:?}");
    }
}

/// That a run fails with an index that is outside of so many.
fn outside<T: std::fmt::Debug>(what: &str, length: i64, run: Result<T, Error>) {
    match run {
        Err(Error::IndexOutOfRange { length: found, file, .. }) => {
            assert!(found == length && file.ends_with("gathers.rs"), "{what}: {found} in {file}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn a_wrong_index_is_told_by_the_value_and_by_derivatives() {
    let (m, d, n) = (11, 3, 300);
    let y = waves(n, 0.3);
    for wrong in [-1, 11, i64::MIN, i64::MAX, 1 << 40] {
        for place in [0, 17, n - 1] {
            let mut at = places(n, 1, m).column(0).to_owned();
            at[place] = wrong;
            let e = rows(m, d);
            outside("embedded", 11, Cpu.run(embedded, (&e, &at, &y)));
            outside("embedded", 11, Cpu.run(grad(embedded), (&e, &at, &y)));
            outside("embedded", 11, Cpu.run(value_and_grad(embedded), (&e, &at, &y)));
            outside("embedded", 11, Cpu.run(jvp(embedded), (&e, &at, &y, &e, &y)));
            outside("linear", 11, Cpu.run(linear, (&waves(m, 0.7), &at, &y)));
            outside("linear", 11, Cpu.run(grad(linear), (&waves(m, 0.7), &at, &y)));
            outside("linear", 11, Cpu.run(value_and_grad(linear), (&waves(m, 0.7), &at, &y)));
            let next = Array1::from_shape_fn(m, |i| ((i * 4 + 1) % m) as i64);
            outside("chained", 11, Cpu.run(grad(chained), (&waves(m, 0.7), &next, &at)));

            let mut words = places(n, 4, m);
            words[[place, 2]] = wrong;
            let w = rows(d, d) * 0.4;
            outside("sequences", 11, Cpu.run(sequences, (&e, &w, &words)));
            outside("sequences", 11, Cpu.run(value_and_grad(sequences), (&e, &w, &words)));
            for end in 0..2 {
                let mut ends = places(n, 2, m);
                ends[[place, end]] = wrong;
                outside("springs", 11, Cpu.run(value_and_grad(springs), (&rows(m, 3), &ends, &y)));
            }
            for corner in 0..3 {
                let mut corners = places(n, 3, m);
                corners[[place, corner]] = wrong;
                outside("mesh", 11, Cpu.run(mesh, (&rows(m, 2), &corners, 2)));
                outside("mesh", 11, Cpu.run(grad(mesh), (&rows(m, 2), &corners, 2)));
                outside("mesh", 11, Cpu.run(grad(mesh), (&rows(m, 2), &corners, 0)));
            }
        }
    }
    // Where there is nothing to read, no index is outside.
    let at = Array1::from_elem(n, 99);
    assert_eq!(Cpu.run(grad(embedded), (&rows(m, 0), &at, &y)).expect("no columns").0.dim(), (m, 0));
}

#[test]
fn a_wrong_index_of_one_of_two_arrays_is_told() {
    let (m, d, n) = (11, 3, 300);
    let (u, v, y) = (rows(m, d), rows(5, d), waves(n, 0.3));
    let by = places(n, 1, m).column(0).to_owned();
    // Inside of the users, and outside of the items.
    outside("ratings", 5, Cpu.run(value_and_grad(ratings), (&u, &v, &by, &by, &y)));
    let next = Array1::from_shape_fn(m, |i| if i == 6 { 11 } else { 0 });
    outside("chained", 11, Cpu.run(grad(chained), (&waves(m, 0.7), &next, &by)));
}
