//! Small arrays at points, which change them in loops in loops: their elements are the points' own, in lanes of 8 or 16 points.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use array_dsl::{Cpu, Error};
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, Axis, array};

/// Below, at and above the numbers of lanes.
const LENGTHS: [usize; 8] = [0, 1, 7, 8, 9, 16, 17, 100];

fn waves(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((3 * i + 7 * j) as f64 * 0.71).sin())
}

fn matrices(n: usize) -> Array3<f64> {
    let a = Array3::from_shape_fn(
        (n, 5, 5),
        |(p, i, j)| {
            if i == j { 4.0 } else { 0.3 * ((i * j + p) as f64).sin() }
        },
    );
    (&a + &a.clone().permuted_axes([0, 2, 1])) * 0.5
}

#[kernel]
fn factors(a: [[[f64; 5]; 5]; n]) -> [[[f64; 5]; 5]; n] {
    map(
        |a| {
            let mut l = zeros((5, 5));
            for j in 0..5 {
                let mut s = a[j][j];
                for k in 0..j {
                    s -= l[j][k] * l[j][k];
                }
                l[j][j] = s.sqrt();
                for i in j + 1..5 {
                    let mut t = a[i][j];
                    for k in 0..j {
                        t -= l[i][k] * l[j][k];
                    }
                    l[i][j] = t / l[j][j];
                }
            }
            l
        },
        a,
    )
}

#[test]
fn triangles_give_the_matrix() {
    for n in LENGTHS {
        let a = matrices(n);
        for (l, a) in factors(&a).outer_iter().zip(a.outer_iter()) {
            assert_close(l.dot(&l.t()), a.to_owned(), 1e-12);
        }
        // The derivative of `l l' = a` in a direction.
        let (l, dl) = jvp(factors)(&a, &a);
        for (l, dl, a) in l.outer_iter().zip(dl.outer_iter()).zip(a.outer_iter()).map(|((l, d), a)| (l, d, a))
        {
            assert_close(dl.dot(&l.t()) + l.dot(&dl.t()), a.to_owned(), 1e-12);
        }
    }
    assert_checks!(factors, (&matrices(3),));
    assert_checks!(factors, (&matrices(9),));
}

// Rows that are changed and given back, with a loop that folds inside of one in order.

#[kernel]
fn smoothed(rows: [[f64; 6]; n], rounds: usize) -> ([[f64; 6]; n], [f64; n]) {
    let both = map(
        |row| {
            let mut r = row;
            let mut drift = 0.0;
            for _ in 0..rounds {
                for i in 1..5 {
                    r[i] = 0.5 * r[i] + 0.25 * (r[i - 1] + r[i + 1]);
                }
                drift += (r * r).sum();
            }
            (r, drift)
        },
        rows,
    );
    both
}

fn smoothed_by_hand(r: &mut [f64], rounds: usize) -> f64 {
    let mut drift = 0.0;
    for _ in 0..rounds {
        for i in 1..5 {
            r[i] = 0.5 * r[i] + 0.25 * (r[i - 1] + r[i + 1]);
        }
        drift += r.iter().map(|x| x * x).sum::<f64>();
    }
    drift
}

#[test]
fn rows_change_in_place() {
    for n in LENGTHS {
        let rows = waves(n, 6);
        let (mut expected, mut drifts) = (rows.clone(), Array1::zeros(n));
        for (mut row, drift) in expected.outer_iter_mut().zip(&mut drifts) {
            *drift = smoothed_by_hand(row.as_slice_mut().unwrap(), 3);
        }
        let (found, drift) = smoothed(&rows, 3);
        assert_close(found, expected, 1e-13);
        assert_close(drift, drifts, 1e-13);
    }
    for n in [1, 9] {
        assert_checks!(smoothed, (&waves(n, 6), 3));
    }
    assert_eq!(smoothed(&waves(3, 6), 0).0, waves(3, 6));
}

// Places that the data tell, which differ from lane to lane.

#[kernel]
fn counted(codes: [[i64; m]; n]) -> [[i64; 4]; n] {
    map(
        |codes| {
            let mut h = [0, 0, 0, 0];
            for i in 0..m {
                h[codes[i]] += 1;
            }
            h
        },
        codes,
    )
}

