//! Loops and assignment: the worked examples of Robert Schenck's thesis (T6 to T12), of the Dex paper (E3 to E21) and of
//! the study of sizes (S7, S8), programs as they are written in any language with loops, their derivatives against
//! differences, and their second order.

#[macro_use]
#[path = "common/checks.rs"]
mod checks;
mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

fn wave(n: usize) -> Array1<f64> {
    Array1::from_shape_fn(n, |i| 1.0 + 0.5 * (i as f64 * 0.71).sin())
}

fn matrix(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| (1.3 * i as f64 - 0.7 * j as f64).sin() * 0.5)
}

// T6: repeated squares.

#[kernel(hvp)]
fn squared(x: f64, times: usize) -> f64 {
    let mut y = x;
    for _ in 0..times {
        y = y * y;
    }
    y
}

#[test]
fn t6_repeated_squares() {
    assert_eq!(value_and_grad(squared)(2.0, 3), (256.0, 1024.0));
    assert_eq!(value_and_grad(squared)(2.0, 0), (2.0, 1.0));
    assert!(Cpu.run(value_and_grad(squared), (2.0, -1)).is_err());
    assert_eq!(jvp(squared)(2.0, 3, 0.5), (256.0, 512.0));
    assert_eq!(hvp(squared)(2.0, 3, 1.0), 8.0 * 7.0 * 64.0);
}

// T8: a power of a matrix by two loops, the outer of which only repeats the inner.

#[kernel]
fn power_of_matrix(a: [[f64; d]; d], x: [f64; d], outer: usize, inner: usize) -> [f64; d] {
    let mut y = x;
    for _ in 0..outer {
        for _ in 0..inner {
            y = matvec(a, y);
        }
    }
    y
}

#[test]
fn t8_nested_loops() {
    let a = array![[0.9, 0.3], [-0.2, 1.1]];
    let x = array![1.0, -2.0];
    let mut expected = x.clone();
    for _ in 0..64 {
        expected = a.dot(&expected);
    }
    let seed = array![1.0, 1.0];
    let once = vjp(power_of_matrix)(&a, &x, 1, 64, &seed);
    assert_close(once.0.clone(), expected, 1e-12);
    for (outer, inner) in [(64, 1), (8, 8), (4, 16)] {
        let found = vjp(power_of_matrix)(&a, &x, outer, inner, &seed);
        assert_close(found.0, once.0.clone(), 1e-12);
        assert_close(found.1, once.1.clone(), 1e-12);
    }
    assert_checks!(power_of_matrix, (&a, &x, 2, 3));
    assert_checks!(power_of_matrix, (&a, &x, 0, 3));
    assert_checks!(power_of_matrix, (&a, &x, 3, 0));
}

// The same by one loop with checkpoints, and a loop of a million steps whose states would not all fit otherwise.

#[kernel]
fn power_with_checkpoints(a: [[f64; d]; d], x: [f64; d], steps: usize) -> [f64; d] {
    let mut y = x;
    #[checkpoint(levels = 3)]
    for _ in 0..steps {
        y = matvec(a, y);
    }
    y
}

#[kernel]
fn slow_decay(x: [f64; n], rate: f64, steps: usize) -> f64 {
    let mut y = x;
    #[checkpoint]
    for _ in 0..steps {
        y = y - rate * y * y * y;
    }
    sum(y)
}

#[test]
fn checkpoints() {
    let a = array![[0.9, 0.3], [-0.2, 1.1]];
    let (x, seed) = (array![1.0, -2.0], array![1.0, 1.0]);
    for steps in [0, 1, 2, 7, 27, 64] {
        let expected = vjp(power_of_matrix)(&a, &x, 1, steps, &seed);
        let found = vjp(power_with_checkpoints)(&a, &x, steps, &seed);
        assert_close(found.0, expected.0, 1e-13);
        assert_close(found.1, expected.1, 1e-13);
    }
    assert_checks!(power_with_checkpoints, (&a, &x, 5));
    // y' = -rate y^3 has the solution x / sqrt(1 + 2 x^2 t).
    let (x, steps) = (array![0.5, 1.0], 100_000);
    let (value, (dx, _)) = value_and_grad(slow_decay)(&x, 1e-5, steps);
    let d = x.mapv(|x: f64| 1.0 + 2.0 * x * x);
    assert_close(value, (&x / &d.mapv(f64::sqrt)).sum(), 1e-5);
    assert_close(dx, d.mapv(|d| d.powf(-1.5)), 1e-4);
}

