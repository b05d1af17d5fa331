//! The steps of a program: sizes are evaluated, buffers taken from the pool, dispatches recorded.
//!
//! * Heap arrays get their memory at the first step that touches them and give it back after the last one.
//! * A step over no points is skipped; its arrays still get (minimal) memory.
//! * Sizes are within 2^30 on the device. Whatever is not is refused before anything is recorded about it.
//! * Sizes that only the device knows are planned for by their bounds; see `extent`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Gpu;
use super::builtin::{Builtin, MAIN};
use super::device::Shared;
use super::elem::GpuNumber;
use super::extent::Atoms;
use super::plan::{Lives, Plan};
use super::pool::{GpuBuffer, MOST};
use super::record::Dispatch;
use super::scan::Passes;
use super::status::Status;
use super::wait::{Call, block_on};
use super::watch::Watch;
use crate::error::Error;
use crate::program::{Elem, GpuHome, GpuProgram, GpuStep, Poly, Private, Shader, Word};

/// The threads of a workgroup.
pub(super) const WORKGROUP: u32 = 256;

/// An argument of a program.
#[derive(Clone, Copy, Debug)]
pub enum GpuInput<'a> {
    /// An array of rank one or more.
    Array(&'a GpuBuffer),
    /// The bits of a scalar.
    Scalar(u64),
    /// A scalar that the device has computed: one element.
    Computed(&'a GpuBuffer),
}

/// The value of a scalar argument.
#[derive(Clone, Debug)]
pub(super) enum ScalarValue {
    /// Its bits.
    Known(u64),
    /// The element it is in.
    Computed(GpuBuffer),
}

/// What a dispatch of a shader of this crate is part of, for profiles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// The step of the program.
    pub(super) step: Option<&'static str>,
    /// Floating-point operations, where they are known.
    pub(super) operations: Option<u64>,
}

impl GpuInput<'_> {
    /// A scalar argument.
    pub fn scalar<T: GpuNumber>(value: T) -> GpuInput<'static> {
        GpuInput::Scalar(value.to_bits())
    }
}

impl Gpu {
    /// A buffer of so many zeros.
    pub(super) fn zero_buffer(&self, elements: usize, elem: Elem) -> Result<GpuBuffer, Error> {
        let (buffer, _) = self.shared.allocate(elements, elem, "zeros", "array")?;
        self.shared.state().recorder.clear(buffer.raw(), buffer.bytes());
        Ok(buffer)
    }

    /// Records the steps of a program and returns its results, which may share memory with inputs. `inputs`
    /// is in the order of the program's inputs; `atoms` are the values of sizes, as [`entry::bind`] returns
    /// them. The blocking form of [`Gpu::execute_shaped`], without the shapes.
    ///
    /// Errors: [`Error::SizeCheck`] from the program's checks, [`Error::UnsupportedOnGpu`],
    /// [`Error::GpuLacks`], [`Error::TooLargeForGpu`], [`Error::Gpu`].
    pub fn execute(
        &self,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Vec<GpuBuffer>, Error> {
        let results = block_on(
            Call("Gpu::execute", "use `execute_shaped`"),
            self.execute_shaped(program, inputs, atoms),
        )?;
        Ok(results.into_iter().map(|(buffer, _)| buffer).collect())
    }

    /// As [`Gpu::execute`], with the shapes of the results, which may have sizes that the device has computed. Waits where the
    /// host needs a number that the device computes.
    ///
    /// # Errors
    /// As [`Gpu::execute`].
    pub async fn execute_shaped(
        &self,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Vec<(GpuBuffer, Vec<usize>)>, Error> {
        let gpu = &*self.shared;
        gpu.failures.check()?;
        let results = Run::new(gpu, program, inputs, atoms).await?.run().await?;
        gpu.failures.check()?;
        Ok(results)
    }
}

/// A program being executed.
pub(super) struct Run<'a> {
    pub(super) gpu: &'a Shared,
    pub(super) program: &'static GpuProgram,
    pub(super) plan: Arc<Plan>,
    /// The values of sizes.
    pub(super) atoms: Atoms,
    /// By array: the value of a scalar argument, or of a loop's counter.
    pub(super) scalars: HashMap<usize, ScalarValue>,
    /// By array, for those that have memory at the moment and are not views.
    pub(super) buffers: Vec<Option<GpuBuffer>>,
    /// The statuses of the runs that made the arguments, as far as they may have failed.
    pub(super) before: Vec<Status>,
    /// The status of this run, if it may fail.
    pub(super) own: Option<Status>,
    /// The batch in which the recording of this run began.
    pub(super) first_batch: u64,
    /// When they are looked at.
    pub(super) watch: Watch,
}

impl<'a> Run<'a> {
    async fn new(
        gpu: &'a Shared,
        program: &'static GpuProgram,
        inputs: &[GpuInput<'_>],
        atoms: &[i64],
    ) -> Result<Run<'a>, Error> {
        let address = std::ptr::from_ref(program) as usize;
        let plan = {
            let state = &mut *gpu.state();
            match state.plans.get(&address) {
                Some(plan) => plan.clone(),
                None => {
                    let plan = Arc::new(Plan::new(program, &gpu.can, &mut state.sites)?);
                    state.plans.insert(address, plan.clone());
                    plan
                }
            }
        };
        let buffers = vec![None; program.arrays.len()];
        let atoms = Atoms::new(atoms);
        let first_batch = gpu.pool.batch();
        let (scalars, watch) = (HashMap::new(), Watch::from(first_batch));
        let mut run = Run {
            gpu,
            program,
            plan,
            atoms,
            scalars,
            buffers,
            before: Vec::new(),
            own: None,
            first_batch,
            watch,
        };
        if inputs.len() != program.inputs.len() {
            return Err(run.wrong(format!("it has {} inputs, not {}", program.inputs.len(), inputs.len())));
        }
        for (&array, input) in program.inputs.iter().zip(inputs) {
            run.bind(array, input).await?;
        }
        run.take_statuses(inputs).await?;
        Ok(run)
    }

