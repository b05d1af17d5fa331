//! What is recorded and how it is submitted. Commands gather until something is downloaded or a batch is
//! full; then they go to the device in one submission, with the uniform blocks of all dispatches in one
//! write.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use super::device::{Shared, scoped};
use super::pipeline::Pipeline;
use super::pool::GpuBuffer;
use crate::error::Error;

/// The most dispatches in one submission.
const BATCH: usize = 64;

/// The most submissions that the device may be behind; more would only pile up memory.
pub(super) const AHEAD: usize = 16;

/// The most commands in one submission: of loops that only copy there would be any number.
const MOST_COMMANDS: usize = 4096;

/// The bytes of the uniform buffer: what every device can bind.
const UNIFORM_BYTES: u64 = 65_536;

enum Command {
    Dispatch { pipeline: wgpu::ComputePipeline, group: wgpu::BindGroup, offset: u32, grid: [u32; 2] },
    Copy { from: wgpu::Buffer, from_offset: u64, to: wgpu::Buffer, to_offset: u64, bytes: u64 },
    Clear { buffer: wgpu::Buffer, bytes: u64 },
}

/// What a bind group consists of: its layout, the size of the uniform block, and the buffers with the bytes bound.
type Bound = (wgpu::BindGroupLayout, usize, Vec<(wgpu::Buffer, u64)>);

/// The commands that are not submitted yet.
pub(super) struct Recorder {
    commands: Vec<Command>,
    /// What becomes 0 before all of them.
    early: Vec<(wgpu::Buffer, u64)>,
    /// The bind groups of the recorded dispatches: a loop needs the same ones again and again.
    groups: HashMap<Bound, wgpu::BindGroup>,
    dispatches: usize,
    /// The uniform blocks of the recorded dispatches, each at a multiple of the device's alignment. They are
    /// written to `uniforms` when they are submitted, which the device does after everything submitted
    /// before.
    blocks: Vec<u8>,
    uniforms: wgpu::Buffer,
    alignment: usize,
    submitted: VecDeque<wgpu::SubmissionIndex>,
}

impl Recorder {
    pub(super) fn new(device: &wgpu::Device, limits: &wgpu::Limits) -> Recorder {
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("sizes"),
            size: UNIFORM_BYTES,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let alignment = limits.min_uniform_buffer_offset_alignment.max(16) as usize;
        Recorder {
            commands: Vec::new(),
            early: Vec::new(),
            groups: HashMap::new(),
            dispatches: 0,
            blocks: Vec::new(),
            uniforms,
            alignment,
            submitted: VecDeque::new(),
        }
    }

    /// The most uniform words that a shader can have.
    pub(super) fn most_words(limits: &wgpu::Limits) -> usize {
        (limits.max_uniform_buffer_binding_size.min(UNIFORM_BYTES) / 16 * 4) as usize
    }

    /// Records a dispatch of `grid` workgroups (see [`Shared::grid`]). `computed` are the positions of words that the device
    /// itself knows, and where, with the byte: they are copied into the uniform block just before. `buffers` are those from
    /// the pipeline's first binding on.
    pub(super) fn dispatch(
        &mut self,
        gpu: &Shared,
        pipeline: &Pipeline,
        words: &[u32],
        computed: &[(usize, &GpuBuffer, u64)],
        buffers: &[&GpuBuffer],
        grid: [u32; 2],
    ) -> Result<(), Error> {
        let block = (words.len() * 4).next_multiple_of(16).max(16);
        let mut offset = self.blocks.len().next_multiple_of(self.alignment);
        if self.dispatches >= BATCH || (offset + block) as u64 > UNIFORM_BYTES {
            self.submit(gpu)?;
            offset = 0;
        }
        self.blocks.resize(offset, 0);
        self.blocks.extend_from_slice(bytemuck::cast_slice(words));
        self.blocks.resize(offset + block, 0);
        let uniforms = self.uniforms.clone();
        for (at, buffer, from) in computed {
            self.copy((buffer.raw(), *from), (&uniforms, (offset + at * 4) as u64), 4);
        }

        let bound: Vec<(wgpu::Buffer, u64)> =
            buffers.iter().map(|b| (b.raw().clone(), b.bound_bytes())).collect();
        let key = (pipeline.layout.clone(), block, bound);
        let group = match self.groups.get(&key) {
            Some(group) => group.clone(),
            None => {
                let group = self.bind_group(gpu, pipeline, &key);
                self.groups.insert(key, group.clone());
                group
            }
        };
        let (pipeline, offset) = (pipeline.raw.clone(), offset as u32);
        self.commands.push(Command::Dispatch { pipeline, group, offset, grid });
        self.dispatches += 1;
        gpu.counters.dispatches.fetch_add(1, Relaxed);
        Ok(())
    }

