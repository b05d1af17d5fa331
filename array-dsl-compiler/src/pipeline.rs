//! The order of the stages, which nothing else knows, and what each target takes before and after scheduling. `optimize::ROUND`,
//! `schedule` and `lower::cpu` order passes of their own.
//!
//! ```text
//! syntax      tokens -> Ast
//! elaborate   Ast    -> Core     names, types, rank lifting, sizes, called kernels inlined
//! flatten     Core   -> Bulk     of each complex number two (`core::complex`); the bulk-operation transform; derivatives that the
//!                                kernel takes inside
//! optimize    Bulk   -> Bulk     rounds of `optimize::ROUND` until nothing changes
//! derive      Bulk   -> Bulk     vjp, jvp by dual arrays; repeatable
//!                                matrices: in one direction, optimize, at all units, optimize, in strips
//! optimize    Bulk   -> Bulk
//! finish      Bulk   -> Bulk     for each target, each followed by optimize: values with rules of the user's as ordinary ones;
//!                                reductions along short axes as scalar code, at each place of a short axis as several; where points
//!                                have an order, what is made of an extremum for its place alone, where not, one writer for each
//!                                place; what is rather computed again than stored. `LAST`: where arrays are changed in place, updates;
//!                                additions to places of the points' own as writes
//! schedule    Bulk   -> Loops    loops of points, fusion into loop trees, contractions, sorts of values
//! lower       Loops  -> Loops    what a point wrote is not read again. CPU: each tree hoisted, merged, formed. GPU: bounds, separate
//!                                reductions, elements of a point's own, sizes, division
//! emit        Loops  -> Rust, WGSL
//! ```
//!
//! With the feature `verify`, which this workspace's tests have, every stage's result is verified; that is a third of the time.

use crate::Verified;
use crate::affine;
use crate::bulk;
use crate::core;
use crate::derive::{self, Derivative, Derived, NotDifferentiable};
use crate::diagnostics::Diagnostics;
use crate::elaborate::{self, Callees, Elaborated, OwnRule};
use crate::flatten;
use crate::internal::stage;
use crate::loops;
use crate::lower;
use crate::optimize::{self, Pass, Sequence};
use crate::schedule;
use crate::syntax::{self, ast};
use crate::target::{Capabilities, Target};

/// Tokens to a syntax tree, which is meaningful only where no errors were recorded.
pub fn parse(item: &syn::ItemFn, diagnostics: &mut Diagnostics) -> ast::Function {
    stage("syntax");
    syntax::parse_function(item, diagnostics)
}

/// A syntax tree to Core; `rule` is the derivative that the function has, if not its own. `None` when errors were recorded.
pub fn front(
    f: &ast::Function,
    rule: Option<OwnRule<'_>>,
    callees: &Callees,
    diagnostics: &mut Diagnostics,
) -> Option<Elaborated> {
    stage("elaborate");
    if !diagnostics.is_empty() {
        return None;
    }
    let e = elaborate::elaborate(f, rule, callees, diagnostics)?;
    checked("elaborate", || core::verify::check(&e.function));
    Some(e)
}

/// Core, complex numbers and all, to optimized Bulk. There is none if something that the kernel differentiates has no derivative.
pub fn middle(f: &core::Function) -> Result<bulk::Program, NotDifferentiable> {
    stage("flatten");
    let mut p = flatten::flatten(f)?;
    checked("flatten", || bulk::verify::check(&p));
    stage("optimize");
    optimize::optimize(&mut p);
    checked("optimize", || affine::check(&p));
    Ok(p)
}

/// Bulk to its derivative.
pub fn derived(p: &bulk::Program, what: Derivative) -> Result<bulk::Program, NotDifferentiable> {
    stage("derive");
    let d = match derive::derive(p, what)? {
        Derived::Whole(d) => d,
        Derived::Directional(mut d) => {
            optimize::optimize(&mut d.program);
            let mut d = d.at_units()?;
            optimize::optimize(&mut d.program);
            d.matrices()?
        }
    };
    checked("derive", || bulk::verify::check(&d));
    Ok(d)
}

/// Bulk to its derivative, optimized.
pub fn derivative(p: &bulk::Program, what: Derivative) -> Result<bulk::Program, NotDifferentiable> {
    let mut d = derived(p, what)?;
    stage("optimize");
    optimize::optimize(&mut d);
    checked("optimize", || affine::check(&d));
    Ok(d)
}

/// Whether a target that can do this takes a step.
pub type Takes = fn(Capabilities) -> bool;

/// The last passes before scheduling, and which targets take them. They have no derivative rules of their own, and drop no statement.
pub const LAST: [(Pass, Takes); 3] = [
    (("compared", optimize::compared), |_| true),
    (("update", optimize::update), |can| can.updates),
    (("own", optimize::own), |_| true),
];

/// Optimized Bulk as one target takes it.
pub fn finish(p: &mut bulk::Program, target: Target) {
    stage("the last steps");
    let can = target.can();
    if optimize::without_rules(p, can.routines) {
        optimize::optimize(p);
    }
    if !can.lanes && optimize::kept_by_threads(p) {
        optimize::optimize(p);
    }
    if optimize::short(p, can.nests) {
        optimize::optimize(p);
    }
    if optimize::jam(p) {
        optimize::optimize(p);
    }
    if can.orders_points && optimize::chosen(p) {
        optimize::optimize(p);
    }
    if !can.lanes && optimize::gathered(p) {
        optimize::optimize(p);
    }
    if !can.orders_points && optimize::only_last(p) {
        optimize::optimize(p);
    }
    if optimize::again(p, can.recompute) {
        optimize::optimize(p);
    }
    if !can.lanes && optimize::levels(p) {
        optimize::optimize(p);
    }
    if can.exact_trips && bulk::condition::rely_on_conditions(p) {
        optimize::optimize(p);
    }
    for ((_, pass), _) in LAST.iter().filter(|(_, takes)| takes(can)) {
        Sequence::run(p, *pass);
    }
    affine::compare(p);
    checked("the last steps", || affine::check(p));
}

/// Optimized Bulk to Loops, for one target.
pub fn scheduled(p: &bulk::Program, target: Target) -> loops::Program {
    let mut p = p.clone();
    finish(&mut p, target);
    stage("schedule");
    let l = schedule::schedule(&p, target);
    checked("schedule", || loops::verify::check(&l));
    l
}

/// Has Loops say how they are executed on one target.
pub fn lower(l: &mut loops::Program, target: Target) {
    stage("lower");
    lower::forward(l);
    match target {
        Target::Cpu => lower::cpu::lower(l),
        Target::Gpu => {
            // Before reductions stand alone, so that what is made of them stands with them.
            lower::gpu::bounds(l);
            lower::gpu::separate(l);
            lower::gpu::private(l);
            lower::gpu::read_computed(l);
            lower::gpu::divide(l);
            lower::ends::on_a_gpu(l);
        }
    }
}

/// Optimized Bulk to Loops that say how they are executed on one target, verified: what a back end takes.
pub fn back(p: &bulk::Program, target: Target) -> Result<Verified<loops::Program>, Vec<String>> {
    let mut l = scheduled(p, target);
    lower(&mut l, target);
    loops::verify::verify(l)
}

/// A stage whose result breaks its IR's rules is a bug of the compiler that tests must not miss.
fn checked(stage: &str, errors: impl FnOnce() -> Vec<String>) {
    if cfg!(any(test, feature = "verify")) {
        let errors = errors();
        assert!(errors.is_empty(), "after {stage}: {}", errors.join("; "));
    }
}