    async fn bind(&mut self, array: usize, input: &GpuInput<'_>) -> Result<(), Error> {
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
                let expected = self.elements(array).await?;
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

    async fn run(mut self) -> Result<Vec<(GpuBuffer, Vec<usize>)>, Error> {
        let lives = self.plan.steps.clone();
        self.steps(self.program.steps, &lives).await?;
        let program = self.program;
        let dims = program.results.iter().flat_map(|result| program.arrays[*result].dims);
        self.know(&Vec::from_iter(dims)).await?;
        let mut results = Vec::new();
        for result in program.results {
            results.push(self.result(*result).await?);
        }
        Ok(results)
    }

    /// A result with its shape.
    async fn result(&mut self, array: usize) -> Result<(GpuBuffer, Vec<usize>), Error> {
        let info = &self.program.arrays[array];
        let mut shape = Vec::new();
        for dim in info.dims {
            let extent = self.value(dim).await?;
            let length = extent.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                let at = shape.len();
                self.internal(format!("dimension {at} of the result `{}` is {extent:?}", info.name))
            })?;
            shape.push(length);
        }
        let (buffer, elements) = (self.buffer(array).await?, shape.iter().product());
        if buffer.len() < elements {
            return Err(self.internal(format!(
                "`{}` has {} elements, not {elements}",
                info.name,
                buffer.len()
            )));
        }
        // What was taken for the bound of a size goes back if much of it is not used.
        if elements >= buffer.len() / 2 {
            return Ok((self.carrying(buffer.first(elements)), shape));
        }
        let (own, _) = self.gpu.allocate(elements, info.elem, self.program.name, info.name)?;
        self.gpu.state().recorder.copy((buffer.raw(), 0), (own.raw(), 0), own.bytes());
        Ok((self.carrying(own), shape))
    }

    /// Steps in order.
    pub(super) async fn steps(&mut self, steps: &'static [GpuStep], lives: &Lives) -> Result<(), Error> {
        for (at, step) in steps.iter().enumerate() {
            match (step, &lives.bodies[at]) {
                (GpuStep::Repeat { trips, carried, steps }, Some(body)) => {
                    // Loops have loops in them.
                    Box::pin(self.repeat(trips, carried, steps, body)).await?;
                }
                (GpuStep::Repeat { .. }, None) => {
                    return Err(self.internal(format!("step {at} is a loop without a plan")));
                }
                _ => self.step(step).await?,
            }
            for array in &lives.dead_after[at] {
                self.buffers[*array] = None;
            }
        }
        Ok(())
    }

