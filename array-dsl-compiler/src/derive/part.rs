//! The derivative of a part of a program: what `grad(f)(x)` inside a kernel becomes.
//!
//! ```text
//! before;  part: point -> results;  after        with cotangents for the results
//! before;  part;  after;  the adjoint of part    which gives cotangents of the point; all other arrays are constant
//! ```
//!
//! Under a frame the arrays have its axes in front. What the points of a frame compute does not depend on each other, so the
//! cotangents of all points at once are the derivatives of each.

use rustc_hash::FxHashSet;

use super::forward::Forward;
use super::reverse::Reverse;
use super::{NotDifferentiable, activate, separate};
use crate::bulk::{ArrayId, Program, Stm};
use crate::ty::Tree;

/// Some of the statements of a program, as a function.
pub struct Part<'a> {
    /// Where they stand.
    pub stms: std::ops::Range<usize>,
    /// The arrays that vary.
    pub point: &'a [ArrayId],
    /// What is made of them.
    pub results: &'a [ArrayId],
}

/// Appends what the cotangents of the results make those of the point.
pub fn pullback(
    p: &mut Program,
    part: &Part<'_>,
    cotangents: &[ArrayId],
) -> Result<Vec<ArrayId>, NotDifferentiable> {
    let (before, stms, after) = split(p, part);
    let stms = separate::separate(p, &stms);
    let active = active(p, part, &stms);
    p.stms = before.into_iter().chain(stms.iter().cloned()).chain(after).collect();
    let mut r = Reverse::new(take(p), active);
    for (a, ct) in part.results.iter().zip(cotangents) {
        r.contribute(*a, *ct);
    }
    let found = r.block(&stms).map(|()| part.point.iter().map(|a| r.total_or_zero(*a)).collect());
    *p = r.p;
    found
}

/// Appends what the tangents of the point make those of the results.
pub fn pushforward(
    p: &mut Program,
    part: &Part<'_>,
    tangents: &[ArrayId],
) -> Result<Vec<ArrayId>, NotDifferentiable> {
    let (before, stms, after) = split(p, part);
    p.stms = before;
    let active = active(p, part, &stms);
    let tangents = part.point.iter().copied().zip(tangents.iter().copied()).collect();
    let mut f = Forward { p: take(p), tangents, active };
    let found = f.block(&stms).map(|()| part.results.iter().map(|a| f.tangent_or_zero(*a)).collect());
    *p = f.p;
    p.stms.extend(after);
    found
}

/// What comes before the part, the part, and what comes after it.
fn split(p: &mut Program, part: &Part<'_>) -> (Vec<Stm>, Vec<Stm>, Vec<Stm>) {
    let after = p.stms.split_off(part.stms.end);
    let stms = p.stms.split_off(part.stms.start);
    (std::mem::take(&mut p.stms), stms, after)
}

fn active(p: &Program, part: &Part<'_>, stms: &[Stm]) -> FxHashSet<ArrayId> {
    let mut active: FxHashSet<ArrayId> = part.point.iter().copied().collect();
    activate(p, stms, &mut active);
    active
}

/// The program, which is put back after.
fn take(p: &mut Program) -> Program {
    let nothing = Program {
        name: p.name.clone(),
        sizes: Vec::new(),
        strips: Vec::new(),
        params: Vec::new(),
        arrays: Vec::new(),
        vars: Vec::new(),
        stms: Vec::new(),
        result: Tree::Tuple(Vec::new()),
        places: Vec::new(),
        rules: Vec::new(),
    };
    std::mem::replace(p, nothing)
}
