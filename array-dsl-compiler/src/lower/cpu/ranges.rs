//! Loops that fold, and whose conditions on their counter are settled in parts of them: each part has code of its own, or none.
//!
//! ```text
//! for k < n { if k < i { a[i, k] * x[k] } else { 0 } } fold r = add   =   for k < n, up to i { a[i, k] * x[k] } fold r = add
//! for k < n { if k == i { e } else { f } } fold r = add
//!     =   for k < n, up to i { f } fold s = add   for k < n, from i, up to i + 1 { e } fold t = add   ..   r = s + t + ..
//! ```
//!
//! A triangle costs half a square, and no index is compared in it. A comparison changes where its two sides, which are polynomials, meet:
//! one that moves along the counter by one element a trip is settled on either side of that place (a **border**). What is certain on a
//! side is asked of `affine`, as for the middles of loops (`peel`), of which the verifier of Loops asks again whether reads are inside.
//! The parts of a float sum are added in their order.
//!
//! What several folds have conditions of their own for is folded by loops of their own.
//!
//! A loop is only divided if that saves something: a part is left out that may be long, or costs half of the whole. Loops in tiles are
//! left alone: they change places with loops inside, whose ends must then be the same for all.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::super::border::{self, Meeting};
use super::{Cpu, merge, peel};
use crate::affine::{Affine, Checked, Facts};
use crate::bulk::build::{Fresh, Renaming};
use crate::bulk::live::live_lets;
use crate::bulk::walk::Rewriter;
use crate::bulk::{Atom, Axis, Branch, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::print::types;
use crate::loops::rename::fresh;
use crate::loops::uses::{each_tree, is_pure};
use crate::loops::{Fold, Loop, Node, Program, Range, Recurrence, Tree};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// So few trips, where their number is known, are not divided.
const FEW: i64 = 16;

/// A loop in more parts than these is too much code.
const MOST_PARTS: usize = 4;

/// Divides the loops of a program. `known` is what is established before each tree.
pub(super) fn ranges(p: &mut Program, known: &[Checked]) {
    for apart in [true, false] {
        let (mut all, mut vars) = (std::mem::take(&mut p.steps), p.vars.clone());
        let arrays = types(p);
        let cpu = Cpu { p, arrays: &arrays, again: false, checked: &Checked::default() };
        let mut known = known.iter();
        each_tree(&mut all, &mut |t| {
            let facts = known.next().map_or_else(|| cpu.facts(&t.axes), |c| Facts::new(&t.axes, c));
            Ranges { cpu: &cpu, vars: &mut vars, apart }.tree(t, facts);
        });
        (p.steps, p.vars) = (all, vars);
    }
}

struct Ranges<'a> {
    cpu: &'a Cpu<'a>,
    /// The types of all scalars, the new ones included.
    vars: &'a mut Vec<Elem>,
    /// Whether loops only become several, one for each of their folds: of the names that these bind the facts know nothing yet.
    apart: bool,
}

/// A border as what the counter is compared with.
pub(super) type Border = Affine;

/// Code that is left of a loop in a part of it.
struct Part {
    from: Option<Border>,
    to: Option<Border>,
    body: Vec<Node>,
    values: Vec<Atom>,
}