    pub(super) async fn step(&mut self, step: &'static GpuStep) -> Result<(), Error> {
        match step {
            GpuStep::Points { shader, extents, private: Some(private) } => {
                self.combine(shader, extents, private).await
            }
            GpuStep::Points { shader, extents, private: None } => self.points(shader, extents).await,
            GpuStep::Reduce { points, outer, inner, groups, tiles, across, words, scratch } => {
                if let Some(shader) = tiles
                    && self.tiles(shader, (outer, inner)).await?
                {
                    return Ok(());
                }
                self.reduce(points, (outer, inner), (groups, *across), (*words, *scratch)).await
            }
            GpuStep::Team { shader, outer, inner, steps } => self.team(shader, outer, inner, steps).await,
            GpuStep::Scan { points, outer, length, fold, starts, run, rows, states, scratch, ends } => {
                let rows = rows.as_ref();
                let passes =
                    Passes { fold, starts, run, rows, states: *states, scratch: *scratch, ends: *ends };
                self.scan(points, outer, length, &passes).await
            }
            GpuStep::Contract { label, extents, out, a, b } => {
                self.contract(label, extents, *out, *a, *b).await
            }
            GpuStep::Sort { label, sorted, result, keys, rows, length } => {
                self.sort(label, *sorted, (*result, *keys), (rows, length)).await
            }
            GpuStep::Fill(array, bits) => {
                let buffer = self.buffer(*array).await?;
                self.fill(&buffer, *bits).await
            }
            GpuStep::Copy(to, from) => {
                let elements = self.elements(*to).await?;
                let (to, from) = (self.buffer(*to).await?, self.buffer(*from).await?);
                // Either may have been made when less was known of its size.
                if elements > to.len().min(from.len()) {
                    return Err(self.internal(format!("a copy of {} elements to {}", from.len(), to.len())));
                }
                if !to.shares_memory(&from) {
                    self.gpu.state().recorder.copy(
                        (from.raw(), 0),
                        (to.raw(), 0),
                        to.first(elements).bytes(),
                    );
                }
                Ok(())
            }
            GpuStep::Move(to, from) => self.take_over(*to, *from).await,
            GpuStep::Check(check) => self.check(check).await,
            GpuStep::Size { array, atom, most } => self.compute_size(*array, *atom, most.as_ref()).await,
            GpuStep::Repeat { .. } => Err(self.internal("a loop is executed as a single step".into())),
        }
    }

    /// One thread per point.
    pub(super) async fn points(
        &mut self,
        shader: &'static Shader,
        extents: &'static [Poly],
    ) -> Result<(), Error> {
        let points = self.points_of(extents).await?;
        let buffers = self.bound(shader).await?;
        if points == 0 {
            return Ok(());
        }
        let words = self.words(shader, [0; 4]).await?;
        // A shader for no points at a time is not well formed.
        let each = WORKGROUP.saturating_mul(shader.each.max(1));
        self.dispatch_shader(shader, &words, &buffers, points.div_ceil(each)).await
    }

    /// One thread per point, or workgroups with bins of their own: where these have room, and are so few compared with the
    /// points that filling and emptying them does not matter.
    async fn combine(
        &mut self,
        shader: &'static Shader,
        extents: &'static [Poly],
        private: &'static Private,
    ) -> Result<(), Error> {
        let (points, bins) = (self.points_of(extents).await?, self.buffer(private.array).await?.len());
        let Some(groups) = private_groups(points, bins).filter(|_| bins <= private.most) else {
            return self.points(shader, extents).await;
        };
        let buffers = self.bound(&private.shader).await?;
        let words = self.words(&private.shader, [0; 4]).await?;
        self.dispatch_shader(&private.shader, &words, &buffers, groups).await
    }

    /// Records a dispatch of a shader of the program.
    pub(super) async fn dispatch_shader(
        &mut self,
        shader: &'static Shader,
        words: &[u32],
        buffers: &[GpuBuffer],
        groups: u32,
    ) -> Result<(), Error> {
        let pipeline = self.gpu.state().pipelines.of_shader(self.gpu, shader)?;
        let own = self.own.as_ref().filter(|_| shader.status).map(Status::words);
        if shader.status && own.is_none() {
            return Err(self.internal(format!("shader `{}` has no status to write to", shader.label)));
        }
        let buffers: Vec<&GpuBuffer> = own.into_iter().chain(buffers).collect();
        let computed = shader.words.iter().enumerate().filter_map(|(at, word)| {
            let (array, offset) = match word {
                Word::Scalar(array) => (array, 0),
                Word::High(array) => (array, 4),
                // The low word of an integer that is not negative, and short.
                Word::Size(size) => return self.atoms.single(size).map(|buffer| (at, buffer, 0)),
                _ => return None,
            };
            match self.scalars.get(&self.plan.roots[*array]) {
                Some(ScalarValue::Computed(buffer)) => Some((at, buffer, offset)),
                _ => None,
            }
        });
        let computed: Vec<(usize, &GpuBuffer, u64)> = computed.collect();
        let dispatch = Dispatch {
            computed: &computed,
            ..Dispatch::new(&pipeline, words, &buffers, self.gpu.grid(groups))
        };
        self.gpu.state().recorder.dispatch(self.gpu, &dispatch)?;
        self.gpu.keep_pace().await
    }

