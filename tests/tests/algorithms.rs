//! Algorithms as they are written in any language with loops and assignment: what they compute, and their derivatives
//! against differences.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;
#[path = "../../array-dsl-compiler/tests/programs/stencils.rs"]
mod stencils;
#[path = "../../array-dsl-compiler/tests/programs/textbook.rs"]
mod textbook;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};
use textbook::{
    back_substitution, cholesky, floyd_warshall, forward_substitution, gram_schmidt, log_det, lu,
    smooth_viterbi, soft_dtw, tridiagonal,
};

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 1.0 + 0.5 * (i as f64 * 0.71).sin())
}

fn matrix(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| (1.3 * i as f64 - 0.7 * j as f64).sin() * 0.5)
}

/// A matrix that needs no pivoting.
fn dominant(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| {
        if i == j { 3.0 + i as f64 * 0.1 } else { 0.5 * (i as f64 * 2.0 + j as f64).sin() }
    })
}

#[test]
fn lu_factors() {
    let a = dominant(5);
    let m = lu(&a);
    let l = Array2::from_shape_fn((5, 5), |(i, j)| {
        if i == j {
            1.0
        } else if i > j {
            m[[i, j]]
        } else {
            0.0
        }
    });
    let u = Array2::from_shape_fn((5, 5), |(i, j)| if i <= j { m[[i, j]] } else { 0.0 });
    assert_close(l.dot(&u), a.clone(), 1e-12);
    assert_checks!(lu, (&a,));
    assert_checks!(lu, (&dominant(1),));
}

/// By elimination, with rows exchanged where the largest element of a column decides.
#[kernel]
fn determinant(x: [[f64; n]; n]) -> f64 {
    let mut a = x;
    let mut d = 1.0;
    for k in 0..n {
        let mut p = k;
        for i in k + 1..n {
            if a[i][k].abs() > a[p][k].abs() {
                p = i;
            }
        }
        if p > k {
            d = -d;
            for j in 0..n {
                let t = a[k][j];
                a[k][j] = a[p][j];
                a[p][j] = t;
            }
        }
        d *= a[k][k];
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= f * a[k][j];
            }
        }
    }
    d
}

/// The derivative of a determinant are the cofactors: the determinant times the inverse, transposed.
#[test]
fn rows_are_exchanged() {
    for n in [1, 2, 3, 7, 16] {
        // Without exchanges the first pivot is zero.
        let a = Array2::from_shape_fn((n, n), |(i, j)| {
            let last = if i + j + 1 == n { 2.0 } else { 0.0 };
            if n > 1 && i == 0 && j == 0 { 0.0 } else { last + ((3 * i + 5 * j) as f64).sin() }
        });
        let (d, g) = value_and_grad(determinant)(&a);
        assert!(d.abs() > 1e-3, "{n}: {d}");
        assert_close(a.dot(&g.t()) / d, Array2::eye(n), 1e-9);
        assert_checks!(determinant, (&a,));
    }
}

#[test]
fn cholesky_factors() {
    let b = matrix(4, 4);
    let a = b.dot(&b.t()) + 2.0 * Array2::<f64>::eye(4);
    let l = cholesky(&a);
    assert_close(l.dot(&l.t()), a.clone(), 1e-12);
    assert_checks!(cholesky, (&a,));
    assert_checks!(log_det, (&a,));
    let g = grad(log_det)(&a);
    assert_gradient(|a: &Array2<f64>| log_det(a), &a, &g);
    // Only the lower triangle is read, so the two halves of the inverse are together there.
    let inverse = (&g + &g.t()) / 2.0;
    assert_close(a.dot(&inverse), Array2::eye(4), 1e-10);
}

#[test]
fn a_triangle_is_solved() {
    let (l, b) = (dominant(6), wave(6));
    let x = forward_substitution(&l, &b);
    for i in 0..6 {
        let s: f64 = (0..=i).map(|j| l[[i, j]] * x[j]).sum();
        assert!((s - b[i]).abs() < 1e-12);
    }
    assert_checks!(forward_substitution, (&l, &b));
}

