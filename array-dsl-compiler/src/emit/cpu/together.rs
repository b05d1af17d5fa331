//! Loops that several points make together: what differs from point to point is computed in lanes.
//!
//! ```text
//! for each block of points { for lane { before; state[lane] = start }
//!                            for trip { for lane { body; state[lane] = next } }
//!                            for lane { after with state[lane] } }
//! ```
//!
//! Code is in **pieces**: what stands between two loops, or between one and an end, is a loop over the lanes. What a piece computes and
//! another one uses is kept in an array of lanes; what is the same in all lanes is computed once, outside of the lanes; and addresses
//! are computed again (`addresses`). Elements that are no neighbors are read before functions are computed of them, in a loop over the
//! lanes of its own: with them in it, a loop is not made of vectors. A loop in a loop is one whose body has several pieces.
//!
//! In **blocks** ([`Form::Blocks`]) only the pieces are made so: a loop between them is a piece of its own, whose lanes go through it one
//! after the other.
//!
//! What the points of a piece combine into an array that they share is put down in lanes, and goes there after them: as one value if all
//! have the same place, lane by lane otherwise.
//!
//! Lanes that fill no vector would be executed one by one, and a function takes as long for one number as for a vector of them: of 14
//! points with vectors of 8 numbers that would be seven times instead of twice. So where there are functions the lanes go on to the end
//! of a vector, on processors that read and write parts of vectors. Those without a point compute with zeros, and change nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::addresses::Addresses;
use super::angles::LEAVE_IF_LONG;
use super::functions::stages;
use super::nodes::leave_if_failed;
use super::region::Region;
use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::internal;
use crate::loops::together::Differ;
use crate::loops::uses::{Access, bound, takes_long, visit_arrays, visit_atoms};
use crate::loops::{Fold, Form, Loop, Node, Recurrence, Rounds, State};
use crate::ty::{Const, Elem};

/// The most numbers in a vector.
const MOST: usize = 16;

/// A loop over the lanes around their code.
fn lanes(code: &str) -> String {
    lanes_until("lanes", code)
}

/// The same up to some number of lanes.
fn lanes_until(end: &str, code: &str) -> String {
    format!("let mut lane: i64 = 0;\nwhile lane < {end} {{\n{code}lane += 1;\n}}\n")
}

/// Where the scalars of all pieces are.
struct Lanes {
    /// The axis of the points.
    axis: Var,
    width: usize,
    /// Whether loops are pieces of their own.
    in_blocks: bool,
    /// Of lanes that go on to the end of a vector the bytes of a number.
    masked: Option<i64>,
    /// What differs from lane to lane.
    differ: Differ,
    addresses: Addresses,
    /// What other pieces than its own use.
    kept: BTreeSet<Var>,
    /// What is read apart; it is kept as well.
    apart: BTreeSet<Var>,
    /// The scalars that are a state, before or after its loop, and the name of its lanes.
    states: BTreeMap<Var, Var>,
    /// What loops that are pieces of their own bind.
    of_loops: BTreeSet<Var>,
}

/// A loop that points make together: a recurrence, or a loop whose folds are states.
struct Trips<'a> {
    /// What it counts, and where it ends before the extent.
    counted: Option<(&'a Axis, Option<Atom>)>,
    /// Else it goes on while this state holds.
    on: Option<Var>,
    states: Vec<Held>,
    body: &'a [Node],
}

/// A state of such a loop, by its names inside and after it.
struct Held {
    state: Var,
    start: Atom,
    next: Next,
    result: Var,
}

/// What a state becomes.
#[derive(Clone, Copy)]
enum Next {
    Value(Atom),
    /// Itself and a value, combined.
    Combined(Reducer, Atom),
}

