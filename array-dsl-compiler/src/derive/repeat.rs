//! Forward and reverse mode of loops that carry arrays.
//!
//! ```text
//! jvp   the loop that carries (state, tangent)
//!
//! vjp   repeat i < n with s = a { b; => s' }            gives r
//!       the loop, and in each trip what is needed to have s again            (history)
//!       repeat j < n with s_adj = r_adj, x_adj = 0, .. {
//!         i = n - 1 - j;  s again;  b again;  b backwards from s'_adj;  => s_adj, x_adj + .., ..
//!       }
//!       a_adj = the last s_adj;  x_adj for every array x that b reads from outside
//! ```
//!
//! **History.** `history` tells what a trip stores. What the body backwards does not need of it is dead code.
//!
//! ```text
//! of s' = write (write s at p of x) at q of y:
//!       s = s' undone at q, p;  t again = write s at p;  s' again = write t at q
//!       y backwards;  t = s' undone at q;  x backwards;  s = t undone at p            => s
//! ```
//!
//! A state that is only written into is undone to its start, executed again as far as anything reads what was written, and undone write
//! by write as the statements go backwards, which read it as it is then: no version of the array is needed beside the next one. A loop
//! inside undoes what it wrote by going backwards itself.
//!
//! A `while` counts its trips first; a loop of that many trips then stores the history.
//!
//! **Sums.** Adjoints of states, of their versions and of outer arrays are added to in place, through loops in loops: a loop that reads
//! one element a trip costs one element a trip backwards. Source: thesis 2.6 (loops, strip-mining, in-place updates) with old values in
//! place of the analysis of false dependences.

use std::collections::HashMap;

use super::NotDifferentiable;
use super::forward::Forward;
use super::history::{History, Trip, Update, from_the_end, store_history, undone};
use super::reverse::Reverse;
use crate::bulk::build::{Redirect, int};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Carried, Reducer, Repeat, Stm, Trips, YieldKind};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

impl Forward {
    /// The loop with the tangents of its states.
    pub(super) fn repeat(&mut self, r: &Repeat) -> Result<(), NotDifferentiable> {
        let mut carried = r.carried.clone();
        let with: Vec<&Carried> = r.carried.iter().filter(|c| self.active.contains(&c.state)).collect();
        let mut tangents = Vec::new();
        for c in &with {
            let info = self.p.array(c.state).clone();
            let name = format!("{}_tangent", info.name);
            let start = self.tangent_or_zero(c.start);
            let state = self.p.new_array(name.clone(), info.elem, info.dims.clone());
            let result = self.p.new_array(name, info.elem, info.dims);
            self.tangents.insert(c.state, state);
            tangents.push(Carried { state, start, next: state, result });
        }
        let outside = std::mem::take(&mut self.p.stms);
        self.block(&r.body)?;
        for (c, t) in with.iter().zip(&mut tangents) {
            t.next = self.tangent_or_zero(c.next);
            self.tangents.insert(c.result, t.result);
        }
        let body = std::mem::replace(&mut self.p.stms, outside);
        carried.extend(tangents);
        self.p.stms.push(Stm::Repeat(Repeat { trips: r.trips.clone(), carried, body, loc: r.loc }));
        Ok(())
    }
}

/// From the arrays that the forward loop binds to those that a backward trip binds in their places.
type Restored = HashMap<ArrayId, ArrayId>;

/// What a backward loop carries of adjoints.
struct CarriedAdjoints {
    /// Of the active states, in their order.
    states: Vec<Carried>,
    /// Of arrays from outside the loop.
    outer: Vec<(ArrayId, Carried)>,
}

/// A state that a trip writes into, in a backward trip.
struct Rewound<'a> {
    /// Which of the arrays that the backward loop carries.
    carried: usize,
    updates: &'a [Update],
    /// The state before the trip, as it was restored, and what each of the updates made of it when the trip was executed again.
    versions: Vec<ArrayId>,
    /// The last of the versions that anything reads: what is made of it is neither made again nor undone.
    last: usize,
}

