//! What code in lanes is made of (`together`): its pieces, and where the scalars of all pieces are.

use std::collections::{BTreeMap, BTreeSet};

use super::addresses::Addresses;
use super::functions::stages;
use super::region::Region;
use super::{Cpu, expr};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::loops::together::{Differ, may_go_on};
use crate::loops::uses::{Access, takes_long, visit_arrays, visit_atoms};
use crate::loops::{Fold, Form, Loop, Node, Program, Recurrence, Rounds, State};
use crate::ty::Elem;

/// The most numbers in a vector.
pub(super) const MOST: usize = 16;

/// A loop over the lanes around their code.
pub(super) fn lanes(code: &str) -> String {
    lanes_until("lanes", code)
}

/// The same up to some number of lanes.
fn lanes_until(end: &str, code: &str) -> String {
    format!("let mut lane: i64 = 0;\nwhile lane < {end} {{\n{code}lane += 1;\n}}\n")
}

/// Where the scalars of all pieces are.
pub(super) struct Lanes {
    /// The axis of the points.
    pub axis: Var,
    pub width: usize,
    /// Whether loops are pieces of their own.
    pub in_blocks: bool,
    /// Of lanes that go on to the end of a vector the bytes of a number.
    pub masked: Option<i64>,
    /// What differs from lane to lane.
    pub differ: Differ,
    pub addresses: Addresses,
    /// What other pieces than its own use.
    pub kept: BTreeSet<Var>,
    /// What is read apart; it is kept as well.
    pub apart: BTreeSet<Var>,
    /// The scalars that are a state, before or after its loop, and the name of its lanes.
    pub states: BTreeMap<Var, Var>,
    /// What loops that are pieces of their own bind.
    pub of_loops: BTreeSet<Var>,
}

/// A loop that points make together: a recurrence, or a loop whose folds are states.
pub(super) struct Trips<'a> {
    /// What it counts, and where it ends before the extent.
    pub counted: Option<(&'a Axis, Option<Atom>)>,
    /// Else it goes on while this state holds.
    pub on: Option<Var>,
    /// Whether a lane that has ended must not make a trip.
    pub guarded: bool,
    pub states: Vec<Held>,
    pub body: &'a [Node],
}

/// A state of such a loop, by its names inside and after it.
pub(super) struct Held {
    pub state: Var,
    pub start: Atom,
    pub next: Next,
    pub result: Var,
}

/// What a state becomes.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Value(Atom),
    /// Itself and a value, combined.
    Combined(Reducer, Atom),
}

impl<'a> Trips<'a> {
    pub fn of(n: &'a Node, vars: &[Elem]) -> Option<Trips<'a>> {
        match n {
            Node::Recurrence(q) => {
                let (counted, on) = match &q.rounds {
                    Rounds::For(axis, until) => (Some((axis, *until)), None),
                    Rounds::While(on) => (None, Some(*on)),
                };
                let guarded = on.is_some() && !may_go_on(q, vars);
                let held = |s: &State| Held {
                    state: s.state,
                    start: s.start,
                    next: Next::Value(s.next),
                    result: s.result,
                };
                let states = q.states.iter().map(held).collect();
                Some(Trips { counted, on, guarded, states, body: &q.body })
            }
            Node::Loop(l) => {
                let held = |f: &Fold| Held {
                    state: f.result,
                    start: Atom::Const(f.reducer.neutral(vars[f.result.0 as usize])),
                    next: Next::Combined(f.reducer, f.value),
                    result: f.result,
                };
                let states = l.folds.iter().map(held).collect();
                Some(Trips {
                    counted: Some((&l.axis, None)),
                    on: None,
                    guarded: false,
                    states,
                    body: &l.body,
                })
            }
            _ => None,
        }
    }

    pub fn end(&self) -> End {
        let states = self.states.iter().map(|s| (s.state, s.next)).collect();
        End { states, only_where: self.on, any: self.on, guarded: self.guarded }
    }
}

/// What ends a piece: states become values.
#[derive(Default)]
pub(super) struct End {
    pub states: Vec<(Var, Next)>,
    /// Only in lanes for which this state holds; in others they stay as they are.
    pub only_where: Option<Var>,
    /// It is learned whether this state holds in any lane.
    pub any: Option<Var>,
    /// Whether the piece is left out in lanes for which it does not hold.
    pub guarded: bool,
}

impl End {
    pub fn uses(&self) -> impl Iterator<Item = Var> {
        let olds = self.only_where.into_iter().flat_map(|on| self.states.iter().map(|(s, _)| *s).chain([on]));
        let next = self.states.iter().flat_map(|(state, next)| match next {
            Next::Value(value) => [value.var(), None],
            Next::Combined(_, value) => [value.var(), Some(*state)],
        });
        next.flatten().chain(olds)
    }

