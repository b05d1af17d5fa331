//! Shaders made into pipelines, once per device.
//!
//! The text of a program's shader is found by its address. Programs that contain the same text at different
//! addresses share the pipeline: the second map is by contents.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::additions;
use super::builtin::Builtin;
use super::device::Shared;
use crate::error::Error;
use crate::program::{Access, Shader};

/// A compiled shader.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) raw: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    /// Whether binding 1 is the status buffer.
    pub(super) status: bool,
    /// For profiles.
    pub(super) label: String,
}

/// What the bindings of a shader are: whether the status is bound, and for each array whether it is only
/// read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Interface {
    status: bool,
    read_only: Vec<bool>,
}

impl Interface {
    /// Of a shader of a program.
    fn of(shader: &Shader) -> Interface {
        Interface {
            status: shader.status,
            read_only: shader.bindings.iter().map(|(_, access)| *access == Access::Read).collect(),
        }
    }
}

/// How many storage buffers a shader binds.
pub(super) fn storage_buffers(shader: &Shader) -> usize {
    shader.bindings.len() + usize::from(shader.status)
}

/// Whose text a shader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Of a program: wgpu adds checks so that whatever the text does, nothing outside its arrays is touched
    /// and every loop ends.
    Program,
    /// The same, of which the compiler has promised that its loops end: they are not counted.
    Ending,
    /// Of this crate: every index is in range by construction, every loop ends, nothing is divided by zero.
    Runtime,
}

/// All pipelines of a device.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    by_address: HashMap<(usize, usize), Arc<Pipeline>>,
    by_text: HashMap<&'static str, Arc<Pipeline>>,
    builtin: HashMap<Builtin, Arc<Pipeline>>,
    layouts: HashMap<Interface, (wgpu::BindGroupLayout, wgpu::PipelineLayout)>,
}

impl Pipelines {
    /// The pipeline of a shader of a program.
    pub(super) fn of_shader(
        &mut self,
        gpu: &Shared,
        shader: &'static Shader,
    ) -> Result<Arc<Pipeline>, Error> {
        let address = (shader.wgsl.as_ptr() as usize, shader.wgsl.len());
        if let Some(found) = self.by_address.get(&address) {
            return Ok(found.clone());
        }
        let made = match self.by_text.get(shader.wgsl) {
            Some(found) => found.clone(),
            None => {
                let interface = Interface::of(shader);
                let origin = if shader.ends.is_some() { Origin::Ending } else { Origin::Program };
                let made = self.make(gpu, shader.label, shader.wgsl, &interface, origin)?;
                self.by_text.insert(shader.wgsl, made.clone());
                made
            }
        };
        self.by_address.insert(address, made.clone());
        Ok(made)
    }

    /// The pipeline of a shader of this crate.
    pub(super) fn of_builtin(&mut self, gpu: &Shared, builtin: Builtin) -> Result<Arc<Pipeline>, Error> {
        if let Some(found) = self.builtin.get(&builtin) {
            return Ok(found.clone());
        }
        let [read, written] = builtin.arrays();
        let read_only = (0..read + written).map(|at| at < read).collect();
        let interface = Interface { status: false, read_only };
        let made = self.make(gpu, builtin.label(), &builtin.wgsl(), &interface, Origin::Runtime)?;
        self.builtin.insert(builtin, made.clone());
        Ok(made)
    }

    fn make(
        &mut self,
        gpu: &Shared,
        label: &str,
        wgsl: &str,
        interface: &Interface,
        origin: Origin,
    ) -> Result<Arc<Pipeline>, Error> {
        let what = || format!("shader `{label}`");
        let made = gpu.scoped(what, || {
            let (layout, pipeline_layout) = self.layout(&gpu.device, interface);
            (compile(gpu, label, wgsl, &pipeline_layout, origin), layout)
        });
        let (raw, layout) = made.map_err(|e| Error::Gpu { message: format!("{}: {e}", what()) })?;
        gpu.counters.pipelines_created.fetch_add(1, Relaxed);
        Ok(Arc::new(Pipeline { raw, layout, status: interface.status, label: label.to_string() }))
    }

    fn layout(
        &mut self,
        device: &wgpu::Device,
        interface: &Interface,
    ) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        let make = || {
            let entry = |binding: u32, ty: wgpu::BufferBindingType| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset: ty == wgpu::BufferBindingType::Uniform,
                    min_binding_size: None,
                },
                count: None,
            };
            let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
            let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
            if interface.status {
                entries.push(entry(1, storage(false)));
            }
            entries.extend(
                (2..).zip(&interface.read_only).map(|(at, read_only)| entry(at, storage(*read_only))),
            );
            let groups = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
            let whole = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&groups)],
                immediate_size: 0,
            });
            (groups, whole)
        };
        self.layouts.entry(interface.clone()).or_insert_with(make).clone()
    }
}

fn compile(
    gpu: &Shared,
    label: &str,
    wgsl: &str,
    layout: &wgpu::PipelineLayout,
    origin: Origin,
) -> wgpu::ComputePipeline {
    let device = &gpu.device;
    #[cfg(feature = "assert-translated")]
    super::translate::assert_translated(label, wgsl);
    let wgsl =
        if gpu.can.features.contains(additions::FEATURE) { additions::native(wgsl) } else { wgsl.into() };
    let source = wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(wgsl) };
    let module = match origin {
        Origin::Program => device.create_shader_module(source),
        // SAFETY: `Written::trusted`. All other checks stay.
        Origin::Ending => unsafe {
            let checks = wgpu::ShaderRuntimeChecks {
                force_loop_bounding: false,
                ..wgpu::ShaderRuntimeChecks::checked()
            };
            device.create_shader_module_trusted(source, checks)
        },
        // SAFETY: see `Origin::Runtime`; the texts are those of `builtin`.
        Origin::Runtime => unsafe {
            device.create_shader_module_trusted(source, wgpu::ShaderRuntimeChecks::unchecked())
        },
    };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: Some(layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &[],
            // All our shaders write workgroup memory before they read it.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    })
}
