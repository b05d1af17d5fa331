//! What is recorded and how it is submitted. Commands gather until something is downloaded or a batch is
//! full; then they go to the device in one submission, with the uniform blocks of all dispatches in one
//! write.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use super::device::Shared;
use super::pipeline::Pipeline;
use super::pool::GpuBuffer;
use super::profile::{MOST_TIMED, Noted, Queries, Session};
use super::wait::Submission;
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
    /// `noted` while something is profiled.
    Dispatch {
        pipeline: wgpu::ComputePipeline,
        group: wgpu::BindGroup,
        offset: u32,
        grid: [u32; 2],
        noted: Option<Noted>,
    },
    Copy {
        from: wgpu::Buffer,
        from_offset: u64,
        to: wgpu::Buffer,
        to_offset: u64,
        bytes: u64,
    },
    Clear {
        buffer: wgpu::Buffer,
        bytes: u64,
    },
}

/// A launch of a shader.
pub(super) struct Dispatch<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) words: &'a [u32],
    /// The positions of words that the device itself knows, and where, with the byte: they are copied into the uniform block
    /// just before.
    pub(super) computed: &'a [(usize, &'a GpuBuffer, u64)],
    /// Those from the pipeline's first binding on.
    pub(super) buffers: &'a [&'a GpuBuffer],
    /// The workgroups: see [`Shared::grid`].
    pub(super) grid: [u32; 2],
    /// The step that a shader of this crate is part of; other shaders' labels say it.
    pub(super) step: Option<&'static str>,
    /// Floating-point operations, where they are known.
    pub(super) operations: Option<u64>,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        words: &'a [u32],
        buffers: &'a [&'a GpuBuffer],
        grid: [u32; 2],
    ) -> Dispatch<'a> {
        Dispatch { pipeline, words, computed: &[], buffers, grid, step: None, operations: None }
    }

    fn noted(&self) -> Noted {
        let label = &self.pipeline.label;
        let step = self.step.map_or_else(|| label.clone(), |step| format!("{step}, {label}"));
        let bytes = self.buffers.iter().map(|b| b.bytes()).sum();
        Noted { step, bytes, operations: self.operations }
    }
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
    submitted: VecDeque<Submission>,
    /// While something is profiled.
    pub(super) profile: Option<Session>,
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
            profile: None,
        }
    }

    /// The most uniform words that a shader can have.
    pub(super) fn most_words(limits: &wgpu::Limits) -> usize {
        (limits.max_uniform_buffer_binding_size.min(UNIFORM_BYTES) / 16 * 4) as usize
    }

    /// Records a dispatch.
    pub(super) fn dispatch(&mut self, gpu: &Shared, dispatch: &Dispatch<'_>) -> Result<(), Error> {
        let Dispatch { pipeline, words, computed, buffers, grid, .. } = *dispatch;
        let block = (words.len() * 4).next_multiple_of(16).max(16);
        let mut offset = self.blocks.len().next_multiple_of(self.alignment);
        if self.dispatches >= BATCH || (offset + block) as u64 > UNIFORM_BYTES {
            self.submit(gpu);
            offset = 0;
        }
        self.blocks.resize(offset, 0);
        self.blocks.extend_from_slice(bytemuck::cast_slice(words));
        self.blocks.resize(offset + block, 0);
        let uniforms = self.uniforms.clone();
        for &(at, buffer, from) in computed {
            self.copy((buffer.raw(), from), (&uniforms, (offset + at * 4) as u64), 4);
        }

        let bound: Vec<(wgpu::Buffer, u64)> =
            buffers.iter().map(|b| (b.raw().clone(), b.bound_bytes())).collect();
        let key = (pipeline.layout.clone(), block, bound);
        let group = match self.groups.get(&key) {
            Some(group) => group.clone(),
            None => {
                let what = || format!("a dispatch of `{}`", pipeline.label);
                let group = gpu.scoped(what, || self.bind_group(gpu, pipeline, &key));
                let group = group.map_err(|e| gpu.failed(format!("{}: {e}", what())))?;
                self.groups.insert(key, group.clone());
                group
            }
        };
        let (pipeline, offset) = (pipeline.raw.clone(), offset as u32);
        let noted = self.profile.is_some().then(|| dispatch.noted());
        self.commands.push(Command::Dispatch { pipeline, group, offset, grid, noted });
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
    pub(super) fn submit_much(&mut self, gpu: &Shared) {
        if self.commands.len() >= MOST_COMMANDS {
            self.submit(gpu);
        }
    }

    /// Submits what is recorded, and waits for nothing: see [`Shared::keep_pace`]. What the last submission, if there was any, can
    /// be waited for by.
    pub(super) fn submit(&mut self, gpu: &Shared) -> Option<Submission> {
        if !self.commands.is_empty() {
            let submitted = gpu.scoped(
                || "a submission".into(),
                || {
                    if !self.blocks.is_empty() {
                        gpu.queue.write_buffer(&self.uniforms, 0, &self.blocks);
                    }
                    gpu.queue.submit([encode(gpu, &self.early, &self.commands, self.profile.as_mut())])
                },
            );
            match submitted {
                Ok(index) => self.submitted.push_back(Submission::new(&gpu.queue, index)),
                // Whoever recorded in it may be another thread: whatever depends on it carries the failure.
                Err(message) => gpu.failures.record_batch(gpu.pool.batch(), message),
            }
            self.blocks.clear();
            self.early.clear();
            self.commands.clear();
            // They would keep their buffers alive.
            self.groups.clear();
            self.dispatches = 0;
            gpu.pool.next_batch();
            gpu.counters.submissions.fetch_add(1, Relaxed);
        }
        self.submitted.back().and_then(Submission::again)
    }

    /// The oldest submission, to be waited for, where the device is too many behind.
    pub(super) fn far_behind(&mut self) -> Option<Submission> {
        if self.submitted.len() > AHEAD { self.submitted.pop_front() } else { None }
    }
}

