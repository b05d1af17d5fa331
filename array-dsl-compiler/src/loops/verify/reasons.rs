//! Why the reads of a tree that are not compared with their array's dimensions are inside: what the steps before it have
//! established, and what its loops and conditions say (`affine`).

use rustc_hash::FxHashSet;

use super::super::print::types;
use super::super::uses::each_tree;
use super::super::{
    Bands, Border, Home, Loop, Node, Plan, Program, Repeat, Rounds, Sort, Sorted, Step, Tree, Which,
};
use crate::affine::{Affine, Checked, IndexedArrays, Proof, Types};
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, ArrayInfo, Atom, Axis, Exp, Let, Var};
use crate::ty::Elem;

/// What the steps before a place establish, and which reads they make without a reason.
pub(super) struct Reasons<'a> {
    pub p: &'a Program,
    pub arrays: &'a [ArrayInfo],
    /// The types of all scalars.
    pub vars: &'a [Elem],
}

/// Elements of arrays.
type Elements = FxHashSet<(ArrayId, Vec<Atom>)>;

/// What a tree does without a reason.
pub(super) struct Unproven {
    /// The scalars that may be outside of their arrays.
    pub reads: Vec<(Var, ArrayId)>,
    /// The arrays of which something is read that may not be set.
    pub unset: Vec<ArrayId>,
    /// The elements written that may be outside of their arrays, and whether they are compared.
    pub writes: Vec<(ArrayId, Vec<Atom>, bool)>,
}

impl Reasons<'_> {
    /// Adds what a step establishes.
    pub fn step(&self, s: &Step, checked: &mut Checked) {
        match s {
            Step::Check(c, _) => checked.check(c),
            Step::Sort(Sort { result, gives: Sorted::Positions, .. }) => {
                checked.sorted_positions(*result, self.arrays)
            }
            Step::Move { array, source } | Step::Copy { array, source } => checked.same(*array, *source),
            Step::Tree(t) => drop(self.tree(t, checked)),
            Step::Repeat(r) => {
                let inside = self.inside(r, checked);
                checked.after(&inside, &carried(r));
            }
            Step::Bands(_) => {}
            Step::Fill { .. } | Step::Contract(_) | Step::Sort(_) | Step::Call(_) => {}
        }
        for (i, info) in self.p.arrays.iter().enumerate() {
            if let Home::View(of) = info.home {
                checked.same(ArrayId(i as u32), of);
            }
        }
    }

    /// What is established at the start of a trip.
    pub fn inside(&self, r: &Repeat, checked: &Checked) -> Checked {
        checked.inside(&r.trips, &carried(r), |c| r.steps.iter().for_each(|s| self.step(s, c)))
    }

    /// What is established at the start of a band: of its rows what is of all.
    pub fn in_band(&self, b: &Bands, checked: &Checked) -> Checked {
        let mut inside = checked.clone();
        inside.band(b.first, b.rows, &b.total);
        b.read.iter().for_each(|h| inside.rows_of(h.inside, h.outside));
        inside
    }

    /// Calls `f` with what each tree of some steps does without a reason.
    fn of_steps(&self, steps: &[Step], mut checked: Checked, f: &mut impl FnMut(Unproven)) {
        for s in steps {
            match s {
                Step::Tree(t) => f(self.tree(t, &mut checked.clone())),
                Step::Repeat(r) => self.of_steps(&r.steps, self.inside(r, &checked), f),
                Step::Bands(b) => self.of_steps(&b.steps, self.in_band(b, &checked), f),
                _ => {}
            }
            self.step(s, &mut checked);
        }
    }

    /// What a tree reads without a reason; adds what it establishes.
    pub fn tree(&self, t: &Tree, checked: &mut Checked) -> Unproven {
        let dims = |a: ArrayId| {
            let dims = &self.arrays[a.0 as usize].dims;
            dims.split_at(match self.p.arrays[a.0 as usize].home {
                Home::Row { depth } => depth,
                _ => 0,
            })
        };
        // What is changed in place is not what it was, from the first point on.
        t.body.iter().for_each(|n| changed(n, &mut |a| checked.forget(a)));
        let types = Types { arrays: self.arrays, vars: self.vars };
        let mut proof = Proof::new(types, checked, &dims);
        let mut around = Around { checked, indexed: IndexedArrays::default(), all: true };
        inside(&t.axes, &t.body, &t.plan, &mut proof, &mut around);
        let Around { checked, mut indexed, .. } = around;
        // Nor do its elements stay what they were as indices.
        t.body.iter().for_each(|n| changed(n, &mut |a| indexed.forget(a)));
        checked.compared(indexed);
        Unproven { reads: proof.unproven, unset: proof.unset, writes: proof.outside }
    }
}