impl Rewound<'_> {
    fn new<'a>(
        carried: usize,
        updates: &'a [Update],
        body: &[Stm],
        before: ArrayId,
        next: ArrayId,
    ) -> Rewound<'a> {
        let mut versions = versions(body, next, before);
        versions.reverse();
        versions.push(next);
        let is_read = |i: &usize| {
            let a = versions[*i];
            let read_by = |s: &Stm| {
                let is_update = versions.get(i + 1).is_some_and(|next| s.results().contains(next));
                match s {
                    Stm::Nest(n) if is_update => {
                        let mut reads = false;
                        n.body.visit_reads(&mut |read, _| reads |= read == a);
                        reads
                    }
                    Stm::Repeat(r) if is_update => {
                        let inside = Stm::Repeat(Repeat { carried: Vec::new(), ..r.clone() });
                        inside.inputs().contains(&a)
                    }
                    s => s.inputs().contains(&a),
                }
            };
            // A loop goes backwards from what it made.
            let is_loop = |u: usize| matches!(updates[u], Update::Loop(..));
            i.checked_sub(1).is_some_and(is_loop) || body.iter().any(read_by)
        };
        let last = (0..versions.len()).rev().find(is_read).unwrap_or(0);
        Rewound { carried, updates, versions, last }
    }

    /// Which update a statement is that is to be undone.
    fn update(&self, s: &Stm) -> Option<usize> {
        let results = s.results();
        (0..self.last).find(|u| results.contains(&self.versions[u + 1]))
    }
}

impl Reverse {
    /// See the module header.
    pub(super) fn repeat(&mut self, r: &Repeat) -> Result<(), NotDifferentiable> {
        let active: Vec<Carried> =
            r.carried.iter().filter(|c| self.active.contains(&c.state)).copied().collect();
        let results: Vec<Option<ArrayId>> = active.iter().map(|c| self.total(c.result)).collect();
        if results.iter().all(Option::is_none) {
            return Ok(());
        }
        let (count, history) = match &r.trips {
            Trips::For(_, count) => (count.clone(), self.with_history(r)),
            Trips::While(on) => {
                let count = self.counted(r, *on);
                (count.clone(), self.counted_history(r, count))
            }
        };
        let outside = std::mem::take(&mut self.p.stms);
        let j = self.p.new_array("trip", Elem::I64, Vec::new());
        let number = from_the_end(&mut self.p, j, &count, r.loc);
        let index = if let Trips::For(i, _) = r.trips { Some(i) } else { None };
        let trip = Trip::of(index, number);
        let (mut restored, mut carried) = self.restored_states(r, &history, &trip);
        restored.extend(index.map(|i| (i, number)));
        let body = self.p.copy_stms(&r.body, &mut restored);
        let copies = restored.iter().filter(|(old, _)| self.active.contains(old)).map(|(_, new)| *new);
        self.active.extend(copies.collect::<Vec<_>>());
        self.p.stms.extend(body.iter().cloned());
        let in_trip = |a: ArrayId| restored.get(&a).copied().unwrap_or(a);
        let mut written = Vec::new();
        for (c, h) in r.carried.iter().zip(&history) {
            if let History::Overwritten(updates) = h {
                let at = written.len();
                written.push(Rewound::new(at, updates, &body, in_trip(c.state), in_trip(c.next)));
            }
        }
        let mut adjoints = self.body_adjoint(r, &active, &body, &restored, &written, &trip)?;
        for w in &written {
            carried[w.carried].next = self.now(w.versions[0]);
        }
        let body = std::mem::replace(&mut self.p.stms, outside);
        for (adj, result) in adjoints.states.iter_mut().zip(results) {
            adj.start = result.unwrap_or_else(|| self.zeros(adj.state));
        }
        // Where there is a sum so far the loop goes on with it.
        let sums: Vec<Option<ArrayId>> = adjoints.outer.iter().map(|(x, _)| self.sum(*x)).collect();
        for ((_, adj), sum) in adjoints.outer.iter_mut().zip(&sums) {
            adj.start = sum.unwrap_or_else(|| self.zeros(adj.state));
        }
        carried.extend(adjoints.states.iter().chain(adjoints.outer.iter().map(|(_, adj)| adj)));
        self.p.stms.push(Stm::Repeat(Repeat { trips: Trips::For(j, count), carried, body, loc: r.loc }));
        for ((x, adj), sum) in adjoints.outer.into_iter().zip(sums) {
            match sum {
                Some(_) => drop(self.sums.insert(x, Some(adj.result))),
                None => self.contribute(x, adj.result),
            }
        }
        for (c, adj) in active.iter().zip(adjoints.states) {
            self.contribute(c.start, adj.result);
        }
        Ok(())
    }

