//! How a loop goes through its trips.
//!
//! | form | of a loop |
//! |---|---|
//! | together | of which each trip makes a loop that several can make in lanes: a recurrence, or a short one that folds functions |
//! | few | of which each trip makes loops of the latter kind if these turn out to have few trips |
//! | tiles | whose inner loops stride through memory where neighboring trips read neighbors |
//! | across | of which that would be so if arrays were transposed, and which is made again and again |
//! | lanes | innermost, that folds by `+`, `*`, `min` or `max` or tells where these are, unless it is known to be short |
//! | peeled | whose code is simpler away from its ends |
//! | sided | that stores, and whose choices are simpler on either side of a place |
//! | blocks | with functions that vectors compute faster, between loops inside, beside branches, or in a loop that is made again and again |
//! | plain | of any kind |
//!
//! A float sum must be added in the order it is written, so a plain loop does not vectorize: hence lanes.

use std::collections::BTreeSet;

use super::scratch::reread;
use super::{Cpu, peel, sides};
use crate::affine::Facts;
use crate::bulk::{ArrayId, Atom, Axis, Reducer, Var};
use crate::dim::Dim;
use crate::loops::own::overwrite_their_own;
use crate::loops::together::{self, folded_trips, folds_are_short, together};
use crate::loops::uses::{Access, places, takes_long, visit_arrays};
use crate::loops::{Across, Fold, Form, Home, LANES, Loop, Middle, Node, Program, Recurrence};

/// So many points go together at most that have scratch memory: with more of them it leaves the nearest cache.
const WITH_SCRATCH: usize = 16;
/// So many if each has more: the vectors of the widest instruction set.
const WITH_MUCH: usize = 8;
/// The bytes of scratch memory that stay in the nearest cache beside other data.
const NEAR: i64 = 1 << 14;

/// A place in a tree, on the way down to its loops.
pub(super) struct Place<'a> {
    cpu: &'a Cpu<'a>,
    /// The axes of the tree that are one.
    merged: &'a [Vec<Var>],
    /// Whether it is executed near the ends of a loop that has a middle. There only innermost loops have one: the code grows with
    /// the number of loops and not exponentially.
    at_ends: bool,
    /// What is known here.
    facts: Facts,
    /// The extents of what is around.
    around: Vec<Dim>,
    /// Whether arrays can be prepared for a task.
    prepares: bool,
    /// The arrays that the tree changes.
    changed: BTreeSet<ArrayId>,
}

impl<'a> Place<'a> {
    /// In a tree of these nodes, within these of its axes.
    pub fn new(cpu: &'a Cpu<'a>, axes: &[Axis], merged: &'a [Vec<Var>], body: &[Node]) -> Self {
        let mut changed = BTreeSet::new();
        visit_arrays(body, &mut |a, access| {
            changed.extend((access != Access::Read).then(|| cpu.p.root(a)));
        });
        let around = axes.iter().map(|a| a.extent.clone()).collect();
        Place { cpu, merged, at_ends: false, facts: cpu.facts(axes), around, prepares: true, changed }
    }

    /// The same where nothing is divided among tasks.
    pub fn alone(self) -> Self {
        Place { prepares: false, ..self }
    }

    /// Nodes, of whose loops each has its form.
    pub fn formed(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let formed = |n| match n {
            Node::Loop(l) => Node::Loop(self.form(l)),
            Node::Recurrence(r) => Node::Recurrence(self.recurrence(r)),
            n => {
                self.learn(&n);
                n
            }
        };
        nodes.into_iter().map(formed).collect()
    }

    /// Goes past a node.
    pub fn learn(&mut self, n: &Node) {
        self.cpu.learn(std::slice::from_ref(n), &mut self.facts);
    }

    /// The nodes of a loop over these axes, so far away from its ends.
    pub fn inside(&mut self, axes: &[Axis], margin: i64, nodes: Vec<Node>) -> Vec<Node> {
        let (scope, outside) = (self.facts.scope(), self.around.len());
        axes.iter().for_each(|a| self.facts.enter(a));
        self.facts.away_from_ends(&axes[0], margin);
        self.around.extend(axes.iter().map(|a| a.extent.clone()));
        let nodes = self.formed(nodes);
        self.facts.leave(scope);
        self.around.truncate(outside);
        nodes
    }

