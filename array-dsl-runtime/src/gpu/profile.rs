//! Where the time of programs goes: every dispatch, copy and clearing of memory between two timestamps of the device.
//!
//! * While something is profiled a dispatch has a compute pass of its own, whose begin and end are written down. Steps that do not
//!   depend on each other may still overlap, but fewer do: the sum of the times is what the steps cost one after the other.
//! * Bytes are those of the arrays that a step binds, as if each were gone through once. A step that picks few elements moves less,
//!   one that reads an array several times, or combines into it, more.
//! * One profile at a time is made of a device; it ends with the work, also where that panics.
//! * Floating-point operations are known of contractions only.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::Gpu;
use super::builtin::{Builtin, MAIN};
use super::device::Shared;
use super::pool::GpuBuffer;
use super::record::Dispatch;
use super::wait::{Call, block_on};
use crate::error::Error;
use crate::program::Elem;

/// The most commands whose timestamps one query set holds.
pub(super) const MOST_TIMED: usize = 2048;

/// Bytes of the arrays by which the bandwidth is measured; on a software device fewer.
const COPIED: u64 = 256 << 20;
const COPIED_BY_CPU: u64 = 32 << 20;

/// What was measured while something ran: see [`Gpu::profile`].
///
/// Printed as a table: one line for every step, the longest first.
#[derive(Clone, Debug, Default)]
pub struct GpuProfile {
    /// Everything that the device did, in order.
    pub events: Vec<GpuEvent>,
    /// From the first command to be recorded until the device had done all.
    pub wall: Duration,
    /// The bytes that the device reads and writes per second, in a copy of a large array.
    pub bandwidth: f64,
}

/// A dispatch, a copy, or memory set to zero.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuEvent {
    /// Kernel, step and kind, as in `explain()` and in tools; `copy` or `clear`.
    pub step: String,
    /// When it began, in nanoseconds since the first one did.
    pub begin: f64,
    /// How long it took, in nanoseconds.
    pub nanoseconds: f64,
    /// The bytes of what it binds: read, written, or both.
    pub bytes: u64,
    /// Floating-point operations, where they are known.
    pub operations: Option<u64>,
}

/// One line of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuStepTotal {
    /// How often it was done.
    pub times: usize,
    /// All in all.
    pub nanoseconds: f64,
    /// All in all.
    pub bytes: u64,
    /// All in all, where they are known.
    pub operations: Option<u64>,
}

impl GpuProfile {
    /// The time of all events.
    pub fn device(&self) -> Duration {
        Duration::from_nanos(self.events.iter().map(|e| e.nanoseconds).sum::<f64>() as u64)
    }

    /// The steps with what they took together, the longest first.
    pub fn steps(&self) -> Vec<(&str, GpuStepTotal)> {
        let mut totals: BTreeMap<&str, GpuStepTotal> = BTreeMap::new();
        for e in &self.events {
            let total = totals.entry(&e.step).or_default();
            total.times += 1;
            total.nanoseconds += e.nanoseconds;
            total.bytes += e.bytes;
            total.operations = e.operations.map(|n| n + total.operations.unwrap_or(0)).or(total.operations);
        }
        let mut steps: Vec<_> = totals.into_iter().collect();
        steps.sort_by(|(_, x), (_, y)| y.nanoseconds.total_cmp(&x.nanoseconds));
        steps
    }

    /// The events in the format of Chrome's tracing, which Perfetto shows as well.
    pub fn trace(&self) -> String {
        let event = |e: &GpuEvent| {
            let name: String = e.step.chars().filter(|c| !c.is_control()).collect();
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let operations = e.operations.map_or(String::new(), |n| format!(",\"operations\":{n}"));
            format!(
                "{{\"name\":\"{name}\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{:.3},\"dur\":{:.3},\"args\":{{\"bytes\":{}{operations}}}}}",
                e.begin / 1e3,
                e.nanoseconds / 1e3,
                e.bytes
            )
        };
        let events: Vec<String> = self.events.iter().map(event).collect();
        format!("{{\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
    }
}

impl fmt::Display for GpuProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps();
        let width = steps.iter().map(|(step, _)| step.chars().count()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:width$} {:>7} {:>12} {:>6} {:>12} {:>10} {:>6} {:>10}",
            "step", "times", "microsec", "share", "bytes", "GB/s", "of max", "GFLOP/s"
        )?;
        let all: f64 = self.events.iter().map(|e| e.nanoseconds).sum();
        for (step, t) in steps {
            let rate = t.bytes as f64 / t.nanoseconds.max(1.0);
            let flops =
                t.operations.map_or("-".into(), |n| format!("{:.0}", n as f64 / t.nanoseconds.max(1.0)));
            writeln!(
                f,
                "{step:width$} {:>7} {:>12.1} {:>5.1}% {:>12} {rate:>10.1} {:>5.0}% {flops:>10}",
                t.times,
                t.nanoseconds / 1e3,
                100.0 * t.nanoseconds / all.max(1.0),
                t.bytes,
                100e9 * rate / self.bandwidth.max(1.0),
            )?;
        }
        let (device, wall) = (all / 1e3, self.wall.as_secs_f64() * 1e6);
        write!(
            f,
            "{device:.1} microseconds of the device in {wall:.1}; a copy moves {:.0} GB/s",
            self.bandwidth / 1e9
        )
    }
}

