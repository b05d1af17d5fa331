//! One opened device: its limits, its counters, and what it reported as failures.

#[cfg(not(target_arch = "wasm32"))]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::adapter::GpuInfo;
use super::limits::{asked, longest};
use super::pipeline::Pipelines;
use super::plan::Plans;
use super::pool::{GpuBuffer, Owner, Pool};
use super::profile::TIMESTAMPS;
use super::record::Recorder;
use super::scope::{Outstanding, scoped};
use super::status::Sites;
use crate::error::Error;
use crate::program::{Elem, Need};

/// Counts of what a device has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuStatistics {
    /// Buffers made for arrays.
    pub buffers_allocated: u64,
    /// The bytes in them.
    pub bytes_allocated: u64,
    /// Requests for a buffer that a used one served.
    pub buffers_reused: u64,
    /// Batches of work handed to the device.
    pub submissions: u64,
    /// Launches of a shader.
    pub dispatches: u64,
    /// Shaders compiled.
    pub pipelines_created: u64,
    /// Times that the host waited for something that the device computes: downloads, sizes, conditions of loops.
    pub waits: u64,
}

/// The same, while they change.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "as in `GpuStatistics`")]
pub(super) struct Counters {
    pub buffers_allocated: AtomicU64,
    pub bytes_allocated: AtomicU64,
    pub buffers_reused: AtomicU64,
    pub submissions: AtomicU64,
    pub dispatches: AtomicU64,
    pub pipelines_created: AtomicU64,
    pub waits: AtomicU64,
}

impl Counters {
    pub(super) fn read(&self) -> GpuStatistics {
        GpuStatistics {
            buffers_allocated: self.buffers_allocated.load(Relaxed),
            bytes_allocated: self.bytes_allocated.load(Relaxed),
            buffers_reused: self.buffers_reused.load(Relaxed),
            submissions: self.submissions.load(Relaxed),
            dispatches: self.dispatches.load(Relaxed),
            pipelines_created: self.pipelines_created.load(Relaxed),
            waits: self.waits.load(Relaxed),
        }
    }
}

/// The numbers of the batches, the first and the last, in which what makes an array was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batches(pub(super) u64, pub(super) u64);

/// What the device reported outside of a call's own results.
#[derive(Debug, Default)]
pub(super) struct Failures {
    reported: Mutex<Reported>,
    outstanding: Mutex<Outstanding>,
}

#[derive(Debug, Default)]
struct Reported {
    /// The first failure since the last check: the later ones tend to follow from it.
    first: Option<String>,
    /// Set for good once the device is lost.
    lost: Option<String>,
    /// The batches that were not executed.
    batches: Vec<(u64, String)>,
}

impl Failures {
    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may be reported yet: see `scope`.
    pub(super) fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, message: String) {
        self.reported().first.get_or_insert(message);
    }

    fn record_lost(&self, message: String) {
        self.reported().lost.get_or_insert(message);
    }

    /// A batch was not executed.
    pub(super) fn record_batch(&self, batch: u64, message: String) {
        self.reported().batches.push((batch, message));
    }

    /// The failure of one of these batches: what was recorded in it was never made.
    pub(super) fn of(&self, batches: Batches) -> Result<(), Error> {
        let reported = self.reported();
        let failed = reported.batches.iter().find(|(batch, _)| batches.0 <= *batch && *batch <= batches.1);
        match failed {
            Some((_, message)) => Err(Error::Gpu { message: format!("work was not executed: {message}") }),
            None => Ok(()),
        }
    }

    /// The failure that was reported since the last check, if any.
    pub(super) fn check(&self) -> Result<(), Error> {
        let mut reported = self.reported();
        let first = reported.first.take();
        match reported.lost.clone().or(first) {
            Some(message) => Err(Error::Gpu { message }),
            None => Ok(()),
        }
    }

    /// Waits for the device on this thread. wgpu panics where a device that it waits for is lost; that becomes an error
    /// here.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn guard(
        &self,
        wait: impl FnOnce() -> Result<wgpu::PollStatus, wgpu::PollError>,
    ) -> Result<(), Error> {
        match catch_unwind(AssertUnwindSafe(wait)) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(e)) => Err(Error::Gpu { message: e.to_string() }),
            Err(_) => {
                self.check()?;
                Err(Error::Gpu { message: "the device was lost".into() })
            }
        }
    }
}

