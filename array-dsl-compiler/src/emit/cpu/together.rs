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
//! are computed again (`addresses`). A loop in a loop is one whose body has several pieces.

use std::collections::{BTreeMap, BTreeSet};

use super::addresses::Addresses;
use super::angles::LEAVE_IF_LONG;
use super::nodes::leave_if_failed;
use super::region::Region;
use super::{Cpu, expr};
use crate::bulk::{Atom, Var};
use crate::loops::together::Differ;
use crate::loops::uses::visit_atoms;
use crate::loops::{Loop, Node, Recurrence, Rounds};
use crate::ty::{Const, Elem};

/// A loop over the lanes around their code.
fn lanes(code: &str) -> String {
    format!("let mut lane: i64 = 0;\nwhile lane < lanes {{\n{code}lane += 1;\n}}\n")
}

/// Where the scalars of all pieces are.
struct Lanes {
    /// The axis of the points.
    axis: Var,
    width: usize,
    /// What differs from lane to lane.
    differ: Differ,
    addresses: Addresses,
    /// What other pieces than its own use.
    kept: BTreeSet<Var>,
    /// The scalars that are a state, before or after its loop, and the name of its lanes.
    states: BTreeMap<Var, Var>,
}

/// What ends a piece: states become values.
#[derive(Default)]
struct End {
    states: Vec<(Var, Atom)>,
    /// Only in lanes for which this state holds; in others they stay as they are.
    only_where: Option<Var>,
    /// It is learned whether this state holds in any lane.
    any: Option<Var>,
}

impl End {
    /// That of a trip.
    fn of(q: &Recurrence) -> End {
        let on = if let Rounds::While(on) = q.rounds { Some(on) } else { None };
        End { states: q.states.iter().map(|s| (s.state, s.next)).collect(), only_where: on, any: on }
    }

    fn uses(&self) -> impl Iterator<Item = Var> {
        let olds = self.only_where.into_iter().flat_map(|on| self.states.iter().map(|(s, _)| *s).chain([on]));
        self.states.iter().filter_map(|(_, value)| value.var()).chain(olds)
    }

    fn code(&self, r: &mut Region) -> String {
        let mut code = String::new();
        for (state, value) in &self.states {
            let value = r.atom(*value);
            let value = match self.only_where {
                Some(on) => format!("(if v{} {{ {value} }} else {{ v{} }})", on.0, state.0),
                None => value,
            };
            code.push_str(&set("state", *state, &value));
        }
        code + &self.any.map(|on| format!("any |= {};\n", get("state", on))).unwrap_or_default()
    }
}

impl Lanes {
    fn new(c: &Cpu<'_>, l: &Loop, width: usize) -> Lanes {
        let differ = Differ::of(l.axes(), &l.body);
        let mut pieces = Pieces { vars: &c.p.vars, ..Pieces::default() };
        pieces.nodes(&l.body);
        let Pieces { bound, used, addresses, states, .. } = pieces;
        let elsewhere = used.into_iter().filter(|(v, piece)| bound.get(v).is_some_and(|p| p != piece));
        let is_kept = |v: &Var| differ.has(*v) && !addresses.contains(*v);
        let kept = elsewhere.map(|(v, _)| v).filter(is_kept).collect();
        Lanes { axis: l.axis.var, width, kept, differ, addresses, states }
    }
}

/// The pieces of some code on the way through it.
#[derive(Default)]
struct Pieces<'a> {
    /// The types of all scalars.
    vars: &'a [Elem],
    /// The number of the piece.
    at: usize,
    bound: BTreeMap<Var, usize>,
    used: BTreeSet<(Var, usize)>,
    addresses: Addresses,
    states: BTreeMap<Var, Var>,
}

