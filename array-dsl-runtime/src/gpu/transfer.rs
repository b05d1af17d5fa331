//! The bytes of uploads and downloads.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::device::{Batches, Shared};
use super::execute::Run;
use super::pool::GpuBuffer;
use super::record::Recorder;
use super::status::{STATUS_BYTES, Status, settle};
use super::wait::{Submission, answer};
use crate::error::Error;

/// Larger arrays are moved in pieces, so that little memory is needed to move them.
const PIECE: u64 = 64 << 20;

/// Larger buffers for downloads are not kept.
const KEPT: u64 = 16 << 20;

impl Shared {
    /// Writes the bytes of a new array. `is_in_use` tells whether recorded work may still use the buffer:
    /// uploads overtake what is recorded, so that is submitted first.
    pub(super) fn write(&self, buffer: &GpuBuffer, is_in_use: bool, bytes: &[u8]) -> Result<(), Error> {
        self.failures.check()?;
        let mut state = self.state();
        if is_in_use {
            state.recorder.submit(self);
        }
        let write = || {
            for (piece, offset) in bytes.chunks(PIECE as usize).zip((0..).step_by(PIECE as usize)) {
                self.queue.write_buffer(buffer.raw(), offset, piece);
                if bytes.len() as u64 > PIECE {
                    // Starts the transfer, after which the memory that the piece waits in is free again.
                    self.queue.submit([]);
                }
            }
        };
        let what = || format!("an upload of {} bytes", bytes.len());
        let written = self.scoped(what, write);
        drop(state);
        written.map_err(|e| self.failed(format!("{}: {e}", what())))?;
        self.keep_pace_here()?;
        self.failures.check()
    }

    /// Calls `read` with the bytes of an array, piece by piece in order. The error of the first run, of those that it depends
    /// on, that failed.
    pub(super) async fn read_back(
        &self,
        buffer: &GpuBuffer,
        read: &mut impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.failures.check()?;
        let statuses = buffer.statuses().unread();
        let (total, extra) = (buffer.bytes(), statuses.len() as u64 * STATUS_BYTES);
        if total + extra > 0 {
            let staging = self.staging(total.min(PIECE) + extra)?;
            self.read_pieces(&staging, buffer, &statuses, read).await?;
            self.keep(staging);
        }
        self.failures.check()?;
        buffer.statuses().known()
    }

    /// All pieces, the statuses with the first; nothing after a failure.
    async fn read_pieces(
        &self,
        staging: &wgpu::Buffer,
        buffer: &GpuBuffer,
        mut statuses: &[Status],
        read: &mut impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let (total, mut start) = (buffer.bytes(), 0);
        loop {
            let bytes = (total - start).min(PIECE);
            let extra = statuses.len() as u64 * STATUS_BYTES;
            let (submission, batch) = {
                let mut state = self.state();
                let batch = self.pool.batch();
                state.recorder.copy((buffer.raw(), start), (staging, 0), bytes);
                copy_statuses(&mut state.recorder, statuses, staging, bytes);
                (state.recorder.submit(self), batch)
            };
            let executed = || self.failures.of(buffer.batches()).and(self.failures.of(Batches(batch, batch)));
            self.counters.waits.fetch_add(1, Relaxed);
            self.read_recorded(staging, submission, bytes + extra, &mut |all| {
                let (piece, words) = all.split_at(bytes as usize);
                // Words of what was not executed say nothing.
                if executed().is_err() {
                    return;
                }
                settle(statuses, words, |words| self.state().sites.error(words));
                if buffer.statuses().known().is_ok() {
                    read(piece);
                }
            })
            .await?;
            executed()?;
            statuses = &[];
            start += bytes;
            if start >= total || buffer.statuses().known().is_err() {
                return Ok(());
            }
        }
    }

    /// Submits all that is recorded and waits until it is done.
    pub(super) async fn finish(&self) -> Result<(), Error> {
        self.failures.check()?;
        self.state().recorder.submit(self);
        self.counters.waits.fetch_add(1, Relaxed);
        self.until_done().await
    }

    /// Keeps a buffer for later downloads.
    pub(super) fn keep(&self, staging: wgpu::Buffer) {
        if staging.size() <= KEPT {
            self.staging.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
        }
    }

    /// Waits for what a submission copies to the first bytes, at least one, of a buffer.
    pub(super) async fn read_recorded(
        &self,
        staging: &wgpu::Buffer,
        submission: Option<Submission>,
        bytes: u64,
        read: &mut impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let (tell, mapped) = answer();
        let slice = staging.slice(0..bytes);
        slice.map_async(wgpu::MapMode::Read, move |result| tell.tell(result));
        let result = self.until(submission, mapped).await?;
        result.map_err(|_| Error::Gpu { message: "the result of a download cannot be read".into() })?;
        let view = slice.get_mapped_range().map_err(|e| Error::Gpu { message: e.to_string() })?;
        read(&view);
        drop(view);
        staging.unmap();
        Ok(())
    }

    /// A buffer that the host can read, of at least so many bytes.
    pub(super) fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, Error> {
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
        let what = || format!("no memory to download {bytes} bytes");
        self.scoped(what, || self.device.create_buffer(&descriptor))
            .map_err(|e| self.failed(format!("{}: {e}", what())))
    }
}

/// Records copies of the words of statuses.
pub(super) fn copy_statuses(
    recorder: &mut Recorder,
    statuses: &[Status],
    staging: &wgpu::Buffer,
    start: u64,
) {
    for (status, at) in statuses.iter().zip((start..).step_by(STATUS_BYTES as usize)) {
        recorder.copy((status.words().raw(), 0), (staging, at), STATUS_BYTES);
    }
}

impl Run<'_> {
    /// The bits of the first element of each array. A failure that a shader has found so far is an error at once, for what
    /// would be done next may never end.
    pub(super) async fn read_bits(&mut self, buffers: &[GpuBuffer]) -> Result<Vec<u64>, Error> {
        let (gpu, before) = (self.gpu, self.unread_before());
        gpu.failures.check()?;
        let statuses: Vec<Status> = before.iter().chain(&self.own).cloned().collect();
        let bytes: u64 = buffers.iter().map(|b| u64::from(b.width())).sum();
        let total = bytes + statuses.len() as u64 * STATUS_BYTES;
        let staging = gpu.staging(total)?;
        let (batches, submission) = {
            let recorder = &mut gpu.state().recorder;
            let mut at = 0;
            for buffer in buffers {
                let width = u64::from(buffer.width());
                recorder.copy((buffer.raw(), 0), (&staging, at), width);
                at += width;
            }
            copy_statuses(recorder, &statuses, &staging, bytes);
            (self.batches(), recorder.submit(gpu))
        };
        gpu.counters.waits.fetch_add(1, Relaxed);
        let (mut bits, mut words) = (Vec::new(), Vec::new());
        gpu.read_recorded(&staging, submission, total, &mut |all| {
            let (mut elements, rest) = all.split_at(bytes as usize);
            words.extend_from_slice(rest);
            for buffer in buffers {
                let (own, rest) = elements.split_at(buffer.width() as usize);
                bits.push(match <[u8; 8]>::try_from(own) {
                    Ok(long) => u64::from_ne_bytes(long),
                    Err(_) => bytemuck::pod_read_unaligned::<u32>(own).into(),
                });
                elements = rest;
            }
        })
        .await?;
        gpu.keep(staging);
        gpu.failures.of(batches)?;
        self.fail_by(&before, &words)?;
        Ok(bits)
    }
}