#[test]
fn a_triangle_is_solved_upwards() {
    let (u, b) = (dominant(6).reversed_axes(), wave(6));
    let x = back_substitution(&u, &b);
    for i in 0..6 {
        let s: f64 = (i..6).map(|j| u[[i, j]] * x[j]).sum();
        assert!((s - b[i]).abs() < 1e-12);
    }
    assert_checks!(back_substitution, (&u, &b));
}

#[test]
fn rows_are_made_orthonormal() {
    let a = dominant(5);
    let q = gram_schmidt(&a);
    assert_close(q.dot(&q.t()), Array2::eye(5), 1e-12);
    assert_checks!(gram_schmidt, (&a,));
}

#[test]
fn paths_and_likelihoods() {
    let w = Array2::from_shape_fn((6, 6), |(i, j)| {
        if i == j { 1.0 } else { ((5 * i + 3 * j) % 7) as f64 + 2.0 + ((7 * i + j) as f64).sin() }
    });
    let d = floyd_warshall(&w);
    for ((i, j), direct) in w.indexed_iter() {
        assert!((0..6).all(|k| d[[i, j]] <= direct.min(d[[i, k]] + d[[k, j]] + 1e-12)));
    }
    assert_checks!(floyd_warshall, (&w,));
    let (start, step, seen) = (wave(4), matrix(4, 4), matrix(4, 4) * 0.5);
    let mut v = start.clone();
    for seen in seen.outer_iter() {
        v = Array1::from_shape_fn(4, |j| {
            (0..4).map(|i| (v[i] + step[[i, j]]).exp()).sum::<f64>().ln() + seen[j]
        });
    }
    let expected = v.mapv(f64::exp).sum().ln();
    assert!((smooth_viterbi(&start, &step, &seen) - expected).abs() < 1e-12);
    assert_checks!(smooth_viterbi, (&start, &step, &seen));
}

#[test]
fn tridiagonal_system() {
    let n = 6;
    let (a, b, c, d) = (wave(n), wave(n) + 4.0, wave(n).mapv(|x| -x), wave(n));
    let x = tridiagonal(&a, &b, &c, &d);
    for i in 0..n {
        let mut s = b[i] * x[i];
        if i > 0 {
            s += a[i] * x[i - 1];
        }
        if i + 1 < n {
            s += c[i] * x[i + 1];
        }
        assert!((s - d[i]).abs() < 1e-12);
    }
    assert_checks!(tridiagonal, (&a, &b, &c, &d));
}

// Conjugate gradients.

#[kernel]
fn solved(a: [[f64; n]; n], b: [f64; n], steps: usize) -> [f64; n] {
    let mut x = zeros(n);
    let mut r = b;
    let mut p = r;
    let mut rr = dot(r, r);
    for _ in 0..steps {
        let ap = matvec(a, p);
        let alpha = rr / dot(p, ap);
        x += alpha * p;
        r -= alpha * ap;
        let next = dot(r, r);
        p = r + (next / rr) * p;
        rr = next;
    }
    x
}

#[test]
fn conjugate_gradients() {
    let m = matrix(4, 4);
    let a = m.dot(&m.t()) + 2.0 * Array2::<f64>::eye(4);
    let b = wave(4);
    assert_close(a.dot(&solved(&a, &b, 4)), b.clone(), 1e-8);
    assert_checks!(solved, (&a, &b, 2));
}

// An ordinary differential equation by the classical Runge-Kutta method, with all its steps.

#[kernel]
fn predators(start: (f64, f64), rates: [f64; 4], dt: f64, steps: usize) -> ([f64; steps], [f64; steps]) {
    let f = |x, y| (rates[0] * x - rates[1] * x * y, rates[2] * x * y - rates[3] * y);
    let (mut x, mut y) = start;
    let mut xs = zeros(steps);
    let mut ys = zeros(steps);
    for t in 0..steps {
        let (k1, l1) = f(x, y);
        let (k2, l2) = f(x + 0.5 * dt * k1, y + 0.5 * dt * l1);
        let (k3, l3) = f(x + 0.5 * dt * k2, y + 0.5 * dt * l2);
        let (k4, l4) = f(x + dt * k3, y + dt * l3);
        x += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        y += dt / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
        xs[t] = x;
        ys[t] = y;
    }
    (xs, ys)
}

