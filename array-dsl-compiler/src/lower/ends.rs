//! Loops that end where a point's own trips do, which only data tell.
//!
//! ```text
//! for k < m { c = k < e; if c { .. } else { nothing } }              =   for k < m, up to max(e, 0) { .. }
//! for k < m { c = m - 1 - k < e; if c { .. } else { nothing } }      =   for k < m, from m - max(e, 0) { .. }
//! ```
//!
//! where `e` is the same for all trips, computed by code before the loop or a polynomial (`border`); likewise the loops of one point by
//! itself on a GPU (on the CPU several points make these together). Rows of different lengths then cost what they have, not what the
//! longest has (`flatten::counts` makes them so). A trip does nothing if, once `c` is false, what the loop folds is neutral, its states
//! stay as they are, and all that is changed is at -1, which is nowhere; and if nothing that may fail is executed. Elements of a row that
//! such a trip would store stay as they are, if those that are read are all set by others: the states on a point's way, of which its way
//! back reads no more. No other trip that stores is left out.
//!
//! What is compared with a polynomial is for `cpu::ranges`, unless the trips are in order or change elements. On a GPU the loops of single
//! threads end; the trips that several threads share, or that are threads, do not.

mod idle;
mod limit;

use rustc_hash::FxHashSet;

use self::limit::{Limit, counted, has_trips, place};
use super::border;
use crate::affine::{Affine, Checked, Facts, Types};
use crate::bulk::build::{Fresh, Renaming, int, renamed};
use crate::bulk::idle::Idle;
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, Atom, Axis, Exp, Let, Prefix, Reducer, Var};
use crate::dim::Dim;
use crate::loops::print::types;
use crate::loops::uses::{Access, bound, combined, each_tree, is_pure, visit_arrays};
use crate::loops::verify::{established, unset};
use crate::loops::{Division, Home, Loop, Node, Program, Range, Recurrence, Rounds, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// What is established before each tree of a program, if it has loops that may end by that; nothing is asked else.
pub(super) fn known(p: &Program) -> Vec<Checked> {
    fn may_end(n: &Node) -> bool {
        match n {
            Node::Loop(l) => l.is_ordered() || l.body.iter().any(may_end),
            Node::Accumulate { .. } | Node::Recurrence(_) => true,
            _ => false,
        }
    }
    fn any(s: &Step) -> bool {
        match s {
            Step::Tree(t) => t.body.iter().any(may_end),
            s => s.inside().iter().any(any),
        }
    }
    if p.steps.iter().any(any) { established(p) } else { Vec::new() }
}

/// Ends the loops of a program that is not yet lowered. `known` is what is established before each tree.
pub(super) fn on_the_cpu(p: &mut Program, known: &[Checked]) {
    ended(p, known, false, |e, t| {
        e.loops_of_updates(t);
        // The trips of what is executed once are divided among tasks.
        let inside = t.axes.is_empty();
        e.tree(t, inside);
        e.with_rows(t, inside);
    });
}

/// Ends the loops of a program whose trees are divided among threads.
pub fn on_a_gpu(p: &mut Program) {
    let known = known(p);
    ended(p, &known, true, |e, t| {
        if matches!(t.plan.division, Division::Points | Division::Undivided) {
            e.tree(t, false);
        }
    });
}

fn ended(p: &mut Program, known: &[Checked], of_threads: bool, f: impl Fn(&mut Ends<'_>, &mut Tree)) {
    let (mut all, mut vars) = (std::mem::take(&mut p.steps), p.vars.clone());
    let (rows, checked) = (FxHashSet::default(), Checked::default());
    let mut e = Ends { p, arrays: types(p), vars: &mut vars, checked, of_threads, rows };
    let mut known = known.iter();
    each_tree(&mut all, &mut |t| {
        e.checked = known.next().cloned().unwrap_or_default();
        f(&mut e, t);
    });
    (p.steps, p.vars) = (all, vars);
}

struct Ends<'a> {
    p: &'a Program,
    arrays: Vec<bulk::ArrayInfo>,
    /// The types of all scalars, the new ones included.
    vars: &'a mut Vec<Elem>,
    /// What is established before the tree at hand.
    checked: Checked,
    /// Whether threads make the loops: those of one point by itself end as well then, and ends are small integers.
    of_threads: bool,
    /// The rows of which not all elements have to be stored.
    rows: FxHashSet<ArrayId>,
}

impl Ends<'_> {
    /// The loops of a tree, `inside` of others only.
    fn tree(&mut self, t: &mut Tree, inside: bool) {
        let mut facts = Facts::new(&t.axes, &self.checked);
        for n in std::mem::take(&mut t.body) {
            match n {
                Node::Loop(l) if inside => t.body.push(Node::Loop(self.inside(l, &mut facts))),
                n => self.node(n, &mut facts, &mut t.body),
            }
        }
    }

    fn types(&self) -> Types<'_> {
        Types { arrays: &self.arrays, vars: self.vars }
    }

    /// Points that combine into copies are loops from their second axis on; they become loops here if the last one ends.
    fn loops_of_updates(&mut self, t: &mut Tree) {
        if combined(&t.body).is_empty() || t.axes.len() < 2 {
            return;
        }
        let inner = |t: &Tree| {
            let mut l: Option<Loop> = None;
            for axis in t.axes[1..].iter().rev() {
                let body = l.map_or_else(|| t.body.clone(), |l| vec![Node::Loop(l)]);
                l = Some(Loop::new(axis.clone(), body, Vec::new(), t.loc));
            }
            l
        };
        let Some(whole) = inner(t) else { return };
        let mut facts = Facts::new(&t.axes[..1], &self.checked);
        let mut at = &whole;
        let mut found = false;
        loop {
            let scope = facts.scope();
            found |= !self.limits_of(at, &mut facts).is_empty();
            facts.leave(scope);
            facts.enter(&at.axis);
            match at.body.as_slice() {
                [Node::Loop(l)] => at = l,
                _ => break,
            }
        }
        if found {
            t.axes.truncate(1);
            t.body = vec![Node::Loop(whole)];
            t.plan.division = Division::Copies;
        }
    }

    fn node(&mut self, n: Node, facts: &mut Facts, out: &mut Vec<Node>) {
        match n {
            Node::Loop(l) => self.looped(l, facts, out),
            Node::Recurrence(mut r) => {
                self.recurrence(&mut r, facts, out);
                let scope = facts.scope();
                if let Rounds::For(a, until) = &r.rounds {
                    facts.enter(a);
                    until.iter().for_each(|u| facts.until(a, *u));
                }
                let mut body = Vec::new();
                r.body.into_iter().for_each(|n| self.node(n, facts, &mut body));
                facts.leave(scope);
                out.push(Node::Recurrence(Recurrence { body, ..r }));
            }
            n => {
                if let Node::Let(l) = &n {
                    facts.learn(self.types(), l);
                }
                out.push(n);
            }
        }
    }

    /// A loop with the loops inside ended.
    fn inside(&mut self, l: Loop, facts: &mut Facts) -> Loop {
        let scope = facts.scope();
        l.axes().for_each(|a| facts.enter(a));
        let mut body = Vec::new();
        l.body.into_iter().for_each(|n| self.node(n, facts, &mut body));
        facts.leave(scope);
        Loop { body, ..l }
    }

    /// Loops that store rows as well, as far as no more of these is read than is set.
    fn with_rows(&mut self, t: &mut Tree, inside: bool) {
        visit_arrays(&t.body, &mut |a, access| {
            let is_row = matches!(self.p.arrays[a.0 as usize].home, Home::Row { .. });
            self.rows.extend((access == Access::Write && is_row).then_some(a));
        });
        while !self.rows.is_empty() {
            let mut ended = t.clone();
            self.tree(&mut ended, inside);
            if ended == *t {
                break;
            }
            let unset = unset(self.p, &self.arrays, self.vars, &self.checked, &ended);
            if unset.is_empty() {
                *t = ended;
                break;
            }
            let before = self.rows.len();
            self.rows.retain(|a| !unset.contains(a));
            assert!(self.rows.len() < before, "a row that all trips store is read where it may not be set");
        }
        self.rows.clear();
    }

    /// The loop of one point, if it ends before it reaches its extent.
    fn recurrence(&mut self, r: &mut Recurrence, facts: &mut Facts, out: &mut Vec<Node>) {
        let (Rounds::For(axis, until @ None), true) = (&mut r.rounds, self.of_threads) else { return };
        let stay =
            |idle: &Idle<'_>, _: &Limit| r.states.iter().all(|s| idle.at(s.next) == Atom::Var(s.state));
        let limits = self.limits(axis, &r.body, false, stay, facts);
        if let Some(limit) = limits.into_iter().find(Limit::is_end) {
            *until = Some(self.end(limit, &axis.extent, facts, r.loc, out));
        }
    }

    /// Code before a loop for the place at which trips that do something begin or end.
    fn end(&mut self, limit: Limit, extent: &Dim, facts: &Facts, loc: Loc, out: &mut Vec<Node>) -> Atom {
        match limit {
            Limit::From(place) | Limit::To(place) => {
                let within = [place.clone(), Affine::constant(extent.clone()).sub(&place)];
                let is_within = within.iter().all(|f| facts.nonnegative(f));
                let place = border::code(&place, loc, self.vars, out);
                // A thread counts by small integers.
                if is_within || !self.of_threads { place } else { self.kept(place, extent, loc, out) }
            }
            Limit::Counted { count, last_of, mut code } => {
                let mut names = Renaming::default();
                let mut fresh = Fresh { vars: self.vars, names: &mut names };
                code.iter_mut().for_each(|l| fresh.binding(l));
                out.extend(code.into_iter().map(Node::Let));
                let count = self.op(Op::Max, [renamed(&names, count), int(0)], loc, out);
                let place = match last_of {
                    None => count,
                    Some(all) => {
                        let all = self.bind(Elem::I64, Exp::Size(all), loc, out);
                        self.op(Op::Sub, [all, count], loc, out)
                    }
                };
                if self.of_threads { self.kept(place, extent, loc, out) } else { place }
            }
        }
    }

    /// A place within the extent of a loop.
    fn kept(&mut self, place: Atom, extent: &Dim, loc: Loc, out: &mut Vec<Node>) -> Atom {
        let place = self.op(Op::Max, [place, int(0)], loc, out);
        let extent = self.bind(Elem::I64, Exp::Size(extent.clone()), loc, out);
        self.op(Op::Min, [place, extent], loc, out)
    }

    fn looped(&mut self, l: Loop, facts: &mut Facts, out: &mut Vec<Node>) {
        let limits = self.limits_of(&l, facts);
        let mut l = self.inside(l, facts);
        if limits.is_empty() {
            out.push(Node::Loop(l));
            return;
        }
        let loc = l.loc;
        let has_trips = has_trips(&limits, &l.axis.extent, facts);
        let [mut from, mut to] = [None, None];
        for limit in limits {
            let at = if limit.is_end() { &mut to } else { &mut from };
            *at = Some(self.end(limit, &l.axis.extent, facts, loc, out));
        }
        l.range = Range { from, to };
        if has_trips || !l.folds.iter().any(|f| f.reducer == Reducer::Last) {
            out.push(Node::Loop(l));
            return;
        }
        // The last state after no trips is the first one.
        let extent = self.bind(Elem::I64, Exp::Size(l.axis.extent.clone()), loc, out);
        let [from, to] = [from, to].map(|end| end.map(|end| self.kept(end, &l.axis.extent, loc, out)));
        let ends = vec![from.unwrap_or(int(0)), to.unwrap_or(extent)];
        let mut after = Vec::new();
        for k in 0..l.folds.len() {
            if l.folds[k].reducer != Reducer::Last {
                continue;
            }
            let result = l.folds[k].result;
            let elem = self.vars[result.0 as usize];
            let value = l.folds[k].value;
            let passed = || passed_on(&l, value).map(|(_, start)| start);
            let Some(start) = state(&l, value).or_else(passed) else { continue };
            let last = self.var(elem);
            l.folds[k].result = last;
            let any = self.bind(Elem::Bool, Exp::Op(Op::Lt, ends.clone()), loc, &mut after);
            let none = self.bind(Elem::Bool, Exp::Op(Op::Le, vec![extent, int(0)]), loc, &mut after);
            let zero = Atom::Const(Const::of(elem, 0));
            let start = self.bind(elem, Exp::Op(Op::Select, vec![none, zero, start]), loc, &mut after);
            let exp = Exp::Op(Op::Select, vec![any, Atom::Var(last), start]);
            after.push(Node::Let(Let { vars: vec![result], exp, loc }));
        }
        out.push(Node::Loop(l));
        out.extend(after);
    }

    /// The comparisons by which a loop that folds begins and ends.
    fn limits_of(&self, l: &Loop, facts: &mut Facts) -> Vec<Limit> {
        if !l.range.is_whole() || !l.merged.is_empty() {
            return Vec::new();
        }
        let stay = |idle: &Idle<'_>, limit: &Limit| {
            l.folds.iter().all(|f| match f.reducer {
                // After the trips that do something the last of them has made it.
                Reducer::Last if limit.is_end() => state(l, f.value).is_some(),
                Reducer::Last => {
                    state(l, f.value).is_some()
                        || passed_on(l, f.value).is_some_and(|s| idle.at(f.value) == s.0)
                }
                reducer => idle.is_neutral(reducer, f.value),
            })
        };
        self.limits(&l.axis, &l.body, !l.is_ordered() && is_pure(&l.body), stay, facts)
    }

    /// The comparisons by which a loop begins and ends, but for polynomials if those are `left`. Whether what the loop makes `stays`
    /// as it is is asked of a trip that does nothing.
    fn limits(
        &self,
        axis: &Axis,
        body: &[Node],
        left: bool,
        stays: impl Fn(&Idle<'_>, &Limit) -> bool,
        facts: &mut Facts,
    ) -> Vec<Limit> {
        let mut lets = Vec::new();
        bindings(body, &mut lets);
        let outside = facts.axes();
        let scope = facts.scope();
        facts.enter(axis);
        let mut found: Vec<(usize, Limit)> = Vec::new();
        for (at, c) in lets.iter().enumerate() {
            let limit = if left { None } else { place(facts, &outside, axis, c) };
            if let Some(limit) = limit.or_else(|| counted(facts, axis, c, left))
                && found.iter().all(|(_, other)| other.is_end() != limit.is_end())
                && idle::without(self.vars, &self.rows, body, c.vars[0])
                    .is_some_and(|idle| stays(&idle, &limit))
            {
                found.push((at, limit));
            }
            facts.learn(self.types(), c);
        }
        facts.leave(scope);
        let with_code = |(at, limit)| match limit {
            Limit::Counted { count, last_of, .. } => {
                let code = self.before(axis, body, &lets[..at], count, facts)?;
                Some(Limit::Counted { count, last_of, code })
            }
            limit => Some(limit),
        };
        found.into_iter().filter_map(with_code).collect()
    }

    /// The code that computes a scalar, if it can be executed before a loop, and always.
    fn before(
        &self,
        axis: &Axis,
        body: &[Node],
        lets: &[&Let],
        count: Atom,
        facts: &mut Facts,
    ) -> Option<Vec<Let>> {
        let inside = bound(body);
        let mut changed: Vec<ArrayId> = Vec::new();
        visit_arrays(body, &mut |a, access| {
            if access != Access::Read {
                changed.push(self.p.root(a));
            }
        });
        let mut needed: FxHashSet<Var> = count.var().into_iter().collect();
        let mut code: Vec<Let> = Vec::new();
        for c in lets.iter().rev() {
            if c.vars.iter().any(|v| needed.contains(v)) {
                c.exp.visit_atoms(&mut |a| needed.extend(a.var()));
                code.insert(0, (*c).clone());
            }
        }
        let bound: FxHashSet<Var> = code.iter().flat_map(|c| c.vars.iter().copied()).collect();
        if needed.iter().any(|v| inside.contains(v) && !bound.contains(v) || *v == axis.var) {
            return None;
        }
        let scope = facts.scope();
        let mut can = true;
        for c in &code {
            can &= match &c.exp {
                Exp::Size(_) => true,
                Exp::Op(op, _) => op.is_cheap() && !op.can_fail(),
                Exp::Read { array, index, checked: false } => {
                    !changed.contains(&self.p.root(*array))
                        && facts.all_inside(index, self.p.memory_dims(*array))
                }
                _ => false,
            };
            facts.learn(self.types(), c);
        }
        facts.leave(scope);
        can.then_some(code)
    }

    fn var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }

    fn op(&mut self, op: Op, args: [Atom; 2], loc: Loc, out: &mut Vec<Node>) -> Atom {
        self.bind(Elem::I64, Exp::Op(op, args.to_vec()), loc, out)
    }

    fn bind(&mut self, elem: Elem, exp: Exp, loc: Loc, out: &mut Vec<Node>) -> Atom {
        let v = self.var(elem);
        out.push(Node::Let(Let { vars: vec![v], exp, loc }));
        Atom::Var(v)
    }
}