// T9: a sum.

#[kernel(hvp)]
fn sum_from(x0: f64, xs: [f64; n]) -> f64 {
    let mut x = x0;
    for i in 0..n {
        x = x + xs[i];
    }
    x
}

#[test]
fn t9_sum() {
    let xs = wave(1000);
    let (value, (x0_adj, xs_adj)) = value_and_grad(sum_from)(2.0, &xs);
    assert_close(value, 2.0 + xs.sum(), 1e-12);
    assert_eq!((x0_adj, xs_adj), (1.0, Array1::ones(1000)));
    assert_eq!(hvp(sum_from)(2.0, &xs, 1.0, &xs), (0.0, Array1::zeros(1000)));
}

// T10: a loop that ends by what it computes.

#[kernel]
fn doubled_to_a_hundred(start: f64) -> f64 {
    let mut x = start;
    while x < 100.0 {
        x = 2.0 * x;
    }
    x
}

#[kernel]
fn doubled_at_most(start: f64, bound: usize) -> f64 {
    let mut x = start;
    for _ in 0..bound {
        x = if x < 100.0 { 2.0 * x } else { x };
    }
    x
}

#[kernel]
fn all_doubled(starts: [f64; n]) -> ([f64; n], [i64; n]) {
    map(
        |start| {
            let (mut x, mut steps) = (start, 0);
            while x < 100.0 {
                x *= 2.0;
                steps += 1;
            }
            (x, steps)
        },
        starts,
    )
}

#[test]
fn t10_while() {
    assert_eq!(value_and_grad(doubled_to_a_hundred)(3.0), (192.0, 64.0));
    assert_eq!(value_and_grad(doubled_to_a_hundred)(300.0), (300.0, 1.0));
    assert_eq!(value_and_grad(doubled_at_most)(3.0, 10), (192.0, 64.0));
    let starts = array![3.0, 300.0, 50.0, 99.0];
    let ((ends, steps), slopes) = vjp(all_doubled)(&starts, &Array1::ones(4));
    assert_eq!((ends, steps), (array![192.0, 300.0, 100.0, 198.0], array![6, 0, 1, 1]));
    assert_eq!(slopes, array![64.0, 1.0, 2.0, 2.0]);
}

// T11: each element from the one before, in place.

#[kernel]
fn chain(a: [f64; n], x0: [f64; n]) -> [f64; n] {
    let mut x = x0;
    for i in 1..n {
        x[i] = a[i] * x[i - 1];
    }
    x
}

#[kernel(hvp)]
fn energy_of_chain(a: [f64; n], x0: [f64; n]) -> f64 {
    let mut x = x0;
    for i in 1..n {
        x[i] = a[i] * x[i - 1] + x[i];
    }
    sum(x * x)
}

#[test]
fn t11_chain() {
    let (a, x0) = (array![9.0, 3.0, 4.0], array![2.0, 0.0, 0.0]);
    let (x, (a_adj, x0_adj)) = vjp(chain)(&a, &x0, &Array1::ones(3));
    assert_eq!(x, array![2.0, 6.0, 24.0]);
    assert_eq!(a_adj, array![0.0, 10.0, 6.0]);
    assert_eq!(x0_adj, array![16.0, 0.0, 0.0]);
    for n in [0, 1, 2, 9] {
        assert_checks!(chain, (&wave(n), &wave(n)));
        assert_checks!(energy_of_chain, (&wave(n), &wave(n)));
    }
    let (a, x) = (wave(5), wave(5));
    let t = array![1.0, -1.0, 0.5, 2.0, 0.0];
    let moved = |h: f64| {
        let (a, x) = (&a + h * &t, &x - h * &t);
        grad(energy_of_chain)(&a, &x)
    };
    let (above, below) = (moved(1e-5), moved(-1e-5));
    let quotient = ((above.0 - below.0) / 2e-5, (above.1 - below.1) / 2e-5);
    assert_close(hvp(energy_of_chain)(&a, &x, &t, &-t.clone()), quotient, 1e-7);
}

