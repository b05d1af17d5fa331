//! Where threads come in.
//!
//! What rayon makes of one parallel loop is more code than most loops of kernels. So it is compiled here, once: **what generated code
//! calls takes closures by reference**, and a user's crate compiles the closures alone. A task is tens of microseconds, next to
//! which a call through a table is nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

/// Calls `f` with each of `0..count`, on all cores.
pub(super) fn each(count: usize, f: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(f);
}

/// What `f` gives for each of `0..count`, in order.
pub(super) fn gathered<T: Send>(count: usize, f: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let places: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|i| {
        let value = f(i);
        *lock(&places[i]) = Some(value);
    });
    places.into_iter().filter_map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Calls both, each on a core of its own if there is one.
pub(super) fn both(x: &mut (dyn FnMut() + Send), y: &mut (dyn FnMut() + Send)) {
    rayon::join(x, y);
}

/// Calls `f` on each of so many threads, this one among them.
pub(super) fn on_threads(count: usize, f: &(dyn Fn() + Sync)) {
    rayon::scope(|s| {
        for _ in 1..count {
            s.spawn(|_| f());
        }
        f();
    });
}

/// The lock, whether or not a thread has panicked: then nobody sees what it guards.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    /// Sorts are long enough themselves, and there are few of them.
    #[test]
    fn parallel_loops_are_compiled_here() {
        const SOURCES: [(&str, &str); 6] = [
            ("accumulate", include_str!("accumulate.rs")),
            ("chunks", include_str!("chunks.rs")),
            ("memory", include_str!("memory.rs")),
            ("scan", include_str!("scan.rs")),
            ("contract", include_str!("../contract/mod.rs")),
            ("product", include_str!("../contract/product.rs")),
        ];
        for (name, source) in SOURCES {
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            for word in ["rayon::prelude", "rayon::join", "rayon::scope", "rayon::spawn"] {
                assert!(!code.contains(word), "{name}: {word} in code that each kernel compiles again");
            }
            let closure = code.lines().find(|l| l.contains("impl Fn(usize"));
            assert_eq!(closure, None, "{name}: a loop for each closure");
        }
    }

    #[test]
    fn each_task_is_done_once_and_what_they_give_is_in_order() {
        for count in [0, 1, 5, 2000] {
            let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            each(count, &|i| {
                done[i].fetch_add(1, Relaxed);
            });
            assert!(done.iter().all(|d| d.load(Relaxed) == 1));
            assert_eq!(gathered(count, &|i| vec![i]), (0..count).map(|i| vec![i]).collect::<Vec<_>>());
        }
        let (mut x, mut y) = (0, 0);
        both(&mut || x += 1, &mut || y += 2);
        assert_eq!((x, y), (1, 2));
        for count in [1, 3] {
            let calls = AtomicUsize::new(0);
            on_threads(count, &|| {
                calls.fetch_add(1, Relaxed);
            });
            assert_eq!(calls.into_inner(), count);
        }
    }
}