#[test]
fn runge_kutta() {
    let rates = array![1.1, 0.4, 0.1, 0.4];
    let (xs, ys) = predators((10.0, 5.0), &rates, 0.01, 200);
    let energy = |x: f64, y: f64| 0.1 * x - 0.4 * x.ln() + 0.4 * y - 1.1 * y.ln();
    assert!((energy(xs[199], ys[199]) - energy(10.0, 5.0)).abs() < 1e-7);
    assert_checks!(predators, ((10.0, 5.0), &rates, 0.1, 6));
}

// Newton's method: the derivative of the iteration is that of the root.

#[kernel(hvp)]
fn root_by_newton(c: f64) -> f64 {
    let mut x = c;
    let mut k = 0;
    while (x * x * x + x - c).abs() > 1e-13 && k < 50 {
        x -= (x * x * x + x - c) / (3.0 * x * x + 1.0);
        k += 1;
    }
    x
}

#[test]
fn newton() {
    assert_close(value_and_grad(root_by_newton)(10.0), (2.0, 1.0 / 13.0), 1e-10);
    assert_close(hvp(root_by_newton)(10.0, 1.0), -12.0 / 13f64.powi(3), 1e-8);
}

// The sieve of Eratosthenes: a loop in a loop under a condition, with steps of any length.

#[kernel]
fn sieve(n: usize) -> [bool; n] {
    let mut prime = replicate(n, true);
    for i in 0..min(n, 2) {
        prime[i] = false;
    }
    let mut p = 2;
    while p * p < n {
        if prime[p] {
            let mut q = p * p;
            while q < n {
                prime[q] = false;
                q += p;
            }
        }
        p += 1;
    }
    prime
}

#[test]
fn primes() {
    let s = sieve(100);
    assert_eq!(s.iter().filter(|b| **b).count(), 25);
    assert_eq!(sieve(0).len(), 0);
    assert!(!sieve(1)[0]);
}

// Insertion sort: how far an element moves, the data tell.

#[kernel]
fn sorted(xs: [f64; n]) -> [f64; n] {
    let mut a = xs;
    for i in 1..n {
        let x = a[i];
        let mut j = i;
        while j > 0 && a[j - 1] > x {
            a[j] = a[j - 1];
            j -= 1;
        }
        a[j] = x;
    }
    a
}

#[test]
fn insertion_sort() {
    let xs = array![3.0, 1.0, 2.0, -1.0, 5.0];
    assert_eq!(sorted(&xs), array![-1.0, 1.0, 2.0, 3.0, 5.0]);
    assert_checks!(sorted, (&xs,));
    let seed = array![1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(vjp(sorted)(&xs, &seed).1, array![4.0, 2.0, 3.0, 1.0, 5.0]);
}

// Dynamic programming over a table: the distance of two texts.

#[kernel]
fn edit_distance(a: [i64; n], b: [i64; m]) -> i64 {
    let mut d = build((n + 1, m + 1), |i, j| {
        if i == 0 {
            j
        } else if j == 0 {
            i
        } else {
            0
        }
    });
    for i in 1..n + 1 {
        for j in 1..=m {
            let change = if a[i - 1] == b[j - 1] { 0 } else { 1 };
            d[i][j] = min(min(d[i - 1][j] + 1, d[i][j - 1] + 1), d[i - 1][j - 1] + change);
        }
    }
    d[n][m]
}

#[test]
fn distance_of_texts() {
    let w = |s: &str| s.bytes().map(i64::from).collect::<Array1<i64>>();
    assert_eq!(edit_distance(&w("kitten"), &w("sitting")), 3);
    assert_eq!(edit_distance(&w(""), &w("abc")), 3);
}

#[test]
fn time_warping() {
    assert_checks!(soft_dtw, (&wave(5), &(wave(4) * 1.3), 0.7));
}

// A knapsack: places that depend on data, from the end.

#[kernel]
fn knapsack(weights: [i64; n], values: [f64; n], room: usize) -> f64 {
    let mut best = zeros(room + 1);
    for i in 0..n {
        for w in (weights[i]..=room).rev() {
            best[w] = max(best[w], best[w - weights[i]] + values[i]);
        }
    }
    best[room]
}

#[test]
fn full_knapsack() {
    let (w, v) = (array![1, 3, 4, 5], array![1.0, 4.0, 5.0, 7.0]);
    assert_eq!(value_and_grad(knapsack)(&w, &v, 7), (9.0, array![0.0, 1.0, 1.0, 0.0]));
}

// Shortest paths between all pairs; the derivative is where the path goes.

#[kernel]
fn distances(w: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut d = w;
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = min(d[i][j], d[i][k] + d[k][j]);
            }
        }
    }
    d
}