    /// A loop of one point: those inside have a form.
    fn recurrence(&mut self, mut r: Recurrence) -> Recurrence {
        let scope = self.facts.scope();
        self.cpu.enter(&r.rounds, &mut self.facts);
        r.body = self.formed(r.body);
        self.facts.leave(scope);
        r
    }

    /// Points that go together, fewer if each has scratch memory. A row is of one point. Loops in loops go over the same elements again
    /// and again: those that they change must be near, in scratch memory or side by side for neighboring points.
    fn together(&self, axes: &[Axis], body: &[Node]) -> Option<usize> {
        let width = together(axes, body, &self.cpu.p.vars)?;
        let home = |a: ArrayId| &self.cpu.p.arrays[a.0 as usize].home;
        let (mut has_rows, mut scratch) = (false, BTreeSet::new());
        visit_arrays(body, &mut |a, _| match home(a) {
            Home::Row { .. } => has_rows = true,
            Home::Scratch => drop(scratch.insert(a)),
            _ => {}
        });
        let has_loops = |n: &Node| matches!(n, Node::Recurrence(r) if together::has_loops(&r.body));
        let points = axes.iter().map(|a| a.var).collect();
        let are_neighbors = |a: ArrayId| {
            let last = self.cpu.p.arrays[a.0 as usize].dims.len().checked_sub(1);
            axes.len() == 1 && places(body, &points, &|b| b == a).iter().any(|(k, _)| Some(*k) == last)
        };
        let is_near = |a: &ArrayId| *home(*a) == Home::Scratch || are_neighbors(*a);
        let is_far = body.iter().any(has_loops) && !reread(body).iter().all(is_near);
        if has_rows || is_far {
            return None;
        }
        let bytes = scratch.into_iter().map(|a| self.own_bytes(a)).fold(0, i64::saturating_add);
        Some(match bytes {
            0 => width,
            _ if bytes.saturating_mul(WITH_SCRATCH as i64) <= NEAR => width.min(WITH_SCRATCH),
            _ => width.min(WITH_MUCH),
        })
    }

    /// The same of a loop with these folds, of which those inside that fold are worth it.
    fn together_folding(&self, axes: &[Axis], body: &[Node], folds: &[Fold]) -> Option<usize> {
        let worth = |n: &Node| !matches!(n, Node::Loop(l) if !l.folds.is_empty() && !takes_long(&l.body));
        // Scratch memory is laid out by the loop of all points, which folds nothing.
        let can = (folds.is_empty() || !self.has_scratch(body)) && body.iter().all(worth);
        if can { self.together(axes, body) } else { None }
    }

    /// How many points are in a block. A row is of one point, and scratch memory of those that go together in all they do.
    fn in_blocks(&self, l: &Loop) -> Option<usize> {
        let is_again = self.cpu.again || !self.around.is_empty();
        let root = |a| self.cpu.p.root(a);
        let again = if is_again && l.merged.is_empty() {
            together::short_in_blocks(l.axis.var, &l.body, &self.cpu.p.vars, &root)
        } else {
            None
        };
        let outside = if again.is_some() { self.around.len() } else { 0 };
        let mut has_own = false;
        visit_arrays(&l.body, &mut |a, _| {
            has_own |= match self.cpu.p.arrays[a.0 as usize].home {
                Home::Row { depth } => depth > outside,
                Home::Scratch => true,
                _ => false,
            };
        });
        let width = again.or_else(|| together::in_blocks(&l.body, &self.cpu.p.vars));
        width.filter(|_| !has_own)
    }

    fn has_scratch(&self, body: &[Node]) -> bool {
        let mut found = false;
        let is_scratch = |a: ArrayId| self.cpu.p.arrays[a.0 as usize].home == Home::Scratch;
        visit_arrays(body, &mut |a, _| found |= is_scratch(a));
        found
    }

    /// What a point's own elements of an array take, if constants say so.
    fn own_bytes(&self, a: ArrayId) -> i64 {
        let info = &self.cpu.p.arrays[a.0 as usize];
        info.dims.iter().filter_map(|d| d.as_constant()).fold(info.elem.bytes(), i64::saturating_mul)
    }

    /// A loop with its form, and the loops inside with theirs.
    pub fn form(&mut self, l: Loop) -> Loop {
        let scope = self.facts.scope();
        self.facts.within(&l.axis, l.range.from, l.range.to);
        let mut l = self.form_within(l);
        self.facts.leave(scope);
        if let Some(across) = self.across(&l) {
            l.plan.form = Form::Across(across);
        }
        l
    }