    /// Has the states of a forward trip again, by its history, and gives what the backward loop carries for that: states that were
    /// only written into, in their order, which go back from trip to trip.
    fn restored_states(&mut self, r: &Repeat, history: &[History], trip: &Trip) -> (Restored, Vec<Carried>) {
        let mut restored = Restored::new();
        let mut carried = Vec::new();
        for (c, h) in r.carried.iter().zip(history) {
            let start = self.now(c.result);
            let p = &mut self.p;
            let info = p.array(c.state).clone();
            let state = match h {
                History::States(all) => p.store(&info.name, info.elem, &info.dims, r.loc, |p, code, at| {
                    let mut index = trip.index(p, code);
                    index.extend(at);
                    code.read(p, *all, &index)
                }),
                History::Overwritten(updates) => {
                    let after = p.new_array(info.name.clone(), info.elem, info.dims.clone());
                    let result = p.new_array(info.name.clone(), info.elem, info.dims.clone());
                    let before =
                        updates.iter().rev().fold(after, |state, u| undone(p, state, u, trip, r.loc));
                    carried.push(Carried { state: after, start, next: before, result });
                    self.rewound.insert(c.result, result);
                    before
                }
            };
            restored.insert(c.state, state);
        }
        (restored, carried)
    }

    /// A trip's body backwards: from the adjoints of the states after the trip to those before it, and from what the trips after it
    /// contribute to arrays from outside to that with its own contributions.
    fn body_adjoint(
        &mut self,
        r: &Repeat,
        active: &[Carried],
        body: &[Stm],
        restored: &Restored,
        written: &[Rewound<'_>],
        trip: &Trip,
    ) -> Result<CarriedAdjoints, NotDifferentiable> {
        let around = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.sums));
        let in_trip = |a: ArrayId| restored.get(&a).copied().unwrap_or(a);
        let outer = self.active_outside(r, restored).into_iter();
        let mut outer: Vec<(ArrayId, Carried)> = outer.map(|x| (x, self.carried_adjoint(x))).collect();
        let mut states: Vec<Carried> = active.iter().map(|c| self.carried_adjoint(c.state)).collect();
        for (x, adj) in &outer {
            self.sums.insert(*x, Some(adj.state));
        }
        for c in active {
            let versions = versions(body, in_trip(c.next), in_trip(c.state));
            let all = versions.into_iter().chain([in_trip(c.state), in_trip(c.next)]);
            all.for_each(|a| _ = self.sums.entry(a).or_default());
        }
        for (c, adj) in active.iter().zip(&states) {
            self.contribute(in_trip(c.next), adj.state);
        }
        for s in body.iter().rev() {
            self.statement_of_trip(s, written, trip)?;
        }
        for (c, adj) in active.iter().zip(&mut states) {
            adj.next = self.total_or_zero(in_trip(c.state));
        }
        for (x, adj) in &mut outer {
            adj.next = self.total_or_zero(*x);
        }
        (self.adjoints, self.sums) = around;
        Ok(CarriedAdjoints { states, outer })
    }

    /// A statement of a trip backwards, with what it wrote into states undone: what it read of them is there again.
    fn statement_of_trip(
        &mut self,
        s: &Stm,
        written: &[Rewound<'_>],
        trip: &Trip,
    ) -> Result<(), NotDifferentiable> {
        let is_loop = matches!(s, Stm::Repeat(_));
        let mut undo = Vec::new();
        for w in written {
            let Some(u) = w.update(s) else { continue };
            undo.push((w.versions[u], w.versions[u + 1], &w.updates[u]));
        }
        let nests = if is_loop { &[][..] } else { &undo[..] };
        for (before, after, update) in nests {
            let after = self.now(*after);
            let again = undone(&mut self.p, after, update, trip, Loc::default());
            self.is_again(*before, again);
        }
        let mut now = s.clone();
        Redirect(&self.again).stm(&mut now);
        self.statement(&now)?;
        // A loop that went backwards has undone what it wrote.
        for (before, after, update) in undo.iter().filter(|_| is_loop) {
            let again = self.rewound.remove(after);
            let again = again.unwrap_or_else(|| {
                let after = self.now(*after);
                undone(&mut self.p, after, update, trip, Loc::default())
            });
            self.is_again(*before, again);
        }
        Ok(())
    }

    /// The array that has the elements of another one now.
    fn now(&self, a: ArrayId) -> ArrayId {
        self.again.get(&a).copied().unwrap_or(a)
    }

    /// Says that an array has the elements again of one that was overwritten.
    fn is_again(&mut self, old: ArrayId, again: ArrayId) {
        self.again.insert(old, again);
        self.first.insert(again, old);
        if self.active.contains(&old) {
            self.active.insert(again);
        }
    }

    /// The active arrays from outside a loop that its body reads or gives.
    fn active_outside(&self, r: &Repeat, restored: &Restored) -> Vec<ArrayId> {
        let mut outer = Stm::Repeat(Repeat { carried: Vec::new(), ..r.clone() }).inputs();
        outer.extend(r.carried.iter().map(|c| c.next));
        outer.retain(|a| self.active.contains(a) && !restored.contains_key(a));
        outer.iter_mut().for_each(|a| *a = self.first(*a));
        outer.sort();
        outer.dedup();
        outer
    }

    /// Arrays for an adjoint that a loop carries; where it starts, and what it is after a trip, is still open.
    fn carried_adjoint(&mut self, of: ArrayId) -> Carried {
        let info = self.p.array(of).clone();
        let name = format!("{}_adj", info.name);
        let state = self.p.new_array(name.clone(), info.elem, info.dims.clone());
        let result = self.p.new_array(name, info.elem, info.dims);
        Carried { state, start: state, next: state, result }
    }

    fn zeros(&mut self, like: ArrayId) -> ArrayId {
        let info = self.p.array(like).clone();
        self.p.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default())
    }

    /// Takes the loop from the statements, with what stands after it.
    fn take_loop(&mut self, r: &Repeat) -> (Repeat, Vec<Stm>) {
        let first = r.carried.first().map(|c| c.state);
        let is_it = |s: &Stm| matches!(s, Stm::Repeat(q) if q.carried.first().map(|c| c.state) == first);
        let at = expect(self.p.stms.iter().position(is_it), || "a loop is not before its adjoint".into());
        let rest = self.p.stms.split_off(at + 1);
        let Some(Stm::Repeat(q)) = self.p.stms.pop() else { panic!("a loop is not before its adjoint") };
        (q, rest)
    }

    /// Has the loop, which stands among the statements, store its history.
    fn with_history(&mut self, r: &Repeat) -> Vec<History> {
        let (mut q, rest) = self.take_loop(r);
        let history = store_history(&mut self.p, &mut q);
        self.p.stms.push(Stm::Repeat(q));
        self.p.stms.extend(rest);
        history
    }

    /// Has a `while` count the trips of each point, and gives the most.
    fn counted(&mut self, r: &Repeat, on: ArrayId) -> Dim {
        let (mut q, rest) = self.take_loop(r);
        let p = &mut self.p;
        let points = p.array(on).dims.clone();
        let start = p.constant("trips", &points, Const::of(Elem::I64, 0), r.loc);
        let state = p.new_array("trips", Elem::I64, points.clone());
        let result = p.new_array("trips", Elem::I64, points.clone());
        let outside = std::mem::replace(&mut p.stms, std::mem::take(&mut q.body));
        // A trip too many does not count: see `bulk::Trips`.
        let next = p.store("trips", Elem::I64, &points, r.loc, |p, code, at| {
            let (k, on) = (code.read(p, state, at), code.read(p, on, at));
            let one = code.op(p, Op::Select, &[on, int(1), int(0)]);
            code.op(p, Op::Add, &[k, one])
        });
        q.body = std::mem::replace(&mut p.stms, outside);
        q.carried.push(Carried { state, start, next, result });
        p.stms.push(Stm::Repeat(q));
        let most = if points.is_empty() { result } else { self.most(result, r.loc) };
        self.p.stms.extend(rest);
        Dim::atom(SizeAtom::Scalar(most.0))
    }

    /// The greatest of some numbers of trips, and none of none.
    fn most(&mut self, trips: ArrayId, loc: Loc) -> ArrayId {
        let p = &mut self.p;
        let greatest = p.reduced("trips", Reducer::Max, trips, loc);
        p.store("trips", Elem::I64, &[], loc, |p, code, _| {
            let greatest = code.read(p, greatest, &[]);
            code.op(p, Op::Max, &[greatest, int(0)])
        })
    }

    /// The loop again, with its trips counted and its history stored.
    fn counted_history(&mut self, r: &Repeat, count: Dim) -> Vec<History> {
        let p = &mut self.p;
        let mut map = HashMap::new();
        let mut q = p.copy_repeat(r, &mut map);
        q.trips = Trips::For(p.new_array("trip", Elem::I64, Vec::new()), count);
        let history = store_history(p, &mut q);
        p.stms.push(Stm::Repeat(q));
        history
    }
}

/// The arrays on the way from a state to its next value, each of which is the one before with some elements changed: their adjoints
/// are one array, in which elements are changed.
fn versions(body: &[Stm], next: ArrayId, state: ArrayId) -> Vec<ArrayId> {
    let mut out = Vec::new();
    let mut at = next;
    while at != state {
        let before = body.iter().find_map(|s| match s {
            Stm::Nest(n) => n.yields.iter().find(|y| y.array == at).and_then(|y| match y.kind {
                YieldKind::Write { into, .. } | YieldKind::Accumulate { into, .. } => Some(into),
                YieldKind::Store(_) | YieldKind::Reduce { .. } => None,
            }),
            Stm::Repeat(r) => r.carried.iter().find(|c| c.result == at).map(|c| c.start),
            _ => None,
        });
        let Some(before) = before else { break };
        out.push(before);
        at = before;
    }
    out
}