/// The arrays of which a tree reads what loops of its may not have set that do not make all trips. `vars` are the types of all scalars,
/// `checked` is what is established before the tree.
pub(crate) fn unset(
    p: &Program,
    arrays: &[ArrayInfo],
    vars: &[Elem],
    checked: &Checked,
    t: &Tree,
) -> Vec<ArrayId> {
    Reasons { p, arrays, vars }.tree(t, &mut checked.clone()).unset
}

/// What is established before each tree, in their order.
pub(crate) fn established(p: &Program) -> Vec<Checked> {
    fn list(reasons: &Reasons<'_>, steps: &[Step], mut checked: Checked, out: &mut Vec<Checked>) {
        for s in steps {
            match s {
                Step::Tree(_) => out.push(checked.clone()),
                Step::Repeat(r) => list(reasons, &r.steps, reasons.inside(r, &checked), out),
                Step::Bands(b) => list(reasons, &b.steps, reasons.in_band(b, &checked), out),
                _ => {}
            }
            reasons.step(s, &mut checked);
        }
    }
    let mut out = Vec::new();
    list(&Reasons { p, arrays: &types(p), vars: &p.vars }, &p.steps, Checked::executed(), &mut out);
    out
}

/// Has the reads compared that have no reason to be inside.
pub fn compare(p: &mut Program) {
    let arrays = types(p);
    let reasons = Reasons { p, arrays: &arrays, vars: &p.vars };
    let mut unproven = FxHashSet::default();
    reasons.of_steps(&p.steps, Checked::executed(), &mut |u| {
        unproven.extend(u.reads.into_iter().map(|(v, _)| v))
    });
    if !unproven.is_empty() {
        let mut compare = Compare(&unproven);
        each_tree(&mut p.steps, &mut |t| in_nodes(&mut t.body, &mut compare));
    }
}

/// Has elements written without a comparison that have a reason to be inside.
pub fn certain(p: &mut Program) {
    let arrays = types(p);
    let reasons = Reasons { p, arrays: &arrays, vars: &p.vars };
    let mut unproven = FxHashSet::default();
    reasons.of_steps(&p.steps, Checked::executed(), &mut |u| {
        unproven.extend(u.writes.into_iter().map(|(array, index, _)| (array, index)));
    });
    each_tree(&mut p.steps, &mut |t| {
        let codes = [&mut t.body].into_iter().chain(t.plan.form.codes_mut());
        codes.for_each(|nodes| compare_writes(nodes, &unproven));
    });
}

/// Has just these elements compared where they are written.
fn compare_writes(nodes: &mut [Node], unproven: &Elements) {
    for n in nodes {
        match n {
            Node::Write { array, index, checked, .. } => {
                *checked = unproven.contains(&(*array, index.clone()));
            }
            Node::Loop(l) => {
                compare_writes(&mut l.body, unproven);
                l.plan.form.codes_mut().into_iter().for_each(|nodes| compare_writes(nodes, unproven));
            }
            Node::Recurrence(r) => compare_writes(&mut r.body, unproven),
            Node::Let(_) | Node::Scan(_) | Node::Store { .. } | Node::Accumulate { .. } => {}
        }
    }
}

struct Compare<'a>(&'a FxHashSet<Var>);

impl Rewriter for Compare<'_> {
    fn binding(&mut self, l: &mut Let) {
        if let Exp::Read { checked, .. } = &mut l.exp {
            *checked |= self.0.contains(&l.vars[0]);
        }
        self.walk_binding(l);
    }
}

fn in_nodes(nodes: &mut [Node], compare: &mut Compare<'_>) {
    for n in nodes {
        match n {
            Node::Let(l) => compare.binding(l),
            Node::Scan(s) => compare.scan(s),
            Node::Loop(l) => in_nodes(&mut l.body, compare),
            Node::Recurrence(r) => in_nodes(&mut r.body, compare),
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
}

/// What code establishes.
struct Around<'a> {
    checked: &'a mut Checked,
    indexed: IndexedArrays,
    /// Whether the loops around it make all trips.
    all: bool,
}

impl Around<'_> {
    /// In a loop that makes all trips, or does not.
    fn within(&mut self, all: bool, code: impl FnOnce(&mut Self)) {
        let before = self.all;
        self.all &= all;
        code(self);
        self.all = before;
    }

    /// What code establishes alone about elements of arrays.
    fn alone(&mut self, code: impl FnOnce(&mut Self)) -> IndexedArrays {
        let before = std::mem::take(&mut self.indexed);
        code(self);
        std::mem::replace(&mut self.indexed, before)
    }
}