#[test]
fn points_count_for_themselves() {
    for n in LENGTHS {
        let codes = Array2::from_shape_fn((n, 10), |(i, j)| ((i * i + 3 * j) % 4) as i64);
        let expected = Array2::from_shape_fn((n, 4), |(i, k)| {
            codes.index_axis(Axis(0), i).iter().filter(|c| **c == k as i64).count() as i64
        });
        assert_eq!(counted(&codes), expected);
    }
    let mut codes = Array2::zeros((20, 10));
    codes[[17, 3]] = 4;
    let error: Error = Cpu.run(counted, (&codes,)).unwrap_err();
    assert!(
        error.to_string().contains("index 4 is out of range for length 4 (tests/tests/together.rs:"),
        "{error}"
    );
}

// Weights that an elimination changes while it goes: a determinant and its derivative, the inverse.

#[kernel]
fn determinants(a: [[[f64; 4]; 4]; n]) -> [f64; n] {
    map(
        |a| {
            let mut u = a;
            let mut d = 1.0;
            for k in 0..4 {
                d *= u[k][k];
                for i in k + 1..4 {
                    let f = u[i][k] / u[k][k];
                    for j in k..4 {
                        u[i][j] -= f * u[k][j];
                    }
                }
            }
            d
        },
        a,
    )
}

/// What their derivatives do: a loop in lanes whose way back is derived again keeps what each of its points has been through.
#[kernel]
fn slopes_of_determinants(a: [[[f64; 4]; 4]; n]) -> f64 {
    let (_, slopes) = vjp(|a| determinants(a))(a, ones(n));
    sum(flatten(slopes * slopes))
}

#[test]
fn derivatives_of_derivatives_of_many_points() {
    for n in [1, 4, 5, 17, 40] {
        let off = |k: usize, i: usize, j: usize| ((k * 16 + i * 4 + j) as f64 * 0.7).sin();
        let a = Array3::from_shape_fn((n, 4, 4), |(k, i, j)| off(k, i, j) + if i == j { 2.0 } else { 0.0 });
        let check = check_grad(slopes_of_determinants, (&a,)).expect("it runs");
        assert!(check.agrees(1e-6), "{n}: {check}");
    }
}

#[test]
fn determinants_have_their_derivative() {
    let a = |n: usize| {
        Array3::from_shape_fn(
            (n, 4, 4),
            |(p, i, j)| {
                if i == j { 3.0 } else { ((p + 2 * i + 5 * j) as f64).sin() }
            },
        )
    };
    for n in LENGTHS {
        let a = a(n);
        let (d, adjoint) = vjp(determinants)(&a, &Array1::ones(n));
        for ((a, d), adjoint) in a.outer_iter().zip(&d).zip(adjoint.outer_iter()) {
            // `a' adj = det(a) I`.
            assert_close(a.t().dot(&adjoint), Array2::eye(4) * *d, 1e-10);
        }
    }
    let of_two = vjp(determinants)(&a(2), &Array1::ones(2)).1;
    assert_gradient(|a: &Array3<f64>| determinants(a).sum(), &a(2), &of_two);
    assert_checks!(determinants, (&a(9),));
}

// Recurrent cells: a loop over time around loops over the few units.

#[kernel]
fn cells(x: [[f32; t]; n], w: [[f32; 3]; 3], u: [f32; 3]) -> [[f32; 3]; n] {
    map(
        |x| {
            let mut h = [0.0, 0.0, 0.0];
            for s in 0..t {
                let old = h;
                for i in 0..3 {
                    let mut z = u[i] * x[s];
                    for j in 0..3 {
                        z += w[i][j] * old[j];
                    }
                    h[i] = z.tanh();
                }
            }
            h
        },
        x,
    )
}

