//! Buffers and their reuse. A buffer goes back to the pool when its last handle is dropped and serves later
//! requests of its size class.
//!
//! All work goes through one queue in the order of recording, so a buffer may be handed out again at once:
//! whoever gets it next is executed after whoever had it before. Uploads are the exception, since they
//! overtake recorded work that is not submitted yet; therefore a buffer remembers the batch in which it came
//! back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::device::{Batches, Counters, Failures};
use super::scope::scoped;
use super::status::Statuses;
use crate::error::Error;

/// Elements and points are counted in 30 bits, so that the usual arithmetic of indices needs no more than 32.
pub(super) const MOST: usize = 1 << 30;

/// The smallest buffer in bytes.
const SMALLEST: u64 = 256;

/// Memory on the device that holds so many elements of one size. Clones share it.
#[derive(Clone, Debug)]
pub struct GpuBuffer {
    memory: Arc<Memory>,
    elements: usize,
    /// The bytes of an element.
    width: u32,
    /// What the elements depend on.
    statuses: Statuses,
    /// When what makes them was recorded.
    batches: Batches,
}

/// Whose memory it is, for the error if there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) kernel: &'static str,
    pub(super) array: &'static str,
}

/// One buffer; goes back to the pool when dropped.
#[derive(Debug)]
struct Memory {
    raw: wgpu::Buffer,
    /// The batch that was being recorded when it was made.
    made: u64,
    pool: Arc<Pool>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        let back = self.pool.batch.load(Relaxed);
        let kept = Kept { raw: self.raw.clone(), made: self.made, back };
        self.pool.idle().entry(self.raw.size()).or_default().push(kept);
    }
}

impl GpuBuffer {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// The same memory for the first elements only.
    pub(super) fn first(&self, elements: usize) -> GpuBuffer {
        GpuBuffer { elements: elements.min(self.elements), ..self.clone() }
    }

    /// Whether both are the same memory.
    pub fn shares_memory(&self, other: &GpuBuffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Whether another handle has the same memory.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.memory) > 1
    }

    /// What the elements depend on.
    pub(super) fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// When what makes the elements was recorded.
    pub(super) fn batches(&self) -> Batches {
        self.batches
    }

    /// The same elements, which depend on these runs and were recorded in these batches.
    pub(super) fn made_by(self, statuses: Statuses, batches: Batches) -> GpuBuffer {
        GpuBuffer { statuses, batches, ..self }
    }

    pub(super) fn raw(&self) -> &wgpu::Buffer {
        &self.memory.raw
    }

    /// The bytes that the elements take.
    pub(super) fn bytes(&self) -> u64 {
        self.elements as u64 * u64::from(self.width)
    }

    /// The bytes to bind: at least one element.
    pub(super) fn bound_bytes(&self) -> u64 {
        self.bytes().max(self.width.into())
    }

    /// The bytes of an element.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.memory.pool, pool)
    }
}

/// An idle buffer, with the numbers of the batches that were being recorded when it was made and when it came back.
#[derive(Debug)]
struct Kept {
    raw: wgpu::Buffer,
    made: u64,
    back: u64,
}

/// Idle buffers by size in bytes.
type Idle = HashMap<u64, Vec<Kept>>;

/// The pool of one device.
#[derive(Debug)]
pub(super) struct Pool {
    device: wgpu::Device,
    failures: Arc<Failures>,
    counters: Arc<Counters>,
    /// The largest buffer in bytes.
    largest: u64,
    /// The number of the batch that is being recorded.
    batch: AtomicU64,
    idle: Mutex<Idle>,
}