// T12: one element is replaced.

#[kernel]
fn replaced(x: [f64; n], v: f64, i: usize) -> [f64; n] {
    let mut y = x;
    y[i] = v;
    y
}

#[kernel]
fn replaced_and_used(x: [f64; n], v: f64, i: usize) -> f64 {
    let mut y = x * x;
    y[i] = v * y[i];
    sum(y) + x[i]
}

#[test]
fn t12_replacement() {
    let x = array![1.0, 2.0, 3.0];
    let (y, (x_adj, v_adj)) = vjp(replaced)(&x, 9.0, 1, &array![10.0, 20.0, 30.0]);
    assert_eq!(y, array![1.0, 9.0, 3.0]);
    assert_eq!(x, array![1.0, 2.0, 3.0]);
    assert_eq!((x_adj, v_adj), (array![10.0, 0.0, 30.0], 20.0));
    assert_eq!(value_and_grad(replaced_and_used)(&x, 5.0, 1), (32.0, (array![2.0, 21.0, 6.0], 4.0)));
}

// T17: histograms.

#[kernel]
fn added(is: [i64; n], xs: [f64; n]) -> [f64; 2] {
    hist(add, 0.0, 2, is, xs)
}

#[kernel]
fn combined(is: [i64; n], xs: [f64; n]) -> ([f64; 2], [f64; 2], [f64; 2]) {
    (hist(mul, 1.0, 2, is, xs), hist(min, f64::INFINITY, 2, is, xs), hist(max, f64::NEG_INFINITY, 2, is, xs))
}

#[test]
fn t17_histogram() {
    let (is, xs) = (array![0, 1, 0], array![2.0, 5.0, 3.0]);
    assert_eq!(vjp(added)(&is, &xs, &array![1.0, 10.0]), (array![5.0, 5.0], array![1.0, 10.0, 1.0]));
    assert_eq!(combined(&is, &xs), (array![6.0, 5.0], array![2.0, 5.0], array![3.0, 5.0]));
    let (seed, none) = (array![1.0, 10.0], array![0.0, 0.0]);
    let adjoint = |s: [&Array1<f64>; 3]| vjp(combined)(&is, &xs, s[0], s[1], s[2]).1;
    assert_eq!(adjoint([&seed, &none, &none]), array![3.0, 10.0, 2.0]);
    assert_eq!(adjoint([&none, &seed, &none]), array![1.0, 10.0, 0.0]);
    assert_eq!(adjoint([&none, &none, &seed]), array![0.0, 10.0, 1.0]);
}

// E3: a sum as state and as an accumulation.

#[kernel]
fn both_sums(xs: [f64; n]) -> (f64, f64) {
    let mut state = 0.0;
    for x in xs {
        state = (state + x).max(-1e300);
    }
    let mut total = 0.0;
    for x in xs {
        total += x;
    }
    (state, total)
}

#[test]
fn e3_sums() {
    assert_eq!(both_sums(&array![1.0, 2.0, 3.0, 4.0]), (10.0, 10.0));
    assert_checks!(both_sums, (&wave(7),));
}

// E5: a size computed from data.

#[kernel]
fn as_many_ones() -> f64 {
    let mut k = 0;
    for i in 0..100 {
        k += i * i;
    }
    let mut total = 0.0;
    for _ in 0..k {
        total += 1.0;
    }
    total
}

