//! What can be known about a program before it runs: whether the device can run it at all, whose memory each
//! array has, and after which step that memory is not needed any more. Made once per program and device.

use std::collections::HashMap;
use std::sync::Arc;

use super::device::{Abilities, describe, feature};
use super::pipeline::storage_buffers;
use super::record::Recorder;
use super::status::Sites;
use crate::error::Error;
use crate::program::{Access, GpuHome, GpuProgram, GpuStep, Need, Shader, Trips};

/// See the module header.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is added to the program's site numbers.
    pub(super) site_base: u32,
    /// For each array the one whose memory it has: itself, or what it is a view of.
    pub(super) roots: Vec<usize>,
    /// The steps of the program.
    pub(super) steps: Arc<Lives>,
    /// Whether a shader may fail.
    pub(super) can_fail: bool,
}

/// How long arrays live in a list of steps.
#[derive(Debug)]
pub(super) struct Lives {
    /// For each step the arrays that neither a later step nor the caller needs.
    pub(super) dead_after: Vec<Vec<usize>>,
    /// For each step that is a loop its body.
    pub(super) bodies: Vec<Option<Body>>,
}

/// What is known about a loop's body.
#[derive(Debug)]
pub(super) struct Body {
    /// Its steps.
    pub(super) steps: Arc<Lives>,
    /// The arrays that it makes anew in each trip.
    pub(super) locals: Vec<usize>,
    /// The starts of states that nothing needs once the loop has begun.
    pub(super) spent: Vec<usize>,
}

/// The plans of a device, by the address of the program.
pub(super) type Plans = HashMap<usize, Arc<Plan>>;

impl Plan {
    /// Errors: [`Error::UnsupportedOnGpu`], [`Error::GpuLacks`].
    pub(super) fn new(
        program: &'static GpuProgram,
        can: &Abilities,
        sites: &mut Sites,
    ) -> Result<Plan, Error> {
        let roots: Vec<usize> = (0..program.arrays.len()).map(|a| root(program, a)).collect();
        check_elems(program, can)?;
        let shaders = shaders(program.steps);
        shaders.iter().try_for_each(|shader| check_shader(program, shader, can))?;
        let can_fail = shaders.iter().any(|shader| shader.status);
        let mut needed: Vec<bool> = vec![false; roots.len()];
        for result in program.results {
            needed[roots[*result]] = true;
        }
        let steps = Arc::new(Lives::new(program.steps, &roots, needed));
        Ok(Plan { site_base: sites.add(program.sites), roots, steps, can_fail })
    }
}

impl Lives {
    /// The lives in a list of steps after which the arrays `needed` are needed.
    fn new(steps: &'static [GpuStep], roots: &[usize], mut needed: Vec<bool>) -> Lives {
        let mut dead_after = vec![Vec::new(); steps.len()];
        let mut bodies: Vec<Option<Body>> = steps.iter().map(|_| None).collect();
        for (at, step) in steps.iter().enumerate().rev() {
            let after = needed.clone();
            for array in arrays_of(step) {
                let root = roots[array];
                if !needed[root] {
                    needed[root] = true;
                    dead_after[at].push(root);
                }
            }
            let GpuStep::Repeat { carried, steps, .. } = step else { continue };
            let mut locals = Vec::new();
            made(steps, &mut |array| locals.push(roots[array]));
            locals.sort_unstable();
            locals.dedup();
            // What comes from outside is needed by the next trip; what a trip makes is not, nor is a state's old value.
            let nexts: Vec<usize> = carried.iter().map(|c| roots[c.next]).collect();
            let used: Vec<usize> =
                steps.iter().flat_map(arrays_of).map(|a| roots[a]).chain(nexts.iter().copied()).collect();
            let mut inside = after;
            used.iter().filter(|root| !locals.contains(root)).for_each(|root| inside[*root] = true);
            carried.iter().for_each(|c| inside[roots[c.state]] = false);
            nexts.iter().for_each(|root| inside[*root] = true);
            let starts = carried.iter().map(|c| roots[c.start]);
            let spent = starts.filter(|s| dead_after[at].contains(s) && !used.contains(s)).collect();
            let steps = Arc::new(Lives::new(steps, roots, inside));
            bodies[at] = Some(Body { steps, locals, spent });
        }
        Lives { dead_after, bodies }
    }
}

