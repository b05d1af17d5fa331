//! How much memory there is beside a result, as the allocator sees it: of Jacobians and Hessians, of results in given memory, of
//! reductions by index.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use array_dsl::directions_at_once;
use array_dsl::prelude::*;
use ndarray::Array1;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    MOST.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests of memory run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The value, and the most bytes that there were beside it while it was computed.
fn measured<T>(size: impl Fn(&T) -> usize, f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let value = f();
    let most = MOST.load(Relaxed) - before;
    let size = size(&value);
    (value, most.saturating_sub(size))
}

#[kernel(jacobian)]
fn blurred(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for _t in 0..4 {
        y = build(n, |i| (y[i] + y[(i + 1) % n]).sin() * y[(i + 2) % n]);
    }
    cumsum(y)
}

#[kernel(hessian)]
fn energy(x: [f64; n]) -> f64 {
    let y = cumsum(x.sin());
    sum(cumsum(y * y))
}

const N: usize = 600;

fn numbers() -> Array1<f64> {
    (0..N).map(|i| (i as f64 * 0.37).sin()).collect()
}

#[test]
fn memory_beside_a_matrix_is_that_of_the_directions_at_a_time() {
    let _alone = ALONE.lock();
    let (x, bytes) = (numbers(), |m: &ndarray::Array2<f64>| m.len() * 8);
    let mut all = Vec::new();
    for f in [|x: &Array1<f64>| jacobian(blurred)(x), |x: &Array1<f64>| hessian(energy)(x)] {
        let (whole, at_once) = measured(bytes, || directions_at_once(N, || f(&x)));
        assert!(at_once > N * N * 8, "the tangents of an array, along all directions, are there: {at_once}");
        for count in [1, 16, 50] {
            let (same, beside) = measured(bytes, || directions_at_once(count, || f(&x)));
            assert_eq!(same, whole);
            // A few arrays for each direction, and those of the kernel itself.
            assert!(beside < (10 * count + 50) * N * 8, "{count} at a time: {beside}");
            all.push(beside);
        }
    }
    assert!(all[0] < all[2] && all[3] < all[5], "{all:?}");
}

#[kernel]
fn moved(x: [f64; n], v: [f64; n], dt: f64) -> ([f64; n], f64, [f64; n]) {
    let next = x + dt * v;
    (next, dot(next, next), x)
}

/// A computed result, and one that is an argument as it is.
#[test]
fn results_take_the_memory_of_earlier_ones() {
    let _alone = ALONE.lock();
    let (x, v) = (numbers(), numbers() * 2.0);
    let mut out = moved(&x, &v, 0.5);
    let (places, expected) = ((out.0.as_ptr(), out.2.as_ptr()), moved(&x, &x, 0.25));
    let ((), beside) = measured(|()| 0, || moved.call_into((&x, &x, 0.25), &mut out).unwrap());
    assert!(beside < 1000, "{beside} bytes");
    assert_eq!((out.0.as_ptr(), out.2.as_ptr()), places);
    assert_eq!(out, expected);
    // Larger ones need memory of their own; smaller ones have their own shape.
    let (longer, shorter) = (Array1::ones(2 * N), Array1::<f64>::ones(3));
    moved.call_into((&longer, &longer, 1.0), &mut out).unwrap();
    assert_eq!((out.0.len(), out.1, out.2.len()), (2 * N, 8.0 * N as f64, 2 * N));
    moved.call_into((&shorter, &shorter, 1.0), &mut out).unwrap();
    assert_eq!(out, moved(&shorter, &shorter, 1.0));
    // Sizes that do not fit are found before anything is taken.
    let before = out.clone();
    assert!(moved.call_into((&longer, &shorter, 1.0), &mut out).is_err());
    assert_eq!(out, before);
}

#[kernel]
fn counted(at: [i64; n], x: [f64; n]) -> [f64; 10000] {
    hist(add, 0.0, 10000, at, x)
}

/// There are many private copies of the bins in the course of time, and hardly more at once than threads.
#[test]
fn private_copies_are_used_again() {
    let _alone = ALONE.lock();
    let n = 2_000_000;
    let (at, x) = (Array1::from_iter((0..n).map(|i| i * 7919 % 10_007)), Array1::from_elem(n as usize, 1.0));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let bytes = |bins: &Array1<f64>| bins.len() * 8;
    let (bins, beside) = measured(bytes, || alone.install(|| counted(&at, &x)));
    assert_eq!(bins, counted(&at, &x));
    assert!(beside < 2 * bytes(&bins), "{beside} bytes beside {}", bytes(&bins));
}
