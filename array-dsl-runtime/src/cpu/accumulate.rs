//! Scatter-accumulate, deterministic: contributions go into private copies of the target, one for each chunk of
//! iterations, which are combined in the order of the chunks. Where the target is too large for that to pay, the loop
//! runs sequentially. The choice depends on sizes only.
//!
//! Chunks are begun in order, too, and a copy is combined as soon as those before it are: so there are hardly more copies in
//! memory than threads, and their memory is used again while it is in the cache.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunks::Chunks;
use super::memory::{OutOfMemory, repeated};
use super::tasks::{lock, on_threads};
use crate::buffer::Buffer;

/// The greatest number of private copies; enough to keep many cores busy.
const MAX_COPIES: usize = 64;
/// The greatest number of elements in all private copies together.
const MAX_ELEMENTS: usize = 1 << 24;

/// Combines into `target` the contributions of iterations `0..n`, each of about `work` scalar operations:
/// `body(lo, hi, local)` combines those of `lo..hi` into `local`, which is as long as `target` and holds either
/// `target`'s values or `neutral`. `combine(x, y)` combines the values of `y` into those of `x`.
///
/// # Errors
/// The memory of a private copy is refused; `target` then holds some of the contributions.
pub fn accumulate<T: Copy + Send + Sync>(
    target: &mut [T],
    n: usize,
    work: usize,
    neutral: T,
    combine: &(dyn Fn(&mut [T], &[T]) + Sync),
    body: &(dyn Fn(usize, usize, &mut [T]) + Sync),
) -> Result<(), OutOfMemory> {
    if n == 0 || target.is_empty() {
        return Ok(());
    }
    let chunks = copies(target.len(), n, work);
    if chunks.count <= 1 {
        body(0, n, target);
        return Ok(());
    }
    let turns = Turns::new(target, chunks.count);
    let begun = AtomicUsize::new(0);
    let refused = Mutex::new(None);
    let work = || {
        loop {
            let c = begun.fetch_add(1, Ordering::Relaxed);
            if c >= chunks.count {
                return;
            }
            let mut local = match turns.copy(neutral) {
                Ok(copy) => copy,
                // The others stop where they are, too.
                Err(e) => {
                    begun.store(chunks.count, Ordering::Relaxed);
                    *lock(&refused) = Some(e);
                    return;
                }
            };
            let (lo, hi) = chunks.bounds(c);
            body(lo, hi, &mut local);
            turns.combine(c, local, combine);
        }
    };
    on_threads(rayon::current_num_threads().min(chunks.count), &work);
    let refused = *lock(&refused);
    refused.map_or(Ok(()), Err)
}

/// Private copies that are combined into the target one after the other, in the order of their chunks.
struct Turns<'a, T: Copy> {
    len: usize,
    target: Mutex<&'a mut [T]>,
    queue: Mutex<Queue<T>>,
}

struct Queue<T: Copy> {
    /// The chunk whose copy comes next.
    next: usize,
    /// By chunk, copies that wait for their turn.
    waiting: Vec<Option<Buffer<T>>>,
    /// Memory of copies that are combined.
    free: Vec<Buffer<T>>,
    /// Whether some thread is combining: it takes care of what comes in meanwhile.
    busy: bool,
}

impl<'a, T: Copy> Turns<'a, T> {
    fn new(target: &'a mut [T], count: usize) -> Self {
        let waiting = (0..count).map(|_| None).collect();
        let queue = Mutex::new(Queue { next: 0, waiting, free: Vec::new(), busy: false });
        Turns { len: target.len(), target: Mutex::new(target), queue }
    }

    /// A copy to begin with.
    fn copy(&self, neutral: T) -> Result<Buffer<T>, OutOfMemory> {
        let free = lock(&self.queue).free.pop();
        match free {
            Some(mut copy) => {
                copy.fill(neutral);
                Ok(copy)
            }
            None => repeated(neutral, self.len),
        }
    }

    /// Hands in the copy of a chunk; combines what is in turn unless another thread does.
    fn combine(&self, chunk: usize, copy: Buffer<T>, combine: &dyn Fn(&mut [T], &[T])) {
        let mut queue = lock(&self.queue);
        queue.waiting[chunk] = Some(copy);
        if queue.busy {
            return;
        }
        queue.busy = true;
        loop {
            let next = queue.next;
            let Some(copy) = queue.waiting.get_mut(next).and_then(Option::take) else { break };
            queue.next += 1;
            drop(queue);
            combine(&mut lock(&self.target), &copy);
            queue = lock(&self.queue);
            queue.free.push(copy);
        }
        queue.busy = false;
    }
}

/// The chunks of iterations, one private copy of `len` elements for each: so few that filling and combining the
/// copies costs at most a quarter of the iterations themselves.
fn copies(len: usize, n: usize, work: usize) -> Chunks {
    let affordable = n.saturating_mul(work.max(1)) / 4 / len;
    Chunks::new(n, work, affordable.min(MAX_ELEMENTS / len).clamp(1, MAX_COPIES))
}

#[cfg(test)]
mod tests {
    use super::super::memory::combine;
    use super::*;

    #[test]
    fn copies_pay_for_themselves() {
        let count = |len, n, work| copies(len, n, work).count;
        assert_eq!(count(10, 1000, 4), 1, "too little work");
        assert_eq!(count(10, 10_000_000, 4), MAX_COPIES);
        assert_eq!(count(1_000_000, 1_000_000, 4), 1, "the target is as large as the work");
        assert_eq!(count(1_000_000, 16_000_000, 4), 16);
        assert_eq!(count(MAX_ELEMENTS, isize::MAX as usize, 1), 1, "too much memory");
    }

    #[test]
    fn the_result_is_that_of_a_sequential_loop_and_does_not_depend_on_threads() {
        let n = 300_000usize;
        let index = |i: usize| i.wrapping_mul(2_654_435_761) >> 7;
        let run = |len: usize| {
            let mut target: Vec<i64> = (0..len as i64).collect();
            accumulate(&mut target, n, 8, 0, &|x, y| combine(x, y, |a, b| a + b), &|lo, hi, local| {
                for i in lo..hi {
                    local[index(i) % len] += i as i64;
                }
            })
            .unwrap();
            target
        };
        for len in [1, 7, 1000, 400_000] {
            let mut expected: Vec<i64> = (0..len as i64).collect();
            (0..n).for_each(|i| expected[index(i) % len] += i as i64);
            assert_eq!(run(len), expected, "{len} elements");
        }
        let floats = || {
            let mut target = vec![1.0f32; 5];
            accumulate(&mut target, n, 8, 0.0, &|x, y| combine(x, y, |a, b| a + b), &|lo, hi, local| {
                for i in lo..hi {
                    local[index(i) % 5] += (i as f32 * 0.1).sin();
                }
            })
            .unwrap();
            target.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let with =
            |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(floats);
        assert_eq!(with(1), with(4));
    }
}