#[test]
fn shortest_paths() {
    let inf = 1e9;
    let w = array![[0.0, 3.0, inf, 7.0], [8.0, 0.0, 2.0, inf], [5.0, inf, 0.0, 1.0], [2.0, inf, inf, 0.0]];
    assert_eq!(
        distances(&w),
        array![[0.0, 3.0, 5.0, 6.0], [5.0, 0.0, 2.0, 3.0], [3.0, 6.0, 0.0, 1.0], [2.0, 5.0, 7.0, 0.0]]
    );
    let (_, g) =
        vjp(distances)(&w, &Array2::from_shape_fn((4, 4), |(i, j)| if (i, j) == (1, 3) { 1.0 } else { 0.0 }));
    assert_eq!(g, array![[0., 0., 0., 0.], [0., 0., 1., 0.], [0., 0., 0., 1.], [0., 0., 0., 0.]]);
}

// The likeliest path of a hidden Markov model, which is read from the end.

#[kernel]
fn viterbi(start: [f64; s], trans: [[f64; s]; s], emit: [[f64; s]; t]) -> (f64, [i64; t]) {
    let mut score = start + emit[0];
    let mut back = zeros((t, s)) as i64;
    for k in 1..t {
        let all = build((s, s), |to, from| score[from] + trans[from][to]);
        back[k] = argmax(all);
        score = maximum(all) + emit[k];
    }
    let mut path = replicate(t, 0);
    path[t - 1] = argmax(score);
    for k in (1..t).rev() {
        path[k - 1] = back[k][path[k]];
    }
    (maximum(score), path)
}

#[test]
fn likeliest_path() {
    let start = array![0.6, 0.4].mapv(f64::ln);
    let trans = array![[0.7, 0.3], [0.4, 0.6]].mapv(f64::ln);
    let emit = array![[0.5, 0.1], [0.4, 0.3], [0.1, 0.6]].mapv(f64::ln);
    let (p, path) = viterbi(&start, &trans, &emit);
    assert_close(p.exp(), 0.01512, 1e-12);
    assert_eq!(path, array![0, 0, 1]);
    assert_checks!(viterbi, (&start, &trans, &emit));
}

// A cell with memory over the rows of a matrix.

#[kernel]
fn lstm(
    xs: [[f64; d]; t],
    w: [[f64; d]; 4 * h],
    u: [[f64; h]; 4 * h],
    b: [f64; 4 * h],
    h: usize,
) -> [f64; h] {
    let mut hidden = zeros(h);
    let mut cell = zeros(h);
    for x in xs {
        let z = matvec(w, x) + matvec(u, hidden) + b;
        let i = sigmoid(z[..h]);
        let f = sigmoid(z[h..2 * h]);
        let o = sigmoid(z[2 * h..3 * h]);
        let g = tanh(z[3 * h..4 * h]);
        cell = f * cell + i * g;
        hidden = o * cell.tanh();
    }
    hidden
}

#[test]
fn long_short_term_memory() {
    assert_checks!(lstm, (&matrix(4, 2), &matrix(12, 2), &matrix(12, 3), &wave(12), 3));
}

// An American option on a binomial tree, values over the ones of the step after.