    fn bind_group(
        &self,
        gpu: &Shared,
        pipeline: &Pipeline,
        (layout, block, bound): &Bound,
    ) -> wgpu::BindGroup {
        let bind = |binding, buffer, bytes| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: wgpu::BufferSize::new(bytes),
            }),
        };
        let mut entries = vec![bind(0, &self.uniforms, *block as u64)];
        let first = if pipeline.status { 1 } else { 2 };
        entries.extend((first..).zip(bound).map(|(at, (buffer, bytes))| bind(at, buffer, *bytes)));
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    }

    /// Records a copy between buffers that are not the same; offsets and sizes are multiples of 4.
    pub(super) fn copy(&mut self, from: (&wgpu::Buffer, u64), to: (&wgpu::Buffer, u64), bytes: u64) {
        if bytes > 0 {
            self.commands.push(Command::Copy {
                from: from.0.clone(),
                from_offset: from.1,
                to: to.0.clone(),
                to_offset: to.1,
                bytes,
            });
        }
    }

    /// Records that the first `bytes` bytes become 0.
    pub(super) fn clear(&mut self, buffer: &wgpu::Buffer, bytes: u64) {
        if bytes > 0 {
            self.commands.push(Command::Clear { buffer: buffer.clone(), bytes });
        }
    }

    /// Records that an array becomes 0, before everything else in the batch if that does not use its memory: passes are not
    /// interrupted then.
    pub(super) fn clear_early(&mut self, buffer: &GpuBuffer, is_in_use: bool) {
        if is_in_use {
            self.clear(buffer.raw(), buffer.bytes());
        } else {
            self.early.push((buffer.raw().clone(), buffer.bytes()));
        }
    }

    /// Submits what is recorded if it is much.
    pub(super) fn submit_much(&mut self, gpu: &Shared) -> Result<(), Error> {
        if self.commands.len() >= MOST_COMMANDS {
            self.submit(gpu)?;
        }
        Ok(())
    }

    /// Submits what is recorded. The index is that of the last submission, if there was any.
    pub(super) fn submit(&mut self, gpu: &Shared) -> Result<Option<wgpu::SubmissionIndex>, Error> {
        if !self.commands.is_empty() {
            if !self.blocks.is_empty() {
                gpu.queue.write_buffer(&self.uniforms, 0, &self.blocks);
                self.blocks.clear();
            }
            match scoped(&gpu.device, || gpu.queue.submit([encode(&gpu.device, &self.early, &self.commands)]))
            {
                Ok(submission) => self.submitted.push_back(submission),
                // Whoever recorded in it may be another thread: whatever depends on it carries the failure.
                Err(message) => gpu.failures.record_batch(gpu.pool.batch(), message),
            }
            self.early.clear();
            self.commands.clear();
            // They would keep their buffers alive.
            self.groups.clear();
            self.dispatches = 0;
            gpu.pool.next_batch();
            gpu.counters.submissions.fetch_add(1, Relaxed);
        }
        if self.submitted.len() > AHEAD
            && let Some(oldest) = self.submitted.pop_front()
        {
            wait(gpu, oldest)?;
        }
        Ok(self.submitted.back().cloned())
    }
}

/// Waits until a submission is done.
pub(super) fn wait(gpu: &Shared, submission: wgpu::SubmissionIndex) -> Result<(), Error> {
    let until = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
    gpu.failures.guard(|| gpu.device.poll(until))
}

fn encode(device: &wgpu::Device, early: &[(wgpu::Buffer, u64)], commands: &[Command]) -> wgpu::CommandBuffer {
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
    for (buffer, bytes) in early {
        encoder.clear_buffer(buffer, 0, Some(*bytes));
    }
    let mut rest = commands;
    while let Some((command, after)) = rest.split_first() {
        match command {
            Command::Copy { from, from_offset, to, to_offset, bytes } => {
                encoder.copy_buffer_to_buffer(from, *from_offset, to, *to_offset, *bytes);
                rest = after;
            }
            Command::Clear { buffer, bytes } => {
                encoder.clear_buffer(buffer, 0, Some(*bytes));
                rest = after;
            }
            Command::Dispatch { .. } => {
                // One pass for all dispatches up to the next copy; wgpu puts barriers where they depend on
                // each other.
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                while let Some((Command::Dispatch { pipeline, group, offset, grid }, after)) =
                    rest.split_first()
                {
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, group, &[*offset]);
                    pass.dispatch_workgroups(grid[0], grid[1], 1);
                    rest = after;
                }
            }
        }
    }
    encoder.finish()
}