/// What is written down about a command when it is recorded.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) step: String,
    pub(super) bytes: u64,
    pub(super) operations: Option<u64>,
}

/// A submission whose timestamps have not been read.
struct Pending {
    /// Two timestamps for each event.
    times: wgpu::Buffer,
    notes: Vec<Noted>,
}

/// The timestamps of what is submitted while it exists.
#[derive(Default)]
pub(super) struct Session {
    pending: Vec<Pending>,
}

/// The queries of one submission.
pub(super) struct Queries {
    set: wgpu::QuerySet,
    notes: Vec<Noted>,
}

impl Session {
    /// Room for the timestamps of so many commands, at least one and at most [`MOST_TIMED`].
    pub(super) fn queries(device: &wgpu::Device, commands: usize) -> Queries {
        let count = 2 * commands as u32;
        let set = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("profile"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        Queries { set, notes: Vec::new() }
    }

    /// The timestamps go to where the host can read them.
    pub(super) fn resolve(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        queries: Queries,
    ) {
        let count = 2 * queries.notes.len() as u32;
        if count == 0 {
            return;
        }
        let buffer = |usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("profile"),
                size: u64::from(count) * 8,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let times = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        encoder.resolve_query_set(&queries.set, 0..count, &resolved, 0);
        encoder.copy_buffer_to_buffer(&resolved, 0, &times, 0, u64::from(count) * 8);
        self.pending.push(Pending { times, notes: queries.notes });
    }
}

impl Queries {
    /// The queries of the next command.
    pub(super) fn next(&mut self, noted: Noted) -> (&wgpu::QuerySet, u32) {
        let at = self.notes.len();
        self.notes.push(noted);
        (&self.set, 2 * at as u32)
    }
}

/// That a device writes timestamps, until it is dropped.
struct Profiling<'a>(&'a Shared);

impl<'a> Profiling<'a> {
    fn begin(gpu: &'a Shared) -> Result<Profiling<'a>, Error> {
        let profile = &mut gpu.state().recorder.profile;
        if profile.is_some() {
            return Err(Error::Gpu { message: "a profile of this device is being made already".into() });
        }
        *profile = Some(Session::default());
        Ok(Profiling(gpu))
    }

    fn end(self) -> Session {
        self.0.state().recorder.profile.take().unwrap_or_default()
    }
}

impl Drop for Profiling<'_> {
    fn drop(&mut self) {
        self.0.state().recorder.profile = None;
    }
}

impl Gpu {
    /// Runs `work`, which may run kernels on this device, waits for the device, and returns what every step took. Whatever
    /// other threads run on the device meanwhile is in the profile as well.
    ///
    /// ```no_run
    /// # use array_dsl_runtime::gpu::Gpu;
    /// let gpu = Gpu::new()?;
    /// let (x, profile) = gpu.profile(|| gpu.upload(&ndarray::arr1(&[1f32, 2.0])))?;
    /// println!("{profile}");
    /// std::fs::write("trace.json", profile.trace()).ok();
    /// # x?; Ok::<(), array_dsl_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnsupportedOnGpu`] on a device without timestamps; [`Error::Gpu`], also within another profile of the device;
    /// [`Error::CannotBlock`] in a browser.
    pub fn profile<T>(&self, work: impl FnOnce() -> T) -> Result<(T, GpuProfile), Error> {
        let bandwidth = self.bandwidth()?;
        let (result, events, wall) = self.timed(work)?;
        Ok((result, GpuProfile { events, wall, bandwidth }))
    }

    /// What [`Gpu::profile`] does, but for the bandwidth.
    fn timed<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<GpuEvent>, Duration), Error> {
        let gpu = &*self.shared;
        if !gpu.can.features.contains(TIMESTAMPS) {
            return Err(Error::UnsupportedOnGpu {
                kernel: "",
                what: "`Gpu::profile` needs timestamps, which this GPU lacks".into(),
                help: "measure the time of whole runs, up to `Gpu::synchronize`".into(),
            });
        }
        let finish = || {
            block_on(
                Call("Gpu::profile", "measure the time of whole runs, up to `synchronize_async`"),
                gpu.finish(),
            )
        };
        finish()?;
        let profiling = Profiling::begin(gpu)?;
        let start = Instant::now();
        let result = work();
        let finished = finish();
        let wall = start.elapsed();
        let session = profiling.end();
        finished?;
        let events = block_on(
            Call("Gpu::profile", "measure the time of whole runs, up to `synchronize_async`"),
            gpu.read_session(&session),
        )?;
        Ok((result, events, wall))
    }

    /// The bytes that the device can read and write per second: of a copy of a large array, the best of some. Measured once.
    fn bandwidth(&self) -> Result<f64, Error> {
        if let Some(known) = self.shared.bandwidth.get() {
            return Ok(*known);
        }
        let most = if self.info().kind == super::GpuKind::Cpu { COPIED_BY_CPU } else { COPIED };
        let bytes = most.min(self.shared.pool.largest() / 16 * 16);
        let elements = (bytes / 4) as usize;
        let array = |name| self.shared.allocate(elements, Elem::U32, "profile", name).map(|(b, _)| b);
        let (from, to) = (array("from")?, array("to")?);
        let (done, events, _) = self.timed(|| {
            (0..4).try_for_each(|_| self.shared.state().copy_by_shader(&self.shared, &from, &to))
        })?;
        done?;
        let best = events.iter().map(|e| e.nanoseconds).fold(f64::INFINITY, f64::min);
        let rate = 2.0 * bytes as f64 / best.max(1.0) * 1e9;
        Ok(*self.shared.bandwidth.get_or_init(|| rate))
    }
}

