//! The GPU back end: WGSL shaders and the constant that tells the runtime how to run them.
//!
//! * `context` knows the program's arrays, sizes and places;
//! * `sizes` rewrites sizes that only the device knows, `bounds` finds how great they can be, `split` rewrites the program so that
//!   reductions stand alone and the runtime's limits hold;
//! * `entry` makes the shaders of a tree, `body` its statements, `expr` its expressions, `prelude` the functions they call;
//! * `prefixes` finds scans that many threads can share, `scan` makes their shaders;
//! * `shader` keeps a shader's interface, `words` its uniform words, `types` maps element types, `narrow` finds integers that are short;
//! * `host` prints the constant.
//!
//! What fails while running is put into the status words as the place, an index and a length. A length of -1 stands for an
//! integer division by zero, -2 for the place of an extremum of nothing.
//!
//! A program that cannot run on a GPU is refused with the construct that stands in the way, never compiled wrong.

mod body;
mod bounds;
mod context;
mod entry;
mod expr;
mod host;
mod narrow;
mod prefixes;
mod prelude;
mod scan;
mod shader;
mod sizes;
mod split;
#[cfg(test)]
mod tests;
mod types;
mod words;

use std::cell::RefCell;

use proc_macro2::TokenStream;

use self::context::Context;
pub use self::host::size_scalars;
use crate::Verified;
use crate::dim::Dim;
use crate::loops::{Program, Step, Tree};

/// A program for the GPU.
#[derive(Clone, Debug)]
pub struct GpuCode {
    /// Every shader, in the order of the steps.
    pub shaders: Vec<ShaderText>,
    /// A Rust expression of the runtime's type `GpuProgram`, fit for a `static`. Its paths start at `__rt`; the texts of its shaders
    /// are `SHADERS[0]`, `SHADERS[1]` and so on, its sizes `POLY0`, `POLY1`.
    pub program: TokenStream,
    /// The sizes, as expressions of the runtime's type `Poly`.
    pub polys: Vec<TokenStream>,
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
    // Before reductions stand alone, so that what is made of them stands with them.
    let bounds = bounds::bounds(p);
    let mut program = split::split(p);
    let computed = sizes::read_computed(&mut program);
    let scratch = program.scratch();
    let scalars = host::known_scalars(&program);
    let counters = host::counters(&program);
    let narrow = narrow::intervals(&program, &counters, &bounds).into_iter().map(|i| i.fits()).collect();
    let sites = Vec::new();
    let (shaders, polys) = (Vec::new(), RefCell::default());
    let mut cx =
        Context { program: &program, scalars, computed, bounds, scratch, sites, narrow, shaders, polys };
    let steps = list(&mut cx, &program.steps, &format!("{} step ", program.name))?;
    let program = cx.program(&steps)?;
    let polys = cx.polys.into_inner().into_iter().map(|(_, written)| written).collect();
    Ok(GpuCode { shaders: cx.shaders, program, polys })
}

/// Steps in order; the names of their shaders are `label` with a number.
fn list(cx: &mut Context<'_>, steps: &[Step], label: &str) -> Result<Vec<TokenStream>, String> {
    let mut out = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let label = format!("{label}{number}");
        out.push(match step {
            Step::Tree(tree) => tree_step(cx, tree, &label)?,
            Step::Contract(c) => cx.contract_step(c)?,
            Step::Check(c, loc) => cx.check_step(c, *loc)?,
            Step::Fill { array, value } => cx.fill_step(*array, *value)?,
            Step::Copy { array, source } => cx.copy_step(*array, *source),
            Step::Sort(_) => return Err("a sort".into()),
            Step::Move { array, source } => cx.move_step(*array, *source),
            Step::Repeat(r) => {
                let inside = list(cx, &r.steps, &format!("{label}."))?;
                cx.repeat_step(r, &inside)?
            }
        });
        for scalar in sizes::bound(cx.program, step, &cx.computed) {
            // What is prepared for an update is not its value yet.
            let is_bound = |s: &Step| !sizes::bound(cx.program, s, &[scalar]).is_empty();
            if !steps[number + 1..].iter().any(is_bound) {
                out.push(cx.size_step(scalar)?);
            }
        }
    }
    Ok(out)
}

/// A tree as one step.
fn tree_step(cx: &mut Context<'_>, tree: &Tree, label: &str) -> Result<TokenStream, String> {
    let outer: Vec<&Dim> = tree.axes.iter().map(|a| &a.extent).collect();
    let points = entry::points(cx, tree, format!("{label}, points"))?;
    if let Some(prefixes) = prefixes::as_prefixes(cx, tree) {
        let passes = scan::passes(cx, tree, &prefixes, label)?;
        return cx.scan_step(&points, &passes, &outer, prefixes.length());
    }
    match entry::as_reduction(cx, tree) {
        None => {
            let private = match entry::combined_into(cx, tree) {
                Some(combined) => {
                    let shader = entry::private(cx, tree, combined, format!("{label}, private"))?;
                    Some((shader, combined.0))
                }
                None => None,
            };
            cx.points_step(&points, &outer, private.as_ref())
        }
        Some(r) => {
            let groups = entry::groups(cx, tree, &r, format!("{label}, groups"))?;
            let inner: Vec<&Dim> = r.inner.iter().map(|a| &a.extent).collect();
            cx.reduce_step((&points, &groups), (&outer, &inner), r.reducer, cx.root(r.array))
        }
    }
}