impl<'a> Trips<'a> {
    fn of(n: &'a Node, vars: &[Elem]) -> Option<Trips<'a>> {
        match n {
            Node::Recurrence(q) => {
                let (counted, on) = match &q.rounds {
                    Rounds::For(axis, until) => (Some((axis, *until)), None),
                    Rounds::While(on) => (None, Some(*on)),
                };
                let held = |s: &State| Held {
                    state: s.state,
                    start: s.start,
                    next: Next::Value(s.next),
                    result: s.result,
                };
                Some(Trips { counted, on, states: q.states.iter().map(held).collect(), body: &q.body })
            }
            Node::Loop(l) => {
                let held = |f: &Fold| Held {
                    state: f.result,
                    start: Atom::Const(f.reducer.neutral(vars[f.result.0 as usize])),
                    next: Next::Combined(f.reducer, f.value),
                    result: f.result,
                };
                let states = l.folds.iter().map(held).collect();
                Some(Trips { counted: Some((&l.axis, None)), on: None, states, body: &l.body })
            }
            _ => None,
        }
    }

    fn end(&self) -> End {
        let states = self.states.iter().map(|s| (s.state, s.next)).collect();
        End { states, only_where: self.on, any: self.on }
    }
}

/// Code that combines what lanes put down: before the lanes, in each, and after them.
struct Collected {
    before: String,
    lane: String,
    after: String,
}

/// What ends a piece: states become values.
#[derive(Default)]
struct End {
    states: Vec<(Var, Next)>,
    /// Only in lanes for which this state holds; in others they stay as they are.
    only_where: Option<Var>,
    /// It is learned whether this state holds in any lane.
    any: Option<Var>,
}

impl End {
    fn uses(&self) -> impl Iterator<Item = Var> {
        let olds = self.only_where.into_iter().flat_map(|on| self.states.iter().map(|(s, _)| *s).chain([on]));
        let next = self.states.iter().flat_map(|(state, next)| match next {
            Next::Value(value) => [value.var(), None],
            Next::Combined(_, value) => [value.var(), Some(*state)],
        });
        next.flatten().chain(olds)
    }

    fn code(&self, vars: &[Elem], r: &mut Region) -> String {
        let mut code = String::new();
        for (state, next) in &self.states {
            let value = match next {
                Next::Value(value) => r.atom(*value),
                Next::Combined(reducer, value) => {
                    let (elem, old) = (vars[state.0 as usize], format!("v{}", state.0));
                    expr::combine(*reducer, elem, &old, &r.atom(*value))
                }
            };
            let value = match self.only_where {
                Some(on) => format!("(if v{} {{ {value} }} else {{ v{} }})", on.0, state.0),
                None => value,
            };
            code.push_str(&set("state", *state, &value));
        }
        let is_point = if r.masked { "inside && " } else { "" };
        code + &self.any.map(|on| format!("any |= {is_point}{};\n", get("state", on))).unwrap_or_default()
    }
}

impl Lanes {
    fn new(c: &Cpu<'_>, l: &Loop, width: usize) -> Lanes {
        let differ = Differ::of(l.axes(), &l.body);
        let in_blocks = matches!(l.plan.form, Form::Blocks(_));
        let mut pieces = Pieces::new(&c.p.vars, &differ, in_blocks);
        pieces.nodes(&l.body);
        // What the points fold is taken up in their order, after all lanes.
        pieces.at += 1;
        l.folds.iter().for_each(|f| pieces.uses(f.value));
        let Pieces { bound, used, addresses, states, .. } = pieces;
        let of_loops =
            if in_blocks { loops(&l.body).flat_map(Node::binds).collect() } else { BTreeSet::new() };
        let mut changed = BTreeSet::new();
        visit_arrays(&l.body, &mut |a, access| changed.extend((access != Access::Read).then(|| c.root(a))));
        let differs = |a: &Atom| a.var().is_some_and(|v| differ.has(v));
        let is_known =
            |a: &Atom| !differs(a) || a.var().is_none_or(|v| v == l.axis.var || addresses.contains(v));
        let may = |array: ArrayId, index: &[Atom]| {
            let in_rows = index.split_last().is_some_and(|(_, rows)| rows.iter().any(differs));
            in_rows && index.iter().all(is_known) && !changed.contains(&c.root(array))
        };
        let mut apart = BTreeSet::new();
        if !in_blocks {
            read_apart(&l.body, &may, &mut apart);
        }
        let elsewhere = used.into_iter().filter(|(v, piece)| bound.get(v).is_some_and(|p| p != piece));
        let is_kept = |v: &Var| differ.has(*v) && !addresses.contains(*v);
        let kept = elsewhere.map(|(v, _)| v).filter(is_kept).chain(apart.iter().copied()).collect();
        let masked = mask(&l.body, &c.p.vars);
        Lanes { axis: l.axis.var, width, in_blocks, masked, kept, apart, differ, addresses, states, of_loops }
    }