fn encode(
    gpu: &Shared,
    early: &[(wgpu::Buffer, u64)],
    commands: &[Command],
    profile: Option<&mut Session>,
) -> wgpu::CommandBuffer {
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
    for (buffer, bytes) in early {
        encoder.clear_buffer(buffer, 0, Some(*bytes));
    }
    match profile {
        None => encode_commands(&mut encoder, commands),
        Some(session) => {
            let times_copies = gpu.can.features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
            for commands in commands.chunks(MOST_TIMED) {
                let mut queries = Session::queries(&gpu.device, commands.len());
                encode_timed(&mut encoder, commands, &mut queries, times_copies);
                session.resolve(&gpu.device, &mut encoder, queries);
            }
        }
    }
    encoder.finish()
}

fn encode_commands(encoder: &mut wgpu::CommandEncoder, commands: &[Command]) {
    let mut rest = commands;
    while let Some((command, after)) = rest.split_first() {
        if !matches!(command, Command::Dispatch { .. }) {
            command.encode(encoder);
            rest = after;
            continue;
        }
        // One pass for all dispatches up to the next copy; wgpu puts barriers where they depend on each other.
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        while let Some((Command::Dispatch { pipeline, group, offset, grid, .. }, after)) = rest.split_first()
        {
            dispatch(&mut pass, pipeline, group, *offset, *grid);
            rest = after;
        }
    }
}

/// The same with timestamps around each: see `profile`.
fn encode_timed(
    encoder: &mut wgpu::CommandEncoder,
    commands: &[Command],
    queries: &mut Queries,
    times_copies: bool,
) {
    for command in commands {
        match command {
            Command::Dispatch { pipeline, group, offset, grid, noted } => {
                let timed = noted.clone().map(|noted| queries.next(noted));
                let timestamp_writes = timed.map(|(query_set, at)| wgpu::ComputePassTimestampWrites {
                    query_set,
                    beginning_of_pass_write_index: Some(at),
                    end_of_pass_write_index: Some(at + 1),
                });
                let mut pass = encoder
                    .begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
                dispatch(&mut pass, pipeline, group, *offset, *grid);
            }
            Command::Copy { bytes, .. } | Command::Clear { bytes, .. } => {
                let (name, moved) = match command {
                    Command::Copy { .. } => ("copy", 2 * bytes),
                    _ => ("clear", *bytes),
                };
                let noted = Noted { step: name.into(), bytes: moved, operations: None };
                match times_copies.then(|| queries.next(noted)) {
                    Some((set, at)) => {
                        encoder.write_timestamp(set, at);
                        command.encode(encoder);
                        encoder.write_timestamp(set, at + 1);
                    }
                    None => command.encode(encoder),
                }
            }
        }
    }
}

fn dispatch(
    pass: &mut wgpu::ComputePass<'_>,
    pipeline: &wgpu::ComputePipeline,
    group: &wgpu::BindGroup,
    offset: u32,
    grid: [u32; 2],
) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[offset]);
    pass.dispatch_workgroups(grid[0], grid[1], 1);
}

impl Command {
    /// One that is no dispatch.
    fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        match self {
            Command::Copy { from, from_offset, to, to_offset, bytes } => {
                encoder.copy_buffer_to_buffer(from, *from_offset, to, *to_offset, *bytes);
            }
            Command::Clear { buffer, bytes } => encoder.clear_buffer(buffer, 0, Some(*bytes)),
            Command::Dispatch { .. } => {}
        }
    }
}
