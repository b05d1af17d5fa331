//! Many threads on one device, with runs that succeed and runs that fail, in an order without a pattern.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use array_dsl::prelude::*;
use ndarray::{Array1, array};

use super::agreement::{integers, is_skipped, noise, own_gpu};

const THREADS: u32 = 8;

#[kernel]
fn element(x: [f64; n], i: i64) -> f64 {
    x[i]
}

/// A thread that fails and one that does not, in turns.
#[test]
fn no_thread_gets_the_error_of_another() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let [silent, foreign] = [(); 2].map(|()| AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (gpu, silent, foreign) = (gpu.clone(), &silent, &foreign);
            scope.spawn(move || {
                let fails = thread % 2 == 0;
                for _ in 0..100 {
                    let x = gpu.upload(&array![1.0, 2.0]).unwrap();
                    let result = gpu.run(element, (&x, if fails { 5 } else { 1 })).unwrap();
                    std::thread::yield_now();
                    match (fails, result.item()) {
                        (true, Ok(_)) => drop(silent.fetch_add(1, Relaxed)),
                        (false, Err(_)) => drop(foreign.fetch_add(1, Relaxed)),
                        _ => {}
                    }
                }
            });
        }
    });
    assert_eq!((silent.into_inner(), foreign.into_inner()), (0, 0));
}

#[kernel]
fn permuted(x: [f32; n], at: [i32; n]) -> [f32; n] {
    map(|i| x[i as usize], at)
}

#[kernel]
fn mixed(x: [f32; n], y: [f32; n]) -> [f32; n] {
    (x + y) * 0.5
}

#[kernel]
fn shares(x: [f32; n], k: i32) -> [f32; n] {
    map(|v| v * (4 / k) as f32, x)
}

/// The next number of a sequence without a pattern, less than `below`.
fn next(state: &mut u32, below: u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    (*state >> 8) % below
}

/// What an array should be: its elements, or the error of the first run in its history that failed.
type Expected = Result<Array1<f32>, String>;

fn both(x: &Expected, y: &Expected) -> Result<(Array1<f32>, Array1<f32>), String> {
    Ok((x.clone()?, y.clone()?))
}

/// Each thread has a few arrays, replaces them by what kernels make of them, some of which fail, and reads one now and then.
#[test]
fn every_array_has_the_history_of_its_own_runs() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let work = |thread: u32| {
        let n = 50 + thread as usize;
        let mut state = 0x9e37_79b9 ^ (thread + 1);
        let fresh = |seed| {
            let x = noise(n, seed);
            (gpu.upload(&x).unwrap(), Ok(x) as Expected)
        };
        let mut held: Vec<_> = (0..4).map(fresh).collect();
        for round in 0..150u32 {
            let [from, with, to] = [(); 3].map(|()| next(&mut state, 4) as usize);
            let (x, expected) = held[from].clone();
            let fails = next(&mut state, 8) == 0;
            let made = match next(&mut state, 4) {
                0 => {
                    let mut at = integers(n, n as i32, round + 1);
                    if fails {
                        at[n / 2] = (n as u32 + round) as i32;
                    }
                    let result = gpu.run(permuted, (&x, &gpu.upload(&at).unwrap()));
                    let expected = expected.and_then(|x| match fails {
                        true => Err(format!("index {} is out of range for length {n}", at[n / 2])),
                        false => Ok(at.mapv(|i| x[i as usize])),
                    });
                    result.map(|r| (r, expected.clone())).map_err(|e| (e, expected))
                }
                1 => {
                    let result = gpu.run(shares, (&x, i32::from(!fails) * 4));
                    let expected = expected.and_then(|x| match fails {
                        true => Err("integer division by zero".into()),
                        false => Ok(x),
                    });
                    result.map(|r| (r, expected.clone())).map_err(|e| (e, expected))
                }
                _ => {
                    let (y, other) = &held[with];
                    let result = gpu.run(mixed, (&x, y));
                    let expected = both(&expected, other).map(|(x, y)| (x + y) * 0.5);
                    result.map(|r| (r, expected.clone())).map_err(|e| (e, expected))
                }
            };
            held[to] = match made {
                Ok(made) => made,
                // It is known already that an argument has failed.
                Err((error, expected)) => {
                    let expected = expected.expect_err("a run without an error of its arguments");
                    assert!(error.to_string().contains(&expected), "{error}, not {expected}");
                    fresh(round)
                }
            };
            if next(&mut state, 3) == 0 {
                let (array, expected) = &held[next(&mut state, 4) as usize];
                match (array.download(), expected) {
                    (Ok(found), Ok(expected)) => {
                        assert!((&found - expected).iter().all(|d| d.abs() <= 1e-5), "{found} {expected}");
                    }
                    (Err(error), Err(expected)) => {
                        assert!(error.to_string().contains(expected), "{error}, not {expected}");
                    }
                    (found, expected) => panic!("{found:?}, not {expected:?}"),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
}

/// Threads that read the same results at the same time, and compute with them.
#[test]
fn all_threads_get_the_error_of_what_they_share() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = gpu.upload(&array![1f32, 2.0, 3.0]).unwrap();
    for round in 0..20 {
        let bad = gpu.run(permuted, (&x, &gpu.upload(&array![0, 3 + round, 1]).unwrap())).unwrap();
        let good = gpu.run(permuted, (&x, &gpu.upload(&array![2, 1, 0]).unwrap())).unwrap();
        let text = format!("index {} is out of range for length 3", 3 + round);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let made = gpu.run(mixed, (&good, &bad)).and_then(|made| made.download());
                    for error in [made.unwrap_err(), bad.clone().download().unwrap_err()] {
                        assert!(error.to_string().contains(&text), "{error}, not {text}");
                    }
                    assert_eq!(good.download().unwrap(), array![3.0, 2.0, 1.0]);
                });
            }
        });
    }
}