#[test]
fn e5_computed_count() {
    assert_eq!(as_many_ones(), 328_350.0);
}

// E6, E10: complete, segmented and scattered accumulation.

#[kernel]
fn histogram(classes: [i64; n]) -> [i64; 3] {
    let mut bins = [0; 3];
    for c in classes {
        bins[c] += 1;
    }
    bins
}

#[kernel]
fn totals(v: [[f64; m]; n]) -> (f64, [f64; n]) {
    let mut all = 0.0;
    let mut rows = zeros(n);
    for i in 0..n {
        for j in 0..m {
            all += v[i][j];
            rows[i] += v[i][j];
        }
    }
    (all, rows)
}

#[test]
fn e6_histogram() {
    assert_eq!(histogram(&array![0, 2, 2, 1, 0]), array![2, 1, 2]);
}

#[test]
fn e10_accumulations() {
    assert_eq!(totals(&array![[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]]), (16.0, array![6.0, 10.0]));
    assert_checks!(totals, (&matrix(3, 4),));
}

// E7: escape times of the Mandelbrot set.

#[kernel]
fn mandelbrot(width: usize, height: usize, most: usize) -> [[i64; width]; height] {
    build((height, width), |j, i| {
        let cr = -2.0 + i as f64 * (3.0 / width as f64);
        let ci = -1.0 + j as f64 * (2.0 / height as f64);
        let (mut x, mut y, mut k) = (cr, ci, 0);
        while k < most && x * x + y * y < 4.0 {
            (x, y) = (x * x - y * y + cr, x * y + y * x + ci);
            k += 1;
        }
        k
    })
}

#[test]
fn e7_mandelbrot() {
    let counts = mandelbrot(6, 4, 10);
    assert_eq!(
        counts,
        array![[0, 1, 2, 3, 10, 1], [0, 2, 4, 10, 10, 4], [0, 10, 10, 10, 10, 4], [0, 2, 4, 10, 10, 4]]
    );
    assert_eq!(counts.sum(), 121);
}

// E8: the size of the paper. The result is chaotic near the border: it counts every rounding.
#[test]
fn e8_mandelbrot_of_the_paper() {
    let counts = mandelbrot(300, 200, 1000);
    assert_eq!(counts.sum(), 15_451_427);
    assert_eq!(counts.iter().filter(|k| **k == 1000).count(), 15_136);
}

// E9: products of rows, one after the other inside of each.

#[kernel]
fn row_products(v: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| {
        let mut p = 1.0;
        for j in 0..m {
            p = p * v[i][j];
        }
        p
    })
}

#[test]
fn e9_row_products() {
    let v = array![[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]];
    let (value, adjoint) = vjp(row_products)(&v, &Array1::ones(2));
    assert_eq!(value, array![6.0, 0.0]);
    assert_eq!(adjoint, array![[6.0, 3.0, 2.0], [0.0, 24.0, 0.0]]);
}

// E16: a complex number as state.

#[kernel]
fn iterated(c: (f64, f64), steps: usize) -> (f64, f64) {
    let mut z = (0.0, 0.0);
    for _ in 0..steps {
        z = (z.0 * z.0 - z.1 * z.1 + c.0, 2.0 * z.0 * z.1 + c.1);
    }
    z
}

#[test]
fn e16_pair_as_state() {
    let (z, c_adj) = vjp(iterated)((0.3, 0.4), 3, 1.0, 0.0);
    assert_close(z, (-0.0567, 0.6944), 1e-13);
    assert_close(c_adj, (0.712, -2.416), 1e-13);
}

// E17: a recurrent neural network of one cell.

#[kernel(hvp)]
fn recurrent(xs: [f64; n], w: f64, start: f64) -> f64 {
    let mut h = start;
    for x in xs {
        h = (w * h + x).tanh();
    }
    h
}