    /// The numbers that lanes have from piece to piece.
    fn held(&self) -> Vec<(&'static str, Var)> {
        let states: BTreeSet<Var> = self.states.values().copied().collect();
        let kept = self.kept.iter().map(|v| ("kept", *v));
        kept.chain(states.into_iter().map(|v| ("state", v))).collect()
    }

    /// Code in lanes, up to the end of a vector where some lanes may have no point.
    fn in_lanes(&self, code: &str) -> String {
        match self.masked {
            Some(bytes) => {
                let end = format!("__rt::cpu::in_vectors::<VECTOR>(lanes, {bytes}, {})", self.width);
                let inside = "let inside = VECTOR == 0 || lane < lanes;\n";
                format!(
                    "let end_of_lanes = {end};\n{}",
                    lanes_until("end_of_lanes", &format!("{inside}{code}"))
                )
            }
            None => lanes(code),
        }
    }
}

fn loops(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|n| matches!(n, Node::Loop(_)))
}

/// Whether lanes go on to the end of a vector, and the bytes of its numbers: where there are functions, and lanes without a point cannot
/// fail.
pub(super) fn mask(nodes: &[Node], vars: &[Elem]) -> Option<i64> {
    let mut functions = Vec::new();
    let can = straight(nodes, &mut |l| {
        functions.extend(l.takes_long().then(|| vars[l.vars[0].0 as usize].bytes()));
        !l.may_fail(vars)
    });
    functions.into_iter().max().filter(|_| can)
}

/// Whether something holds for all scalar code.
fn straight(nodes: &[Node], holds: &mut impl FnMut(&Let) -> bool) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(l) => holds(l),
        Node::Recurrence(Recurrence { body, .. }) | Node::Loop(Loop { body, .. }) => straight(body, holds),
        Node::Scan(_) => false,
        Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => true,
    })
}

/// The elements that are read apart, beside functions that take long. They may be if lanes read them in rows of their own, at places that
/// are known without other elements, of arrays that nothing here changes: they are read before the rest of their piece.
fn read_apart(nodes: &[Node], may: &dyn Fn(ArrayId, &[Atom]) -> bool, out: &mut BTreeSet<Var>) {
    if !takes_long(nodes) {
        return;
    }
    for n in nodes {
        match n {
            Node::Let(Let { vars, exp: Exp::Read { array, index, checked: false }, .. }) => {
                out.extend(vars.iter().filter(|_| may(*array, index)));
            }
            Node::Recurrence(Recurrence { body, .. }) | Node::Loop(Loop { body, .. }) => {
                read_apart(body, may, out);
            }
            _ => {}
        }
    }
}

/// The pieces of some code on the way through it.
struct Pieces<'a> {
    /// The types of all scalars.
    vars: &'a [Elem],
    differ: &'a Differ,
    in_blocks: bool,
    /// The number of the piece.
    at: usize,
    bound: BTreeMap<Var, usize>,
    used: BTreeSet<(Var, usize)>,
    addresses: Addresses,
    states: BTreeMap<Var, Var>,
}