/// What profiles need.
pub(super) const TIMESTAMPS: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY;

impl super::device::State {
    /// Copies as kernels do.
    fn copy_by_shader(&mut self, gpu: &Shared, from: &GpuBuffer, to: &GpuBuffer) -> Result<(), Error> {
        let pipeline = self.pipelines.of_builtin(gpu, Builtin::Copy)?;
        let vectors = (from.len() / 4) as u32;
        let (words, buffers) = ([vectors], [from, to]);
        let dispatch = Dispatch::new(&pipeline, &words, &buffers, gpu.grid(vectors.div_ceil(256)));
        self.recorder.dispatch(gpu, &dispatch)
    }
}

impl Shared {
    /// The events of all submissions.
    async fn read_session(&self, session: &Session) -> Result<Vec<GpuEvent>, Error> {
        let period = f64::from(self.queue.get_timestamp_period());
        let mut times = Vec::new();
        for pending in &session.pending {
            let bytes = pending.notes.len() as u64 * 16;
            self.read_recorded(&pending.times, None, bytes, &mut |all| {
                let ticks = all.chunks_exact(8).map(bytemuck::pod_read_unaligned::<u64>);
                times.extend(ticks);
            })
            .await?;
        }
        let notes = session.pending.iter().flat_map(|p| &p.notes);
        let first = times.iter().copied().min().unwrap_or(0);
        let since = |tick: u64| tick.saturating_sub(first) as f64 * period;
        Ok(notes
            .zip(times.chunks_exact(2))
            .map(|(note, pair)| GpuEvent {
                step: note.step.clone(),
                begin: since(pair[0]),
                nanoseconds: pair[1].saturating_sub(pair[0]) as f64 * period,
                bytes: note.bytes,
                operations: note.operations,
            })
            .collect())
    }
}

/// Copies `words[0].x` vectors of four words.
pub(super) fn copy() -> String {
    format!(
        "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> target_words: array<vec4<u32>>;
{MAIN}    let i = group * 256u + local;
    if i < words[0].x {{
        target_words[i] = source[i];
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: &str, begin: f64, nanoseconds: f64, operations: Option<u64>) -> GpuEvent {
        GpuEvent { step: step.into(), begin, nanoseconds, bytes: 1000, operations }
    }

    #[test]
    fn the_table_has_a_line_for_each_step() {
        let events = vec![
            event("f step 0, points", 0.0, 1000.0, None),
            event("f step 1, tiles", 1500.0, 4000.0, Some(8000)),
            event("f step 0, points", 6000.0, 2000.0, None),
        ];
        let profile = GpuProfile { events, wall: Duration::from_micros(10), bandwidth: 2e9 };
        let steps = profile.steps();
        assert_eq!(steps[0].0, "f step 1, tiles");
        assert_eq!((steps[1].1.times, steps[1].1.bytes, steps[1].1.nanoseconds), (2, 2000, 3000.0));
        let text = profile.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        let fields: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(fields, ["f", "step", "1,", "tiles", "1", "4.0", "57.1%", "1000", "0.2", "12%", "2"]);
        assert_eq!(lines[3], "7.0 microseconds of the device in 10.0; a copy moves 2 GB/s");
    }

    #[test]
    fn a_trace_is_json() {
        let events = vec![event("a \"b\\\n", 500.0, 1500.0, Some(3)), event("c", 2500.0, 1.0, None)];
        let trace = GpuProfile { events, ..GpuProfile::default() }.trace();
        let expected = "{\"traceEvents\":[\n\
            {\"name\":\"a \\\"b\\\\\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0.500,\"dur\":1.500,\"args\":{\"bytes\":1000,\"operations\":3}},\n\
            {\"name\":\"c\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2.500,\"dur\":0.001,\"args\":{\"bytes\":1000}}\n]}\n";
        assert_eq!(trace, expected);
        assert_eq!(GpuProfile::default().trace(), "{\"traceEvents\":[\n\n]}\n");
    }
}