    /// Records a dispatch of a shader of this crate.
    pub(super) async fn dispatch_builtin(
        &mut self,
        builtin: Builtin,
        words: &[u32],
        buffers: &[&GpuBuffer],
        groups: u32,
        part: Part,
    ) -> Result<(), Error> {
        let pipeline = self.gpu.state().pipelines.of_builtin(self.gpu, builtin)?;
        let dispatch = Dispatch {
            step: part.step,
            operations: part.operations,
            ..Dispatch::new(&pipeline, words, buffers, self.gpu.grid(groups))
        };
        self.gpu.state().recorder.dispatch(self.gpu, &dispatch)?;
        self.gpu.keep_pace().await
    }

    /// Sets all elements.
    pub(super) async fn fill(&mut self, buffer: &GpuBuffer, bits: u64) -> Result<(), Error> {
        if bits == 0 {
            self.gpu.state().recorder.clear(buffer.raw(), buffer.bytes());
            return Ok(());
        }
        let words = buffer.len() * (buffer.width() / 4) as usize;
        let Some(groups) = self.groups_of(words)? else { return Ok(()) };
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        let odd = if buffer.width() == 8 { high } else { low };
        let words = [words as u32, low, odd];
        self.dispatch_builtin(Builtin::Fill, &words, &[buffer], groups, Part::default()).await
    }

    /// The workgroups that give each of so many elements a thread; `None` if there are none.
    pub(super) fn groups_of(&self, elements: usize) -> Result<Option<u32>, Error> {
        let n = u32::try_from(elements)
            .map_err(|_| self.internal(format!("{elements} elements, which need more than 32 bits")))?;
        Ok((n > 0).then(|| n.div_ceil(WORKGROUP)))
    }

    /// The buffers of a shader's bindings.
    pub(super) async fn bound(&mut self, shader: &'static Shader) -> Result<Vec<GpuBuffer>, Error> {
        let mut buffers = Vec::with_capacity(shader.bindings.len());
        for (array, _) in shader.bindings {
            buffers.push(self.buffer(*array).await?);
        }
        Ok(buffers)
    }

    /// The buffer of an array, made if it has none yet.
    pub(super) async fn buffer(&mut self, array: usize) -> Result<GpuBuffer, Error> {
        let root = self.plan.roots[array];
        if let Some(buffer) = &self.buffers[root] {
            return Ok(buffer.clone());
        }
        let elements = self.elements(root).await?;
        let name = self.program.arrays[root].name;
        let elem = self.program.arrays[root].elem;
        let (buffer, _) = self.gpu.allocate(elements, elem, self.program.name, name)?;
        match self.scalars.get(&root).cloned() {
            Some(ScalarValue::Known(bits)) => self.fill(&buffer, bits).await?,
            Some(ScalarValue::Computed(from)) => {
                self.gpu.state().recorder.copy((from.raw(), 0), (buffer.raw(), 0), buffer.bytes());
            }
            None if self.program.arrays[root].home == GpuHome::Heap => {}
            None => {
                let home = self.program.arrays[root].home;
                return Err(self.internal(format!("`{name}`, whose home is {home:?}, has no elements")));
            }
        }
        self.buffers[root] = Some(buffer.clone());
        Ok(buffer)
    }

    /// The number of elements of an array or a bound of it; a negative extent counts as 0, as for a loop of so many trips.
    pub(super) async fn elements(&mut self, array: usize) -> Result<usize, Error> {
        let info = &self.program.arrays[array];
        let most = self.gpu.pool.most_elements(info.elem.bytes()) as i64;
        let product = self.product(info.dims, most).await?;
        let too_large = |_| self.gpu.too_large(product, info.elem, self.program.name, info.name);
        usize::try_from(product).map_err(too_large)
    }

