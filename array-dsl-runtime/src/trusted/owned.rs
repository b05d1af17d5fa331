//! An array of which each point of a parallel loop reads and changes elements of its own.

use std::marker::PhantomData;

use super::inside;

/// An array of which each element belongs to one task.
pub struct Owned<'a, T> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
    #[cfg(feature = "assert-trusted")]
    owners: std::sync::Arc<owners::Owners>,
}

impl<T> Clone for Owned<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Owned {
            start: self.start,
            len: self.len,
            array: PhantomData,
            #[cfg(feature = "assert-trusted")]
            owners: self.owners.clone(),
        }
    }
}

// SAFETY: by the contracts of `get` and `set` only one thread has to do with an element, which may go to it if `T` may.
unsafe impl<T: Send> Send for Owned<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Owned<'_, T> {}

impl<'a, T: Copy> Owned<'a, T> {
    /// Shares an array for as long as it is borrowed.
    #[inline]
    pub fn new(array: &'a mut [T]) -> Owned<'a, T> {
        Owned {
            start: array.as_mut_ptr(),
            len: array.len(),
            array: PhantomData,
            #[cfg(feature = "assert-trusted")]
            owners: owners::Owners::default().into(),
        }
    }

    /// One element.
    ///
    /// # Safety
    /// `0 <= i < len`, and while the array is shared no other thread reads or sets this element.
    #[inline(always)]
    #[must_use]
    pub unsafe fn get(&self, i: i64) -> T {
        self.check(i);
        // SAFETY: inside the array; by the contract nothing else refers to this element.
        unsafe { *self.start.add(i as usize) }
    }

    /// Sets one element.
    ///
    /// # Safety
    /// As for [`Owned::get`].
    #[inline(always)]
    pub unsafe fn set(&self, i: i64, value: T) {
        self.check(i);
        // SAFETY: inside the array; by the contract nothing else refers to this element.
        unsafe { self.start.add(i as usize).write(value) };
    }

    #[inline(always)]
    fn check(&self, i: i64) {
        inside(i, self.len);
        #[cfg(feature = "assert-trusted")]
        self.owners.take(i as usize);
    }
}

/// Which thread has which element.
#[cfg(feature = "assert-trusted")]
mod owners {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    /// So many maps, each of neighbors here and there: none is large where all of an array is used, which tests of memory would notice.
    const MAPS: usize = 256;
    const NEIGHBORS: usize = 64;

    /// By element that is used, the thread that has it: few of a large array are, where a loop changes it in place.
    pub struct Owners([Mutex<HashMap<usize, usize>>; MAPS]);

    impl Default for Owners {
        fn default() -> Owners {
            Owners(std::array::from_fn(|_| Mutex::default()))
        }
    }

    impl Owners {
        /// The thread has the element, now or already.
        pub fn take(&self, i: usize) {
            thread_local!(static HERE: u8 = const { 0 });
            let thread = HERE.with(|here| std::ptr::from_ref(here) as usize);
            let mut owners = self.0[i / NEIGHBORS % MAPS].lock().unwrap_or_else(PoisonError::into_inner);
            let owner = *owners.entry(i).or_insert(thread);
            drop(owners);
            assert!(owner == thread, "element {i} is used by two threads");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Owned;
    use crate::cpu::for_chunks;

    #[test]
    fn threads_have_columns() {
        let (rows, columns) = (3i64, 1000);
        let mut x = vec![1i64; 3 * columns];
        let shared = Owned::new(&mut x);
        for_chunks(columns, 1 << 12, &|lo, hi| {
            for p in lo as i64..hi as i64 {
                for k in 0..rows {
                    let at = k * columns as i64 + p;
                    // SAFETY: inside, and chunks are disjoint.
                    unsafe { shared.set(at, shared.get(at) + p) };
                }
            }
        });
        assert!(x.iter().enumerate().all(|(i, v)| *v == 1 + (i % columns) as i64));
    }

    #[test]
    #[cfg(feature = "assert-trusted")]
    #[should_panic(expected = "used by two threads")]
    fn elements_of_others_are_noticed() {
        let mut x = vec![0; 4];
        let shared = Owned::new(&mut x);
        // SAFETY: the first thread is done when the second begins.
        unsafe { shared.set(1, 1) };
        let there = std::thread::scope(|s| s.spawn(|| unsafe { shared.get(1) }).join());
        if let Err(panic) = there {
            std::panic::resume_unwind(panic);
        }
    }
}
