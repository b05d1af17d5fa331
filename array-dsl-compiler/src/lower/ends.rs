//! Loops that end where a point's own trips do, which only data tell.
//!
//! ```text
//! for k < m { c = k < e; if c { .. } else { nothing } }              =   for k < m, up to max(e, 0) { .. }
//! for k < m { c = m - 1 - k < e; if c { .. } else { nothing } }      =   for k < m, from m - max(e, 0) { .. }
//! ```
//!
//! where `e` is the same for all trips; likewise the loops of one point by itself on a GPU (on the CPU several points make these together).
//! Rows of different lengths then cost what they have, not what the longest has (`flatten::counts` makes them so). A trip does nothing if,
//! once `c` is false, what the loop folds is neutral, its states stay as they are, and all that is changed is at -1, which is nowhere; and
//! if nothing that may fail is executed. A trip that stores is none of these.
//!
//! What is compared with a polynomial is for `cpu::ranges`, unless the trips are in order or change elements. On a GPU the loops of single
//! threads end; the trips that several threads share, or that are threads, do not.

mod idle;

use rustc_hash::FxHashSet;

use crate::affine::{Affine, Checked, Facts, Types};
use crate::bulk::build::{Fresh, Renaming, int, renamed};
use crate::bulk::idle::Idle;
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, Atom, Axis, Exp, Let, Prefix, Reducer, Var};
use crate::dim::Dim;
use crate::loops::print::types;
use crate::loops::uses::{Access, bound, combined, is_pure, visit_arrays};
use crate::loops::{Division, Loop, Node, Program, Range, Recurrence, Rounds, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Ends the loops of a program that is not yet lowered.
pub(super) fn on_the_cpu(p: &mut Program) {
    ended(p, |e, t| {
        e.loops_of_updates(t);
        // The trips of what is executed once are divided among tasks.
        e.tree(t, t.axes.is_empty());
    });
}

/// Ends the loops of a program whose trees are divided among threads.
pub fn on_a_gpu(p: &mut Program) {
    ended(p, |e, t| {
        if matches!(t.plan.division, Division::Points | Division::Undivided) {
            e.recurrences = true;
            e.tree(t, false);
        }
    });
}

fn ended(p: &mut Program, f: impl Fn(&mut Ends<'_>, &mut Tree)) {
    let (mut all, mut vars) = (std::mem::take(&mut p.steps), p.vars.clone());
    steps(&mut Ends { p, arrays: types(p), vars: &mut vars, recurrences: false }, &mut all, &f);
    (p.steps, p.vars) = (all, vars);
}

fn steps(e: &mut Ends<'_>, all: &mut [Step], f: &impl Fn(&mut Ends<'_>, &mut Tree)) {
    for s in all {
        match s {
            Step::Tree(t) => f(e, t),
            Step::Repeat(r) => steps(e, &mut r.steps, f),
            _ => {}
        }
    }
}

struct Ends<'a> {
    p: &'a Program,
    arrays: Vec<bulk::ArrayInfo>,
    /// The types of all scalars, the new ones included.
    vars: &'a mut Vec<Elem>,
    /// Whether loops of one point by itself end as well.
    recurrences: bool,
}

/// Where the trips of a loop change.
enum End {
    /// There are none from the count on.
    To,
    /// They are the last of so many.
    FromLast(Dim),
}

/// A comparison that says which trips do something.
struct Limit {
    count: Atom,
    end: End,
    /// Code before the loop that computes the count, by the names that it has inside.
    code: Vec<Let>,
}