/// All shaders of steps.
fn shaders(steps: &'static [GpuStep]) -> Vec<&'static Shader> {
    let mut all = Vec::new();
    for step in steps {
        match step {
            GpuStep::Points { shader, private, .. } => {
                all.push(shader);
                all.extend(private.as_ref().map(|p| &p.shader));
            }
            GpuStep::Reduce { points, groups, tiles, .. } => {
                all.extend([points, groups].into_iter().chain(tiles));
            }
            GpuStep::Scan { points, fold, starts, run, rows, .. } => {
                all.extend([points, fold, starts, run].into_iter().chain(rows));
            }
            // What a team does, its steps do where it has too many arrays.
            GpuStep::Repeat { steps, .. } | GpuStep::Team { steps, .. } => all.extend(shaders(steps)),
            GpuStep::Contract { .. }
            | GpuStep::Sort { .. }
            | GpuStep::Fill(..)
            | GpuStep::Copy(..)
            | GpuStep::Move(..)
            | GpuStep::Check(_)
            | GpuStep::Size { .. } => {}
        }
    }
    all
}

/// Calls `f` with the arrays that steps make or write.
fn made(steps: &[GpuStep], f: &mut impl FnMut(usize)) {
    let written = |s: &Shader, f: &mut dyn FnMut(usize)| {
        s.bindings.iter().filter(|(_, access)| *access != Access::Read).for_each(|(array, _)| f(*array));
    };
    for step in steps {
        match step {
            GpuStep::Points { shader, .. } => written(shader, f),
            GpuStep::Reduce { points, .. } | GpuStep::Scan { points, .. } => written(points, f),
            GpuStep::Contract { out, .. } => f(out.0),
            GpuStep::Sort { result, .. } => f(*result),
            GpuStep::Fill(array, _) | GpuStep::Copy(array, _) | GpuStep::Move(array, _) => f(*array),
            GpuStep::Check(_) | GpuStep::Size { .. } => {}
            GpuStep::Team { steps, .. } => made(steps, f),
            GpuStep::Repeat { trips, carried, steps } => {
                if let Trips::For { index, .. } = trips {
                    f(*index);
                }
                carried.iter().for_each(|c| f(c.state));
                made(steps, f);
            }
        }
    }
}

fn root(program: &GpuProgram, mut array: usize) -> usize {
    // Views point to arrays that came before, so this ends; the bound is for programs that are not well
    // formed.
    for _ in 0..program.arrays.len() {
        match program.arrays[array].home {
            GpuHome::View(of) => array = of,
            _ => break,
        }
    }
    array
}

fn arrays_of(step: &GpuStep) -> Vec<usize> {
    let of_shader = |s: &Shader| s.bindings.iter().map(|(array, _)| *array).collect::<Vec<_>>();
    match step {
        GpuStep::Points { shader, .. } => of_shader(shader),
        // The others use no others but the scratch memory, which the step gives back itself.
        GpuStep::Reduce { points, .. } | GpuStep::Scan { points, .. } => of_shader(points),
        GpuStep::Contract { out, a, b, .. } => vec![out.0, a.0, b.0],
        GpuStep::Sort { result, keys, .. } => vec![*result, *keys],
        GpuStep::Fill(array, _) => vec![*array],
        GpuStep::Copy(to, from) | GpuStep::Move(to, from) => vec![*to, *from],
        GpuStep::Team { steps, .. } => steps.iter().flat_map(arrays_of).collect(),
        GpuStep::Check(_) => Vec::new(),
        GpuStep::Size { array, .. } => vec![*array],
        GpuStep::Repeat { trips, carried, steps } => {
            let number = match trips {
                Trips::For { index, .. } => *index,
                Trips::While(condition) => *condition,
            };
            let carried = carried.iter().flat_map(|c| [c.state, c.start, c.next]);
            carried.chain([number]).chain(steps.iter().flat_map(arrays_of)).collect()
        }
    }
}

/// Refuses arrays of types that the device lacks: an argument rather than what follows from it.
fn check_elems(program: &'static GpuProgram, can: &Abilities) -> Result<(), Error> {
    let all = 0..program.arrays.len();
    let roles =
        program.inputs.iter().map(|a| (*a, "argument")).chain(program.results.iter().map(|a| (*a, "result")));
    for (array, role) in roles.chain(all.map(|a| (a, "array"))) {
        let info = &program.arrays[array];
        // Scalars are numbers of the host until a shader uses them.
        if !matches!(info.home, GpuHome::Nowhere | GpuHome::HostScalar) {
            can.check_elem(info.elem, program.name, || format!("the elements of {role} `{}`", info.name))?;
        }
    }
    Ok(())
}

/// Whether the device can bind what a shader needs.
fn check_shader(program: &'static GpuProgram, shader: &'static Shader, can: &Abilities) -> Result<(), Error> {
    for need in shader.needs {
        if !can.features.contains(feature(*need)) {
            let fix = match need {
                Need::F64 => "use f32, or run it on the CPU",
                Need::I64 => "use i32, or run it on the CPU",
                Need::I64Atomics => "use f32 or i32 where values are combined by index, or run it on the CPU",
            };
            let what = describe(*need).to_string();
            return Err(Error::GpuLacks { kernel: program.name, what, fix: fix.into() });
        }
    }
    let limits = &can.limits;
    let lacks = |what: String| {
        let fix = "split the kernel, or use fewer arrays in one expression".to_string();
        Err(Error::GpuLacks { kernel: program.name, what, fix })
    };
    let (needed, most) = (storage_buffers(shader), limits.max_storage_buffers_per_shader_stage);
    if needed > most as usize {
        return lacks(format!(
            "storage buffers: one of the kernel's loops uses {needed}, and {most} can be bound"
        ));
    }
    let (needed, most) = (shader.words.len(), Recorder::most_words(limits));
    if needed > most {
        return lacks(format!(
            "uniform words: one of the kernel's loops uses {needed}, and {most} can be bound"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Carried, Elem, GpuArrayInfo, Poly, Site};

    const N: Poly = Poly(&[(1, &[0])]);
    const SHADER: Shader = Shader {
        label: "s",
        wgsl: "",
        words: &[],
        sizes: &[],
        bindings: &[(0, Access::Read), (1, Access::Write), (3, Access::Write)],
        status: true,
        each: 1,
        ends: None,
        needs: &[],
    };

    fn any() -> Abilities {
        Abilities { limits: wgpu::Limits::default(), features: wgpu::Features::all() }
    }

    const fn array(name: &'static str, elem: Elem, home: GpuHome) -> GpuArrayInfo {
        GpuArrayInfo { name, elem, dims: &[N], home }
    }

    static PROGRAM: GpuProgram = GpuProgram {
        name: "f",
        arrays: &[
            array("x", Elem::F32, GpuHome::Input),
            array("t", Elem::F32, GpuHome::Heap),
            array("v", Elem::F32, GpuHome::View(1)),
            array("y", Elem::F32, GpuHome::Heap),
        ],
        inputs: &[0],
        results: &[3],
        steps: &[
            GpuStep::Points { shader: SHADER, extents: &[N], private: None },
            GpuStep::Copy(3, 2),
            GpuStep::Fill(3, 0),
        ],
        sites: &[Site { kernel: "f", file: "a.rs", line: 1 }],
    };

    #[test]
    fn memory_lives_until_the_last_use_through_any_view() {
        let plan = Plan::new(&PROGRAM, &any(), &mut Sites::default()).unwrap();
        assert_eq!(plan.roots, [0, 1, 1, 3]);
        assert_eq!(plan.steps.dead_after, [vec![0], vec![1], vec![]]);
    }

    /// A loop that makes `v` from its state `u` and an input, and `w` from that.
    static LOOP: GpuProgram = GpuProgram {
        name: "g",
        arrays: &[
            array("x", Elem::F32, GpuHome::Input),
            array("start", Elem::F32, GpuHome::Heap),
            array("u", Elem::F32, GpuHome::Heap),
            array("v", Elem::F32, GpuHome::Heap),
            array("w", Elem::F32, GpuHome::Heap),
            array("result", Elem::F32, GpuHome::View(2)),
            array("k", Elem::I64, GpuHome::HostScalar),
        ],
        inputs: &[0],
        results: &[5],
        steps: &[
            GpuStep::Fill(1, 0),
            GpuStep::Repeat {
                trips: Trips::For { index: 6, atom: 1, count: N },
                carried: &[Carried { state: 2, start: 1, next: 4 }],
                steps: &[GpuStep::Move(3, 2), GpuStep::Copy(4, 3), GpuStep::Copy(4, 0)],
            },
        ],
        sites: &[],
    };

    #[test]
    fn a_trip_gives_back_what_the_next_one_does_not_need() {
        let plan = Plan::new(&LOOP, &any(), &mut Sites::default()).unwrap();
        let Some(Body { steps, locals, spent }) = &plan.steps.bodies[1] else { panic!("it is a loop") };
        // The state's old value and what is made of it go at once, the input stays.
        assert_eq!(steps.dead_after, [vec![2], vec![3], vec![]]);
        assert_eq!((locals.as_slice(), spent.as_slice()), ([3, 4].as_slice(), [1].as_slice()));
        let mut dead = plan.steps.dead_after[1].clone();
        dead.sort_unstable();
        assert_eq!(dead, [0, 1, 3, 4, 6]);
    }

    #[test]
    fn what_the_device_lacks_is_named() {
        let limits = wgpu::Limits { max_storage_buffers_per_shader_stage: 3, ..wgpu::Limits::default() };
        let can = Abilities { limits, features: wgpu::Features::empty() };
        let error = Plan::new(&PROGRAM, &can, &mut Sites::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel `f`: this GPU lacks storage buffers: one of the kernel's loops uses 4, and 3 can be bound; \
             split the kernel, or use fewer arrays in one expression"
        );
    }

    #[test]
    fn types_that_the_device_lacks_are_refused() {
        static WIDE: GpuProgram = GpuProgram {
            name: "g",
            arrays: &[
                array("x", Elem::F64, GpuHome::Input),
                array("i", Elem::I64, GpuHome::Heap),
                array("s", Elem::F64, GpuHome::HostScalar),
            ],
            inputs: &[0, 2],
            results: &[1],
            steps: &[],
            sites: &[],
        };
        static ATOMIC: GpuProgram = GpuProgram {
            name: "h",
            arrays: &[],
            inputs: &[],
            results: &[],
            steps: &[GpuStep::Points {
                shader: Shader { bindings: &[], needs: &[Need::I64Atomics], ..SHADER },
                extents: &[N],
                private: None,
            }],
            sites: &[],
        };
        let message = |p: &'static GpuProgram, features| {
            let can = Abilities { limits: wgpu::Limits::default(), features };
            Plan::new(p, &can, &mut Sites::default()).map(|_| ()).map_err(|e| e.to_string())
        };
        let (f64, i64) = (wgpu::Features::SHADER_F64, wgpu::Features::SHADER_INT64);
        assert_eq!(message(&WIDE, f64 | i64), Ok(()));
        let text = "kernel `g` cannot run on a GPU: the elements of argument `x` need floats of 64 bits, which this \
                    GPU lacks; use f32";
        assert_eq!(message(&WIDE, i64), Err(text.into()));
        let text = "kernel `g` cannot run on a GPU: the elements of result `i` need integers of 64 bits, which this \
                    GPU lacks; use i32";
        assert_eq!(message(&WIDE, f64), Err(text.into()));
        let text = "kernel `h`: this GPU lacks atomic operations on 64 bits; use f32 or i32 where values are \
                    combined by index, or run it on the CPU";
        assert_eq!(message(&ATOMIC, f64 | i64), Err(text.into()));
        assert_eq!(message(&ATOMIC, wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS), Ok(()));
    }
}
