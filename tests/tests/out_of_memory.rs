//! Memory that cannot be had is an error that names kernel, array, bytes and place, and the process lives: sizes that no
//! computer has, and an allocator that refuses each of a run's large allocations in turn.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use array_dsl::prelude::*;
use array_dsl::{Error, keep_memory, kept_memory};
use ndarray::{Array1, Array2, array, s};

/// Refuses one large allocation.
struct Refusing;

/// Allocations of fewer bytes are none of its business: the buffers of matrix products, for one, are as large as caches.
const LARGE: usize = 600_000;
/// How many large allocations there will be before the one that is refused.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

fn refused(layout: Layout) -> bool {
    let less = |left: usize| (left != usize::MAX).then(|| left.checked_sub(1).unwrap_or(usize::MAX));
    layout.size() >= LARGE && LEFT.fetch_update(SeqCst, SeqCst, less) == Ok(0)
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refused(layout) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refused(layout) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Tests run one at a time: the allocator refuses whoever asks. No memory is kept between runs.
fn alone() -> impl Drop {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    keep_memory(0);
    alone
}

/// Runs `f` with its first large allocation refused, then with its second, and so on until there are no more: all but the last run
/// must give an error about memory, and the last the value of an ordinary run. Returns how many were refused.
#[track_caller]
fn refused_in_turn<T: PartialEq + std::fmt::Debug>(f: impl Fn() -> Result<T, Error>) -> usize {
    let expected = f().expect("there is memory");
    for left in 0.. {
        LEFT.store(left, SeqCst);
        let result = f();
        let reached = LEFT.swap(usize::MAX, SeqCst) == usize::MAX;
        match result {
            Err(Error::OutOfMemory { bytes, file, line, array, .. }) => {
                assert!(reached && bytes >= LARGE as u64, "{bytes}");
                assert!(
                    file.ends_with("out_of_memory.rs") && line > 0 && !array.is_empty(),
                    "{file}:{line} {array}"
                );
            }
            result => {
                assert!(!reached, "an allocation was refused, but the result is {result:?}");
                assert!(result.as_ref() == Ok(&expected), "the result changes");
                return left;
            }
        }
    }
    unreachable!("the number of allocations is finite")
}

#[kernel]
fn zeroed(n: i64) -> [f64; _] {
    zeros(n)
}

#[kernel]
fn ramp(n: i64) -> [i64; _] {
    build(n, |i| i * i)
}

#[kernel]
fn temporary(x: [f64; 2], n: i64) -> f64 {
    let t = cumsum(build(n, |i| x[i % 2]));
    let last = t[t.len() - 1];
    sum(t / last)
}

#[kernel]
fn ordered(n: i64) -> [i64; _] {
    argsort(build(n, |i| 0 - i))
}

#[kernel]
fn square(n: i64) -> [[f64; _]; _] {
    zeros((n, n))
}

#[kernel]
fn without_arguments() -> [[f64; 4294967296]; 4294967296] {
    zeros((4294967296, 4294967296))
}

/// 2^45 elements of 8 bytes: more than the address space of a process.
const MANY: i64 = 1 << 45;

#[track_caller]
fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.expect_err("an error").to_string()
}

#[test]
fn results_and_temporaries_that_no_computer_has() {
    let _alone = alone();
    let bytes = MANY * 8;
    let text = message(Cpu.run(zeroed, (MANY,)));
    assert!(text.starts_with("kernel `zeroed`: no memory for `"), "{text}");
    assert!(
        text.contains(&format!("which takes {bytes} bytes (")) && text.contains("out_of_memory.rs:"),
        "{text}"
    );
    let text = message(Cpu.run(ramp, (MANY,)));
    assert!(
        text.starts_with("kernel `ramp`: no memory for `") && text.contains(&bytes.to_string()),
        "{text}"
    );
    let text = message(Cpu.run(temporary, (&array![1.0, 2.0], MANY)));
    assert!(text.starts_with("kernel `temporary`: no memory for `"), "{text}");
    let text = message(Cpu.run(grad(temporary), (&array![1.0, 2.0], MANY)));
    assert!(text.contains("`temporary`: no memory for `"), "{text}");
    let text = message(Cpu.run(ordered, (MANY,)));
    assert!(text.starts_with("kernel `ordered`: no memory for `"), "{text}");
    let text = message(zeroed.call_into((MANY,), &mut Array1::zeros(3)));
    assert!(text.starts_with("kernel `zeroed`: no memory for `"), "{text}");
}

#[test]
fn sizes_that_are_no_numbers_of_bytes_name_the_file() {
    let _alone = alone();
    for text in [
        message(Cpu.run(zeroed, (1 << 61,))),
        message(Cpu.run(square, (1 << 31,))),
        message(Cpu.run(square, (1 << 40,))),
        message(Cpu.run(without_arguments, ())),
    ] {
        assert!(
            text.contains("is too large to be represented (") && text.contains("out_of_memory.rs:"),
            "{text}"
        );
    }
}

#[test]
fn the_next_run_is_as_ever() {
    let _alone = alone();
    assert!(Cpu.run(zeroed, (MANY,)).is_err());
    assert_eq!(zeroed(3), array![0.0, 0.0, 0.0]);
    let panics = std::panic::catch_unwind(|| zeroed(MANY)).expect_err("no memory");
    assert!(panics.downcast_ref::<String>().is_some_and(|s| s.contains("no memory for")));
}

const N: usize = 100_000;

#[kernel]
fn smoothed(x: [f64; n]) -> [f64; n] {
    let t = cumsum(x * x);
    t - sum(t) / (n as f64)
}

