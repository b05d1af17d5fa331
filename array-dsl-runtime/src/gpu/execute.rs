//! The steps of a program: sizes are evaluated, buffers taken from the pool, dispatches recorded.
//!
//! * Heap arrays get their memory at the first step that touches them and give it back after the last one.
//! * A step over no points is skipped; its arrays still get (minimal) memory.
//! * Sizes and indices are 32-bit on the device. Whatever does not fit is refused before anything is recorded
//!   about it.

use std::collections::HashMap;
use std::sync::Arc;

use super::Gpu;
use super::builtin::Builtin;
use super::device::{Shared, State};
use super::elem::GpuElem;
use super::plan::{Lives, Plan};
use super::pool::GpuBuffer;
use super::scan::Passes;
use crate::entry;
use crate::error::Error;
use crate::program::{GpuHome, GpuProgram, GpuStep, Poly, Shader, Word};

/// The threads of a workgroup.
pub(super) const WORKGROUP: u32 = 256;

/// An argument of a program.
#[derive(Clone, Copy, Debug)]
pub enum GpuInput<'a> {
    /// An array of rank one or more.
    Array(&'a GpuBuffer),
    /// The bits of a scalar.
    Scalar(u32),
    /// A scalar that the device has computed: one element.
    Computed(&'a GpuBuffer),
}

/// The value of a scalar argument.
#[derive(Clone, Debug)]
pub(super) enum ScalarValue {
    /// Its bits.
    Known(u32),
    /// The element it is in.
    Computed(GpuBuffer),
}

impl GpuInput<'_> {
    /// A scalar argument.
    ///
    /// Errors: [`Error::UnsupportedOnGpu`] for `f64`, and for an `i64` that does not fit 32 bits.
    pub fn scalar<T: GpuElem>(
        value: T,
        kernel: &'static str,
        argument: &str,
    ) -> Result<GpuInput<'static>, Error> {
        let instead = T::INSTEAD.unwrap_or_default();
        value.to_word().map(GpuInput::Scalar).ok_or_else(|| {
            let (what, help) = match T::ELEM {
                crate::program::Elem::I64 => ("needs more than 32 bits", "use smaller numbers".to_string()),
                _ => ("has a type that GPUs lack", format!("use {instead}")),
            };
            Error::UnsupportedOnGpu { kernel, what: format!("argument `{argument}` {what}"), help }
        })
    }
}

impl Gpu {
    /// A buffer of so many zeros.
    pub(super) fn zero_buffer(&self, elements: usize) -> Result<GpuBuffer, Error> {
        let (buffer, _) = self.shared.allocate(elements, "zeros", "array")?;
        self.shared.state().recorder.clear(buffer.raw(), buffer.bytes());
        Ok(buffer)
    }

