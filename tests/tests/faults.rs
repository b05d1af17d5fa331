//! A loop ends soon after a failure. Each of these would go on for hours or years.

use array_dsl::prelude::*;
use ndarray::{Array1, array};

const TRIPS: i64 = 1_000_000_000_000;

#[kernel]
fn total(x: [f64; n], at: [i64; m], count: usize) -> f64 {
    sum(build(count, |i| x[at[i % m]] + i as f64))
}

#[kernel]
fn greatest(x: [f64; n], at: [i64; m], count: usize) -> i64 {
    argmax(build(count, |i| x[at[i % m]]))
}

#[kernel]
fn chain(x: [f64; n], at: [i64; m], trips: usize) -> f64 {
    let mut s = 0.0;
    for k in 0..trips {
        s = sin(s) + x[at[k % m]];
    }
    s
}

#[kernel]
fn nested(x: [f64; n], at: [i64; m], trips: usize) -> [f64; n] {
    map(
        |v| {
            let mut s = v;
            for k in 0..trips {
                s = sin(s) + x[at[k % m]];
            }
            s
        },
        x,
    )
}

#[kernel]
fn rows(x: [f64; n], at: [i64; m], trips: usize) -> [f64; n] {
    map(|v| sum(sum(build((trips, 3), |i, j| v * x[at[(i + j) % m]]))), x)
}

#[kernel]
fn of_arrays(x: [f64; n], at: [i64; m], trips: usize) -> [f64; n] {
    let mut y = x;
    for k in 0..trips {
        y = map(|v| 0.5 * v + x[at[k % m]], rotate(y, 1));
    }
    y
}

#[kernel]
fn counted(at: [i64; m], _x: [f64; n], count: usize) -> [i64; n] {
    let mut bins: [i64; n] = build(n, |i| i * 0);
    for k in 0..count {
        bins[at[k % m] % 2] += 10 / at[k % m];
    }
    bins
}

#[kernel]
fn while_true(x: [f64; n], at: [i64; m]) -> f64 {
    let mut s = 0.0;
    while s < 1e300 {
        s += sum(x) * 0.0 + x[at[2]];
    }
    s
}

#[test]
fn loops_that_read_outside() {
    let (x, at) = (array![1.0, 2.0], array![0i64, 1, 7]);
    let errors = [
        Cpu.run(total, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(greatest, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(chain, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(nested, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(rows, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(of_arrays, (&x, &at, TRIPS)).unwrap_err(),
        Cpu.run(while_true, (&x, &at)).unwrap_err(),
        Cpu.run(grad(total), (&x, &at, TRIPS)).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("index 7 is out of range for length 2"), "{error}");
    }
}

#[test]
fn loops_that_divide_by_zero() {
    let (x, at) = (array![1.0, 2.0], array![2i64, 1, 0]);
    let error = Cpu.run(counted, (&at, &x, TRIPS)).unwrap_err();
    assert!(error.to_string().contains("integer division by zero"), "{error}");
}

#[kernel]
fn looked_up(x: [f64; n], at: [i64; m]) -> [f64; m] {
    map(|i| x[i], at)
}

/// The first chunk that fails is the one whose error is reported, whatever the number of threads, and memory that the others
/// would have set is not looked at.
#[test]
fn the_error_does_not_depend_on_threads() {
    let x = array![1.0, 2.0, 3.0];
    let mut at: Array1<i64> = Array1::zeros(1_000_000);
    for k in (300_000..1_000_000).step_by(7) {
        at[k] = 1_000_000 - k as i64;
    }
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Cpu.run(looked_up, (&x, &at)).unwrap_err())
    };
    let expected = with(1);
    for threads in [2, 3, 8] {
        assert_eq!(with(threads), expected);
    }
}
