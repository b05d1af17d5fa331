//! How trees and loops are executed on a CPU.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | what is divided among tasks |
//! | `bands` | steps for some rows at a time |
//! | `form` | how a loop goes through its trips |
//! | `hoist` | arithmetic moved out of loops |
//! | `layout` | the order of arrays' dimensions |
//! | `merge` | several parallel axes as one |
//! | `peel` | the middles of loops |
//! | `ranges` | loops in parts |
//! | `scratch` | arrays of which a point needs its own elements |
//! | `sides` | loops by other code on each side of a place |
//! | `steps` | what scans compute without their states |
//! | `strides` | reductions that stride through memory |
//! | `writes` | writes that never meet |
//!
//! After it the axes of a tree count as one, whose points are divided; the others are loops.

mod bands;
mod form;
mod hoist;
mod layout;
mod merge;
mod peel;
mod ranges;
mod scratch;
mod sides;
mod steps;
mod strides;
mod writes;

use self::form::Place;
use super::{ends, forward};
use crate::affine::{Checked, Facts, Types};
use crate::bulk::{self, Axis, Scan};
use crate::loops::own::overwrites_others;
use crate::loops::print::types;
use crate::loops::together;
use crate::loops::uses::{combined, is_pure};
use crate::loops::verify::certain;
use crate::loops::{Bands, Division, Loop, Node, Plan, Program, Repeat, Rounds, Step, Tree};
use crate::ty::Loc;

/// A program whose steps are being lowered.
#[derive(Clone, Copy)]
struct Cpu<'a> {
    p: &'a Program,
    arrays: &'a [bulk::ArrayInfo],
    /// Whether they are executed again and again.
    again: bool,
    /// What is known of the numbers of the band that they are in.
    checked: &'a Checked,
}

/// Decides how the loops of a program are executed.
pub fn lower(p: &mut Program) {
    layout::layout(p);
    bands::bands(p);
    scratch::scratch(p);
    let known = ends::known(p);
    ends::on_the_cpu(p, &known);
    ranges::ranges(p, &known);
    if steps::steps(p) {
        forward(p);
    }
    let steps = std::mem::take(&mut p.steps);
    let arrays = types(p);
    p.steps = Cpu { p, arrays: &arrays, again: false, checked: &Checked::default() }.steps(steps);
    certain(p);
}