    /// The loop in tiles across arrays; its form now is for where that does not pay.
    fn across(&self, l: &Loop) -> Option<Across> {
        if !self.prepares || self.around.is_empty() || matches!(l.plan.form, Form::Tiles | Form::Together(_))
        {
            return None;
        }
        let arrays = self.cpu.across(l, self.merged, &self.changed)?;
        Some(Across { arrays, around: self.around.clone(), otherwise: Box::new(l.plan.form.clone()) })
    }

    /// Whether a loop is a part of few trips.
    fn is_short(&self, l: &Loop) -> bool {
        let form = |a: Option<Atom>| self.facts.form(a?);
        let trips = form(l.range.to).zip(form(l.range.from)).map(|(to, from)| to.sub(&from));
        trips.and_then(|t| t.as_dim()?.as_constant()).is_some_and(|n| n < LANES as i64)
    }

    fn form_within(&mut self, mut l: Loop) -> Loop {
        if l.folds.is_empty() && self.cpu.tiles_pay(&l.axis, &l.body, self.merged) {
            l.plan.form = Form::Tiles;
            return l;
        }
        let axes: Vec<Axis> = l.axes().cloned().collect();
        let width = self.together_folding(&axes, &l.body, &l.folds);
        if let Some(width) = width.filter(|_| folds_are_short(&l.body)) {
            l.plan.form = Form::Together(width);
            l.body = self.inside(&axes, 0, l.body);
            return l;
        }
        let has_loops = l.body.iter().any(|n| matches!(n, Node::Loop(_)));
        let lanes = in_lanes(self.cpu.p, &l) && !self.is_short(&l);
        let mut middle = None;
        // A plain loop that folds is not vectorized with a middle either.
        if lanes || (has_loops && !self.at_ends) || (!has_loops && l.folds.is_empty()) {
            middle = peel::middle(self.cpu, &mut self.facts, &l);
        }
        let around = self.at_ends;
        self.at_ends = false;
        let middle = middle.map(|m| {
            let can = folded_trips(&m.body).next().is_some()
                && folds_are_short(&m.body)
                && !self.has_scratch(&m.body);
            let together = if can { self.together_folding(&axes, &m.body, &l.folds) } else { None };
            Middle { body: self.inside(&axes, m.margin, m.body), together, ..m }
        });
        self.at_ends = around;
        match middle {
            Some(m) if m.margin == 0 => {
                l.body = m.body;
                for (f, value) in l.folds.iter_mut().zip(m.values) {
                    f.value = value;
                }
                l.plan.form = m.together.map_or_else(|| folding(lanes, None), Form::Together);
            }
            middle => {
                self.at_ends |= middle.is_some() && has_loops;
                let sides = if middle.is_none() && !lanes && !has_loops {
                    sides::sides(self.cpu, &mut self.facts, &l)
                } else {
                    None
                };
                l.body = self.inside(&axes, 0, l.body);
                self.at_ends = around;
                l.plan.form = sides.map_or_else(|| folding(lanes, middle), Form::Sided);
            }
        }
        if l.plan.form == Form::Plain
            && l.range.is_whole()
            && let Some(width) = self.in_blocks(&l)
        {
            l.plan.form = Form::Blocks(width);
        }
        let alone = !l.folds.is_empty() || l.plan.form.middle().is_some() || self.has_scratch(&l.body);
        if let Some(width) = width.filter(|_| !alone) {
            l.plan.form = Form::Few(width, Box::new(l.plan.form));
        }
        l
    }
}

/// The form of a loop with this middle.
fn folding(lanes: bool, middle: Option<Middle>) -> Form {
    match (lanes, middle) {
        (true, middle) => Form::Lanes(middle),
        (false, Some(m)) => Form::Peeled(m),
        (false, None) => Form::Plain,
    }
}

/// Whether a loop's folds go to lanes.
fn in_lanes(p: &Program, l: &Loop) -> bool {
    let plain = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. } | Node::Write { .. });
    let regroups = |f: &Fold| {
        f.reducer.is_extremum()
            || matches!(f.reducer, Reducer::Add | Reducer::Mul | Reducer::Min | Reducer::Max)
    };
    let is_short = l.extent().as_constant().is_some_and(|n| n < LANES as i64);
    !l.folds.is_empty()
        && l.body.iter().all(plain)
        && overwrite_their_own(p, std::slice::from_ref(&l.axis), &l.body)
        && l.folds.iter().all(regroups)
        && (!is_short || takes_long(&l.body))
}