    /// The number of points of a space or a bound of it; a negative extent counts as 0.
    pub(super) async fn points_of(&mut self, extents: &[Poly]) -> Result<u32, Error> {
        let product = self.product(extents, MOST as i64).await?;
        u32::try_from(product).ok().filter(|n| *n as usize <= MOST).ok_or_else(|| self.too_many(product))
    }

    /// The extents of a space themselves.
    pub(super) async fn exact_extents(&mut self, extents: &[Poly]) -> Result<Vec<u32>, Error> {
        self.know(&Vec::from_iter(extents)).await?;
        let mut exact = Vec::with_capacity(extents.len());
        for extent in extents {
            exact.push(self.points_of(std::slice::from_ref(extent)).await?);
        }
        Ok(exact)
    }

    fn too_many(&self, points: i64) -> Error {
        Error::UnsupportedOnGpu {
            kernel: self.program.name,
            what: format!("a loop over {points} points has more than 2^30"),
            help: "use smaller sizes, or run it on the CPU".into(),
        }
    }

    /// The uniform words of a shader; `split` is the parts of a reduction or the chunks of a scan, the lanes of a reduction or the
    /// points of a scan's thread, the points that a reduction is planned for, and its stage.
    pub(super) async fn words(
        &mut self,
        shader: &'static Shader,
        split: [u32; 4],
    ) -> Result<Vec<u32>, Error> {
        self.prepare_words(shader).await?;
        let word = |word: &Word| match word {
            Word::Size(size) => self.size(size),
            Word::Long(size) => Ok(self.long_size(size)? as u32),
            Word::LongHigh(size) => Ok((self.long_size(size)? >> 32) as u32),
            Word::Scalar(array) => Ok(self.scalar_bits(*array)? as u32),
            Word::High(array) => Ok((self.scalar_bits(*array)? >> 32) as u32),
            Word::SiteBase => Ok(self.plan.site_base),
            Word::MostTrips => Ok(u32::try_from(self.gpu.most_trips.load(Relaxed)).unwrap_or(u32::MAX)),
            Word::Parts => Ok(split[0]),
            Word::Each => Ok(split[1]),
            Word::Planned => Ok(split[2]),
            Word::Stage => Ok(split[3]),
            Word::Zero => Ok(0),
        };
        shader.words.iter().map(word).collect()
    }

    /// The bits of a scalar argument; of one that the device has computed, zeros: it is copied in when the shader is
    /// dispatched.
    fn scalar_bits(&self, array: usize) -> Result<u64, Error> {
        match self.scalars.get(&self.plan.roots[array]) {
            Some(ScalarValue::Known(bits)) => Ok(*bits),
            Some(ScalarValue::Computed(_)) => Ok(0),
            None => Err(self.internal(format!("`{}` is no scalar", self.program.arrays[array].name))),
        }
    }

    /// What the compiler and the runtime promise each other does not hold.
    pub(super) fn internal(&self, message: String) -> Error {
        Error::Internal { kernel: self.program.name, message: format!("run on a GPU: {message}") }
    }

    /// A program or call that is not well formed.
    pub(super) fn wrong(&self, message: String) -> Error {
        Error::Gpu { message: format!("kernel `{}`: {message}", self.program.name) }
    }
}

/// The workgroups with private bins that take part; `None` if each would have too few points for its bins.
fn private_groups(points: u32, bins: usize) -> Option<u32> {
    /// The workgroups that keep a large device busy.
    const BUSY: u32 = 512;
    let least = (bins * 8).max(WORKGROUP as usize * 4);
    let groups = points / u32::try_from(least).ok()?;
    (groups > 0).then(|| groups.min(BUSY))
}

/// Sets the first `words[0].x` words to `words[0].y`, every other one to `words[0].z`.
pub(super) fn fill() -> String {
    format!(
        "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read_write> target_words: array<u32>;
{MAIN}    let i = group * 256u + local;
    if i < words[0].x {{
        target_words[i] = select(words[0].y, words[0].z, (i & 1u) == 1u);
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_bins_are_for_many_points() {
        assert_eq!(private_groups(1000, 10), None);
        assert_eq!(private_groups(1024, 10), Some(1));
        assert_eq!(private_groups(16_000, 2000), Some(1));
        assert_eq!(private_groups(15_999, 2000), None);
        assert_eq!(private_groups(1 << 26, 10), Some(512));
    }
}
