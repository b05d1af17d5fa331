//! Loops that carry scalars and arrays from trip to trip: counted ones, those that data end, updates in place, states
//! that change places, loops in loops.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

use super::agreement::{LENGTHS, TOLERANCE, agree, integers, is_skipped, noise, own_gpu};
use super::stencils;
use super::textbook::{cholesky, forward_substitution, log_det, lu, soft_dtw};

/// A field on a ring, with neighbors.
#[kernel]
fn diffused(start: [f32; n], rate: f32, steps: usize) -> [f32; n] {
    let mut u = start;
    for k in 0..steps {
        let old = u;
        u = build(n, |i| {
            let both = old[(i + 1) % n] + old[(i + n - 1) % n];
            old[i] + rate * (both - 2.0 * old[i]) + 0.001 * k as f32
        });
    }
    u
}

#[test]
fn steps_of_a_field() {
    for n in LENGTHS {
        for steps in [0i64, 1, 2, 5, 100] {
            agree(diffused, (noise(n, 1), 0.2f32, steps), TOLERANCE);
        }
        agree(vjp(diffused), (noise(n, 1), 0.2f32, 4i64, noise(n, 2)), 1e-4);
        agree(jvp(diffused), (noise(n, 1), 0.2f32, 4i64, noise(n, 2), 0.5f32), 1e-4);
    }
    agree(diffused, (noise(70_000, 1), 0.2f32, 3i64), TOLERANCE);
}

/// Each trip writes one element that the next ones read.
#[kernel]
fn recurrence(x: [f32; n], w: f32) -> [f32; n] {
    let mut a = x;
    for i in 1..n {
        a[i] = (w * a[i - 1] + a[i]).sin();
    }
    a
}

#[kernel]
fn sorted(x: [f32; n]) -> [f32; n] {
    let mut a = x;
    for i in 0..n {
        for j in 0..n - 1 - i {
            if a[j] > a[j + 1] {
                (a[j], a[j + 1]) = (a[j + 1], a[j]);
            }
        }
    }
    a
}

#[test]
fn updates_in_place() {
    for n in [0, 1, 2, 40, 257] {
        let x = noise(n, 3);
        agree(recurrence, (x.clone(), 0.7f32), 1e-4);
        agree(vjp(recurrence), (x, 0.7f32, noise(n, 4)), 1e-4);
    }
    for n in [0, 1, 2, 9, 20] {
        agree(sorted, (noise(n, 5),), 0.0);
        agree(vjp(sorted), (noise(n, 5), noise(n, 6)), 0.0);
    }
}

/// Both branches write, one of them in a loop of its own.
#[kernel]
fn branching(x: [f32; n], k: [i32; n]) -> [f32; n] {
    let mut a = x;
    for i in 1..n {
        let old = a[i - 1];
        if k[i] > 1 {
            for j in 0..i {
                a[j] = 0.5 * a[j] + 0.1 * old;
                a[i] += a[j].sin();
            }
        } else {
            a[0] = old * a[i];
        }
    }
    a
}

#[test]
fn loops_in_loops_in_place() {
    for n in [0, 1, 2, 5, 9] {
        let (a, seed) = (noise((n, n), 1).mapv(f64::from), noise((n, n), 2).mapv(f64::from));
        let a = a.dot(&a.t()) + Array2::<f64>::eye(n) * 4.0;
        agree(lu, (a.clone(),), 1e-12);
        agree(vjp(lu), (a.clone(), seed.clone()), 1e-12);
        agree(cholesky, (a.clone(),), 1e-12);
        agree(vjp(cholesky), (a.clone(), seed), 1e-12);
        agree(grad(log_det), (a.clone(),), 1e-12);
        let (b, v) = (noise(n, 3).mapv(f64::from), noise(n, 4).mapv(f64::from));
        agree(vjp(forward_substitution), (a, b.clone(), v.clone()), 1e-12);
        agree(grad(soft_dtw), (b, v, 0.5), 1e-12);
        let (x, k): (Array1<f32>, Array1<i32>) = (noise(n, 3), integers(n, 4, 3));
        agree(branching, (x.clone(), k.clone()), 1e-4);
        agree(vjp(branching), (x, k, noise(n, 4)), 1e-3);
    }
}

#[test]
fn stencils_through_time() {
    if is_skipped() {
        return;
    }
    for n in [2, 3, 9] {
        let (x, seed) = (noise((n, n), 1).mapv(f64::from), noise((n, n), 2).mapv(f64::from));
        let args = || (x.clone(), seed.clone());
        agree(vjp(stencils::by_condition), args(), 1e-12);
        agree(vjp(stencils::by_slices), args(), 1e-12);
        agree(vjp(stencils::by_loops), args(), 1e-12);
        agree(vjp(stencils::by_clamped_places), args(), 1e-12);
        agree(vjp(stencils::around_the_ends), args(), 1e-12);
        agree(vjp(stencils::around_by_choices), args(), 1e-12);
        agree(vjp(stencils::leapfrog), args(), 1e-12);
        agree(vjp(stencils::by_rotated_arrays), args(), 1e-12);
    }
}

