//! The GPU back end: WGSL shaders and the constant that tells the runtime how to run them.
//!
//! * `context` knows the program's arrays, sizes and places;
//! * `entry` makes the shaders of a tree, `several` those of points with little to do, `body` its statements, `recurrence` those that are loops of a point, `expr` its
//!   expressions, `prelude` the functions they call;
//! * `groups` makes the shaders of reductions, `tiles` those in tiles, `team` those of several trees, `scan` those of prefixes;
//! * `shader` keeps a shader's interface, `words` its uniform words, `types` maps element types;
//! * `host` prints the constant.
//!
//! What fails while running is put into the status words as the place, an index and a length. A length of -1 stands for an
//! integer division by zero, -2 for the place of an extremum of nothing, -3 for a `while` that makes more trips than it may (the index
//! is their number), -4 for a thread that makes more than 2^30 in loops in loops.
//!
//! A program that cannot run on a GPU is refused with the construct that stands in the way, never compiled wrong.

mod body;
mod context;
mod entry;
mod expr;
mod groups;
mod host;
mod prelude;
mod recurrence;
mod scan;
mod several;
mod shader;
mod team;
#[cfg(test)]
mod tests;
mod tiles;
mod types;
mod words;

use self::context::Context;
use super::back_end::{BackEnd, steps};
use crate::Verified;
use crate::bulk::{ArrayId, Call, Check};
use crate::dim::Dim;
use crate::internal::{self, broken, expect};
use crate::loops::{ArrayInfo, Bands, Contract, Division, Home, Program, Repeat, Sort, Step, Tree};
pub use crate::lower::gpu::size_scalars;
use crate::lower::gpu::{
    Prefixes, Reduction, Tiles, bound, combined_into, computed, known_scalars, narrow, team as team_of,
};
use crate::ty::{Const, Elem, Loc};

/// A program for the GPU.
#[derive(Clone, Debug)]
pub struct GpuCode {
    /// Every shader, in the order of the steps.
    pub shaders: Vec<ShaderText>,
    /// What the runtime is told to run, in the text form of its type `GpuProgram`.
    pub program: String,
}

/// The text of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderText {
    /// Kernel, step and kind.
    pub label: String,
    /// The WGSL text.
    pub wgsl: String,
}

/// Prints a program for the GPU; the error is the reason why it cannot run there, naming the construct.
pub fn emit(p: &Verified<Program>) -> Result<GpuCode, String> {
    let mut program = Program::clone(p);
    let scratch = scratch(&mut program);
    let (scalars, computed, narrow) = (known_scalars(&program), computed(&program), narrow(&program));
    let sites = Vec::new();
    let shaders = Vec::new();
    let mut cx = Context { program: &program, scalars, computed, scratch, sites, narrow, shaders };
    let steps = steps(&mut cx, &program.steps, &format!("{} step ", program.name))?;
    let program = cx.program(&steps)?;
    Ok(GpuCode { shaders: cx.shaders, program })
}

/// Adds an array that stands for memory whose size only the runtime knows.
fn scratch(p: &mut Program) -> ArrayId {
    let (name, elem) = ("scratch".into(), Elem::U32);
    p.arrays.push(ArrayInfo { name, elem, dims: Vec::new(), home: Home::Heap, most: None });
    ArrayId(p.arrays.len() as u32 - 1)
}

