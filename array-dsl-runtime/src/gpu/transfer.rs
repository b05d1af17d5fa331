//! The bytes of uploads and downloads.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::device::{Shared, State};
use super::pool::GpuBuffer;
use super::record::{Recorder, wait};
use super::status::STATUS_BYTES;
use crate::error::Error;

/// Larger arrays are moved in pieces, so that little memory is needed to move them.
const PIECE: u64 = 64 << 20;

/// How long an answer may take before the device is asked again.
const PATIENCE: Duration = Duration::from_millis(10);

/// Larger buffers for downloads are not kept.
const KEPT: u64 = 16 << 20;

impl Shared {
    /// Writes the bytes of a new array. `is_in_use` tells whether recorded work may still use the buffer:
    /// uploads overtake what is recorded, so that is submitted first.
    pub(super) fn write(&self, buffer: &GpuBuffer, is_in_use: bool, bytes: &[u8]) -> Result<(), Error> {
        self.failures.check()?;
        let mut state = self.state();
        if is_in_use {
            state.recorder.submit(self)?;
        }
        for (piece, offset) in bytes.chunks(PIECE as usize).zip((0..).step_by(PIECE as usize)) {
            self.queue.write_buffer(buffer.raw(), offset, piece);
            if bytes.len() as u64 > PIECE {
                // Starts the transfer, after which the memory that the piece waits in is free again.
                self.queue.submit([]);
            }
        }
        self.failures.check()
    }

    /// Calls `read` with the bytes of an array, piece by piece in order, and reports an index error that a
    /// shader met so far. Without an array only the latter.
    pub(super) fn read_back(
        &self,
        buffer: Option<&GpuBuffer>,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.failures.check()?;
        let total = buffer.map_or(0, GpuBuffer::bytes);
        let staging = self.staging(total.min(PIECE) + STATUS_BYTES)?;
        let mut start = 0;
        let status = loop {
            let bytes = (total - start).min(PIECE);
            let status = self.read_piece(&staging, buffer, start, bytes, read)?;
            start += bytes;
            if start >= total {
                break status;
            }
        };
        self.keep(staging);
        self.failures.check()?;
        if status[0] == 0 { Ok(()) } else { self.failed(&mut self.state(), status) }
    }

    /// One piece, with the words of the status.
    fn read_piece(
        &self,
        staging: &wgpu::Buffer,
        buffer: Option<&GpuBuffer>,
        start: u64,
        bytes: u64,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<[u32; 4], Error> {
        let submission = self.record_piece(&mut self.state().recorder, staging, buffer, start, bytes)?;
        self.read_recorded(staging, submission, bytes, read)
    }

    /// Submits what is recorded, and after it the copy of a piece and of the status.
    fn record_piece(
        &self,
        recorder: &mut Recorder,
        staging: &wgpu::Buffer,
        buffer: Option<&GpuBuffer>,
        start: u64,
        bytes: u64,
    ) -> Result<Option<wgpu::SubmissionIndex>, Error> {
        if let Some(buffer) = buffer {
            recorder.copy((buffer.raw(), start), (staging, 0), bytes);
        }
        recorder.copy((&self.status, 0), (staging, bytes), STATUS_BYTES);
        recorder.submit(self)
    }

    /// The bits of the first element of each array, for those who are recording. A failure that a shader has found so far is
    /// an error at once, for what would be done next may never end.
    pub(super) fn read_bits(&self, state: &mut State, buffers: &[GpuBuffer]) -> Result<Vec<u64>, Error> {
        self.failures.check()?;
        let bytes = buffers.iter().map(|b| u64::from(b.width())).sum();
        let staging = self.staging(bytes + STATUS_BYTES)?;
        let mut at = 0;
        for buffer in buffers {
            let width = u64::from(buffer.width());
            state.recorder.copy((buffer.raw(), 0), (&staging, at), width);
            at += width;
        }
        let submission = self.record_piece(&mut state.recorder, &staging, None, 0, bytes)?;
        let mut bits = Vec::new();
        let status = self.read_recorded(&staging, submission, bytes, &mut |mut bytes| {
            for buffer in buffers {
                let (own, rest) = bytes.split_at(buffer.width() as usize);
                bits.push(match <[u8; 8]>::try_from(own) {
                    Ok(long) => u64::from_ne_bytes(long),
                    Err(_) => bytemuck::pod_read_unaligned::<u32>(own).into(),
                });
                bytes = rest;
            }
        })?;
        self.keep(staging);
        self.failed(state, status)?;
        Ok(bits)
    }

    /// The error that the words of the status tell of; it is told once.
    fn failed(&self, state: &mut State, status: [u32; 4]) -> Result<(), Error> {
        if status[0] == 0 {
            return Ok(());
        }
        state.recorder.clear(&self.status, STATUS_BYTES);
        state.sites.error(status)
    }

    /// Keeps a buffer for later downloads.
    fn keep(&self, staging: wgpu::Buffer) {
        if staging.size() <= KEPT {
            self.staging.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
        }
    }

    /// Waits for a piece.
    fn read_recorded(
        &self,
        staging: &wgpu::Buffer,
        submission: Option<wgpu::SubmissionIndex>,
        bytes: u64,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<[u32; 4], Error> {
        self.counters.waits.fetch_add(1, Relaxed);
        let (answer, mapped) = mpsc::channel();
        let slice = staging.slice(0..bytes + STATUS_BYTES);
        slice.map_async(wgpu::MapMode::Read, move |result| {
            // Nobody listens any more if the wait failed.
            answer.send(result).ok();
        });
        if let Some(submission) = submission {
            wait(self, submission)?;
        }
        self.await_answer(&mapped)?;
        let view = slice.get_mapped_range().map_err(|e| Error::Gpu { message: e.to_string() })?;
        let (data, words) = view.split_at(bytes as usize);
        read(data);
        let mut status = [0u32; 4];
        bytemuck::cast_slice_mut::<u32, u8>(&mut status).copy_from_slice(words);
        drop(view);
        staging.unmap();
        Ok(status)
    }

    /// Waits until a buffer is mapped. That the work is done does not mean that the answer is here: another thread
    /// that waits for the device may have taken it upon itself to deliver it, and be about to.
    fn await_answer(&self, mapped: &mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>) -> Result<(), Error> {
        loop {
            match mapped.recv_timeout(PATIENCE) {
                Ok(Ok(())) => return self.failures.check(),
                Err(RecvTimeoutError::Timeout) => {
                    self.failures.check()?;
                    self.failures.guard(|| self.device.poll(wgpu::PollType::Poll))?;
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    self.failures.check()?;
                    return Err(Error::Gpu { message: "the result of a download cannot be read".into() });
                }
            }
        }
    }

    /// A buffer that the host can read, of at least so many bytes.
    fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, Error> {
        let mut kept = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|b| b.size() >= bytes) {
            return Ok(kept.swap_remove(at));
        }
        // A larger one takes the place of a smaller one.
        kept.pop();
        drop(kept);
        let descriptor = wgpu::BufferDescriptor {
            label: Some("download"),
            size: bytes.max(4096).next_power_of_two().min(bytes.max(self.can.limits.max_buffer_size)),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        super::device::scoped(&self.device, || self.device.create_buffer(&descriptor))
            .map_err(|e| Error::Gpu { message: format!("no memory to download {bytes} bytes: {e}") })
    }
}
