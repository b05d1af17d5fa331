//! Loops that points make by themselves, for numbers of points below, at and above those of lanes: escape times, rays that march,
//! a search by halves, particles, matrices at every point, rows of different lengths.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;
#[path = "../../array-dsl-compiler/tests/programs/points.rs"]
mod programs;

use array_dsl::Cpu;
use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Array3, array};
use programs::{flown, interpolated};

/// Lanes are of 16 and 64 points.
const LENGTHS: [usize; 9] = [0, 1, 2, 15, 16, 17, 63, 65, 200];

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| (i as f64 * 0.71).sin())
}

// Points end at very different times.

#[kernel]
fn escape(cx: [f64; n], cy: [f64; n], most: i64) -> ([i64; n], [f64; n]) {
    let both = map(
        |(cx, cy)| {
            let mut x = 0.0;
            let mut y = 0.0;
            let mut k = 0;
            while x * x + y * y <= 4.0 && k < most {
                let t = x * x - y * y + cx;
                y = 2.0 * x * y + cy;
                x = t;
                k += 1;
            }
            (k, x)
        },
        (cx, cy),
    );
    both
}

fn escape_by_hand(cx: f64, cy: f64, most: i64) -> (i64, f64) {
    let (mut x, mut y, mut k) = (0.0, 0.0, 0);
    while x * x + y * y <= 4.0 && k < most {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        k += 1;
    }
    (k, x)
}

#[test]
fn escape_times() {
    for n in LENGTHS {
        let (cx, cy) = (wave(n) - 0.4, wave(n + 1).slice_move(ndarray::s![1..]));
        for most in [0, 1, 50] {
            let (k, x) = escape(&cx, &cy, most);
            let expected: Vec<_> = cx.iter().zip(&cy).map(|(x, y)| escape_by_hand(*x, *y, most)).collect();
            assert_eq!(k, expected.iter().map(|e| e.0).collect::<Array1<i64>>());
            assert_close(x, expected.iter().map(|e| e.1).collect(), 1e-14);
        }
    }
    assert_checks!(escape, (&array![0.1, 0.3, -0.9, 1.2], &array![0.2, 0.5, 0.1, 0.4], 6));
}

/// The two axes are used apart, so that they are not one.
#[kernel]
fn picture(h: usize, w: usize, most: i64) -> [[i64; w]; h] {
    build((h, w), |i, j| {
        let cx = 3.0 * (j as f64) / (w as f64) - 2.0;
        let cy = 2.0 * (i as f64) / (h as f64) - 1.0;
        let mut x = 0.0;
        let mut y = 0.0;
        let mut k = 0;
        while x * x + y * y <= 4.0 && k < most {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            k += 1;
        }
        k
    })
}

#[test]
fn pictures() {
    for (h, w) in [(0usize, 3usize), (3, 0), (1, 1), (2, 17), (40, 5), (33, 70)] {
        let expected = Array2::from_shape_fn((h, w), |(i, j)| {
            let (x, y) = (3.0 * j as f64 / w as f64 - 2.0, 2.0 * i as f64 / h as f64 - 1.0);
            escape_by_hand(x, y, 60).0
        });
        assert_eq!(picture(h as i64, w as i64, 60), expected);
    }
}

// Rays, with a gradient by what all of them share.