/// Opens a device. A driver that panics is one that fails.
#[cfg(not(target_arch = "wasm32"))]
async fn request(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<(wgpu::Device, wgpu::Queue), String> {
    // It is there at once, and a panic is caught around a call only.
    let opened = catch_unwind(AssertUnwindSafe(|| pollster::block_on(adapter.request_device(descriptor))));
    opened.map_err(|_| "its driver failed".to_string()).and_then(|r| r.map_err(|e| e.to_string()))
}

#[cfg(target_arch = "wasm32")]
async fn request(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<(wgpu::Device, wgpu::Queue), String> {
    adapter.request_device(descriptor).await.map_err(|e| e.to_string())
}

/// What a device can do.
#[derive(Debug)]
pub(super) struct Abilities {
    pub(super) limits: wgpu::Limits,
    /// Those of [`wanted`] that are there.
    pub(super) features: wgpu::Features,
}

impl Abilities {
    /// Refuses element types that the device lacks; `what` has them.
    pub(super) fn check_elem(
        &self,
        elem: Elem,
        kernel: &'static str,
        what: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        let (need, instead) = match elem {
            Elem::F64 => (Need::F64, "f32"),
            Elem::I64 => (Need::I64, "i32"),
            _ => return Ok(()),
        };
        if self.features.contains(feature(need)) {
            return Ok(());
        }
        let what = format!("{} need {}, which this GPU lacks", what(), describe(need));
        Err(Error::UnsupportedOnGpu { kernel, what, help: format!("use {instead}") })
    }
}

/// What devices are asked for if they have it.
fn wanted() -> wgpu::Features {
    feature(Need::F64)
        | feature(Need::I64)
        | feature(Need::I64Atomics)
        | TIMESTAMPS
        | super::additions::FEATURE
        | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
}

/// The feature that a need is met by.
pub(super) fn feature(need: Need) -> wgpu::Features {
    match need {
        Need::F64 => wgpu::Features::SHADER_F64,
        Need::I64 => wgpu::Features::SHADER_INT64,
        Need::I64Atomics => wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS,
    }
}

/// A need in words.
pub(super) fn describe(need: Need) -> &'static str {
    match need {
        Need::F64 => "floats of 64 bits",
        Need::I64 => "integers of 64 bits",
        Need::I64Atomics => "atomic operations on 64 bits",
    }
}

/// An opened device with everything that belongs to it.
pub(super) struct Shared {
    pub(super) info: GpuInfo,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) can: Abilities,
    pub(super) pool: Arc<Pool>,
    pub(super) failures: Arc<Failures>,
    pub(super) counters: Arc<Counters>,
    /// The most trips of a loop that goes on while something is true.
    pub(super) most_trips: AtomicU64,
    /// Buffers for downloads that are not in use.
    pub(super) staging: Mutex<Vec<wgpu::Buffer>>,
    /// Bytes per second, once it is measured.
    pub(super) bandwidth: OnceLock<f64>,
    state: Mutex<State>,
}

/// The most trips of a loop that goes on while something is true, unless it is set: some minutes of the shortest trips.
const MOST_TRIPS: u64 = 1 << 24;

/// What changes when programs are recorded.
pub(super) struct State {
    pub(super) pipelines: Pipelines,
    pub(super) plans: Plans,
    pub(super) sites: Sites,
    pub(super) recorder: Recorder,
}

impl Shared {
    pub(super) async fn open(adapter: &wgpu::Adapter, info: GpuInfo) -> Result<Shared, Error> {
        let (limits, features) = asked(adapter)?;
        let features = features & wanted();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("array-dsl"),
            required_limits: limits.clone(),
            required_features: features,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = request(adapter, &descriptor)
            .await
            .map_err(|e| Error::NoGpu { reason: format!("`{}` does not open: {e}", info.name) })?;

        let failures = Arc::new(Failures::default());
        let heard = failures.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| heard.record(e.to_string())));
        let heard = failures.clone();
        device.set_device_lost_callback(move |reason, message| {
            heard.record_lost(format!("the device was lost ({reason:?}): {message}"));
        });

        let counters = Arc::new(Counters::default());
        let longest = longest(&limits);
        let pool = Arc::new(Pool::new(device.clone(), failures.clone(), counters.clone(), longest));
        let recorder = Recorder::new(&device, &limits);
        failures.check()?;
        Ok(Shared {
            info,
            device,
            queue,
            can: Abilities { limits, features },
            pool,
            failures,
            counters,
            most_trips: AtomicU64::new(MOST_TRIPS),
            staging: Mutex::default(),
            bandwidth: OnceLock::new(),
            state: Mutex::new(State {
                pipelines: Pipelines::default(),
                plans: Plans::default(),
                sites: Sites::default(),
                recorder,
            }),
        })
    }

    /// Calls wgpu, with what it reports; see `scope`.
    pub(super) fn scoped<T>(
        &self,
        what: impl FnOnce() -> String,
        make: impl FnOnce() -> T,
    ) -> Result<T, String> {
        scoped(&self.device, &self.failures, self.pool.batch(), what, make)
    }

    /// The error of what wgpu has reported: on a lost device that it is lost.
    pub(super) fn failed(&self, message: String) -> Error {
        self.failures.check().err().unwrap_or(Error::Gpu { message })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer for so many elements; `kernel` and `array` are for the error.
    pub(super) fn allocate(
        &self,
        elements: usize,
        elem: Elem,
        kernel: &'static str,
        array: &'static str,
    ) -> Result<(GpuBuffer, bool), Error> {
        if elements > self.pool.most_elements(elem.bytes()) {
            let elements = i64::try_from(elements).unwrap_or(i64::MAX);
            return Err(self.too_large(elements, elem, kernel, array));
        }
        self.pool.take(elements, elem.bytes(), Owner { kernel, array })
    }

    /// The error of an array with more elements than can be had.
    pub(super) fn too_large(
        &self,
        elements: i64,
        elem: Elem,
        kernel: &'static str,
        array: &'static str,
    ) -> Error {
        let (bytes, most) = (elements.saturating_mul(elem.bytes().into()), self.pool.largest());
        Error::TooLargeForGpu { kernel, array, elements, bytes, most }
    }

    /// The number of workgroups per dimension that `groups` workgroups take, so that `wg.x + wg.y * num_wg.x`
    /// counts them: one row if it is short enough, else a rectangle that is nearly square. The last row may
    /// have workgroups too many.
    pub(super) fn grid(&self, groups: u32) -> [u32; 2] {
        let longest = self.can.limits.max_compute_workgroups_per_dimension.min(65_535);
        if groups <= longest {
            return [groups, 1];
        }
        let x = groups.isqrt();
        [x, groups.div_ceil(x)]
    }
}
