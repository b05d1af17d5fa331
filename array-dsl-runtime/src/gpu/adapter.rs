//! Which GPUs there are, and which one to take.

use std::fmt;

use crate::error::Error;

/// What the program runs on.
const SYSTEM: &str = if cfg!(target_arch = "wasm32") { "browser" } else { std::env::consts::OS };

/// Why there is no adapter, by system, and what helps: on Linux drivers are packages, among them one that needs no GPU; elsewhere
/// they come with the system.
const NONE: &[(&str, &str)] = &[
    (
        "linux",
        "no Vulkan driver offers a device with compute shaders; install that of the GPU, or Mesa's, which has one in software: \
         `mesa-vulkan-drivers` on Debian, Ubuntu and Fedora, `vulkan-swrast` on Arch; \
         where it is there already, the loader may be missing: `libvulkan1`, on Fedora `vulkan-loader`, on Arch `vulkan-icd-loader`",
    ),
    (
        "macos",
        "Metal, which comes with macOS, offers no device with compute shaders: a virtual machine may have none",
    ),
    (
        "windows",
        "DX12, which comes with Windows, and Vulkan offer no device with compute shaders; install the driver of the GPU's maker",
    ),
    ("browser", "the browser has no WebGPU, or offers no device that is sufficient"),
];

/// The reason on a system.
fn none_on(system: &str) -> &'static str {
    let of_system = NONE.iter().find(|(name, _)| *name == system);
    of_system
        .map_or("no Vulkan, Metal or DX12 driver offers a device with compute shaders", |(_, reason)| reason)
}

/// What kind of device a GPU is, the most desirable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuKind {
    /// With memory of its own.
    Discrete,
    /// Shares the memory of the CPU.
    Integrated,
    /// Of a virtual machine.
    Virtual,
    /// The driver does not say.
    Other,
    /// Software that runs on the CPU.
    Cpu,
}

/// What is known about a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    /// Its name.
    pub name: String,
    /// What kind of device it is.
    pub kind: GpuKind,
    /// The interface it is reached by: `vulkan`, `metal`, `dx12` or, in a browser, `webgpu`.
    pub backend: String,
    /// The driver with its version.
    pub driver: String,
    /// Tells equal cards apart.
    slot: String,
}

impl fmt::Display for GpuInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}, {}, {})", self.name, self.kind, self.backend, self.driver)
    }
}

/// All adapters that can execute kernels, the best first.
pub(super) async fn all() -> Vec<(wgpu::Adapter, GpuInfo)> {
    if wgpu::Instance::enabled_backend_features().is_empty() {
        return Vec::new();
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // Validation layers are for the development of drivers and engines; whoever wants them sets wgpu's
    // variables.
    descriptor.flags = wgpu::InstanceFlags::empty().with_env();
    let instance = wgpu::Instance::new(descriptor);
    let adapters = enumerate(&instance).await;
    let mut found: Vec<_> = adapters
        .into_iter()
        .filter(is_sufficient)
        .map(|a| (info(&a.get_info()), a))
        .map(|(i, a)| (a, i))
        .collect();
    found.sort_by_key(|(_, info)| info.kind);
    found
}

#[cfg(not(target_arch = "wasm32"))]
async fn enumerate(instance: &wgpu::Instance) -> Vec<wgpu::Adapter> {
    instance.enumerate_adapters(wgpu::Backends::all()).await
}

/// A browser offers one, and its choice depends on what it is asked for.
#[cfg(target_arch = "wasm32")]
async fn enumerate(instance: &wgpu::Instance) -> Vec<wgpu::Adapter> {
    let power_preference = wgpu::PowerPreference::HighPerformance;
    let options = wgpu::RequestAdapterOptions { power_preference, ..wgpu::RequestAdapterOptions::default() };
    instance.request_adapter(&options).await.into_iter().collect()
}

/// The adapter to take if the user does not say which.
pub(super) async fn best() -> Result<(wgpu::Adapter, GpuInfo), Error> {
    let adapters = all().await;
    let names: Vec<String> = adapters.iter().map(|(_, info)| format!("`{}`", info.name)).collect();
    let wanted = std::env::var("ARRAY_DSL_ADAPTER").ok().filter(|w| !w.is_empty());
    match wanted {
        None => adapters.into_iter().next().ok_or_else(|| Error::NoGpu { reason: none_on(SYSTEM).into() }),
        Some(wanted) => {
            let lower = wanted.to_lowercase();
            adapters.into_iter().find(|(_, info)| info.name.to_lowercase().contains(&lower)).ok_or_else(
                || {
                    let there = if names.is_empty() { "none".into() } else { names.join(", ") };
                    Error::NoGpu {
                        reason: format!("ARRAY_DSL_ADAPTER asks for `{wanted}`; there are: {there}"),
                    }
                },
            )
        }
    }
}

/// Whether the least that every kernel needs is there.
fn is_sufficient(adapter: &wgpu::Adapter) -> bool {
    let limits = adapter.limits();
    adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        && limits.max_compute_invocations_per_workgroup >= 256
        && limits.max_compute_workgroup_size_x >= 256
        && limits.max_storage_buffers_per_shader_stage >= 4
}

fn info(adapter: &wgpu::AdapterInfo) -> GpuInfo {
    let kind = match adapter.device_type {
        wgpu::DeviceType::DiscreteGpu => GpuKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => GpuKind::Integrated,
        wgpu::DeviceType::VirtualGpu => GpuKind::Virtual,
        wgpu::DeviceType::Cpu => GpuKind::Cpu,
        wgpu::DeviceType::Other => GpuKind::Other,
    };
    let driver = format!("{} {}", adapter.driver, adapter.driver_info);
    GpuInfo {
        // Browsers keep names to themselves.
        name: if adapter.name.is_empty() { "a GPU".into() } else { adapter.name.clone() },
        kind,
        backend: adapter.backend.to_string(),
        driver: driver.trim().to_string(),
        slot: adapter.device_pci_bus_id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_named_by_its_package() {
        let error = |system| Error::NoGpu { reason: none_on(system).into() }.to_string();
        let linux = error("linux");
        assert!(linux.starts_with("no usable GPU: no Vulkan driver"), "{linux}");
        for (systems, package) in
            [("Debian, Ubuntu and Fedora", "mesa-vulkan-drivers"), ("Arch", "vulkan-swrast")]
        {
            assert!(linux.contains(&format!("`{package}` on {systems}")), "{linux}");
        }
        assert!(error("macos").contains("comes with macOS"));
        assert!(error("windows").contains("comes with Windows"));
        assert!(error("freebsd").contains("Vulkan, Metal or DX12"));
    }
}
