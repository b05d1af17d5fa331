//! Scatter-accumulate, deterministic: contributions go into private copies of the targets, one for each chunk of
//! iterations, which are combined in the order of the chunks. Where the targets are too large for that to pay, the loop
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

/// What combines the contributions of iterations from one to another one into arrays.
type Body<'b, T, const N: usize> = dyn Fn(usize, usize, [&mut [T]; N]) + Sync + 'b;

/// Combines into `targets` the contributions of iterations `0..n`, each of about `work` scalar operations, of which `width` go together:
/// `body(lo, hi, locals)` combines those of `lo..hi` into `locals`, which are as long as `targets` and hold
/// `neutral`, or, unless all have to be `apart`, their values. `combine(x, y)` combines the values of `y` into those of `x`.
///
/// # Errors
/// The memory of a private copy is refused; `targets` then hold some of the contributions.
pub fn accumulate<T: Copy + Send + Sync, const N: usize>(
    targets: [&mut [T]; N],
    (n, width): (usize, usize),
    work: usize,
    apart: bool,
    neutral: T,
    combine: &(dyn Fn(&mut [T], &[T]) + Sync),
    body: &Body<'_, T, N>,
) -> Result<(), OutOfMemory> {
    if n == 0 {
        return Ok(());
    }
    let lens = targets.each_ref().map(|t| t.len());
    let chunks = copies(lens.iter().sum(), n, work, width);
    if chunks.count <= 1 && !apart {
        body(0, n, targets);
        return Ok(());
    }
    let turns = Turns::new(targets, lens.iter().sum(), chunks.count);
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
            body(lo, hi, parts(&mut local, lens));
            turns.combine(c, local, combine);
        }
    };
    on_threads(rayon::current_num_threads().min(chunks.count), &work);
    let refused = *lock(&refused);
    refused.map_or(Ok(()), Err)
}

/// The parts of a copy, one for each target.
fn parts<T, const N: usize>(copy: &mut [T], lens: [usize; N]) -> [&mut [T]; N] {
    let mut rest = copy;
    lens.map(|len| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(len);
        rest = others;
        part
    })
}

/// Private copies that are combined into the targets one after the other, in the order of their chunks.
struct Turns<'a, T: Copy, const N: usize> {
    len: usize,
    targets: Mutex<[&'a mut [T]; N]>,
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

impl<'a, T: Copy, const N: usize> Turns<'a, T, N> {
    fn new(targets: [&'a mut [T]; N], len: usize, count: usize) -> Self {
        let waiting = (0..count).map(|_| None).collect();
        let queue = Mutex::new(Queue { next: 0, waiting, free: Vec::new(), busy: false });
        Turns { len, targets: Mutex::new(targets), queue }
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
            let mut rest = &copy[..];
            for target in lock(&self.targets).iter_mut() {
                let (part, others) = rest.split_at(target.len());
                combine(target, part);
                rest = others;
            }
            queue = lock(&self.queue);
            queue.free.push(copy);
        }
        queue.busy = false;
    }
}

/// The chunks of iterations, one private copy of `len` elements for each: so few that filling and combining the
/// copies costs at most a quarter of the iterations themselves.
fn copies(len: usize, n: usize, work: usize, width: usize) -> Chunks {
    let len = len.max(1);
    let affordable = n.saturating_mul(work.max(1)) / 4 / len;
    let most = affordable.min(MAX_ELEMENTS / len).clamp(1, MAX_COPIES);
    Chunks::new(n, work, most).of_blocks(width, most)
}

#[cfg(test)]
mod tests {
    use super::super::memory::combine;
    use super::*;

    #[test]
    fn copies_pay_for_themselves() {
        let count = |len, n, work| copies(len, n, work, 1).count;
        assert_eq!(count(10, 1000, 4), 1, "too little work");
        assert_eq!(count(10, 10_000_000, 4), MAX_COPIES);
        assert_eq!(count(1_000_000, 1_000_000, 4), 1, "the target is as large as the work");
        assert_eq!(count(1_000_000, 16_000_000, 4), 16);
        assert_eq!(count(MAX_ELEMENTS, isize::MAX as usize, 1), 1, "too much memory");
    }

    #[test]
    fn what_goes_together_is_in_whole_blocks() {
        for (n, work, width, sizes) in [
            (1000, 3800, 16, 16),
            (1100, 3800, 16, 32),
            (500, 1900, 16, 32),
            (100, 400_000, 16, 8),
            (20, 1, 64, 64),
        ] {
            let chunks = copies(10, n, work, width);
            assert_eq!(chunks.bounds(0), (0, sizes.min(n)), "{n} of {work}");
            assert!(chunks.count <= MAX_COPIES && chunks.bounds(chunks.count - 1).1 == n, "{n} of {work}");
        }
    }

    #[test]
    fn what_is_apart_begins_with_nothing() {
        let add = |x: &mut [i64], y: &[i64]| combine(x, y, |a, b| a + b);
        for (apart, found) in [(false, 5), (true, 0)] {
            let mut target = [5i64];
            accumulate([&mut target], (3, 1), 1, apart, 0, &add, &|lo, hi, [local]| {
                assert_eq!(local, [found]);
                local[0] += (hi - lo) as i64;
            })
            .unwrap();
            assert_eq!(target, [8]);
        }
    }

    #[test]
    fn several_targets_are_combined_into_each_by_its_own_part() {
        let n = 100_000usize;
        let (mut a, mut none, mut b) = (vec![1i64; 3], Vec::new(), vec![2i64; 5]);
        let add = |x: &mut [i64], y: &[i64]| combine(x, y, |a, b| a + b);
        accumulate([&mut a, &mut none, &mut b], (n, 1), 8, false, 0, &add, &|lo, hi, [a, none, b]| {
            assert!(none.is_empty());
            (lo..hi).for_each(|i| {
                a[i % 3] += 1;
                b[i % 5] += i as i64;
            });
        })
        .unwrap();
        assert_eq!(a, [33_335, 33_334, 33_334]);
        let expected = |k: i64| 2 + (0..n as i64).filter(|i| i % 5 == k).sum::<i64>();
        assert_eq!(b, (0..5).map(expected).collect::<Vec<_>>());
    }

    #[test]
    fn the_result_is_that_of_a_sequential_loop_and_does_not_depend_on_threads() {
        let n = 300_000usize;
        let index = |i: usize| i.wrapping_mul(2_654_435_761) >> 7;
        let run = |len: usize| {
            let mut target: Vec<i64> = (0..len as i64).collect();
            accumulate(
                [&mut target],
                (n, 1),
                8,
                false,
                0,
                &|x, y| combine(x, y, |a, b| a + b),
                &|lo, hi, [local]| {
                    for i in lo..hi {
                        local[index(i) % len] += i as i64;
                    }
                },
            )
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
            accumulate(
                [&mut target],
                (n, 1),
                8,
                false,
                0.0,
                &|x, y| combine(x, y, |a, b| a + b),
                &|lo, hi, [local]| {
                    for i in lo..hi {
                        local[index(i) % 5] += (i as f32 * 0.1).sin();
                    }
                },
            )
            .unwrap();
            target.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let with =
            |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(floats);
        assert_eq!(with(1), with(4));
    }
}