impl Pool {
    pub(super) fn new(
        device: wgpu::Device,
        failures: Arc<Failures>,
        counters: Arc<Counters>,
        largest: u64,
    ) -> Pool {
        Pool { device, failures, counters, largest, batch: AtomicU64::new(1), idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of the largest buffer.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// The most elements of so many bytes that one array can have.
    pub(super) fn most_elements(&self, width: u32) -> usize {
        let most = self.largest / u64::from(width);
        usize::try_from(most).map_or(MOST, |n| n.min(MOST))
    }

    /// A buffer for so many elements, not more than [`Pool::most_elements`]. Its contents are arbitrary. With
    /// it comes whether recorded, not yet submitted work may still use its memory.
    pub(super) fn take(
        self: &Arc<Pool>,
        elements: usize,
        width: u32,
        owner: Owner,
    ) -> Result<(GpuBuffer, bool), Error> {
        let bytes = size_class(elements as u64 * u64::from(width)).min(self.largest);
        let (raw, made, back) = match self.kept(bytes) {
            Some(Kept { raw, made, back }) => {
                self.counters.buffers_reused.fetch_add(1, Relaxed);
                (raw, made, back)
            }
            None => (self.create(bytes, owner)?, self.batch(), 0),
        };
        let now = self.batch();
        let is_in_use = back == now;
        let memory = Arc::new(Memory { raw, made, pool: self.clone() });
        Ok((
            GpuBuffer { memory, elements, width, statuses: Statuses::default(), batches: Batches(now, now) },
            is_in_use,
        ))
    }

    /// An idle buffer, if there is one. What was made in a batch that failed may be no buffer: in a browser that is known only
    /// later.
    fn kept(&self, bytes: u64) -> Option<Kept> {
        loop {
            let kept = self.idle().get_mut(&bytes)?.pop()?;
            if self.failures.of(Batches(kept.made, kept.made)).is_ok() {
                return Some(kept);
            }
        }
    }

    /// Makes a buffer. Where memory is short, idle buffers are freed first.
    fn create(&self, size: u64, Owner { kernel, array }: Owner) -> Result<wgpu::Buffer, Error> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("array"), size, usage, mapped_at_creation: false };
        let what = || format!("kernel `{kernel}`: no memory for `{array}` of {size} bytes");
        let attempt = || {
            let make = || self.device.create_buffer(&descriptor);
            scoped(&self.device, &self.failures, self.batch(), what, make)
        };
        // In a browser the first attempt always seems to succeed.
        #[cfg(target_arch = "wasm32")]
        let raw = attempt();
        #[cfg(not(target_arch = "wasm32"))]
        let raw = attempt().or_else(|_| {
            self.trim();
            // What was freed is still in use by submitted work; a failure to wait shows in the second
            // attempt.
            self.failures.guard(|| self.device.poll(wgpu::PollType::wait_indefinitely())).ok();
            attempt()
        });
        let raw = raw.map_err(|reason| {
            // Nothing is made on a lost device, which is another matter than memory.
            let none = Error::OutOfGpuMemory { kernel, array, bytes: size, reason };
            self.failures.check().err().unwrap_or(none)
        })?;
        self.counters.buffers_allocated.fetch_add(1, Relaxed);
        self.counters.bytes_allocated.fetch_add(size, Relaxed);
        Ok(raw)
    }

    /// Frees all idle buffers.
    pub(super) fn trim(&self) {
        self.idle().clear();
    }

    /// The number of the batch that is being recorded.
    pub(super) fn batch(&self) -> u64 {
        self.batch.load(Relaxed)
    }

    /// The recorded work was submitted.
    pub(super) fn next_batch(&self) {
        self.batch.fetch_add(1, Relaxed);
    }
}

/// The size of the buffer that serves a request.
fn size_class(bytes: u64) -> u64 {
    let bytes = bytes.max(SMALLEST);
    crate::pool::size_class(bytes).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_an_error_that_names_the_array() {
        if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
            println!("skipped: ARRAY_DSL_GPU=skip");
            return;
        }
        let gpu = crate::gpu::Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
        let pool = &gpu.shared.pool;
        let bytes = gpu.shared.can.limits.max_buffer_size + 4;
        for _ in 0..2 {
            let error = pool.create(bytes, Owner { kernel: "f", array: "y" }).unwrap_err();
            assert!(
                matches!(error, Error::OutOfGpuMemory { kernel: "f", array: "y", bytes: b, .. } if b == bytes)
            );
            let text = format!("kernel `f`: this GPU has no memory for `y` of {bytes} bytes: ");
            assert!(error.to_string().starts_with(&text), "{error}");
        }
        let x = ndarray::arr1(&[1f32, 2.0]);
        assert_eq!(gpu.upload(&x).and_then(|x| x.download()), Ok(x));
    }

    #[test]
    fn size_classes_lose_at_most_an_eighth() {
        assert_eq!([0, 1, 256].map(size_class), [256; 3]);
        assert_eq!([257, 288, 289, 512, 513].map(size_class), [288, 288, 320, 512, 576]);
        for bytes in [1000u64, 4097, 1 << 20, (1 << 20) + 1, (1 << 31) - 5] {
            let class = size_class(bytes);
            assert!(bytes <= class && class - bytes <= bytes / 8, "{bytes} -> {class}");
            assert_eq!(size_class(class), class, "a class is a fixed point");
            assert_eq!(class % 4, 0);
        }
    }
}