impl Ranges<'_> {
    fn tree(&mut self, t: &mut Tree, mut facts: Facts) {
        let groups = merge::groups(self.cpu.p, t);
        let merged: Vec<Vec<Var>> = groups.iter().map(|g| g.iter().map(|a| a.var).collect()).collect();
        if groups.iter().any(|g| self.cpu.tiles_pay(&g[0], &t.body, &merged)) {
            return;
        }
        for n in std::mem::take(&mut t.body) {
            match n {
                // Its trips are divided among tasks.
                Node::Loop(l) if t.axes.is_empty() => t.body.push(Node::Loop(self.inside(l, &mut facts))),
                n => self.node(n, &mut facts, &mut t.body),
            }
        }
    }

    fn nodes(&mut self, nodes: Vec<Node>, facts: &mut Facts) -> Vec<Node> {
        let mut out = Vec::new();
        nodes.into_iter().for_each(|n| self.node(n, facts, &mut out));
        out
    }

    fn node(&mut self, n: Node, facts: &mut Facts, out: &mut Vec<Node>) {
        match n {
            Node::Loop(l) => self.looped(l, facts, out),
            Node::Recurrence(r) => {
                let scope = facts.scope();
                self.cpu.enter(&r.rounds, facts);
                let body = self.nodes(r.body, facts);
                facts.leave(scope);
                out.push(Node::Recurrence(Recurrence { body, ..r }));
            }
            n => {
                self.cpu.learn(std::slice::from_ref(&n), facts);
                out.push(n);
            }
        }
    }

    /// A loop with the loops inside divided, and what its ends say of its conditions.
    fn inside(&mut self, mut l: Loop, facts: &mut Facts) -> Loop {
        if !l.range.is_whole() && !self.apart {
            let scope = facts.scope();
            facts.enter(&l.axis);
            facts.within(&l.axis, l.range.from, l.range.to);
            let values: Vec<Atom> = l.folds.iter().map(|f| f.value).collect();
            let settled = peel::settled(self.cpu, facts, &l.axis, &l.body, &values);
            facts.leave(scope);
            if let Some((body, values)) = settled {
                l.body = body;
                l.folds.iter_mut().zip(values).for_each(|(f, value)| f.value = value);
            }
        }
        if l.is_ordered() || l.folds.is_empty() && self.cpu.tiles_pay(&l.axis, &l.body, &[]) {
            return l;
        }
        let scope = facts.scope();
        l.axes().for_each(|a| facts.enter(a));
        let body = self.nodes(l.body, facts);
        facts.leave(scope);
        Loop { body, ..l }
    }

    /// A loop in parts.
    fn looped(&mut self, l: Loop, facts: &mut Facts, out: &mut Vec<Node>) {
        let Some(parts) = self.parts(&l, facts) else {
            match self.apart.then(|| self.fold_by_fold(&l, facts)).flatten() {
                Some(loops) => out.extend(loops.into_iter().map(Node::Loop)),
                None => out.push(Node::Loop(self.inside(l, facts))),
            }
            return;
        };
        if self.apart {
            out.push(Node::Loop(l));
            return;
        }
        let mut results: Vec<Vec<Atom>> = Vec::new();
        let several = parts.len() > 1;
        for Part { from, to, body, values } in parts {
            let scope = facts.scope();
            facts.enter(&l.axis);
            facts.between(&l.axis, from.as_ref(), to.as_ref());
            let body = self.nodes(body, facts);
            facts.leave(scope);
            let range = Range {
                from: from.map(|f| border::code(&f, l.loc, self.vars, out)),
                to: to.map(|t| border::code(&t, l.loc, self.vars, out)),
            };
            let folds = l.folds.iter().zip(values).map(|(f, value)| Fold { value, ..f.clone() }).collect();
            let mut part = [Node::Loop(Loop { range, body, folds, ..l.clone() })];
            if several {
                fresh(&mut part, &mut Fresh { vars: self.vars, names: &mut Renaming::default() });
            }
            if let [Node::Loop(l)] = &part {
                results.push(l.folds.iter().map(|f| Atom::Var(f.result)).collect());
            }
            out.extend(part);
        }
        if several {
            for (k, f) in l.folds.iter().enumerate() {
                self.combined(f, results.iter().map(|r| r[k]).collect(), l.loc, out);
            }
        }
    }

    /// What the parts fold, in their order.
    fn combined(&mut self, f: &Fold, parts: Vec<Atom>, loc: Loc, out: &mut Vec<Node>) {
        let Some(op) = f.reducer.op() else { return };
        let elem = self.vars[f.result.0 as usize];
        let mut sum = parts[0];
        for (k, part) in parts.iter().enumerate().skip(1) {
            let v = if k + 1 == parts.len() { f.result } else { self.var(elem) };
            out.push(Node::Let(Let { vars: vec![v], exp: Exp::Op(op, vec![sum, *part]), loc }));
            sum = Atom::Var(v);
        }
    }

    /// The parts of a loop in their order, without those that fold nothing, if that saves something.
    fn parts(&self, l: &Loop, facts: &mut Facts) -> Option<Vec<Part>> {
        let can = l.folds.iter().all(|f| f.reducer.op().is_some()) && !l.folds.is_empty();
        let is_short = l.extent().as_constant().is_some_and(|n| n < FEW);
        if !can
            || is_short
            || !l.range.is_whole()
            || l.is_ordered()
            || !l.merged.is_empty()
            || !is_pure(&l.body)
        {
            return None;
        }
        let mut borders = Borders { cpu: self.cpu, axis: &l.axis, outside: facts.axes(), found: Vec::new() };
        let scope = facts.scope();
        facts.enter(&l.axis);
        borders.nodes(&l.body, facts);
        facts.leave(scope);
        let values = l.folds.iter().map(|f| f.value).collect();
        let mut parts = vec![Part { from: None, to: None, body: l.body.clone(), values }];
        let mut saves = false;
        for group in borders.found {
            let mut next = Vec::new();
            let mut divided = false;
            for part in parts {
                // A second border in a part would have to be compared with its ends.
                let (free_from, free_to) = (part.from.is_none(), part.to.is_none());
                let made = if free_from || free_to { self.divided(l, &part, &group, facts) } else { None };
                match made.filter(|made| made.iter().all(|p| fits(&part, p))) {
                    Some(made) => {
                        divided = true;
                        next.extend(made.into_iter().map(|p| within(&part, p)));
                    }
                    None => next.push(part),
                }
            }
            saves |= divided;
            parts = next;
        }
        (saves && !parts.is_empty() && parts.len() <= MOST_PARTS).then_some(parts)
    }

    /// A loop for each of its folds, if these have conditions of their own, by which some end, and what is left of all is less.
    fn fold_by_fold(&mut self, l: &Loop, facts: &mut Facts) -> Option<Vec<Loop>> {
        if l.folds.len() < 2 || l.folds.len() > MOST_PARTS || l.is_ordered() {
            return None;
        }
        let code = |n: &Node| match n {
            Node::Let(l) if !l.may_fail(self.vars) => Some(l.clone()),
            _ => None,
        };
        let lets: Vec<Let> = l.body.iter().map(code).collect::<Option<_>>()?;
        let (mut left, mut loops) = (0, Vec::new());
        for f in &l.folds {
            let mut live: FxHashSet<Var> = f.value.var().into_iter().collect();
            let body: Vec<Node> = live_lets(lets.clone(), &mut live).into_iter().map(Node::Let).collect();
            let one = Loop { body, folds: vec![f.clone()], ..l.clone() };
            // A part that ends is half of it.
            left += cost(&one.body) / if self.parts(&one, facts).is_some() { 2 } else { 1 };
            loops.push(one);
        }
        (left < cost(&l.body)).then(|| loops.into_iter().map(|one| self.own(one)).collect())
    }

    /// A loop under names of its own but for what it folds.
    fn own(&mut self, mut l: Loop) -> Loop {
        let mut names = Fresh { vars: self.vars, names: &mut Renaming::default() };
        names.bound_var(&mut l.axis.var);
        fresh(&mut l.body, &mut names);
        l.folds.iter_mut().for_each(|f| names.atom(&mut f.value));
        l
    }

    /// A part between its borders of one group, if that saves something.
    fn divided(&self, l: &Loop, part: &Part, group: &[Border], facts: &mut Facts) -> Option<Vec<Part>> {
        let whole = cost(&part.body);
        let mut out = Vec::new();
        let mut saves = false;
        for k in 0..=group.len() {
            let from = k.checked_sub(1).map(|k| &group[k]);
            let to = group.get(k);
            let scope = facts.scope();
            facts.enter(&l.axis);
            facts.between(&l.axis, part.from.as_ref(), part.to.as_ref());
            facts.between(&l.axis, from, to);
            let made = peel::settled(self.cpu, facts, &l.axis, &part.body, &part.values);
            facts.leave(scope);
            let (body, values) = made?;
            let is_long = from.is_none() || to.is_none();
            let folds =
                |(f, v): (&Fold, &Atom)| matches!(v, Atom::Const(c) if *c == f.reducer.neutral(c.elem));
            let fails = |n: &Node| !matches!(n, Node::Let(l) if !l.may_fail(self.vars));
            if l.folds.iter().zip(&values).all(folds) && !body.iter().any(fails) {
                saves |= is_long;
                continue;
            }
            saves |= is_long && 2 * cost(&body) <= whole;
            out.push(Part { from: from.cloned(), to: to.cloned(), body, values });
        }
        (saves && !out.is_empty()).then_some(out)
    }

    fn var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }
}