    pub fn code(&self, vars: &[Elem], r: &mut Region) -> String {
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
    pub fn new(c: &Cpu<'_>, l: &Loop, width: usize) -> Lanes {
        let differ = Differ::of(l.axes(), &l.body);
        let in_blocks = matches!(l.plan.form, Form::Blocks(_));
        let mut pieces = Pieces::new(c.p, &differ, in_blocks);
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
    pub fn held(&self) -> Vec<(&'static str, Var)> {
        let states: BTreeSet<Var> = self.states.values().copied().collect();
        let kept = self.kept.iter().map(|v| ("kept", *v));
        kept.chain(states.into_iter().map(|v| ("state", v))).collect()
    }

    /// Whether an index differs from lane to lane.
    pub fn differs(&self, index: &[Atom]) -> bool {
        index.iter().any(|a| a.var().is_some_and(|v| self.differ.has(v)))
    }

    /// Code in lanes, up to the end of a vector where some lanes may have no point.
    pub fn in_lanes(&self, code: &str) -> String {
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

/// The loops among nodes.
pub(super) fn loops(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|n| matches!(n, Node::Loop(_)))
}

/// Whether lanes go on to the end of a vector, and the bytes of its numbers: where there are functions, and lanes without a point cannot
/// fail.
pub(super) fn mask(nodes: &[Node], vars: &[Elem]) -> Option<i64> {
    let mut functions = Vec::new();
    let can = all_lets(nodes, &mut |l| {
        functions.extend(l.takes_long().then(|| vars[l.vars[0].0 as usize].bytes()));
        !l.may_fail(vars)
    });
    functions.into_iter().max().filter(|_| can)
}

/// Whether something holds for all scalar code.
fn all_lets(nodes: &[Node], holds: &mut impl FnMut(&Let) -> bool) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(l) => holds(l),
        Node::Recurrence(Recurrence { body, .. }) | Node::Loop(Loop { body, .. }) => all_lets(body, holds),
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
    p: &'a Program,
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
    fn new(p: &'a Program, differ: &'a Differ, in_blocks: bool) -> Self {
        Pieces {
            p,
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
        let (stages, rest) = stages(self.p, nodes, &|v| self.differ.has(v));
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
            self.addresses.learn(n, &self.p.vars);
            self.bound.extend(n.binds().into_iter().map(|v| (v, self.at)));
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        let mut rest = nodes;
        while let Some(at) = rest.iter().position(|n| ends_piece(n, self.in_blocks, &self.p.vars)) {
            self.straight(&rest[..at]);
            let n = &rest[at];
            rest = &rest[at + 1..];
            let Some(q) = Trips::of(n, &self.p.vars).filter(|_| !self.in_blocks) else {
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
pub(super) fn ends_piece(n: &Node, in_blocks: bool, vars: &[Elem]) -> bool {
    if in_blocks { matches!(n, Node::Loop(_)) } else { Trips::of(n, vars).is_some() }
}

/// Declares the numbers that so many lanes keep, or their states.
pub(super) fn unset(what: &str, v: Var, elem: Elem, width: usize) -> String {
    format!("let mut {what}{} = __rt::trusted::Lanes::<{elem}, {width}>::unset();\n", v.0)
}

/// What a lane has kept, or its state.
pub(super) fn get(what: &str, v: Var) -> String {
    format!("unsafe {{ {what}{}.get(lane) }}", v.0)
}

/// Sets it.
pub(super) fn set(what: &str, v: Var, value: &str) -> String {
    format!("unsafe {{ {what}{}.set(lane, {value}) }};\n", v.0)
}