    /// Records the steps of a program and returns its results, which may share memory with inputs. `inputs`
    /// is in the order of the program's inputs; `atoms` are the values of sizes, as [`entry::bind`] returns
    /// them.
    ///
    /// Errors: [`Error::SizeCheck`] from the program's checks, [`Error::UnsupportedOnGpu`],
    /// [`Error::GpuLacks`], [`Error::TooLargeForGpu`], [`Error::Gpu`].
    pub fn execute(
        &self,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Vec<GpuBuffer>, Error> {
        let results = self.execute_shaped(program, inputs, atoms)?;
        Ok(results.into_iter().map(|(buffer, _)| buffer).collect())
    }

    /// As [`Gpu::execute`], with the shapes of the results, which may have sizes that the device has computed.
    ///
    /// # Errors
    /// As [`Gpu::execute`].
    pub fn execute_shaped(
        &self,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Vec<(GpuBuffer, Vec<usize>)>, Error> {
        let gpu = &*self.shared;
        gpu.failures.check()?;
        let mut state = gpu.state();
        let results = Run::new(gpu, &mut state, program, inputs, atoms)?.run()?;
        drop(state);
        gpu.failures.check()?;
        Ok(results)
    }
}

/// A program being executed.
pub(super) struct Run<'a> {
    pub(super) gpu: &'a Shared,
    pub(super) state: &'a mut State,
    pub(super) program: &'static GpuProgram,
    pub(super) plan: Arc<Plan>,
    /// The values of sizes: those of the call, then those that loops and the device make.
    pub(super) atoms: Vec<i64>,
    /// By array: the value of a scalar argument, or of a loop's counter.
    pub(super) scalars: HashMap<usize, ScalarValue>,
    /// By array, for those that have memory at the moment and are not views.
    pub(super) buffers: Vec<Option<GpuBuffer>>,
}

impl<'a> Run<'a> {
    fn new(
        gpu: &'a Shared,
        state: &'a mut State,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Run<'a>, Error> {
        let address = std::ptr::from_ref(program) as usize;
        let plan = match state.plans.get(&address) {
            Some(plan) => plan.clone(),
            None => {
                let plan = Arc::new(Plan::new(program, &gpu.limits, &mut state.sites)?);
                state.plans.insert(address, plan.clone());
                plan
            }
        };
        let buffers = vec![None; program.arrays.len()];
        let atoms = atoms.to_vec();
        let mut run = Run { gpu, state, program, plan, atoms, scalars: HashMap::new(), buffers };
        if inputs.len() != program.inputs.len() {
            return Err(run.wrong(format!("it has {} inputs, not {}", program.inputs.len(), inputs.len())));
        }
        for (&array, input) in program.inputs.iter().zip(inputs) {
            run.bind(array, input)?;
        }
        Ok(run)
    }

    fn bind(&mut self, array: usize, input: &GpuInput<'_>) -> Result<(), Error> {
        let info = &self.program.arrays[array];
        match (info.home, input) {
            (GpuHome::HostScalar, GpuInput::Scalar(bits)) => {
                self.scalars.insert(array, ScalarValue::Known(*bits));
            }
            (GpuHome::HostScalar, GpuInput::Computed(buffer)) if buffer.len() == 1 => {
                if !buffer.is_of(&self.gpu.pool) {
                    return Err(self.wrong(format!("`{}` is on another device", info.name)));
                }
                self.scalars.insert(array, ScalarValue::Computed((*buffer).clone()));
            }
            (GpuHome::Input, GpuInput::Array(buffer)) => {
                if !buffer.is_of(&self.gpu.pool) {
                    return Err(self.wrong(format!("`{}` is on another device", info.name)));
                }
                let expected = self.elements(array)?;
                if buffer.len() != expected {
                    let found = buffer.len();
                    return Err(self.wrong(format!("`{}` has {found} elements, not {expected}", info.name)));
                }
                self.buffers[array] = Some((*buffer).clone());
            }
            // An argument that the program does not use.
            (GpuHome::Nowhere, _) => {}
            _ => return Err(self.wrong(format!("`{}` is bound as the wrong kind of input", info.name))),
        }
        Ok(())
    }

    fn run(mut self) -> Result<Vec<(GpuBuffer, Vec<usize>)>, Error> {
        let lives = self.plan.steps.clone();
        self.steps(self.program.steps, &lives)?;
        let shape = |dims: &[Poly]| -> Vec<usize> {
            dims.iter().map(|d| d.eval(&self.atoms).unwrap_or(0).max(0) as usize).collect()
        };
        let shapes: Vec<Vec<usize>> =
            self.program.results.iter().map(|r| shape(self.program.arrays[*r].dims)).collect();
        let buffers: Result<Vec<GpuBuffer>, Error> =
            self.program.results.iter().map(|result| self.buffer(*result)).collect();
        Ok(buffers?.into_iter().zip(shapes).collect())
    }

    /// Steps in order.
    pub(super) fn steps(&mut self, steps: &'static [GpuStep], lives: &Lives) -> Result<(), Error> {
        for (at, step) in steps.iter().enumerate() {
            match (step, &lives.bodies[at]) {
                (GpuStep::Repeat { trips, carried, steps }, Some(body)) => {
                    self.repeat(trips, carried, steps, body)?;
                }
                _ => self.step(step)?,
            }
            for array in &lives.dead_after[at] {
                self.buffers[*array] = None;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &'static GpuStep) -> Result<(), Error> {
        match step {
            GpuStep::Points { shader, extents } => self.points(shader, extents),
            GpuStep::Reduce { points, outer, inner, groups, reducer, result } => {
                self.reduce(points, outer, inner, groups, *reducer, *result)
            }
            GpuStep::Scan { points, outer, length, fold, starts, run, states, scratch, ends } => {
                let passes = Passes { fold, starts, run, states: *states, scratch: *scratch, ends: *ends };
                self.scan(points, outer, length, &passes)
            }
            GpuStep::Contract { extents, out, a, b } => self.contract(extents, *out, *a, *b),
            GpuStep::Fill(array, bits) => {
                let buffer = self.buffer(*array)?;
                self.fill(&buffer, *bits)
            }
            GpuStep::Copy(to, from) => {
                let (to, from) = (self.buffer(*to)?, self.buffer(*from)?);
                if to.len() != from.len() {
                    return Err(self.wrong(format!("a copy of {} elements to {}", from.len(), to.len())));
                }
                if !to.shares_memory(&from) {
                    self.state.recorder.copy((from.raw(), 0), (to.raw(), 0), from.bytes());
                }
                Ok(())
            }
            GpuStep::Move(to, from) => self.take_over(*to, *from),
            GpuStep::Check(check) => entry::check(check, &self.atoms, self.program.name),
            GpuStep::ReadSize(array, atom) => self.read_size(*array, *atom),
            // Executed by `steps`.
            GpuStep::Repeat { .. } => Ok(()),
        }
    }

    /// One thread per point.
    pub(super) fn points(&mut self, shader: &'static Shader, extents: &'static [Poly]) -> Result<(), Error> {
        let points = self.points_of(extents)?;
        let buffers = self.bound(shader)?;
        if points == 0 {
            return Ok(());
        }
        let words = self.words(shader, [0; 4])?;
        self.dispatch_shader(shader, &words, &buffers, points.div_ceil(WORKGROUP))
    }

    /// Records a dispatch of a shader of the program.
    pub(super) fn dispatch_shader(
        &mut self,
        shader: &'static Shader,
        words: &[u32],
        buffers: &[GpuBuffer],
        groups: u32,
    ) -> Result<(), Error> {
        let pipeline = self.state.pipelines.of_shader(self.gpu, shader)?;
        let buffers: Vec<&GpuBuffer> = buffers.iter().collect();
        let computed = shader.words.iter().enumerate().filter_map(|(at, word)| match word {
            Word::Scalar(array) => match self.scalars.get(&self.plan.roots[*array]) {
                Some(ScalarValue::Computed(buffer)) => Some((at, buffer)),
                _ => None,
            },
            _ => None,
        });
        let computed: Vec<(usize, &GpuBuffer)> = computed.collect();
        let grid = self.gpu.grid(groups);
        self.state.recorder.dispatch(self.gpu, &pipeline, words, &computed, &buffers, grid)
    }

    /// Records a dispatch of a shader of this crate.
    pub(super) fn dispatch_builtin(
        &mut self,
        builtin: Builtin,
        words: &[u32],
        buffers: &[&GpuBuffer],
        groups: u32,
    ) -> Result<(), Error> {
        let pipeline = self.state.pipelines.of_builtin(self.gpu, builtin)?;
        self.state.recorder.dispatch(self.gpu, &pipeline, words, &[], buffers, self.gpu.grid(groups))
    }

    /// Sets all elements.
    pub(super) fn fill(&mut self, buffer: &GpuBuffer, bits: u32) -> Result<(), Error> {
        if bits == 0 {
            self.state.recorder.clear(buffer.raw(), buffer.bytes());
            return Ok(());
        }
        let Some(groups) = self.groups_of(buffer.len()) else { return Ok(()) };
        self.dispatch_builtin(Builtin::Fill, &[buffer.len() as u32, bits], &[buffer], groups)
    }

    /// The workgroups that give each of so many elements a thread; `None` if there are none.
    pub(super) fn groups_of(&self, elements: usize) -> Option<u32> {
        u32::try_from(elements).ok().filter(|n| *n > 0).map(|n| n.div_ceil(WORKGROUP))
    }

    /// The buffers of a shader's bindings.
    pub(super) fn bound(&mut self, shader: &'static Shader) -> Result<Vec<GpuBuffer>, Error> {
        shader.bindings.iter().map(|(array, _)| self.buffer(*array)).collect()
    }

    /// The buffer of an array, made if it has none yet.
    pub(super) fn buffer(&mut self, array: usize) -> Result<GpuBuffer, Error> {
        let root = self.plan.roots[array];
        if let Some(buffer) = &self.buffers[root] {
            return Ok(buffer.clone());
        }
        let elements = self.elements(root)?;
        let name = self.program.arrays[root].name;
        let (buffer, _) = self.gpu.allocate(elements, self.program.name, name)?;
        match self.scalars.get(&root).cloned() {
            Some(ScalarValue::Known(bits)) => self.fill(&buffer, bits)?,
            Some(ScalarValue::Computed(from)) => {
                self.state.recorder.copy((from.raw(), 0), (buffer.raw(), 0), buffer.bytes());
            }
            None => {}
        }
        self.buffers[root] = Some(buffer.clone());
        Ok(buffer)
    }

    /// The number of elements of an array; a negative extent counts as 0, as for a loop of so many trips.
    fn elements(&self, array: usize) -> Result<usize, Error> {
        let info = &self.program.arrays[array];
        let mut product = 1i64;
        for dim in info.dims {
            let extent = dim.eval(&self.atoms).unwrap_or(i64::MAX).max(0);
            product = product.saturating_mul(extent);
        }
        let too_large =
            Error::TooLargeForGpu { kernel: self.program.name, array: info.name, elements: product };
        usize::try_from(product).map_err(|_| too_large)
    }

    /// The number of points of a space; a negative extent counts as 0.
    pub(super) fn points_of(&self, extents: &[Poly]) -> Result<u32, Error> {
        let mut product = 1i64;
        for extent in extents {
            let extent = extent.eval(&self.atoms).unwrap_or(i64::MAX).max(0);
            // Empty whatever else is in it.
            product = product.saturating_mul(extent);
        }
        i32::try_from(product).map(i32::cast_unsigned).map_err(|_| self.too_many(product))
    }

    /// One extent.
    pub(super) fn extent(&self, extent: &Poly) -> Result<u32, Error> {
        self.points_of(std::slice::from_ref(extent))
    }

    fn too_many(&self, points: i64) -> Error {
        Error::UnsupportedOnGpu {
            kernel: self.program.name,
            what: format!("a loop over {points} points needs more than 31 bits to count them"),
            help: "use smaller sizes, or run it on the CPU".into(),
        }
    }

    /// The uniform words of a shader; `split` is the outer points, inner points and parts of a reduction or a scan, and
    /// the points of a scan's thread.
    pub(super) fn words(&self, shader: &'static Shader, split: [u32; 4]) -> Result<Vec<u32>, Error> {
        let word = |word: &Word| match word {
            Word::Size(size) => {
                let value = size.eval(&self.atoms);
                let small = value.and_then(|v| i32::try_from(v).ok());
                small.map(i32::cast_unsigned).ok_or_else(|| Error::UnsupportedOnGpu {
                    kernel: self.program.name,
                    what: match value {
                        Some(v) => format!("a size is {v}, which needs more than 31 bits"),
                        None => "a size overflows".into(),
                    },
                    help: "use smaller sizes, or run it on the CPU".into(),
                })
            }
            Word::Scalar(array) => match self.scalars.get(&self.plan.roots[*array]) {
                Some(ScalarValue::Known(bits)) => Ok(*bits),
                // Copied in when the shader is dispatched.
                Some(ScalarValue::Computed(_)) => Ok(0),
                None => Err(self.wrong(format!("`{}` is no scalar", self.program.arrays[*array].name))),
            },
            Word::SiteBase => Ok(self.plan.site_base),
            Word::Outer => Ok(split[0]),
            Word::Inner => Ok(split[1]),
            Word::Parts => Ok(split[2]),
            Word::Each => Ok(split[3]),
        };
        shader.words.iter().map(word).collect()
    }

    /// A program or call that is not well formed.
    pub(super) fn wrong(&self, message: String) -> Error {
        Error::Gpu { message: format!("kernel `{}`: {message}", self.program.name) }
    }
}

/// Sets the first `words[0].x` elements to `words[0].y`.
pub(super) const FILL: &str = "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wg.x + wg.y * num_wg.x) * 256u + local;
    if i < words[0].x {
        target_words[i] = words[0].y;
    }
}
";