/// Whether a part of a part has one border at each end.
fn fits(whole: &Part, p: &Part) -> bool {
    !(whole.from.is_some() && p.from.is_some() || whole.to.is_some() && p.to.is_some())
}

/// A part of a part.
fn within(whole: &Part, p: Part) -> Part {
    Part { from: p.from.or_else(|| whole.from.clone()), to: p.to.or_else(|| whole.to.clone()), ..p }
}

/// The places at which the comparisons in a loop change.
pub(super) struct Borders<'a> {
    pub cpu: &'a Cpu<'a>,
    pub axis: &'a Axis,
    /// The axes around the loop.
    pub outside: BTreeSet<Var>,
    /// In groups that differ by constants, in ascending order.
    pub found: Vec<Vec<Border>>,
}

impl Borders<'_> {
    pub fn nodes(&mut self, nodes: &[Node], facts: &mut Facts) {
        for n in nodes {
            match n {
                Node::Let(l) => self.binding(l, facts),
                Node::Loop(l) => {
                    let scope = facts.scope();
                    l.axes().for_each(|a| facts.enter(a));
                    self.nodes(&l.body, facts);
                    facts.leave(scope);
                }
                _ => {}
            }
        }
    }

    fn binding(&mut self, l: &Let, facts: &mut Facts) {
        match &l.exp {
            Exp::Op(op, args) => self.comparison(*op, args, facts),
            Exp::If(_, x, y) => {
                for Branch { block, .. } in [x, y] {
                    let scope = facts.scope();
                    block.lets.iter().for_each(|l| self.binding(l, facts));
                    facts.leave(scope);
                }
            }
            _ => {}
        }
        facts.learn(self.cpu.types(), l);
    }

    fn comparison(&mut self, op: Op, args: &[Atom], facts: &Facts) {
        let [a, b] = args else { return };
        let meeting = border::meeting(facts, self.axis.var, &self.outside, [*a, *b]);
        let Some(Meeting { at: meet, step }) = meeting else { return };
        let after = meet.add(&Affine::constant(Dim::constant(1)));
        let borders = match (op, step) {
            (Op::Lt | Op::Ge, 1) | (Op::Gt | Op::Le, -1) => vec![meet],
            (Op::Le | Op::Gt, 1) | (Op::Ge | Op::Lt, -1) => vec![after],
            (Op::Eq | Op::Ne, _) => vec![meet, after],
            _ => return,
        };
        // Computed, a border must not wrap either: `k <= s` does not change at `s + 1` for every `s`.
        if borders.iter().all(|b| facts.exact(b)) {
            borders.into_iter().for_each(|b| self.add(b));
        }
    }

    fn add(&mut self, b: Border) {
        // Near the ends are the margins of the middle.
        let offset = |x: &Border, y: &Dim| x.as_dim().and_then(|x| x.sub(y).as_constant());
        let is_end = |d: &Dim| offset(&b, d).is_some_and(|c| c.abs() <= FEW);
        if is_end(&Dim::default()) || is_end(&self.axis.extent) {
            return;
        }
        let by = |x: &Border| b.sub(x).as_dim().and_then(Dim::as_constant);
        let Some(group) = self.found.iter_mut().find(|g| by(&g[0]).is_some()) else {
            self.found.push(vec![b]);
            return;
        };
        let at = group.iter().take_while(|x| by(x).is_some_and(|c| c > 0)).count();
        if group.get(at) != Some(&b) {
            group.insert(at, b);
        }
    }
}

/// What a trip costs, in simple operations.
pub(super) fn cost(nodes: &[Node]) -> usize {
    let each = |n: &Node| match n {
        Node::Let(l) => l.exp.weight(),
        Node::Loop(l) => 16 * cost(&l.body),
        Node::Recurrence(r) => 16 * cost(&r.body),
        _ => 1,
    };
    nodes.iter().map(each).sum()
}
