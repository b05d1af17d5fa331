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
//! A state that is only written into is undone write by write as the statements go backwards, which read it as it is then: no version
//! of the array is needed beside the next one. Before a write is undone, what it wrote can still be read: where computing that costs
//! more than reading it the nest backwards has it from there (`written_values`), and nothing of what it was made of is needed for it. A
//! loop inside undoes what it wrote by going backwards itself. Most trips can go straight back so, each loop of loops from what the
//! outermost one has stored (`straight`). Else the trip is undone to its start first, and executed again as far as anything reads what
//! was written; loops inside store histories of their own then.
//!
//! A `while` counts its trips first; a loop of that many trips then stores the history.
//!
//! **Sums.** Adjoints of states, of their versions and of outer arrays are added to in place, through loops in loops: a loop that reads
//! one element a trip costs one element a trip backwards. Not those of states of which each trip makes all elements anew. Source: thesis 2.6 (loops, strip-mining, in-place updates) with old values in
//! place of the analysis of false dependences.

mod again;
mod straight;

use rustc_hash::FxHashMap;

use self::again::{Restored, TripAgain};
pub(super) use self::straight::{Segments, replaced};
use super::NotDifferentiable;
use super::forward::Forward;
use super::history::{
    History, Kept, Trip, Update, from_the_end, greatest, store_history, undone, written_values,
};
use super::reverse::{Reverse, costly_value};
use crate::bulk::build::{Redirect, int};
use crate::bulk::condition::relying_on_condition;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Carried, Repeat, Stm, Trips, YieldKind};
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

/// What a backward loop carries of adjoints.
struct CarriedAdjoints {
    /// Of the active states, in their order.
    states: Vec<Carried>,
    /// Of arrays from outside the loop.
    outer: Vec<(ArrayId, Carried)>,
}

/// What a loop inside of a trip overwrote, and the states that it replaced, if all that has been stored.
fn within(r: &Repeat, undo: &[(ArrayId, ArrayId, &Update)], trip: &Trip, kept: Kept) -> Option<Within> {
    let mut index = None;
    let history = r.carried.iter().enumerate().map(|(k, c)| {
        let update = undo.iter().find(|(_, after, _)| *after == c.result);
        match update {
            Some((_, _, Update::Loop(number, _, updates))) => {
                index = Some(*number);
                Some(History::Overwritten(updates.clone()))
            }
            Some((_, _, Update::Write(_))) => None,
            None => kept.states.iter().find(|(place, _)| *place == k).map(|(_, log)| History::States(*log)),
        }
    });
    let history = history.collect::<Option<Vec<History>>>()?;
    Some(Within { trip: trip.clone(), index: index?, history, kept })
}

/// A loop inside of one that has stored what it overwrites.
struct Within {
    /// The trip around.
    trip: Trip,
    /// The number of its trip, when it went forward.
    index: ArrayId,
    /// What it overwrote, by its states.
    history: Vec<History>,
    kept: Kept,
}

impl Reverse {
    /// See the module header.
    pub(super) fn repeat(&mut self, r: &Repeat) -> Result<(), NotDifferentiable> {
        self.backwards_loop(r, None)
    }