#[kernel]
fn both(x: [f64; n]) -> ([f64; n], [f64; n]) {
    let y = 2.0 * x;
    (y, y)
}

#[kernel]
fn passed_on(x: [f64; n]) -> [f64; n] {
    x
}

#[kernel]
fn in_order(x: [f64; n]) -> ([f64; n], [i64; n]) {
    (sort(x), argsort(x))
}

#[kernel]
fn product(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    matmul(a, b)
}

#[kernel]
fn repeated(x: [f64; n], trips: i64) -> [f64; n] {
    let mut y = x;
    for _ in 0..trips {
        y = y + cumsum(y);
    }
    y
}

#[kernel(jacobian)]
fn mixed(x: [f64; n]) -> [f64; n] {
    cumsum(x * x) * sum(x)
}

#[kernel]
fn binned(x: [f64; n], at: [i64; n]) -> [f64; 100000] {
    hist(add, 0.0, 100000, at, x * x)
}

#[kernel]
fn rows_in_order(x: [[f64; m]; n]) -> [f64; n] {
    map(
        |r| {
            let t = cumsum(r);
            sum(t * t[m - 1])
        },
        x,
    )
}

#[test]
fn every_large_allocation_may_be_refused() {
    let _alone = alone();
    let x = Array1::from_shape_fn(N, |i| (i as f64 * 0.37).sin());
    assert!(refused_in_turn(|| Cpu.run(smoothed, (&x,))) >= 1);
    assert!(refused_in_turn(|| Cpu.run(vjp(smoothed), (&x, &x))) >= 2);
    assert_eq!(refused_in_turn(|| Cpu.run(both, (&x,))), 2);
    assert_eq!(refused_in_turn(|| Cpu.run(passed_on, (&x,))), 1);
    // A copy of the argument, which is not dense, and the result.
    let wide = Array1::from_shape_fn(2 * N, |i| i as f64);
    assert_eq!(refused_in_turn(|| Cpu.run(passed_on, (&wide.slice(s![..;2]),))), 2);
    assert!(refused_in_turn(|| Cpu.run(repeated, (&x, 3))) >= 3);
}

#[test]
fn memory_is_kept_between_runs_and_given_back_where_there_is_none() {
    let _alone = alone();
    let x = Array1::from_shape_fn(N, |i| (i as f64 * 0.37).sin());
    let expected = temporary(&array![1.0, 2.0], N as i64);
    assert_eq!(kept_memory(), 0);
    keep_memory(1 << 30);
    let run = || temporary(&array![1.0, 2.0], N as i64);
    assert_eq!(run(), expected);
    let kept = kept_memory();
    assert!(kept >= N * 8, "{kept}");
    // The second run allocates nothing that is large.
    LEFT.store(0, SeqCst);
    let second = run();
    assert_eq!(LEFT.swap(usize::MAX, SeqCst), 0);
    assert_eq!((second, kept_memory()), (expected, kept));
    // What a larger run cannot get it gets where that is given back.
    let wide = Array1::from_elem(2 * N, 1.0);
    LEFT.store(0, SeqCst);
    let more = smoothed(&wide);
    assert_eq!(LEFT.swap(usize::MAX, SeqCst), usize::MAX);
    assert_eq!(more.len(), 2 * N);
    assert!(kept_memory() > 0);
    keep_memory(0);
    assert_eq!(kept_memory(), 0);
    assert_eq!(smoothed(&x).len(), N);
    assert_eq!(kept_memory(), 0);
}

#[test]
fn every_large_allocation_of_sorting_may_be_refused() {
    let _alone = alone();
    let x = Array1::from_shape_fn(N, |i| (i as f64 * 0.37).sin());
    // Keys and their copy, and the two results.
    assert!(refused_in_turn(|| Cpu.run(in_order, (&x,))) >= 4);
}

#[test]
fn every_large_allocation_of_matrices_may_be_refused() {
    let _alone = alone();
    let a = Array2::from_shape_fn((300, 200), |(i, j)| (i + 2 * j) as f64);
    assert!(refused_in_turn(|| Cpu.run(product, (&a, &a.t()))) >= 1);
    let x = Array1::from_shape_fn(300, |i| (i as f64 * 0.37).sin());
    assert!(refused_in_turn(|| Cpu.run(jacobian(mixed), (&x,))) >= 2);
}

#[test]
fn every_private_copy_of_bins_may_be_refused() {
    let _alone = alone();
    let x = Array1::from_shape_fn(1_000_000, |i| (i as f64 * 0.37).sin());
    let at = Array1::from_shape_fn(1_000_000, |i| (i as i64 * 7919) % 100_000);
    assert!(refused_in_turn(|| Cpu.run(binned, (&x, &at))) >= 2);
}

#[test]
fn every_buffer_of_a_task_may_be_refused() {
    let _alone = alone();
    let x = Array2::from_shape_fn((8, 100_000), |(i, j)| ((i + j) as f64 * 0.37).sin());
    assert!(refused_in_turn(|| Cpu.run(rows_in_order, (&x,))) >= 1);
    assert!(refused_in_turn(|| Cpu.run(vjp(rows_in_order), (&x, &Array1::ones(8)))) >= 1);
}

#[test]
fn results_in_given_memory_that_is_too_small() {
    let _alone = alone();
    let x = Array1::from_shape_fn(N, |i| i as f64);
    let run = || {
        let mut out = Array1::zeros(3);
        smoothed.call_into((&x,), &mut out).map(|()| out)
    };
    assert!(refused_in_turn(run) >= 1);
}