/// Scalar code that every trip of a loop executes, in order.
fn bindings<'a>(nodes: &'a [Node], out: &mut Vec<&'a Let>) {
    for n in nodes {
        match n {
            Node::Let(l) => out.push(l),
            Node::Loop(l) if l.range.is_whole() => bindings(&l.body, out),
            _ => {}
        }
    }
}

/// The state before each trip that a choice passes on, and what its scan starts from.
fn passed_on(l: &Loop, a: Atom) -> Option<(Atom, Atom)> {
    let sides = |l: &Let| match &l.exp {
        Exp::If(_, yes, no) => {
            let k = l.vars.iter().position(|v| Atom::Var(*v) == a)?;
            Some([yes.results[k], no.results[k]])
        }
        Exp::Op(Op::Select, args) => (Atom::Var(l.vars[0]) == a).then_some([args[1], args[2]]),
        _ => None,
    };
    let sides = l.body.iter().find_map(|n| if let Node::Let(l) = n { sides(l) } else { None })?;
    let scans = l.body.iter().filter_map(Node::as_scan).filter(|s| s.prefix == Prefix::Exclusive);
    let states: Vec<(Atom, Atom)> =
        scans.flat_map(|s| s.vars.iter().map(|v| Atom::Var(*v)).zip(s.start.iter().copied())).collect();
    sides.into_iter().find_map(|side| states.iter().find(|(state, _)| *state == side).copied())
}

/// What the scan starts from of which a scalar is the state after each trip.
fn state(l: &Loop, a: Atom) -> Option<Atom> {
    let scans = l.body.iter().filter_map(Node::as_scan);
    scans.filter(|s| s.prefix == Prefix::Inclusive).find_map(|s| {
        let k = s.vars.iter().position(|v| a == Atom::Var(*v))?;
        Some(s.start[k])
    })
}
