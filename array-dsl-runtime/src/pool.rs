//! Memory that runs of kernels keep for later ones.
//!
//! An allocator gives large arrays back to the system at once, and the system sets each page of a new one to zero when it is first
//! touched, which takes longer than most loops over it. Therefore the arrays that a kernel needs besides its results stay here when it
//! is done with them, and serve later requests of their size class: in the same run, in later runs, of this and of other kernels, on
//! any thread.
//!
//! * **What is kept is bounded**: by [`keep_memory`], by default one GiB. What came back first is freed first.
//! * What nobody has asked for in a long time is freed as well ([`LONG`]), and all of it where the system refuses memory.
//! * Arrays of less than a page ([`SMALLEST`]) are the allocator's own matter: it is faster than a lock.
//! * The results of a kernel belong to the caller; they are as large as they are said to be, and do not come from here.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, VecDeque};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The least bytes that are kept.
const SMALLEST: usize = 1 << 12;
/// How much is kept unless the user says otherwise.
const USUAL: usize = 1 << 30;
/// After so many other requests, memory that was not asked for is freed.
const LONG: u64 = 1 << 12;
/// So many requests are between two looks for such memory.
const OFTEN: u64 = 64;

/// Sets how many bytes kernels may keep between runs for the arrays that they need besides their results, one GiB before the first
/// call; what is kept beyond is freed. With 0, every run allocates its own.
///
/// The memory of all kernels of the process, on the CPU, counts together. It does not change what a run takes at its peak.
///
/// ```
/// use array_dsl_runtime::pool::{keep_memory, kept_memory};
/// keep_memory(0);
/// assert_eq!(kept_memory(), 0);
/// keep_memory(64 << 20);
/// ```
pub fn keep_memory(bytes: usize) {
    let mut pool = pool();
    pool.limit = bytes;
    let freed = pool.beyond(bytes);
    drop(pool);
    drop(freed);
}

/// How many bytes are kept at the moment.
#[must_use]
pub fn kept_memory() -> usize {
    pool().bytes
}

/// Memory of so many bytes, `class.0`, with this alignment.
type Class = (usize, usize);

/// Memory that nobody uses. It is freed when dropped.
struct Free {
    start: NonNull<u8>,
    class: Class,
    /// So many bytes from the start have been set.
    set: usize,
}

// SAFETY: it is memory, which any thread may use and free.
unsafe impl Send for Free {}

impl Drop for Free {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.class.0, self.class.1) {
            // SAFETY: it was allocated with this layout, which was valid, and is not used.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

struct Pool {
    /// By class, the oldest first, with the time when it came back.
    free: BTreeMap<Class, VecDeque<(Free, u64)>>,
    bytes: usize,
    limit: usize,
    /// The number of requests so far.
    time: u64,
    /// When to look for what is old.
    look: u64,
}

static POOL: Mutex<Pool> = Mutex::new(Pool::empty(USUAL));

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    const fn empty(limit: usize) -> Pool {
        Pool { free: BTreeMap::new(), bytes: 0, limit, time: 0, look: 0 }
    }

    /// What came last, as it is the likeliest to be in the caches.
    fn take(&mut self, class: Class) -> Option<Free> {
        self.time += 1;
        let (free, _) = self.free.get_mut(&class)?.pop_back()?;
        self.bytes -= class.0;
        Some(free)
    }

    /// Takes what is not used any more; returns what is to be freed.
    fn give(&mut self, free: Free) -> Vec<Free> {
        self.bytes += free.class.0;
        self.free.entry(free.class).or_default().push_back((free, self.time));
        let mut out = self.beyond(self.limit);
        if self.look <= self.time {
            self.look = self.time + OFTEN;
            let since = self.time.saturating_sub(LONG);
            while let Some(old) = self.oldest(|t| t < since) {
                out.push(old);
            }
        }
        out
    }

    /// What is kept beyond a limit.
    fn beyond(&mut self, limit: usize) -> Vec<Free> {
        let mut out = Vec::new();
        while self.bytes > limit {
            out.extend(self.oldest(|_| true));
        }
        out
    }