impl Cpu<'_> {
    fn steps(&self, steps: Vec<Step>) -> Vec<Step> {
        let lowered = |s| match s {
            Step::Tree(t) => Step::Tree(self.tree(t)),
            Step::Repeat(r) => {
                let inside = Cpu { again: true, ..*self };
                Step::Repeat(Repeat { steps: inside.steps(r.steps), ..r })
            }
            Step::Bands(b) => {
                let mut checked = Checked::default();
                checked.band(b.first, b.rows, &b.total);
                let inside = Cpu { checked: &checked, ..*self };
                Step::Bands(Bands { steps: inside.steps(b.steps), ..b })
            }
            s => s,
        };
        steps.into_iter().map(lowered).collect()
    }

    fn types(&self) -> Types<'_> {
        Types { arrays: self.arrays, vars: &self.p.vars }
    }

    /// What is known in a tree, within these of its axes.
    fn facts(&self, axes: &[Axis]) -> Facts {
        Facts::new(axes, self.checked)
    }

    /// Goes into a loop of one point.
    fn enter(&self, rounds: &Rounds, facts: &mut Facts) {
        if let Rounds::For(a, until) = rounds {
            facts.enter(a);
            until.iter().for_each(|u| facts.until(a, *u));
        }
    }

    /// Learns what nodes bind.
    fn learn(&self, nodes: &[Node], facts: &mut Facts) {
        for n in nodes {
            if let Node::Let(l) = n {
                facts.learn(self.types(), l);
            }
        }
    }

    fn tree(&self, t: Tree) -> Tree {
        let t = Tree { body: self.hoisted(t.body, &mut self.facts(&t.axes)), ..t };
        let combines = !combined(&t.body).is_empty();
        let is_loop = |n: &Node| matches!(n, Node::Loop(_) | Node::Recurrence(_));
        let in_blocks = t.axes.len() == 1 && together::in_blocks(&t.body, &self.p.vars).is_some();
        if combines && t.plan.division != Division::Copies && (t.body.iter().any(is_loop) || in_blocks) {
            return self.collecting(t);
        }
        let updates = combines || overwrites_others(self.p, &t);
        if t.plan.division == Division::Copies {
            return Tree { body: Place::new(self, &t.axes, &[], &t.body).formed(t.body), ..t };
        }
        match (updates, t.axes.is_empty()) {
            (true, true) => Tree { body: Place::new(self, &[], &[], &t.body).alone().formed(t.body), ..t },
            (true, false) => self.update(t),
            (false, true) => {
                let mut place = Place::new(self, &[], &[], &t.body);
                Tree { body: t.body.into_iter().map(|n| host(&mut place, n)).collect(), ..t }
            }
            (false, false) => self.parallel(t),
        }
    }

    /// A tree that combines or writes at computed indices. What is combined goes to copies; writes that never meet are shared among
    /// tasks, and others are executed in order, so that the last of several values for one place stays.
    fn update(&self, t: Tree) -> Tree {
        let mut order = None;
        let division = t.body.iter().find_map(|n| match n {
            Node::Accumulate { .. } => Some(Division::Copies),
            Node::Write { array, .. } => {
                let root = self.p.root(*array);
                order = writes::distinct(&t, n, |a| self.p.root(a) == root);
                Some(if order.is_some() { Division::Points } else { Division::Undivided })
            }
            _ => None,
        });
        let Tree { mut axes, mut body, loc, .. } = t;
        // Where each point has a place of its own, neighbors in memory come one after the other.
        if let Some(order) = order {
            let mut sorted: Vec<(usize, Axis)> = order.into_iter().zip(axes).collect();
            sorted.sort_by_key(|(k, _)| *k);
            axes = sorted.into_iter().map(|(_, a)| a).collect();
        }
        for axis in axes.drain(1..).rev() {
            body = vec![Node::Loop(Loop::new(axis, body, Vec::new(), loc))];
        }
        let plan = Plan { division: division.unwrap_or_default(), ..Plan::default() };
        let body = Place::new(self, &axes, &[], &body).formed(body);
        Tree { axes, body, plan, loc }
    }

    /// Points that make loops or go together, and combine what these leave.
    fn collecting(&self, t: Tree) -> Tree {
        let l = Place::new(self, &t.axes, &[], &t.body).form(counted(t.axes, t.body, t.loc));
        let axes = l.axes().cloned().collect();
        Tree { axes, body: l.body, plan: Plan { division: Division::Copies, ..l.plan }, loc: t.loc }
    }

    /// A tree with axes. Those that are one are merged; the first are divided, the others become loops.
    fn parallel(&self, t: Tree) -> Tree {
        let mut groups = merge::groups(self.p, &t);
        let merged: Vec<_> = groups.iter().map(|g| g.iter().map(|a| a.var).collect()).collect();
        let first = groups.remove(0);
        let strides = groups.is_empty() && self.tiles_pay(&first[0], &t.body, &merged);
        if strides && shares_trips(&t.body) {
            let plan = Plan { division: Division::ColumnsAndTrips, ..Plan::default() };
            return Tree { axes: first, plan, ..t };
        }
        let mut body = t.body;
        for group in groups.into_iter().rev() {
            let inner = vec![Node::Loop(counted(group, body, t.loc))];
            body = self.hoisted(inner, &mut self.facts(&t.axes));
        }
        let l = Place::new(self, &[], &merged, &body).form(counted(first, body, t.loc));
        let division = if strides { Division::Columns } else { Division::Points };
        let axes = l.axes().cloned().collect();
        Tree { axes, body: l.body, plan: Plan { division, ..l.plan }, loc: t.loc }
    }
}

/// A node of a tree without axes: each loop is divided among tasks.
fn host(place: &mut Place<'_>, n: Node) -> Node {
    let Node::Loop(mut l) = n else {
        place.learn(&n);
        return n;
    };
    let scans: Vec<&Scan> = l.scans().collect();
    let division = match scans.as_slice() {
        [] => Division::Points,
        scans if scans.iter().all(|s| s.is_associative()) => Division::Prefixes,
        _ => Division::Undivided,
    };
    match division {
        // Executed once without its stores and folds.
        Division::Prefixes => {
            let axes: Vec<Axis> = l.axes().cloned().collect();
            l.body = place.inside(&axes, 0, l.body);
        }
        _ => l = place.form(l),
    }
    l.plan.division = division;
    Node::Loop(l)
}

/// A loop over axes that are one.
fn counted(mut axes: Vec<Axis>, body: Vec<Node>, loc: Loc) -> Loop {
    let merged = axes.split_off(1);
    let mut l = Loop::new(axes.remove(0), body, Vec::new(), loc);
    l.merged = merged;
    l
}

/// Whether a tree is one loop that folds, with scalar code before and no loop after it: then its trips can be shared among tasks.
fn shares_trips(body: &[Node]) -> bool {
    let Some(at) = body.iter().position(|n| matches!(n, Node::Loop(_))) else { return false };
    let (before, [Node::Loop(l), after @ ..]) = body.split_at(at) else { return false };
    before.iter().all(|n| matches!(n, Node::Let(_)))
        && !after.iter().any(|n| matches!(n, Node::Loop(_)))
        && is_pure(&l.body)
}