impl BackEnd for Context<'_> {
    type Step = String;
    type Refusal = String;

    fn bands(&mut self, _: &Bands, _: &str) -> Result<String, String> {
        internal::broken("steps in bands on a GPU".into())
    }

    fn tree(&mut self, tree: &Tree, label: &str) -> Result<String, String> {
        let cx = self;
        let outer: Vec<&Dim> = tree.axes.iter().map(|a| &a.extent).collect();
        let points = entry::points(cx, tree, format!("{label}, points"))?;
        match tree.plan.division {
            Division::Points => cx.points_step(&points, &outer, None),
            Division::Copies => {
                let (array, reducer) =
                    expect(combined_into(cx.program, tree), || "copies of what is not combined into".into());
                let shader = entry::private(cx, tree, (array, reducer), format!("{label}, private"))?;
                cx.points_step(&points, &outer, Some(&(shader, array)))
            }
            Division::Groups => {
                let r = expect(Reduction::of(cx.program, tree), || {
                    "groups of threads without a reduction".into()
                });
                let groups = groups::groups(cx, tree, &r, format!("{label}, groups"))?;
                let inner: Vec<&Dim> = r.inner.iter().map(|a| &a.extent).collect();
                let tiles = match Tiles::of(cx.program, tree) {
                    Some(t) => tiles::tiles(cx, tree, &t, format!("{label}, tiles"))?,
                    None => None,
                };
                cx.reduce_step((&points, &groups, tiles.as_ref()), (&outer, &inner), r.across)
            }
            Division::Prefixes => {
                let prefixes = expect(Prefixes::of(cx.program, tree), || "prefixes without scans".into());
                let passes = scan::passes(cx, tree, &prefixes, label)?;
                cx.scan_step(&points, &passes, &outer, prefixes.length())
            }
            other => internal::broken(format!("a tree is divided as {other:?}")),
        }
    }

    fn contract(&mut self, c: &Contract, label: &str) -> Result<String, String> {
        self.contract_step(c, label)
    }

    fn call(&mut self, c: &Call) -> Result<String, String> {
        broken(format!("the routine `{}` is called where there are none", c.routine.name()))
    }

    fn sort(&mut self, s: &Sort, label: &str) -> Result<String, String> {
        self.sort_step(s, label)
    }

    fn check(&mut self, c: &Check, loc: Loc) -> Result<String, String> {
        self.check_step(c, loc)
    }

    fn fill(&mut self, array: ArrayId, value: Option<Const>) -> Result<String, String> {
        // Zeros are anything, and cost a device little.
        let zero = Const::of(self.program.arrays[array.0 as usize].elem, 0);
        self.fill_step(array, value.unwrap_or(zero))
    }

    fn copy(&mut self, array: ArrayId, source: ArrayId) -> Result<String, String> {
        Ok(self.copy_step(array, source))
    }

    fn take(&mut self, array: ArrayId, source: ArrayId) -> Result<String, String> {
        Ok(self.move_step(array, source))
    }

    fn repeat(&mut self, r: &Repeat, label: &str) -> Result<String, String> {
        let inside = steps(self, &r.steps, label)?;
        self.repeat_step(r, &inside)
    }

    fn team(&self, list: &[Step]) -> usize {
        team_of(self.program, list, &self.computed)
    }

    fn together(&mut self, list: &[Step], printed: Vec<String>, label: &str) -> Result<Vec<String>, String> {
        let trees: Option<Vec<&Tree>> =
            list.iter().map(|s| if let Step::Tree(t) = s { Some(t) } else { None }).collect();
        let trees = expect(trees, || "a team of what is no tree".into());
        let outer: Vec<&Dim> = trees[0].axes.iter().map(|a| &a.extent).collect();
        let team = team::team(self, &trees, format!("{label} and {} more, team", trees.len() - 1))?;
        Ok(vec![self.team_step(&team, &outer, &printed)?])
    }

    /// Sizes that the step computes are copied to where the host has them.
    fn after(&mut self, list: &[Step], at: usize) -> Result<Vec<String>, String> {
        let mut out = Vec::new();
        for scalar in bound(self.program, &list[at], &self.computed) {
            // What is prepared for an update is not its value yet.
            let is_bound = |s: &Step| !bound(self.program, s, &[scalar]).is_empty();
            if !list[at + 1..].iter().any(is_bound) {
                out.push(self.size_step(scalar)?);
            }
        }
        Ok(out)
    }
}