#[kernel(hvp)]
fn american_put(spot: f64, strike: f64, vol: f64, steps: usize) -> f64 {
    let dt = 1.0 / steps as f64;
    let up = (vol * dt.sqrt()).exp();
    let rate = 0.03;
    let p = ((rate * dt).exp() - 1.0 / up) / (up - 1.0 / up);
    let discount = (-rate * dt).exp();
    let price = |k, i| spot * up.powi(2 * i - k);
    let mut v = build(steps + 1, |i| max(strike - price(steps, i), 0.0));
    for s in 0..steps {
        let k = steps - 1 - s;
        for i in 0..=k {
            v[i] = max(discount * (p * v[i + 1] + (1.0 - p) * v[i]), strike - price(k, i));
        }
    }
    v[0]
}

#[test]
fn american_option() {
    let v = american_put(100.0, 100.0, 0.2, 200);
    assert!((v - 6.74).abs() < 0.1, "{v}");
    assert_checks!(american_put, (100.0, 101.0, 0.2, 7));
}

// A stencil through time, by what is beyond its border.

/// What `n` trips make of a field, by the value at a place that may be outside.
fn spread(x: &Array2<f64>, is_fixed: bool, at: impl Fn(&Array2<f64>, i64, i64) -> f64) -> Array2<f64> {
    let n = x.nrows() as i64;
    let mut u = x.clone();
    for _ in 0..n {
        u = Array2::from_shape_fn(u.dim(), |(i, j)| {
            let (i, j) = (i as i64, j as i64);
            let here = at(&u, i, j);
            let is_border = i == 0 || j == 0 || i == n - 1 || j == n - 1;
            let around = || at(&u, i - 1, j) + at(&u, i + 1, j) + at(&u, i, j - 1) + at(&u, i, j + 1);
            if is_fixed && is_border { here } else { here + 0.1 * (around() - 4.0 * here) }
        });
    }
    u
}

#[test]
fn stencils_in_several_styles() {
    for n in [2, 3, 4, 7] {
        let x = matrix(n, n);
        let fixed = spread(&x, true, |u, i, j| u[[i as usize, j as usize]]);
        let clamped = spread(&x, false, |u, i, j| {
            let [i, j] = [i, j].map(|k| k.clamp(0, n as i64 - 1) as usize);
            u[[i, j]]
        });
        let around = spread(&x, false, |u, i, j| {
            let [i, j] = [i, j].map(|k| k.rem_euclid(n as i64) as usize);
            u[[i, j]]
        });
        assert_close(stencils::by_condition(&x), fixed.clone(), 1e-14);
        assert_close(stencils::by_slices(&x), fixed.clone(), 1e-14);
        assert_close(stencils::by_loops(&x), fixed, 1e-14);
        assert_close(stencils::by_clamped_places(&x), clamped, 1e-14);
        assert_close(stencils::around_the_ends(&x), around.clone(), 1e-14);
        assert_close(stencils::around_by_choices(&x), around.clone(), 1e-14);
        assert_close(stencils::by_rotated_arrays(&x), around, 1e-14);
        check_grad(stencils::leapfrog, (&x,)).unwrap().assert();
        check_grad(stencils::by_condition, (&x,)).unwrap().assert();
        check_grad(stencils::by_slices, (&x,)).unwrap().assert();
        check_grad(stencils::by_loops, (&x,)).unwrap().assert();
        check_grad(stencils::by_clamped_places, (&x,)).unwrap().assert();
        check_grad(stencils::around_the_ends, (&x,)).unwrap().assert();
        check_grad(stencils::around_by_choices, (&x,)).unwrap().assert();
        check_grad(stencils::by_rotated_arrays, (&x,)).unwrap().assert();
    }
}

// A random walk: the numbers are integers that wrap around.

#[kernel]
fn walk(seed: u32, steps: usize, drift: f64) -> [f64; steps] {
    let mut state = seed;
    let mut x = 0.0;
    let mut path = zeros(steps);
    for t in 0..steps {
        state = state * 1664525 + 1013904223;
        x += (state >> 8) as f64 / 16777216.0 - 0.5 + drift;
        path[t] = x;
    }
    path
}

#[test]
fn random_walk() {
    let p = walk(1, 1000, 0.0);
    assert!(p.iter().all(|x| x.abs() < 60.0));
    assert_checks!(walk, (1, 5, 0.1));
}

// Going backwards, what a loop wrote is read from where it is: as far as it is still there, and only where it was written.