impl<'a> Pieces<'a> {
    fn new(vars: &'a [Elem], differ: &'a Differ, in_blocks: bool) -> Self {
        Pieces {
            vars,
            differ,
            in_blocks,
            at: 0,
            bound: BTreeMap::new(),
            used: BTreeSet::new(),
            addresses: Addresses::default(),
            states: BTreeMap::new(),
        }
    }

    fn uses(&mut self, a: Atom) {
        self.used.extend(a.var().map(|v| (v, self.at)));
    }

    fn straight(&mut self, nodes: &[Node]) {
        let (stages, rest) = stages(nodes, self.vars, &|v| self.differ.has(v));
        for s in stages {
            for part in [s.code, s.functions] {
                self.piece(&part);
                self.at += 1;
            }
        }
        self.piece(&rest);
    }

    fn piece(&mut self, nodes: &[Node]) {
        for n in nodes {
            visit_atoms(std::slice::from_ref(n), &mut |a| self.uses(a));
            self.addresses.learn(n, self.vars);
            self.bound.extend(n.binds().into_iter().map(|v| (v, self.at)));
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        let mut rest = nodes;
        while let Some(at) = rest.iter().position(|n| ends_piece(n, self.in_blocks, self.vars)) {
            self.straight(&rest[..at]);
            let n = &rest[at];
            rest = &rest[at + 1..];
            let Some(q) = Trips::of(n, self.vars).filter(|_| !self.in_blocks) else {
                self.at += 1;
                self.piece(std::slice::from_ref(n));
                self.at += 1;
                continue;
            };
            for s in &q.states {
                self.uses(s.start);
                for v in [s.state, s.result] {
                    self.states.insert(v, s.state);
                    self.addresses.differs(v);
                }
            }
            self.at += 1;
            self.nodes(q.body);
            for s in &q.states {
                let (Next::Value(a) | Next::Combined(_, a)) = s.next;
                self.uses(a);
            }
            self.at += 1;
        }
        self.straight(rest);
    }
}

/// Whether a node is no straight code.
fn ends_piece(n: &Node, in_blocks: bool, vars: &[Elem]) -> bool {
    if in_blocks { matches!(n, Node::Loop(_)) } else { Trips::of(n, vars).is_some() }
}

impl Cpu<'_> {
    /// The points of `l` from `from` to `to`, so many together.
    pub(super) fn together(
        &mut self,
        l: &Loop,
        width: usize,
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let mut out = String::new();
        let points = Lanes::new(self, l, width);
        for (what, v) in points.held() {
            let elem = self.p.vars[v.0 as usize];
            let unset = format!("__rt::trusted::Lanes::<{elem}, {width}>::unset()");
            out.push_str(&format!("let mut {what}{} = {unset};\n", v.0));
        }
        points.states.keys().for_each(|v| r.bound(*v));
        out.push_str(&format!(
            "let mut base: i64 = {from};\nlet end: i64 = {to};\nwhile base < end {{\n\
             let lanes: i64 = if end - base < {width} {{ end - base }} else {{ {width} }};\n"
        ));
        // What loops leave is nothing where there is no point.
        if points.masked.is_some() {
            for v in points.of_loops.intersection(&points.kept) {
                let zero = expr::constant(Const::of(self.p.vars[v.0 as usize], 0));
                out.push_str(&format!(
                    "unsafe {{ kept{}.set_last::<{}>(lanes, {zero}) }};\n",
                    v.0,
                    width.min(MOST)
                ));
            }
        }
        let body = self.pieces(&l.body, End::default(), &points, r) + &self.folded(l, &points, r);
        out.push_str(&body);
        out + "base += lanes;\n" + leave_if_failed(&body) + "}\n"
    }

    /// What the points fold, one after the other.
    fn folded(&mut self, l: &Loop, points: &Lanes, r: &mut Region) -> String {
        if l.folds.is_empty() {
            return String::new();
        }
        let needed = l.folds.iter().filter_map(|f| f.value.var()).collect();
        let mut code = self.begin(&needed, points, r);
        l.folds.iter().for_each(|f| code.push_str(&fold::step(self, f, l.axis.var, r)));
        lanes(&code)
    }