    /// What came back first, if that is long enough ago.
    fn oldest(&mut self, is_old: impl Fn(u64) -> bool) -> Option<Free> {
        let firsts = self.free.iter().filter_map(|(class, list)| Some((list.front()?.1, *class)));
        let (time, class) = firsts.min()?;
        if !is_old(time) {
            return None;
        }
        let (free, _) = self.free.get_mut(&class)?.pop_front()?;
        self.bytes -= class.0;
        Some(free)
    }
}

/// The bytes of the memory that serves a request: multiples of an eighth of a power of two, so that arrays of almost the same size
/// share it and at most an eighth is lost.
pub(crate) fn size_class(bytes: u64) -> Option<u64> {
    let step = (1u64 << (u64::BITS - 1 - bytes.saturating_sub(1).max(1).leading_zeros())) / 8;
    bytes.checked_next_multiple_of(step.max(1))
}

/// Room for elements.
pub(crate) struct Room<T> {
    /// An empty vector.
    pub memory: Vec<T>,
    /// Whether nothing had this memory before.
    pub is_new: bool,
    /// Whether it is all zeros.
    pub is_zero: bool,
    /// Whether the bytes of all elements asked for have been set.
    pub is_set: bool,
}

/// Room for `len` elements or more, of zeros if there is a cheap way; `None` if there is no memory.
pub(crate) fn room<T: Copy>(len: usize, zeros: bool) -> Option<Room<T>> {
    let bytes = len.checked_mul(size_of::<T>())?;
    // Each class is a whole number of elements whose size is a power of two.
    if bytes < SMALLEST || !size_of::<T>().is_power_of_two() {
        let mut memory = Vec::new();
        memory.try_reserve_exact(len).ok()?;
        return Some(Room { memory, is_new: true, is_zero: false, is_set: false });
    }
    let class = (usize::try_from(size_class(bytes as u64)?).ok()?, align_of::<T>());
    let layout = Layout::from_size_align(class.0, class.1).ok()?;
    let found = pool().take(class);
    let is_new = found.is_none();
    let allocated = || {
        // SAFETY: the layout has a size.
        let start = unsafe { if zeros { alloc_zeroed(layout) } else { alloc(layout) } };
        NonNull::new(start).map(|start| Free { start, class, set: if zeros { class.0 } else { 0 } })
    };
    let free = found.or_else(|| under_pressure(allocated))?;
    let free = ManuallyDrop::new(free);
    // SAFETY: allocated with the alignment of `T` and as many bytes as the capacity has; nothing else has this memory.
    let memory = unsafe { Vec::from_raw_parts(free.start.as_ptr().cast::<T>(), 0, class.0 / size_of::<T>()) };
    Some(Room { memory, is_new, is_zero: is_new && zeros, is_set: bytes <= free.set })
}

/// What an allocation gives. If that is nothing, all that is kept is given back before the second attempt.
pub(crate) fn under_pressure<T>(allocated: impl Fn() -> Option<T>) -> Option<T> {
    allocated().or_else(|| {
        let freed = pool().beyond(0);
        if freed.is_empty() {
            return None;
        }
        drop(freed);
        allocated()
    })
}

/// Takes memory that is not used any more, and whether the bytes of all elements have been set. What did not come from here goes to the allocator, unless it has the size of a class.
#[inline]
pub(crate) fn give<T: Copy>(x: Vec<T>, is_set: bool) {
    let bytes = x.capacity() * size_of::<T>();
    if bytes >= SMALLEST && size_class(bytes as u64) == Some(bytes as u64) {
        keep(x, bytes, is_set);
    }
}