#[kernel(hvp)]
fn march(start: [f64; n], slope: [f64; n], radius: f64) -> f64 {
    sum(build(n, |i| {
        let mut t = 0.0;
        let mut d = 1.0;
        while d > 0.001 && t < 20.0 {
            let p = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    }))
}

fn march_by_hand(start: &Array1<f64>, slope: &Array1<f64>, radius: f64) -> f64 {
    let one = |p: (&f64, &f64)| {
        let (mut t, mut d) = (0.0, 1.0);
        while d > 0.001 && t < 20.0 {
            let p: f64 = p.0 + t * p.1;
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    };
    start.iter().zip(slope).map(one).sum()
}

#[test]
fn rays_march() {
    for n in LENGTHS {
        let (start, slope) = (wave(n) * 0.5, wave(n + 3).slice_move(ndarray::s![3..]) * 0.1 + 0.3);
        let value = march(&start, &slope, 0.5);
        assert_close(array![value], array![march_by_hand(&start, &slope, 0.5)], 1e-12);
        // A sum over all points is the sum over two halves, and so is its gradient by what they share.
        let (_, _, by_radius) = grad(march)(&start, &slope, 0.5);
        let half = n / 2;
        let part = |from: usize, to: usize| {
            let s = |x: &Array1<f64>| x.slice(ndarray::s![from..to]).to_owned();
            grad(march)(&s(&start), &s(&slope), 0.5).2
        };
        assert_close(array![by_radius], array![part(0, half) + part(half, n)], 1e-11);
    }
    let (start, slope) = (wave(5), wave(5) * 0.1 + 0.3);
    assert_checks!(march, (&start, &slope, 0.5));
    let (by_start, ..) = grad(march)(&start, &slope, 0.5);
    assert_gradient(|s: &Array1<f64>| march(s, &slope, 0.5), &start, &by_start);
}

// What is found is not differentiated, what is interpolated is.

#[test]
fn search_by_halves() {
    let xs = Array1::from_shape_fn(9, |i| (i * i) as f64);
    let ys = xs.mapv(f64::sqrt);
    for n in LENGTHS {
        let at = wave(n).mapv(|x| 32.0 + 31.0 * x);
        let expected = at.mapv(|x| {
            let i = (x.sqrt() as usize).min(7);
            i as f64 + (x - (i * i) as f64) / (2 * i + 1) as f64
        });
        assert_close(interpolated(&xs, &ys, &at), expected, 1e-12);
    }
    assert_checks!(interpolated, (&xs, &ys, &array![0.5, 17.2, 40.1]));
}

// Walks through a table that each element sends on, of very different lengths.

#[kernel]
fn walks(next: [i64; m], weight: [f64; m], start: [i64; n], most: i64) -> ([i64; n], [f64; n]) {
    map(
        |k| {
            let mut at = k;
            let mut steps = 0;
            let mut sum = 0.0;
            while at >= 0 && steps < most {
                sum += weight[at] / (1 + steps % 3) as f64;
                at = next[at];
                steps += 1;
            }
            (steps, sum)
        },
        start,
    )
}

#[test]
fn walks_of_different_lengths() {
    // From 37 it goes to 0 and ends; the last two go round in a circle.
    let next = Array1::from_shape_fn(40, |i| if i < 38 { i as i64 - 1 } else { 77 - i as i64 });
    let weight = wave(40);
    for n in LENGTHS {
        let start = Array1::from_shape_fn(n, |i| (i * 7 % 42) as i64 - 2);
        let (steps, sums) = walks(&next, &weight, &start, 60);
        let expected: Vec<(i64, f64)> = start
            .iter()
            .map(|k| {
                let (mut at, mut steps, mut sum) = (*k, 0, 0.0);
                while at >= 0 && steps < 60 {
                    sum += weight[at as usize] / (1 + steps % 3) as f64;
                    (at, steps) = (next[at as usize], steps + 1);
                }
                (steps, sum)
            })
            .collect();
        assert_eq!(steps, expected.iter().map(|e| e.0).collect::<Array1<i64>>());
        assert_close(sums, expected.iter().map(|e| e.1).collect(), 1e-13);
    }
    assert_checks!(walks, (&array![-1, 0, 1, 4, 3], &wave(5), &array![2, -1, 3, 0], 5));
    // Who has ended reads nothing, and who goes on where nothing is says so.
    let nothing: Array1<i64> = array![];
    assert_eq!(walks(&nothing, &array![], &array![-1, -1], 3).0, array![0, 0]);
    let error =
        Cpu.run(walks, (&array![-1, 9, 0], &wave(3), &array![2, 0, 1, -1], 5)).unwrap_err().to_string();
    assert!(error.contains("index 9 is out of range for length 3"), "{error}");
}

/// Nothing fails: with a function in its trips lanes go on to the end of a vector, and those without a point read nothing.
#[kernel]
fn wandered(table: [f64; 8], x: [f64; n]) -> [f64; n] {
    map(
        |x| {
            let mut s = x;
            let mut k = 0;
            while s < 3.0 && k < 20 {
                let step = table[clamp(3 * k - 9 + (s > 1.0) as i64, 0, 7)];
                s += exp(step) * 0.1;
                k += 1;
            }
            s + k as f64
        },
        x,
    )
}

#[test]
fn lanes_without_a_point_read_nothing() {
    let table = wave(8);
    for n in LENGTHS {
        let x = wave(n) * 3.0;
        let one = |x: f64| {
            let (mut s, mut k) = (x, 0);
            while s < 3.0 && k < 20 {
                s += table[(3 * k - 9 + i64::from(s > 1.0)).clamp(0, 7) as usize].exp() * 0.1;
                k += 1;
            }
            s + k as f64
        };
        assert_close(wandered(&table, &x), x.mapv(one), 1e-12);
    }
    // The first steps are tenths: from these starts none goes to 1 or 3 exactly, where the function jumps.
    assert_checks!(wandered, (&table, &array![0.37, 2.75, 4.0, -0.96]));
}

// Particles in a field, by the classical Runge-Kutta method; the number of steps is the same for all.

#[test]
fn particles_keep_their_energy() {
    for n in LENGTHS {
        let (x, v) = (wave(n), wave(n) * 0.3);
        let energy = |x: &Array1<f64>, v: &Array1<f64>| v * v * 0.5 - x.mapv(f64::cos) * 2.0;
        let (x1, v1) = flown(&x, &v, 2.0, 0.01, 300);
        assert_close(energy(&x1, &v1), energy(&x, &v), 1e-8);
    }
    assert_checks!(flown, (&wave(3), &wave(3), 2.0, 0.1, 4));
}

// A matrix at every point, in place.

#[kernel]
fn factors(a: [[[f64; m]; m]; n]) -> [[[f64; m]; m]; n] {
    map(
        |a| {
            let mut l = zeros((m, m));
            for j in 0..m {
                let mut s = a[j][j];
                for k in 0..j {
                    s -= l[j][k] * l[j][k];
                }
                l[j][j] = s.sqrt();
                for i in j + 1..m {
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
fn matrices_at_every_point() {
    for n in LENGTHS {
        for m in [1, 2, 5, 8] {
            let a =
                Array3::from_shape_fn(
                    (n, m, m),
                    |(p, i, j)| {
                        if i == j { 4.0 } else { 0.1 * ((i * j + p) as f64).sin() }
                    },
                );
            let a = (&a + &a.clone().permuted_axes([0, 2, 1])) * 0.5;
            let l = factors(&a);
            for (l, a) in l.outer_iter().zip(a.outer_iter()) {
                let product: Array2<f64> = l.dot(&l.t());
                assert_close(product, a.to_owned(), 1e-12);
            }
        }
    }
    let a = Array3::from_shape_fn(
        (3, 4, 4),
        |(p, i, j)| {
            if i == j { 4.0 } else { 0.1 * ((i + j + p) as f64).sin() }
        },
    );
    assert_checks!(factors, (&a,));
}

// Rows of different lengths, as in sparse matrices; what is read outside is an error, of those that read it.

#[kernel]
fn recurrent_rows(val: [f64; m], col: [i64; m], first: [i64; k], x: [f64; w]) -> [f64; k - 1] {
    build(k - 1, |i| {
        let mut s = 0.0;
        for j in first[i]..first[i + 1] {
            s = s * 0.5 + val[j] * x[col[j]];
        }
        s
    })
}

#[test]
fn rows_of_different_lengths() {
    for n in LENGTHS {
        let mut first = vec![0i64];
        for i in 0..n {
            first.push(first[i] + (i * 7 % 5) as i64);
        }
        let m = first[n] as usize;
        let (val, x) = (wave(m), wave(6));
        let col = Array1::from_shape_fn(m, |j| (j * 5 % 6) as i64);
        let expected = Array1::from_shape_fn(n, |i| {
            let row = first[i] as usize..first[i + 1] as usize;
            row.fold(0.0, |s, j| s * 0.5 + val[j] * x[col[j] as usize])
        });
        let first = Array1::from_vec(first);
        assert_close(recurrent_rows(&val, &col, &first, &x), expected, 1e-13);
    }
    let (val, col, first, x) = (wave(5), array![0, 2, 1, 2, 0], array![0, 2, 2, 5], wave(3));
    assert_checks!(recurrent_rows, (&val, &col, &first, &x));
    let outside = array![0, 2, 1, 7, 0];
    let error = Cpu.run(recurrent_rows, (&val, &outside, &first, &x)).unwrap_err().to_string();
    assert!(error.contains("index 7 is out of range for length 3"), "{error}");
    // Rows that are empty read nothing.
    let none = array![5, 5, 5, 5];
    assert_eq!(recurrent_rows(&val, &array![9, 9, 9, 9, 9], &none, &x), Array1::zeros(3));
}