impl Ends<'_> {
    /// The loops of a tree, `inside` of others only.
    fn tree(&mut self, t: &mut Tree, inside: bool) {
        let mut facts = Facts::new(&t.axes, &Checked::default());
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
        let mut facts = Facts::new(&t.axes[..1], &Checked::default());
        let mut at = &whole;
        let mut found = false;
        loop {
            let scope = facts.scope();
            found |= self.limit_of(at, &mut facts).is_some();
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

    /// The loop of one point, if it ends before it reaches its extent.
    fn recurrence(&mut self, r: &mut Recurrence, facts: &mut Facts, out: &mut Vec<Node>) {
        let (Rounds::For(axis, until @ None), true) = (&mut r.rounds, self.recurrences) else { return };
        let stay = |idle: &Idle<'_>| r.states.iter().all(|s| idle.at(s.next) == Atom::Var(s.state));
        if let Some(limit @ Limit { end: End::To, .. }) = self.limit(axis, &r.body, false, stay, facts) {
            *until = Some(self.count(limit, r.loc, out).0);
        }
    }

    /// Code before a loop for the trips that do something, and where they are.
    fn count(&mut self, limit: Limit, loc: Loc, out: &mut Vec<Node>) -> (Atom, End) {
        let Limit { count, end, mut code } = limit;
        let mut names = Renaming::default();
        let mut fresh = Fresh { vars: self.vars, names: &mut names };
        code.iter_mut().for_each(|l| fresh.binding(l));
        out.extend(code.into_iter().map(Node::Let));
        (self.op(Op::Max, [renamed(&names, count), int(0)], loc, out), end)
    }

    fn looped(&mut self, l: Loop, facts: &mut Facts, out: &mut Vec<Node>) {
        let limit = self.limit_of(&l, facts);
        let mut l = self.inside(l, facts);
        let Some(limit) = limit else {
            out.push(Node::Loop(l));
            return;
        };
        let loc = l.loc;
        let (count, end) = self.count(limit, loc, out);
        let extent = self.bind(Elem::I64, Exp::Size(l.axis.extent.clone()), loc, out);
        // Within the extent, an end is as small an integer as the counter.
        let (from, to) = match end {
            End::To => (None, Some(self.op(Op::Min, [count, extent], loc, out))),
            End::FromLast(all) => {
                let all = self.bind(Elem::I64, Exp::Size(all), loc, out);
                let from = self.op(Op::Sub, [all, count], loc, out);
                let from = self.op(Op::Max, [from, int(0)], loc, out);
                (Some(self.op(Op::Min, [from, extent], loc, out)), None)
            }
        };
        l.range = Range { from, to };
        let ends = vec![from.unwrap_or(int(0)), to.unwrap_or(extent)];
        // The last state after no trips is the first one.
        let mut after = Vec::new();
        for k in 0..l.folds.len() {
            if l.folds[k].reducer != Reducer::Last {
                continue;
            }
            let result = l.folds[k].result;
            let elem = self.vars[result.0 as usize];
            let Some(start) = state(&l, l.folds[k].value) else { continue };
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

    /// The comparison by which a loop ends that folds.
    fn limit_of(&self, l: &Loop, facts: &mut Facts) -> Option<Limit> {
        if !l.range.is_whole() || !l.merged.is_empty() {
            return None;
        }
        let stay = |idle: &Idle<'_>| {
            l.folds.iter().all(|f| match f.reducer {
                Reducer::Last => state(l, f.value).is_some(),
                reducer => idle.is_neutral(reducer, f.value),
            })
        };
        self.limit(&l.axis, &l.body, !l.is_ordered() && is_pure(&l.body), stay, facts)
    }

    /// The comparison by which a loop ends, of counts that are no polynomials if those are `left`. Whether what the loop makes `stays`
    /// as it is is asked of a trip that does nothing.
    fn limit(
        &self,
        axis: &Axis,
        body: &[Node],
        left: bool,
        stays: impl Fn(&Idle<'_>) -> bool,
        facts: &mut Facts,
    ) -> Option<Limit> {
        let mut lets = Vec::new();
        bindings(body, &mut lets);
        let scope = facts.scope();
        facts.enter(axis);
        let mut found = None;
        for (at, c) in lets.iter().enumerate() {
            if let Some((count, end)) = compared(facts, axis, c)
                && !(left && facts.form(count).is_some())
                && idle::without(self.vars, body, c.vars[0]).is_some_and(|idle| stays(&idle))
            {
                found = Some((at, count, end));
                break;
            }
            facts.learn(self.types(), c);
        }
        facts.leave(scope);
        let (at, count, end) = found?;
        let code = self.before(axis, body, &lets[..at], count, facts)?;
        Some(Limit { count, end, code })
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

/// What a comparison says of the trips that do something, if it is one of a loop's counter with a count.
fn compared(facts: &Facts, axis: &Axis, c: &Let) -> Option<(Atom, End)> {
    let (x, count) = match &c.exp {
        Exp::Op(Op::Lt, args) => (args[0], args[1]),
        Exp::Op(Op::Gt, args) => (args[1], args[0]),
        _ => return None,
    };
    count.var()?;
    let mut form = facts.form(x)?;
    let step = form.axes.remove(&axis.var)?.as_constant()?;
    let rest = form.as_dim()?.clone();
    let (one, last) = (Dim::constant(1), rest.add(&Dim::constant(1)) == axis.extent);
    match step {
        1 if rest == Dim::default() => Some((count, End::To)),
        // k > rest - count, where the counter is not more than `rest`, or nothing wraps.
        -1 if last || facts.exact(&facts.form(x)?) && facts.exact(&Affine::constant(rest.clone())) => {
            Some((count, End::FromLast(rest.add(&one))))
        }
        _ => None,
    }
}

/// What the scan starts from of which a scalar is the state after each trip.
fn state(l: &Loop, a: Atom) -> Option<Atom> {
    let scans = l.body.iter().filter_map(Node::as_scan);
    scans.filter(|s| s.prefix == Prefix::Inclusive).find_map(|s| {
        let k = s.vars.iter().position(|v| a == Atom::Var(*v))?;
        Some(s.start[k])
    })
}