    fn backwards_loop(&mut self, r: &Repeat, within: Option<Within>) -> Result<(), NotDifferentiable> {
        // The trips that are counted are those where the condition holds. The loop that counts them still asks it: it is the one that
        // stands before, which is found by its states.
        let relying = relying_on_condition(&self.p, r);
        let r = relying.as_ref().unwrap_or(r);
        let active: Vec<Carried> =
            r.carried.iter().filter(|c| self.active.contains(&c.state)).copied().collect();
        let results: Vec<Option<ArrayId>> = active.iter().map(|c| self.total(c.result)).collect();
        if results.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut around = None;
        let (count, (history, kept)) = match &r.trips {
            Trips::For(_, count) => {
                let history = match within {
                    Some(Within { trip, index, history, kept }) => {
                        around = Some((trip, index));
                        (history, kept)
                    }
                    None => self.with_history(r),
                };
                (count.clone(), history)
            }
            Trips::While(on) => {
                let count = self.counted(r, *on);
                (count.clone(), self.counted_history(r, count))
            }
        };
        let outside = std::mem::take(&mut self.p.stms);
        let j = self.p.new_array("trip", Elem::I64, Vec::new());
        let number = from_the_end(&mut self.p, j, &count, r.loc);
        let index = if let Trips::For(i, _) = r.trips { Some(i) } else { None };
        let trip = match around {
            Some((around, index)) => around.then(index, number),
            None => Trip::of(index, number),
        };
        let (mut carried, again) = self.trip_again(r, &history, kept, &trip, index.map(|i| (i, number)));
        let mut adjoints = self.body_adjoint(r, &active, &again)?;
        for w in &again.written {
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

    /// Executes statements of a trip with the states as they are now.
    fn execute<'s>(&mut self, stms: impl Iterator<Item = &'s Stm>) {
        for s in stms {
            let mut now = s.clone();
            Redirect(&self.again).stm(&mut now);
            self.p.stms.push(now);
        }
    }

    /// A trip's body backwards: from the adjoints of the states after the trip to those before it, and from what the trips after it
    /// contribute to arrays from outside to that with its own contributions.
    fn body_adjoint(
        &mut self,
        r: &Repeat,
        active: &[Carried],
        again: &TripAgain<'_>,
    ) -> Result<CarriedAdjoints, NotDifferentiable> {
        let TripAgain { body, restored, .. } = again;
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
            // A trip that makes all of its next value anew may add up all of its adjoint anew, and what is read at places that are known
            // is a sum over these then.
            let state = Some(in_trip(c.state)).filter(|_| !is_stored(body, versions[0]));
            versions.into_iter().chain(state).for_each(|a| _ = self.sums.entry(a).or_default());
        }
        for (c, adj) in active.iter().zip(&states) {
            self.contribute(in_trip(c.next), adj.state);
        }
        let mut segments = again.segments.iter().flat_map(|s| s.of.iter().rev().skip(1));
        for at in (0..body.len()).rev() {
            let before = again.updates(&body[at]).next().and_then(|_| segments.next());
            self.statement_of_trip(at, again, before.map_or(&[], |b| b))?;
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

    /// A statement of a trip backwards, with what it wrote into states undone: what it read of them is there again, and what was computed
    /// `before` it is computed from that.
    fn statement_of_trip(
        &mut self,
        at: usize,
        again: &TripAgain<'_>,
        before: &[usize],
    ) -> Result<(), NotDifferentiable> {
        let (s, trip) = (&again.body[at], &again.trip);
        let undo: Vec<(ArrayId, ArrayId, &Update)> = again.updates(s).collect();
        if let Stm::Repeat(r) = s {
            let mut now = r.clone();
            Redirect(&self.again).walk_repeat(&mut now);
            let is_straight = again.segments.is_some();
            let within = if is_straight { within(&now, &undo, trip, again.kept.inside(at)) } else { None };
            self.backwards_loop(&now, within)?;
            // A loop that went backwards has undone what it wrote.
            for (before, after, update) in undo {
                let again = self.rewound.remove(&after).unwrap_or_else(|| {
                    let after = self.now(after);
                    undone(&mut self.p, after, update, trip, Loc::default())
                });
                self.is_again(before, again);
            }
            self.execute(before.iter().map(|at| &again.body[*at]));
            return Ok(());
        }
        for (before, after, update) in undo {
            let left = self.now(after);
            if let Update::Write(log) = update
                && let Stm::Nest(n) = s
                && n.yields.iter().any(|y| y.array == after && costly_value(n, y).is_some())
            {
                let values = written_values(&mut self.p, left, log, trip, Loc::default());
                self.written.insert(after, values);
            }
            let again = undone(&mut self.p, left, update, trip, Loc::default());
            self.is_again(before, again);
        }
        self.execute(before.iter().map(|at| &again.body[*at]));
        // Of what was kept there are the values alone; a scan backwards needs its states, a minimum by index its places.
        if again.segments.is_some() && again.kept.of(at).is_some() {
            self.execute([s].into_iter());
        }
        let mut now = s.clone();
        Redirect(&self.again).stm(&mut now);
        self.statement(&now)
    }

    /// The array that has the elements of another one now.
    pub(super) fn now(&self, a: ArrayId) -> ArrayId {
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
    fn with_history(&mut self, r: &Repeat) -> (Vec<History>, Kept) {
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
        let most = if points.is_empty() { result } else { greatest(&mut self.p, "trips", result, r.loc) };
        self.p.stms.extend(rest);
        Dim::atom(SizeAtom::Scalar(most.0))
    }

    /// The loop again, with its trips counted and its history stored.
    fn counted_history(&mut self, r: &Repeat, count: Dim) -> (Vec<History>, Kept) {
        let p = &mut self.p;
        let mut map = FxHashMap::default();
        let mut q = p.copy_repeat(r, &mut map);
        q.trips = Trips::For(p.new_array("trip", Elem::I64, Vec::new()), count);
        let history = store_history(p, &mut q);
        p.stms.push(Stm::Repeat(q));
        history
    }
}

/// Whether a statement makes all elements of an array.
fn is_stored(body: &[Stm], a: ArrayId) -> bool {
    let is_whole = |k: &YieldKind| matches!(k, YieldKind::Store(_) | YieldKind::Reduce { .. });
    body.iter()
        .any(|s| matches!(s, Stm::Nest(n) if n.yields.iter().any(|y| y.array == a && is_whole(&y.kind))))
}

/// The arrays from a state to its next value, each of which is the one before with some elements changed: their adjoints are one array, in
/// which elements are changed.
pub(super) fn versions(body: &[Stm], next: ArrayId, state: ArrayId) -> Vec<ArrayId> {
    let mut out = vec![next];
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
    out.reverse();
    out
}
