//! The GPU side, on wgpu: device arrays, a pool of buffers, pipelines made once, programs executed step by
//! step.
//!
//! * A [`Gpu`] is one opened device; its clones share it. A [`GpuArray`] owns (or shares) elements on it.
//! * Work is **recorded** and submitted in batches: when something is downloaded, when [`Gpu::synchronize`]
//!   is called, or when enough has gathered. One queue executes everything in the order of recording, so a
//!   buffer may be reused as soon as its last handle is dropped.
//! * **Whatever may wait is an `async` function**, of which the blocking forms are drivers: see `wait`. Between two waits of a run
//!   others record their work; each holds the device's state no longer than it takes to record one command.
//! * Nothing here panics on what a device or driver does: failures come back as [`Error::Gpu`].
//! * An index out of range, found by a shader, is the error of whoever reads a result of that run, or of a run with such a
//!   result, and of nobody else; see `status`.
//!
//! | file | subject |
//! |---|---|
//! | `adapter` | which GPUs there are, and which one to take |
//! | `device` | one opened device: failures, counters |
//! | `limits` | what a device has, and how to make do with less |
//! | `pool` | buffers and their reuse |
//! | `elem` | element types |
//! | `array`, `scalar` | typed arrays; scalars of records |
//! | `upload` | what can be uploaded: arrays and records |
//! | `transfer` | the bytes of uploads and downloads |
//! | `status` | failures found by shaders, and which results carry them |
//! | `pipeline` | shaders made into pipelines, once |
//! | `additions` | additions to floats, native where the device has them |
//! | `translate` | in tests: shaders as devices without Vulkan get them |
//! | `record` | what is recorded and how it is submitted |
//! | `wait` | waiting for the device: blocking, async, in a browser |
//! | `scope` | what wgpu has against what it is told, at once or later |
//! | `profile` | what every step takes |
//! | `written` | programs as texts |
//! | `plan` | what can be known about a program before it runs |
//! | `execute` | the steps of a program |
//! | `extent` | sizes that the device has computed: what the host plans with, and when it reads them |
//! | `reduce` | reductions and the combination of their parts |
//! | `team` | steps of one dispatch |
//! | `repeat` | loops of steps |
//! | `watch` | looking for failures while loops are recorded |
//! | `scan` | prefixes |
//! | `sort`, `sort_shader` | rows in order |
//! | `builtin` | the shaders of this crate |
//! | `contract`, `contract_shader`, `contract_tile` | sums of products |

#![cfg_attr(
    target_arch = "wasm32",
    allow(
        clippy::arc_with_non_send_sync,
        reason = "a browser's objects stay on their thread; others do not"
    )
)]

mod adapter;
mod additions;
mod array;
mod builtin;
#[doc(hidden)]
pub mod complex;
mod contract;
mod contract_shader;
mod contract_tile;
mod device;
mod elem;
mod execute;
mod extent;
mod limits;
mod pipeline;
mod plan;
mod pool;
mod profile;
mod record;
mod reduce;
mod repeat;
mod run;
mod scalar;
mod scan;
mod scope;
mod sort;
mod sort_shader;
mod status;
mod team;
mod transfer;
#[cfg(feature = "assert-translated")]
mod translate;
mod upload;
mod wait;
mod watch;
mod written;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use adapter::{GpuInfo, GpuKind};
pub use array::GpuArray;
pub use device::GpuStatistics;
pub use elem::{GpuElem, GpuNumber};
pub use execute::GpuInput;
pub use limits::GpuLimits;
pub use pool::GpuBuffer;
pub use profile::{GpuEvent, GpuProfile, GpuStepTotal};
pub use run::GpuKernel;
#[doc(hidden)]
pub use run::{result, zeros};
pub use scalar::GpuScalar;
pub use upload::{DeviceRecord, GpuRecord, Upload};
#[doc(hidden)]
pub use written::Written;

use crate::error::Error;
use device::Shared;
use wait::{Call, block_on};

/// An opened GPU. Cheap to clone: all clones are the same device.
///
/// ```no_run
/// # use array_dsl_runtime::gpu::Gpu;
/// let gpu = Gpu::new()?;
/// println!("{}", gpu.info());
/// let x = gpu.upload(&ndarray::array![[1f32, 2.0], [3.0, 4.0]])?;
/// assert_eq!(x.shape(), [2, 2]);
/// assert_eq!(x.download()?[[1, 0]], 3.0);
/// # Ok::<(), array_dsl_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

impl Gpu {
    /// Opens the best GPU there is: a discrete one before an integrated one, that before a virtual one, and a
    /// software implementation last. The environment variable `ARRAY_DSL_ADAPTER`, part of a name, restricts
    /// the choice. `ARRAY_DSL_LIMITS=webgpu` leaves a device the least that WebGPU promises, 32-bit numbers and 8 arrays in a shader, to
    /// try out whether a program runs on such a one.
    ///
    /// # Errors
    /// [`Error::NoGpu`] with the reason. [`Error::CannotBlock`] in a browser, where there is [`Gpu::new_async`].
    pub fn new() -> Result<Gpu, Error> {
        block_on(Call("Gpu::new", "use `Gpu::new_async`"), Gpu::new_async())
    }

    /// As [`Gpu::new`], without holding up a thread. In a browser it is the GPU that the browser offers.
    ///
    /// ```no_run
    /// # use array_dsl_runtime::gpu::Gpu;
    /// # async fn page() -> Result<(), array_dsl_runtime::Error> {
    /// let gpu = Gpu::new_async().await?;
    /// let x = gpu.upload(&ndarray::array![1f32, 2.0])?;
    /// assert_eq!(x.download_async().await?[1], 2.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoGpu`] with the reason.
    pub async fn new_async() -> Result<Gpu, Error> {
        let (adapter, info) = adapter::best().await?;
        Gpu::open(&adapter, info).await
    }