impl Pieces<'_> {
    fn uses(&mut self, a: Atom) {
        self.used.extend(a.var().map(|v| (v, self.at)));
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            let Node::Recurrence(q) = n else {
                visit_atoms(std::slice::from_ref(n), &mut |a| self.uses(a));
                self.addresses.learn(n, self.vars);
                self.bound.extend(n.binds().into_iter().map(|v| (v, self.at)));
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
            self.nodes(&q.body);
            q.states.iter().for_each(|s| self.uses(s.next));
            self.at += 1;
        }
    }
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
        for v in &points.kept {
            out.push_str(&self.lane_array(&format!("kept{}", v.0), *v, width));
        }
        points.states.keys().for_each(|v| r.bound(*v));
        out.push_str(&format!(
            "let mut base: i64 = {from};\nlet end: i64 = {to};\nwhile base < end {{\n\
             let lanes: i64 = if end - base < {width} {{ end - base }} else {{ {width} }};\n"
        ));
        out.push_str(&self.pieces(&l.body, End::default(), &points, r));
        out + "base += lanes;\n}\n"
    }

    /// Code in pieces, and the loops between them.
    fn pieces(&mut self, nodes: &[Node], end: End, points: &Lanes, r: &mut Region) -> String {
        let mut out = String::new();
        let mut rest = nodes;
        while let Some(at) = rest.iter().position(|n| matches!(n, Node::Recurrence(_))) {
            let (piece, after) = rest.split_at(at);
            let [Node::Recurrence(q), after @ ..] = after else { break };
            rest = after;
            for s in &q.states {
                out.push_str(&self.lane_array(&format!("state{}", s.state.0), s.state, points.width));
            }
            let on = if let Rounds::While(on) = q.rounds { Some(on) } else { None };
            out.push_str(if on.is_some() { "let mut any = false;\n" } else { "" });
            let states = q.states.iter().map(|s| (s.state, s.start)).collect();
            out.push_str(&self.piece(piece, &End { states, only_where: None, any: on }, points, r));
            out.push_str(&self.trips_together(q, points, r));
        }
        out + &self.piece(rest, &end, points, r)
    }

    /// One piece. It begins with what it has from others.
    fn piece(&mut self, nodes: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let is_same = |n: &Node| matches!(n, Node::Let(l) if !l.vars.iter().any(|v| points.differ.has(*v)));
        let (same, differing): (Vec<Node>, Vec<Node>) = nodes.iter().cloned().partition(is_same);
        let mut out = self.nodes(&same, r);
        let mut needed: BTreeSet<Var> = end.uses().collect();
        visit_atoms(&differing, &mut |a| needed.extend(a.var()));
        let here: BTreeSet<Var> = differing.iter().flat_map(Node::binds).collect();
        let mut code = format!("let v{} = base + lane;\n", points.axis.0);
        for v in needed.difference(&here) {
            if points.kept.contains(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("kept", *v)));
            } else if let Some(state) = points.states.get(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("state", *state)));
            }
        }
        let again = needed.difference(&here).copied().filter(|v| points.differ.has(*v)).collect();
        code.push_str(&self.nodes(&points.addresses.of(&again), r));
        let begin = code.len();
        code.push_str(&self.nodes(&differing, r));
        for v in here.intersection(&points.kept) {
            code.push_str(&set("kept", *v, &format!("v{}", v.0)));
        }
        code.push_str(&end.code(r));
        if code.len() > begin {
            out.push_str(&lanes(&code));
        }
        out
    }

    fn trips_together(&mut self, q: &Recurrence, points: &Lanes, r: &mut Region) -> String {
        match &q.rounds {
            Rounds::For(axis, until) => {
                r.bound(axis.var);
                let (v, n) = (axis.var.0, self.dim_in(&axis.extent, r));
                let n = until.map_or(n.clone(), |u| format!("{n}.min({})", r.atom(u)));
                let body = self.pieces(&q.body, End::of(q), points, r);
                format!(
                    "let trips{v}: i64 = {n};\nlet mut trip{v}: i64 = 0;\nwhile trip{v} < trips{v} {{\n\
                     let v{v} = trip{v};\n{body}trip{v} += 1;\n{}}}\n",
                    leave_if_failed(&body)
                )
            }
            Rounds::While(_) => {
                let body = self.pieces(&q.body, End::of(q), points, r);
                let long = if r.angles { LEAVE_IF_LONG } else { "" };
                format!("while any {{\nany = false;\n{body}{long}}}\n")
            }
        }
    }

    fn lane_array(&self, name: &str, v: Var, width: usize) -> String {
        let elem = self.p.vars[v.0 as usize];
        format!("let mut {name}: [{elem}; {width}] = [{}; {width}];\n", expr::constant(Const::of(elem, 0)))
    }
}

fn get(what: &str, v: Var) -> String {
    format!("unsafe {{ __rt::trusted::get(&{what}{}, lane) }}", v.0)
}

fn set(what: &str, v: Var, value: &str) -> String {
    format!("unsafe {{ __rt::trusted::set(&mut {what}{}, lane, {value}) }};\n", v.0)
}