    /// Code in pieces, and the loops between them.
    fn pieces(&mut self, nodes: &[Node], end: End, points: &Lanes, r: &mut Region) -> String {
        let mut out = String::new();
        let mut rest = nodes;
        while let Some(at) = rest.iter().position(|n| ends_piece(n, points.in_blocks, &self.p.vars)) {
            let (piece, n) = (&rest[..at], &rest[at]);
            rest = &rest[at + 1..];
            let Some(q) = Trips::of(n, &self.p.vars).filter(|_| !points.in_blocks) else {
                out.push_str(&self.straight(piece, &End::default(), points, r));
                out.push_str(&self.lanes_of(std::slice::from_ref(n), &End::default(), points, r));
                continue;
            };
            out.push_str(if q.on.is_some() { "let mut any = false;\n" } else { "" });
            let states = q.states.iter().map(|s| (s.state, Next::Value(s.start))).collect();
            out.push_str(&self.straight(piece, &End { states, only_where: None, any: q.on }, points, r));
            out.push_str(&self.trips_together(&q, points, r));
        }
        out + &self.straight(rest, &end, points, r)
    }

    /// Straight code in pieces.
    fn straight(&mut self, nodes: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let (stages, rest) = stages(nodes, &self.p.vars, &|v| points.differ.has(v));
        let mut out = String::new();
        for s in stages {
            for part in [s.code, s.functions] {
                out.push_str(&self.piece(&part, &End::default(), points, r));
            }
        }
        out + &self.piece(&rest, end, points, r)
    }

    /// One piece. It begins with what it has from others.
    fn piece(&mut self, nodes: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let is_same = |n: &Node| matches!(n, Node::Let(l) if !l.vars.iter().any(|v| points.differ.has(*v)));
        let (same, differing): (Vec<Node>, Vec<Node>) = nodes.iter().cloned().partition(is_same);
        let mut out = self.nodes(&same, r);
        let is_apart = |n: &Node| n.binds().iter().any(|v| points.apart.contains(v));
        let (apart, differing): (Vec<Node>, Vec<Node>) = differing.into_iter().partition(is_apart);
        if !apart.is_empty() {
            out.push_str(&self.lanes_of(&apart, &End::default(), points, r));
        }
        out + &self.lanes_of(&differing, end, points, r)
    }

    /// Code in lanes.
    fn lanes_of(&mut self, differing: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let mut needed: BTreeSet<Var> = end.uses().collect();
        visit_atoms(differing, &mut |a| needed.extend(a.var()));
        let here: BTreeSet<Var> = differing.iter().flat_map(Node::binds).collect();
        let inside = bound(differing);
        let needed: BTreeSet<Var> = needed.into_iter().filter(|v| !inside.contains(v)).collect();
        let is_shared = |n: &Node| matches!(n, Node::Accumulate { array, .. } if r.targets.contains_key(&self.root(*array)));
        let (shared, own): (Vec<Node>, Vec<Node>) = differing.iter().cloned().partition(is_shared);
        // A loop in each lane makes no vectors.
        let masked = points.masked.is_some() && !(points.in_blocks && loops(differing).next().is_some());
        r.masked = masked;
        let mut code = self.begin(&needed, points, r);
        let begin = code.len();
        code.push_str(&self.nodes(&own, r));
        let shared: Vec<Collected> =
            shared.iter().enumerate().map(|(k, n)| self.collected_in_lanes(k, n, points, r)).collect();
        shared.iter().for_each(|c| code.push_str(&c.lane));
        for v in here.intersection(&points.kept) {
            code.push_str(&set("kept", *v, &format!("v{}", v.0)));
        }
        code.push_str(&end.code(&self.p.vars, r));
        r.masked = false;
        if code.len() == begin {
            return String::new();
        }
        let text = |part: fn(&Collected) -> &String| shared.iter().map(|c| &**part(c)).collect::<String>();
        let code = if masked { points.in_lanes(&code) } else { lanes(&code) };
        text(|c| &c.before) + &code + &text(|c| &c.after)
    }