/// Points end at different times.
#[kernel]
fn halvings(x: [f32; n]) -> ([f32; n], [i32; n]) {
    map(
        |x| {
            let mut y = x;
            let mut k = 0;
            while y > 1.0 {
                y *= 0.5;
                k += 1;
            }
            (y, k)
        },
        x,
    )
}

#[test]
fn points_end_at_different_times() {
    for n in LENGTHS {
        let x: Array1<f32> = noise(n, 1) * 1000.0;
        agree(halvings, (x.clone(),), 0.0);
        agree(vjp(halvings), (x.clone(), noise(n, 2)), TOLERANCE);
        agree(jvp(halvings), (x, noise(n, 2)), TOLERANCE);
    }
}

/// The argument that a state starts as is the caller's.
#[test]
fn arguments_stay_as_they_are() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = noise(100, 7);
    let device = gpu.upload(&x).unwrap();
    let first: Array1<f32> = gpu.run(recurrence, (&device, 0.5)).unwrap().download().unwrap();
    assert_eq!(device.download().unwrap(), x);
    let again: Array1<f32> = gpu.run(recurrence, (&device, 0.5)).unwrap().download().unwrap();
    assert_eq!(first, again);
    // Without a trip the result is the argument, and later work does not change it.
    let none = gpu.run(diffused, (&device, 0.5, 0)).unwrap();
    let _ = gpu.run(recurrence, (&none, 0.5)).unwrap();
    assert_eq!(none.download().unwrap(), x);
}

/// States change places, one of them is used twice, one stays what it was.
#[kernel]
fn rotated(a: [f32; n], b: [f32; n], c: [f32; n], steps: usize) -> ([f32; n], [f32; n], [f32; n], f32) {
    let (mut x, mut y, mut z) = (a, b, c);
    let mut s = 0.0;
    for k in 0..steps {
        (x, y, z) = (y, z, x * 0.5 + y);
        if k % 3 == 1 {
            z = y;
        }
        s = s * 0.5 + sum(x) / n as f32;
    }
    (x, y, z, s)
}

#[test]
fn states_change_places() {
    for n in [1, 256, 1000] {
        let (a, b, c) = (noise(n, 1), noise(n, 2), noise(n, 3));
        for steps in [0i64, 1, 2, 3, 7] {
            agree(rotated, (a.clone(), b.clone(), c.clone(), steps), 1e-4);
        }
        let seeds = (noise(n, 4), noise(n, 5), noise(n, 6));
        agree(vjp(rotated), (a, b, c, 5i64, seeds.0, seeds.1, seeds.2, 2.0f32), 1e-4);
    }
}

/// Power iteration until the direction stays: data on the device end the loop.
#[kernel]
fn dominant(a: [[f32; n]; n], start: [f32; n]) -> ([f32; n], i32) {
    let mut v = start;
    let mut change = 1.0;
    let mut trips = 0;
    while change > 1e-4 && trips < 30 {
        let w = matvec(a, v);
        let w = w / sum(w * w).sqrt();
        change = sum((w - v) * (w - v));
        v = w;
        trips += 1;
    }
    (v, trips)
}

#[kernel]
fn newton(x: f32) -> (f32, i32) {
    let mut y = x;
    let mut k = 0;
    while (y * y - x).abs() > 1e-3 * x {
        y = 0.5 * (y + x / y);
        k += 1;
    }
    (y, k)
}

#[test]
fn loops_that_data_end() {
    for n in [1, 3, 20] {
        let a = noise((n, n), 1).mapv(|x| 1.0 + 0.3 * x);
        agree(dominant, (a, Array1::from_elem(n, 0.1)), 1e-4);
    }
    for x in [0.5f32, 1.0, 2.0, 1e6] {
        agree(newton, (x,), 1e-5);
    }
}

/// The number of trips is in the device's memory.
#[kernel]
fn as_often_as_said(x: [f32; n], at: [i32; m]) -> [f32; n] {
    let mut u = x;
    for k in 0..maximum(at) {
        u = u * 0.5 + k as f32;
    }
    u
}

#[test]
fn counts_from_the_device() {
    for most in [1, 2, 10] {
        agree(as_often_as_said, (noise(300, 1), integers(50, most, 2)), TOLERANCE);
    }
}

/// A loop in a loop, each with a state of its own, and a contraction in each trip.
#[kernel]
fn nested(a: [[f32; n]; n], x: [f32; n], outer: usize, inner: usize) -> [f32; n] {
    let mut u = x;
    for i in 0..outer {
        let mut v = u;
        for j in 0..inner {
            v = tanh(matvec(a, v)) + 0.01 * (i * 10 + j) as f32;
        }
        u = 0.5 * u + v;
    }
    u
}

#[kernel]
fn power(a: [[f32; n]; n], k: usize) -> [[f32; n]; n] {
    let mut result = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
    let mut base = a;
    let mut left = k;
    while left > 0 {
        if left % 2 == 1 {
            result = matmul(result, base);
        }
        base = matmul(base, base);
        left /= 2;
    }
    result
}

