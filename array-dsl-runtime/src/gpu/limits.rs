//! What a device has, and how to make do with less.

use std::fmt;

use super::device::{Abilities, feature};
use super::profile::TIMESTAMPS;
use crate::error::Error;
use crate::program::Need;

/// What an opened GPU has. A kernel that needs more is an error that names what is missing.
///
/// ```no_run
/// # use array_dsl_runtime::gpu::Gpu;
/// let gpu = Gpu::new()?;
/// println!("{}", gpu.limits());
/// let precise = gpu.limits().f64;
/// # Ok::<(), array_dsl_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuLimits {
    /// Whether it has floats of 64 bits.
    pub f64: bool,
    /// Whether it has integers of 64 bits.
    pub i64: bool,
    /// Whether several threads can add to one integer of 64 bits.
    pub i64_atomics: bool,
    /// Whether [`profile`](super::Gpu::profile) can tell times.
    pub timestamps: bool,
    /// The most arrays that one shader uses.
    pub arrays: u32,
    /// The bytes of the longest array.
    pub array_bytes: u64,
    /// The bytes of memory that the threads of a workgroup share.
    pub workgroup_bytes: u32,
}

impl fmt::Display for GpuLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |has: bool, what: &str| format!("{}{what}", if has { "" } else { "no " });
        let Self { f64, i64, i64_atomics, timestamps, arrays, array_bytes, workgroup_bytes } = self;
        write!(
            f,
            "{}, {}, {}, {}; {arrays} arrays in a shader, of {} MiB at most; {} KiB for a workgroup",
            has(*f64, "f64"),
            has(*i64, "i64"),
            has(*i64_atomics, "atomic i64"),
            has(*timestamps, "timestamps"),
            array_bytes >> 20,
            workgroup_bytes >> 10
        )
    }
}

impl Abilities {
    /// The same, for whoever asks.
    pub(super) fn told(&self) -> GpuLimits {
        let has = |need| self.features.contains(feature(need));
        GpuLimits {
            f64: has(Need::F64),
            i64: has(Need::I64),
            i64_atomics: has(Need::I64Atomics),
            timestamps: self.features.contains(TIMESTAMPS),
            arrays: self.limits.max_storage_buffers_per_shader_stage,
            array_bytes: longest(&self.limits),
            workgroup_bytes: self.limits.max_compute_workgroup_storage_size,
        }
    }
}

/// The bytes of the longest buffer. Buffers are bound whole.
pub(super) fn longest(limits: &wgpu::Limits) -> u64 {
    limits.max_buffer_size.min(limits.max_storage_buffer_binding_size) / 8 * 8
}

/// What makes devices of the least that WebGPU promises, to try out what browsers and telephones do.
const VARIABLE: &str = "ARRAY_DSL_LIMITS";

/// What to ask an adapter for: all that it has, unless the variable says otherwise.
pub(super) fn asked(adapter: &wgpu::Adapter) -> Result<(wgpu::Limits, wgpu::Features), Error> {
    let variable = std::env::var(VARIABLE).unwrap_or_default();
    chosen(&variable, adapter.limits(), adapter.features())
}

fn chosen(
    variable: &str,
    has: wgpu::Limits,
    features: wgpu::Features,
) -> Result<(wgpu::Limits, wgpu::Features), Error> {
    match variable {
        "" => Ok((has, features)),
        // Clocks say nothing of what programs can do.
        "webgpu" => Ok((wgpu::Limits::default().or_worse_values_from(&has), features & TIMESTAMPS)),
        other => Err(Error::NoGpu { reason: format!("{VARIABLE} is `{other}`, and can be `webgpu` only") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_the_least_that_there_is() {
        let (has, all) = (
            wgpu::Limits { max_storage_buffers_per_shader_stage: 5, ..wgpu::Limits::unlimited() },
            wgpu::Features::all(),
        );
        assert_eq!(chosen("", has.clone(), all), Ok((has.clone(), all)));
        let (limits, features) = chosen("webgpu", has.clone(), all).expect("a device");
        // No more than the adapter has, nor than WebGPU promises.
        assert_eq!(limits.max_storage_buffers_per_shader_stage, 5);
        assert_eq!(limits.max_buffer_size, wgpu::Limits::default().max_buffer_size);
        let told = Abilities { limits, features }.told();
        assert_eq!(
            told.to_string(),
            "no f64, no i64, no atomic i64, timestamps; 5 arrays in a shader, of 128 MiB at most; 16 KiB for a workgroup"
        );
        let refused = chosen("phone", has, all).unwrap_err().to_string();
        assert!(refused.contains("ARRAY_DSL_LIMITS is `phone`, and can be `webgpu` only"), "{refused}");
    }
}