    /// All GPUs that can be opened, the best first. None in a browser, which offers one only, through [`Gpu::new_async`].
    pub fn list() -> Vec<GpuInfo> {
        let all = block_on(Call("Gpu::list", "use `Gpu::new_async`"), async { Ok(adapter::all().await) });
        all.unwrap_or_default().into_iter().map(|(_, info)| info).collect()
    }

    /// Opens the GPU that [`Gpu::list`] described.
    ///
    /// # Errors
    /// [`Error::NoGpu`] if it is not there (any more) or does not open. [`Error::CannotBlock`] in a browser.
    pub fn with_adapter(info: &GpuInfo) -> Result<Gpu, Error> {
        block_on(Call("Gpu::with_adapter", "use `Gpu::new_async`"), async {
            let found = adapter::all().await.into_iter().find(|(_, i)| i == info);
            let (adapter, info) = found
                .ok_or_else(|| Error::NoGpu { reason: format!("`{}` is not there any more", info.name) })?;
            Gpu::open(&adapter, info).await
        })
    }

    async fn open(adapter: &wgpu::Adapter, info: GpuInfo) -> Result<Gpu, Error> {
        Ok(Gpu { shared: Arc::new(Shared::open(adapter, info).await?) })
    }

    /// What this GPU is.
    pub fn info(&self) -> &GpuInfo {
        &self.shared.info
    }

    /// What this GPU has.
    pub fn limits(&self) -> GpuLimits {
        self.shared.can.told()
    }

    /// What has been done so far, for tests and measurements.
    pub fn statistics(&self) -> GpuStatistics {
        self.shared.counters.read()
    }

    /// Submits all recorded work and waits until it is done, on this thread, which it cannot in a browser: see
    /// [`Gpu::synchronize_async`].
    ///
    /// # Errors
    /// [`Error::Gpu`]. What went wrong in a kernel is the error of its results; see [`GpuArray::download`].
    /// [`Error::CannotBlock`] in a browser.
    pub fn synchronize(&self) -> Result<(), Error> {
        block_on(Call("Gpu::synchronize", "use `synchronize_async`"), self.shared.finish())
    }

    /// As [`Gpu::synchronize`], without holding up a thread.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub async fn synchronize_async(&self) -> Result<(), Error> {
        self.shared.finish().await
    }

    /// Sets the most trips that a `while` loop of a kernel may make on this device: 2^24 unless set. The loop goes on while
    /// something on the device is true, which is looked at now and then; one that goes on beyond this number of trips ends
    /// with [`Error::TooManyTrips`]. All clones of this `Gpu` have the same bound.
    pub fn set_most_trips(&self, trips: u64) {
        self.shared.most_trips.store(trips, Ordering::Relaxed);
    }

    /// Frees the memory of buffers that nothing uses. They are otherwise kept for later arrays.
    pub fn trim(&self) {
        self.shared.pool.trim();
    }

    /// Whether both are the same opened device.
    pub fn is_same(&self, other: &Gpu) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("info", self.info()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_is_an_error_forever() {
        if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
            println!("skipped: ARRAY_DSL_GPU=skip");
            return;
        }
        let gpu = Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
        let x = gpu.upload(&ndarray::arr1(&[1f32, 2.0])).unwrap();
        gpu.shared.device.destroy();
        for _ in 0..3 {
            assert!(matches!(x.download(), Err(Error::Gpu { .. })));
            assert!(matches!(gpu.upload(&ndarray::arr1(&[1f32])), Err(Error::Gpu { .. })));
            assert!(matches!(gpu.synchronize(), Err(Error::Gpu { .. })));
        }
    }

    /// A batch that wgpu refuses fails for all that was recorded in it, and for nobody else.
    #[test]
    fn what_was_never_executed_is_an_error_for_all_that_depends_on_it() {
        if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
            println!("skipped: ARRAY_DSL_GPU=skip");
            return;
        }
        let gpu = Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
        let before = gpu.upload(&ndarray::arr1(&[1f32, 2.0])).unwrap();
        assert_eq!(before.download(), Ok(ndarray::arr1(&[1f32, 2.0])));
        let lost = gpu.upload(&ndarray::arr1(&[3f32])).unwrap();
        gpu.shared.state().recorder.copy((before.buffer().raw(), 0), (lost.buffer().raw(), 0), 1 << 20);
        // Another thread submits.
        std::thread::scope(|scope| {
            scope.spawn(|| gpu.synchronize());
        });
        for _ in 0..3 {
            let error = lost.download().unwrap_err().to_string();
            assert!(error.starts_with("the GPU reported an error: work was not executed: "), "{error}");
            assert_eq!(gpu.synchronize(), Ok(()));
        }
        assert_eq!(before.download(), Ok(ndarray::arr1(&[1f32, 2.0])));
        let after = gpu.upload(&ndarray::arr1(&[4f32])).unwrap();
        assert_eq!(after.download(), Ok(ndarray::arr1(&[4f32])));
    }

    #[test]
    fn what_wgpu_reports_is_the_next_error_once() {
        if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
            println!("skipped: ARRAY_DSL_GPU=skip");
            return;
        }
        let gpu = Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
        // This combination of usages is not valid.
        let _ = gpu.shared.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let error = gpu.synchronize().unwrap_err().to_string();
        assert!(error.starts_with("the GPU reported an error: "), "{error}");
        assert_eq!(gpu.synchronize(), Ok(()));
    }
}