#[test]
fn loops_in_loops() {
    for n in [1, 7, 30] {
        let (a, x): (Array2<f32>, _) = (noise((n, n), 1) / n as f32, noise(n, 2));
        for (outer, inner) in [(0i64, 3i64), (3, 0), (1, 1), (3, 4)] {
            agree(nested, (a.clone(), x.clone(), outer, inner), 1e-4);
            agree(vjp(nested), (a.clone(), x.clone(), outer, inner, noise(n, 3)), 1e-4);
        }
        for k in [0i64, 1, 5, 10] {
            agree(power, (a.clone(), k), 1e-4);
        }
    }
}

/// Counts into an array in each trip.
#[kernel]
fn walks(at: [i32; n], next: [i32; m], steps: usize) -> [i32; m] {
    let mut visits = [0; m];
    let mut here = at;
    for _ in 0..steps {
        for i in 0..n {
            visits[here[i] as usize] += 1;
        }
        here = map(|h| next[h as usize], here);
    }
    visits
}

#[test]
fn accumulation_in_each_trip() {
    for (n, m, steps) in [(0, 3, 2i64), (1, 1, 3), (300, 10, 5), (1000, 500, 4)] {
        agree(walks, (integers(n, m, 1), integers(m as usize, m, 2), steps), 0.0);
    }
}

/// A failure in a trip is reported, also where the loop waits for the device.
#[kernel]
fn chased(next: [i32; n], start: i32) -> i32 {
    let mut here = start;
    let mut steps = 0;
    while here != 0 {
        here = next[here as usize];
        steps += 1;
    }
    steps
}

#[test]
fn failures_end_loops() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let next = gpu.upload(&Array1::from_vec(vec![0, 2, 0, 9])).unwrap();
    assert_eq!(gpu.run(chased, (&next, 1)).and_then(|k| k.item()).unwrap(), 2);
    let error = gpu.run(chased, (&next, 3)).and_then(|k| k.item()).unwrap_err().to_string();
    assert!(error.contains("index 9 is out of range for length 4"), "{error}");
    assert_eq!(gpu.run(chased, (&next, 2)).and_then(|k| k.item()).unwrap(), 1);
}

/// What one trip writes is not copied by the next: memory is asked for a few times, not in each trip. (In the pullback's
/// trips, for the adjoint of the one element that is written.)
#[test]
fn what_is_updated_stays_in_place() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let (x, y) = (gpu.upload(&noise(500, 1)).unwrap(), gpu.upload(&noise(500, 2)).unwrap());
    let mut before = gpu.statistics();
    let mut taken = || {
        gpu.synchronize().unwrap();
        let (then, now) = (before, gpu.statistics());
        before = now;
        (now.buffers_allocated + now.buffers_reused) - (then.buffers_allocated + then.buffers_reused)
    };
    gpu.run(recurrence, (&x, 0.5)).unwrap();
    let value = taken();
    gpu.run(vjp(recurrence), (&x, 0.5, &y)).unwrap();
    let pullback = taken();
    assert!(value < 20, "{value}");
    assert!(pullback < 500 + 20, "{pullback}");
}

/// Trips do not wait for each other: many of them take few submissions, and no memory that the first ones did not.
#[test]
fn trips_are_recorded_together() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = gpu.upload(&noise(1000, 1)).unwrap();
    gpu.run(diffused, (&x, 0.1, 10)).unwrap();
    gpu.synchronize().unwrap();
    let first = gpu.statistics();
    gpu.run(diffused, (&x, 0.1, 640)).unwrap();
    gpu.synchronize().unwrap();
    let then = gpu.statistics();
    assert_eq!(then.dispatches - first.dispatches, 640);
    assert!(then.submissions - first.submissions <= 12, "{then:?}");
    assert_eq!(then.buffers_allocated, first.buffers_allocated);
}

#[kernel]
fn halved(x: [f32; n], least: f32) -> ([f32; n], i32) {
    let mut y = x;
    let mut k = 0;
    while maximum(y) > least {
        y = y * 0.5;
        k += 1;
    }
    (y, k)
}

/// The device ends the loop; the host looks now and then, and the trips that it records too many do nothing.
#[test]
fn conditions_on_the_device_are_looked_at_now_and_then() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    for trips in [0, 1, 2, 3, 4, 100] {
        let x = Array1::from_elem(300, 2f32.powi(trips));
        let on_gpu = gpu.upload(&x).unwrap();
        gpu.synchronize().unwrap();
        let before = gpu.statistics().submissions;
        let (y, k) = gpu.run(halved, (&on_gpu, 1.0)).unwrap();
        let looks = gpu.statistics().submissions - before;
        assert_eq!((y.download().unwrap(), k.item().unwrap()), (Array1::ones(300), trips));
        assert!(looks <= 20, "{trips} trips: {looks} submissions");
    }
}
