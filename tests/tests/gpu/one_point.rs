//! Loops at the host level that are one point: one thread makes all of their trips.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

use super::agreement::{agree, is_skipped, own_gpu};
use super::one_point_kernels::{filtered, landing, relaxed, roots, shuffled};

#[test]
fn values_and_derivatives() {
    for speed in [0.0, 3.0, 40.0] {
        agree(landing, (speed,), 1e-10);
        agree(grad(landing), (speed,), 1e-10);
        agree(hvp(landing), (speed, 1.0), 1e-8);
    }
    for steps in [0i64, 1, 5] {
        agree(roots, (2.0, steps), 1e-10);
        agree(value_and_grad(roots), (2.0, steps), 1e-8);
    }
    let w = Array2::from_shape_fn((3, 3), |(i, j)| 0.3 * (i as f64 - j as f64) + 0.1);
    for n in [0, 1, 2, 100] {
        let x = Array1::from_shape_fn(n, |i| (i as f64 * 0.7).sin());
        agree(filtered, (x.clone(), w.clone()), 1e-10);
        agree(vjp(filtered), (x, w.clone(), array![1.0, -0.5, 0.25]), 1e-9);
    }
    for w in [array![0.2, 3.0], array![-5.0, 0.1], array![1.0, 1.0]] {
        agree(relaxed, (w.clone(),), 1e-10);
        agree(vjp(relaxed), (w, array![1.0, -0.5]), 1e-9);
    }
    let x = Array1::from_shape_fn(5, |i| 1.0 + i as f64 * 0.1);
    for at in [vec![], vec![3], vec![0i64, 4, 4, 1, 0, 2, 3, 3]] {
        let at = Array1::from(at);
        agree(shuffled, (x.clone(), at.clone()), 1e-10);
        agree(vjp(shuffled), (x.clone(), at, x.clone()), 1e-10);
    }
}

#[test]
fn they_are_one_dispatch() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let dispatches = |f: &dyn Fn()| {
        let before = gpu.statistics();
        f();
        gpu.synchronize().unwrap();
        gpu.statistics().dispatches - before.dispatches
    };
    let of_landing = dispatches(&|| drop(gpu.run(landing, (3.0,)).unwrap()));
    let w = gpu.upload(&array![-5.0, 0.1]).unwrap();
    let of_two = dispatches(&|| drop(gpu.run(relaxed, (&w,)).unwrap()));
    let of_roots = dispatches(&|| drop(gpu.run(roots, (2.0, 5)).unwrap()));
    // One that counts the trips, which tells how long the history is, and one for the way there and back.
    let of_slope = dispatches(&|| drop(gpu.run(grad(landing), (3.0,)).unwrap()));
    assert_eq!([of_landing, of_two, of_roots, of_slope], [1, 1, 1, 2]);
}