#[test]
fn e17_recurrent_network() {
    let xs = array![0.1, 0.2, 0.3, 0.4];
    let (h, found) = value_and_grad(recurrent)(&xs, 0.5, 0.7);
    assert_close(h, 0.557326, 1e-6);
    assert_close(found.clone(), (array![0.047500, 0.115571, 0.272424, 0.689388], 0.503722, 0.023750), 1e-6);
    let at = (xs, 0.5, 0.7);
    assert_gradient(|(xs, w, start)| recurrent(xs, *w, *start), &at, &found);
    let t = (array![1.0, -1.0, 0.5, 0.0], 0.3, -0.2);
    let moved = |h: f64| {
        let xs = &at.0 + h * &t.0;
        grad(recurrent)(&xs, at.1 + h * t.1, at.2 + h * t.2)
    };
    let (above, below) = (moved(1e-5), moved(-1e-5));
    let quotient = ((above.0 - below.0) / 2e-5, (above.1 - below.1) / 2e-5, (above.2 - below.2) / 2e-5);
    assert_close(hvp(recurrent)(&at.0, at.1, at.2, &t.0, t.1, t.2), quotient, 1e-8);
}

// E18: each element from the two before, in place.

#[kernel]
fn chain_of_two(start: [f64; n]) -> [f64; n] {
    let mut s = start;
    for i in 0..n - 2 {
        s[i + 2] = s[i] * s[i + 1];
    }
    s
}

#[test]
fn e18_chain_in_place() {
    let s = array![2.0, 3.0, 9.0, 9.0, 9.0];
    let (value, adjoint) = vjp(chain_of_two)(&s, &array![0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(value, array![2.0, 3.0, 6.0, 18.0, 108.0]);
    assert_eq!(adjoint, array![108.0, 108.0, 0.0, 0.0, 0.0]);
}

// E19: the last assignment counts.

#[kernel]
fn overwritten(a: f64, b: f64) -> f64 {
    let mut r = a;
    r = r + b;
    r -= a;
    r
}

#[kernel]
fn overwritten_place(a: f64, b: f64) -> f64 {
    let mut r = [0.0; 1];
    r[0] = a;
    r[0] = b;
    r[0]
}

#[test]
fn e19_overwriting() {
    assert_eq!(value_and_grad(overwritten)(5.0, 7.0), (7.0, (0.0, 1.0)));
    assert_eq!(value_and_grad(overwritten_place)(5.0, 7.0), (7.0, (0.0, 1.0)));
}

// E21: a producer that the accumulation takes in.

#[kernel]
fn produced_and_added(xs: [f64; n]) -> (f64, [f64; n]) {
    let g = xs + 1.0;
    let h = 2.0 * g;
    let mut total = 0.0;
    for x in xs {
        total += x;
    }
    (total, h)
}

#[test]
fn e21_fused() {
    assert_eq!(produced_and_added(&array![1.0, 2.0, 3.0]), (6.0, array![4.0, 6.0, 8.0]));
}

// E27: a linear map at a point.

#[kernel]
fn square(x: f64) -> f64 {
    x * x
}

#[test]
fn e27_linearized() {
    assert_eq!(jvp(square)(3.0, 1.0), (9.0, 6.0));
    assert_eq!(jvp(square)(3.0, 2.0), (9.0, 12.0));
}

// S8: a loop whose state keeps its size. (S7's state grows, and is refused.)

#[kernel]
fn repeatedly_doubled(a: [f64; n], times: usize) -> [f64; n] {
    let mut s = a;
    for _ in 0..times {
        s = map(|x| 2.0 * x, s);
    }
    s
}

#[test]
fn s8_size_that_does_not_vary() {
    let a = array![1.0, 2.0, 3.0];
    assert_eq!(repeatedly_doubled(&a, 2), array![4.0, 8.0, 12.0]);
    assert_eq!(vjp(repeatedly_doubled)(&a, 3, &a).1, array![8.0, 16.0, 24.0]);
    assert_eq!(repeatedly_doubled(&Array1::zeros(0), 2), Array1::zeros(0));
}