/// The code of a loop, and that of some of its trips. What its points say, that it has some before all, is not known after it. Each
/// trip is made by one of the codes, so that elements have been indices if they are in all.
fn inside(axes: &[Axis], body: &[Node], plan: &Plan, proof: &mut Proof<'_>, around: &mut Around<'_>) {
    let scope = proof.facts.scope();
    axes.iter().for_each(|x| proof.enter(x));
    let mut indexed = around.alone(|around| nodes(body, proof, around));
    proof.facts.leave(scope);
    for (which, code, _) in plan.form.codes() {
        let scope = proof.facts.scope();
        axes.iter().for_each(|x| proof.enter(x));
        match which {
            Which::Away(margin) => proof.facts.away_from_ends(&axes[0], margin),
            Which::Between(from, to) => {
                let [from, to] = [from, to].map(|b| b.map(place));
                proof.facts.between(&axes[0], from.as_ref(), to.as_ref());
            }
        }
        indexed.or(&around.alone(|around| nodes(code, proof, around)));
        proof.facts.leave(scope);
    }
    around.indexed.and(indexed);
}

/// Where a border is.
fn place(b: &Border) -> Affine {
    b.axis.map_or_else(Affine::default, Affine::axis).add(&Affine::constant(b.offset.clone()))
}

fn nodes(body: &[Node], proof: &mut Proof<'_>, around: &mut Around<'_>) {
    for n in body {
        match n {
            Node::Let(l) => {
                if around.all {
                    let lasts = |a| proof.dims_around(a).is_empty();
                    around.indexed.compared(l, &proof.facts, proof.types, lasts);
                }
                proof.binding(l);
            }
            Node::Scan(s) => proof.scan(s),
            Node::Loop(l) => {
                let axes: Vec<Axis> = l.axes().cloned().collect();
                let scope = proof.facts.scope();
                proof.facts.within(&l.axis, l.range.from, l.range.to);
                let all = l.range.is_whole();
                if !all {
                    sets_parts(&l.body, l, proof);
                }
                around.within(all, |around| inside(&axes, &l.body, &l.plan, proof, around));
                proof.facts.leave(scope);
            }
            Node::Recurrence(r) => {
                let scope = proof.facts.scope();
                match &r.rounds {
                    Rounds::For(a, until) => {
                        proof.enter(a);
                        until.iter().for_each(|u| proof.facts.until(a, *u));
                    }
                    Rounds::While(on) => proof.facts.assume(Atom::Var(*on), true),
                }
                let all = matches!(r.rounds, Rounds::For(_, None));
                around.within(all, |around| nodes(&r.body, proof, around));
                proof.facts.leave(scope);
            }
            // For the trees after this one, and for the loops of this one that read the row.
            Node::Store { array, index, value } => {
                around.checked.stored(*array, index.is_empty(), *value, &mut proof.facts);
            }
            Node::Write { array, index, checked, .. } => proof.write(*array, index, *checked),
            Node::Accumulate { .. } => {}
        }
    }
}

/// What the trips store of a loop that does not make all.
fn sets_parts(nodes: &[Node], l: &Loop, proof: &mut Proof<'_>) {
    for n in nodes {
        match n {
            Node::Store { array, index, .. } => {
                let dimension = index.iter().position(|i| *i == Atom::Var(l.axis.var));
                proof.sets_part(*array, dimension, [l.range.from, l.range.to], &l.axis.extent);
            }
            Node::Loop(inside) => sets_parts(&inside.body, l, proof),
            Node::Recurrence(r) => sets_parts(&r.body, l, proof),
            Node::Let(_) | Node::Scan(_) | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
}

fn changed(n: &Node, f: &mut impl FnMut(ArrayId)) {
    match n {
        Node::Loop(l) => l.body.iter().for_each(|n| changed(n, f)),
        Node::Recurrence(r) => r.body.iter().for_each(|n| changed(n, f)),
        Node::Accumulate { array, .. } | Node::Write { array, .. } => f(*array),
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } => {}
    }
}

pub(super) fn carried(r: &Repeat) -> Vec<bulk::Carried> {
    r.carried.iter().map(|c| c.arrays).collect()
}