fn keep<T: Copy>(x: Vec<T>, bytes: usize, is_set: bool) {
    let mut x = ManuallyDrop::new(x);
    let Some(start) = NonNull::new(x.as_mut_ptr().cast::<u8>()) else { return };
    let set = if is_set { x.len() * size_of::<T>() } else { 0 };
    let freed = pool().give(Free { start, class: (bytes, align_of::<T>()), set });
    drop(freed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;

    fn memory(bytes: usize) -> Free {
        let x = ManuallyDrop::new(Vec::<u64>::with_capacity(bytes / 8));
        Free { start: NonNull::new(x.as_ptr().cast_mut().cast()).unwrap(), class: (bytes, 8), set: 0 }
    }

    #[test]
    fn classes_lose_at_most_an_eighth() {
        assert_eq!([4096, 4097, 4608, 4609].map(size_class), [4096, 4608, 4608, 5120].map(Some));
        for bytes in [4096u64, 5000, 1 << 20, (1 << 20) + 1, (1 << 31) - 5] {
            let class = size_class(bytes).unwrap();
            assert!(bytes <= class && class - bytes <= bytes / 8, "{bytes} -> {class}");
            assert_eq!(size_class(class), Some(class), "a class is a fixed point");
            assert_eq!(class % 8, 0);
        }
        assert_eq!(size_class(u64::MAX), None);
    }

    #[test]
    fn what_came_back_last_is_taken_first_and_freed_last() {
        let mut pool = Pool::empty(3 * 4096);
        let starts: Vec<_> = (0..3)
            .map(|_| {
                let m = memory(4096);
                let start = m.start;
                assert!(pool.give(m).is_empty());
                pool.time += 1;
                start
            })
            .collect();
        assert_eq!(pool.take((4096, 8)).map(|f| f.start == starts[2]), Some(true));
        assert!(pool.take((8192, 8)).is_none() && pool.take((4096, 4)).is_none());
        let freed = pool.give(memory(8192));
        assert_eq!(freed.iter().map(|f| f.start).collect::<Vec<_>>(), starts[..1]);
        assert_eq!(pool.bytes, 3 * 4096);
        assert_eq!(pool.beyond(0).len(), 2);
        assert_eq!(pool.bytes, 0);
    }

    #[test]
    fn more_than_the_limit_is_not_kept() {
        let mut pool = Pool::empty(4096);
        assert_eq!(pool.give(memory(8192)).len(), 1);
        assert_eq!(pool.bytes, 0);
    }

    #[test]
    fn what_nobody_asks_for_is_freed_in_time() {
        let mut pool = Pool::empty(usize::MAX);
        assert!(pool.give(memory(8192)).is_empty());
        let mut freed = 0;
        for _ in 0..=LONG + OFTEN {
            freed += pool.give(memory(4096)).len();
            drop(pool.take((4096, 8)));
        }
        assert_eq!((freed, pool.bytes), (1, 0));
    }

    #[test]
    fn memory_comes_back_and_elements_are_as_asked_for() {
        // A size that no other test of this process asks for.
        const LEN: usize = 123_457;
        let Room { memory: mut x, is_new, is_zero, is_set } = room::<u64>(LEN, false).unwrap();
        assert!(is_new && !is_zero && !is_set && x.capacity() >= LEN && x.is_empty());
        x.resize(LEN, 7);
        let start = x.as_ptr();
        drop(Buffer::from(x));
        let Room { memory: x, is_new, is_zero, is_set } = room::<i64>(LEN - 1, true).unwrap();
        assert!(!is_new && !is_zero && !is_set && std::ptr::eq(x.as_ptr().cast(), start));
        let Room { memory: y, is_new, is_zero, is_set } = room::<f64>(LEN, true).unwrap();
        assert!(is_new && is_zero && is_set && !std::ptr::eq(y.as_ptr().cast(), start));
        // What was set is told up to where it was.
        let mut z = x;
        z.resize(LEN - 1, 3);
        // SAFETY: they are set, and integers have no other bytes.
        drop(unsafe { Buffer::from(z).all_bytes_set() });
        let Room { memory: longer, is_set, .. } = room::<f64>(LEN, false).unwrap();
        assert!(!is_set && std::ptr::eq(longer.as_ptr().cast(), start));
        let mut longer = longer;
        longer.resize(LEN - 1, 0.5);
        // SAFETY: as before.
        drop(unsafe { Buffer::from(longer).all_bytes_set() });
        let Room { memory: shorter, is_set, .. } = room::<f64>(LEN - 1, false).unwrap();
        assert!(is_set && std::ptr::eq(shorter.as_ptr().cast(), start));
        assert!(room::<f64>(usize::MAX / 8, false).is_none() && room::<f64>(usize::MAX, false).is_none());
    }
}