    /// What the lanes of a piece combine into an array that all points share.
    fn collected_in_lanes(&mut self, k: usize, n: &Node, points: &Lanes, r: &mut Region) -> Collected {
        let Node::Accumulate { array, reducer, index, value } = n else {
            internal::broken("what is collected is combined into nothing".into())
        };
        let (elem, width) = (self.elem(*array), points.width);
        let (test, at) = self.place(*array, index, r);
        let neutral = expr::constant(reducer.neutral(elem));
        let mut before = format!("let mut values{k}: [{elem}; {width}] = [{neutral}; {width}];\n");
        let value = if r.masked {
            format!("if inside {{ {} }} else {{ {neutral} }}", r.atom(*value))
        } else {
            r.atom(*value)
        };
        let mut lane = format!("unsafe {{ __rt::trusted::set(&mut values{k}, lane, {value}) }};\n");
        let differs = index.iter().any(|a| a.var().is_some_and(|v| points.differ.has(v)));
        let after = if differs {
            before.push_str(&format!("let mut places{k}: [i64; {width}] = [-1; {width}];\n"));
            let test = if r.masked { format!("inside && {test}") } else { test };
            let place = format!("(if {test} {{ {at} }} else {{ -1 }})");
            lane.push_str(&format!("unsafe {{ __rt::trusted::set(&mut places{k}, lane, {place}) }};\n"));
            let [at, value] =
                ["places", "values"].map(|a| format!("unsafe {{ __rt::trusted::get(&{a}{k}, lane) }}"));
            let code = self.combine_at(*array, Some(*reducer), ("at >= 0", "at"), &value, r);
            lanes(&format!("let at: i64 = {at};\n{code}"))
        } else {
            let all = expr::combine(*reducer, elem, "x", "y");
            let value = format!("__rt::cpu::joined(values{k}, |x: {elem}, y: {elem}| {all})");
            self.combine_at(*array, Some(*reducer), (&test, &at), &value, r)
        };
        Collected { before, lane, after }
    }

    /// What a lane has from other pieces.
    fn begin(&mut self, needed: &BTreeSet<Var>, points: &Lanes, r: &mut Region) -> String {
        let mut code = format!("let v{} = base + lane;\n", points.axis.0);
        for v in needed {
            if points.kept.contains(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("kept", *v)));
            } else if let Some(state) = points.states.get(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("state", *state)));
            }
        }
        let again = needed.iter().copied().filter(|v| points.differ.has(*v)).collect();
        code + &self.nodes(&points.addresses.of(&again), r)
    }

    fn trips_together(&mut self, q: &Trips<'_>, points: &Lanes, r: &mut Region) -> String {
        match q.counted {
            Some((axis, until)) => {
                r.bound(axis.var);
                let (v, n) = (axis.var.0, self.dim_in(&axis.extent, r));
                let n = until.map_or(n.clone(), |u| format!("{n}.min({})", r.atom(u)));
                let body = self.pieces(q.body, q.end(), points, r);
                format!(
                    "let trips{v}: i64 = {n};\nlet mut trip{v}: i64 = 0;\nwhile trip{v} < trips{v} {{\n\
                     let v{v} = trip{v};\n{body}trip{v} += 1;\n{}}}\n",
                    leave_if_failed(&body)
                )
            }
            None => {
                let body = self.pieces(q.body, q.end(), points, r);
                let long = if r.angles { LEAVE_IF_LONG } else { "" };
                format!("while any {{\nany = false;\n{body}{long}}}\n")
            }
        }
    }
}

fn get(what: &str, v: Var) -> String {
    format!("unsafe {{ {what}{}.get(lane) }}", v.0)
}

fn set(what: &str, v: Var, value: &str) -> String {
    format!("unsafe {{ {what}{}.set(lane, {value}) }};\n", v.0)
}