#[test]
fn cells_of_few_units() {
    let (w, u) =
        (array![[0.5f32, -0.2, 0.1], [0.3, 0.2, -0.4], [-0.1, 0.6, 0.2]], array![1.0f32, -0.5, 0.25]);
    for n in LENGTHS {
        let x = waves(n, 7).mapv(|x| x as f32);
        let mut expected = Array2::<f32>::zeros((n, 3));
        for (x, mut h) in x.outer_iter().zip(expected.outer_iter_mut()) {
            for x in x {
                let z = w.dot(&h) + &u * *x;
                h.assign(&z.mapv(f32::tanh));
            }
        }
        assert_close(cells(&x, &w, &u).mapv(f64::from), expected.mapv(f64::from), 1e-5);
    }
    let check = check_grad(cells, (&waves(9, 7).mapv(|x| x as f32), &w, &u)).unwrap();
    assert!(check.agrees(2e-2), "{check}");
}

/// Functions of elements that the same trip has changed.
#[kernel]
fn stirred(x: [f64; n], at: [i64; n]) -> [f64; n] {
    build(n, |i| {
        let mut r = [x[i], 0.3, 0.7];
        let mut s = 0.0;
        for t in 0..5 {
            r[(t + at[i]) % 3] = (r[(t + 1) % 3] + x[i]).sin();
            s += exp(r[(2 * t) % 3]);
        }
        s
    })
}

#[test]
fn what_a_trip_has_changed_it_reads() {
    for n in LENGTHS {
        let (x, at) = (waves(1, n).row(0).to_owned(), Array1::from_shape_fn(n, |i| (i % 5) as i64));
        let by_hand = Array1::from_shape_fn(n, |i| {
            let (mut r, mut s) = ([x[i], 0.3, 0.7], 0.0);
            for t in 0..5 {
                r[(t + i % 5) % 3] = (r[(t + 1) % 3] + x[i]).sin();
                s += r[(2 * t) % 3].exp();
            }
            s
        });
        assert_close(stirred(&x, &at), by_hand, 1e-14);
    }
    assert_checks!(stirred, (&waves(1, 9).row(0).to_owned(), &Array1::from_elem(9, 2)));
}

/// A polynomial through points: few operations in each trip, and coefficients that all points share.
#[kernel]
fn misfit(x: [f64; m], t: [f64; n], y: [f64; n], scale: f64) -> f64 {
    sum(build(n, |i| {
        let mut fit = 0.0;
        let mut power = 1.0;
        for j in 0..m {
            fit += x[j] * power * scale;
            power *= t[i];
        }
        (fit - y[i]).powi(2)
    }))
}

/// Whole blocks and what is left, one block and several, and more coefficients than have lanes of their own.
#[test]
fn what_points_share_is_added_up_in_whole_blocks() {
    let sizes = [0, 1, 15, 16, 17, 63, 64, 65, 200, 3000].map(|n| [0, 1, 2, 40].map(|m| (n, m)));
    for (n, m) in sizes.into_iter().flatten().chain([(200, 2100)]) {
        let x = Array1::from_shape_fn(m, |j| (j as f64 * 0.7).sin() / (j + 1) as f64);
        let t = Array1::from_shape_fn(n, |i| (i as f64 * 1.3).cos());
        let y = Array1::from_shape_fn(n, |i| (i as f64 * 0.4).sin());
        let mut powers = Array2::<f64>::ones((n, m));
        for j in 1..m {
            let next = &powers.column(j - 1) * &t;
            powers.column_mut(j).assign(&next);
        }
        let rest = powers.dot(&x) * 0.5 - &y;
        assert_close(misfit(&x, &t, &y, 0.5), rest.mapv(|r| r * r).sum(), 1e-11);
        let (by_x, by_t, by_y, by_scale) = grad(misfit)(&x, &t, &y, 0.5);
        assert_close(by_x, powers.t().dot(&rest), 1e-11);
        assert_close(by_y, -2.0 * &rest, 1e-11);
        assert_close(by_scale, 2.0 * rest.dot(&powers.dot(&x)), 1e-11);
        let slope = |i: usize| (1..m).map(|j| x[j] * j as f64 * powers[[i, j - 1]]).sum::<f64>();
        let slopes = Array1::from_shape_fn(n, slope);
        assert_close(by_t, rest * &slopes, 1e-9);
    }
}
