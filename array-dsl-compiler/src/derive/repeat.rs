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
//! **History.** A state that a trip replaces is stored whole: memory for n states. A state that a trip only writes into, element
//! by element, is stored by what is overwritten: index and old value, so that memory and time are those of the writes; going
//! back, the old values are written back. What the body backwards does not need is dead code.
//!
//! A `while` counts its trips first; a loop of that many trips then stores the history.
//!
//! **Sums.** Adjoints of states and of outer arrays are added to in place: a loop that reads one element a trip costs one
//! element a trip backwards. Source: thesis 2.6 (loops, strip-mining, in-place updates) with old values in place of the
//! analysis of false dependences.

use std::collections::HashMap;

use super::forward::Forward;
use super::reverse::{Reverse, guarded_read};
use super::{NotDifferentiable, fresh};
use crate::bulk::build::{Code, int, renamed};
use crate::bulk::{ArrayId, Atom, Block, Carried, Nest, Program, Repeat, Stm, Trips, Yield, YieldKind};
use crate::dim::{Dim, SizeAtom};
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

/// How a state is had again, going backwards.
enum History {
    /// The array of all states; its first dimension is the trip.
    Whole(ArrayId),
    /// What each of the writes into the state overwrote, in their order.
    Overwritten(Vec<Log>),
}

/// What one nest overwrote: the trip, then the nest's axes.
struct Log {
    axes: Vec<Dim>,
    index: Vec<ArrayId>,
    value: ArrayId,
}

impl Reverse {
    /// See the module header.
    pub(super) fn repeat(&mut self, r: &Repeat) -> Result<(), NotDifferentiable> {
        let active: Vec<usize> =
            (0..r.carried.len()).filter(|i| self.active.contains(&r.carried[*i].state)).collect();
        let adjoints: Vec<Option<ArrayId>> =
            active.iter().map(|i| self.total(r.carried[*i].result)).collect();
        if adjoints.iter().all(Option::is_none) {
            return Ok(());
        }
        let (count, history) = match &r.trips {
            Trips::For(_, count) => (count.clone(), self.with_history(r)),
            Trips::While(_) => {
                let count = self.counted(r);
                (count.clone(), self.counted_history(r, count))
            }
        };

        // The body of the backward loop.
        let outside = std::mem::take(&mut self.p.stms);
        let p = &mut self.p;
        let index = p.new_array("trip", Elem::I64, Vec::new());
        let last = count.sub(&Dim::constant(1));
        let trip = p.store("trip", Elem::I64, &[], r.loc, |p, code, _| {
            let (last, j) = (code.size(p, &last), code.read(p, index, &[]));
            code.op(p, Op::Sub, &[last, j])
        });
        let mut again: HashMap<ArrayId, ArrayId> = HashMap::new();
        if let Trips::For(i, _) = &r.trips {
            again.insert(*i, trip);
        }
        let mut carried: Vec<Carried> = Vec::new();
        for (c, h) in r.carried.iter().zip(&history) {
            let info = p.array(c.state).clone();
            let state = match h {
                History::Whole(all) => p.store(&info.name, info.elem, &info.dims, r.loc, |p, code, at| {
                    let t = code.read(p, trip, &[]);
                    let at: Vec<Atom> = [t].iter().chain(at).copied().collect();
                    code.read(p, *all, &at)
                }),
                History::Overwritten(logs) => {
                    let after = p.new_array(info.name.clone(), info.elem, info.dims.clone());
                    let result = p.new_array(info.name.clone(), info.elem, info.dims.clone());
                    let before =
                        logs.iter().rev().fold(after, |state, log| undone(p, state, log, trip, r.loc));
                    carried.push(Carried { state: after, start: c.result, next: before, result });
                    before
                }
            };
            again.insert(c.state, state);
        }
        let body = self.p.copy_stms(&r.body, &mut again);
        for (old, new) in &again {
            if self.active.contains(old) {
                self.active.insert(*new);
            }
        }
        self.p.stms.extend(body.iter().cloned());

        // Backwards, with adjoints of its own.
        let saved = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.sums));
        let renamed_array = |a: ArrayId| again.get(&a).copied().unwrap_or(a);
        let outer: Vec<ArrayId> = {
            let mut all = Stm::Repeat(Repeat { carried: Vec::new(), ..r.clone() }).inputs();
            all.extend(r.carried.iter().map(|c| c.next));
            all.retain(|a| self.active.contains(a) && !again.contains_key(a));
            all.sort();
            all.dedup();
            all
        };
        let state = |r: &mut Self, of: ArrayId| {
            let info = r.p.array(of).clone();
            let name = format!("{}_adj", info.name);
            let state = r.p.new_array(name.clone(), info.elem, info.dims.clone());
            let result = r.p.new_array(name, info.elem, info.dims);
            Carried { state, start: state, next: state, result }
        };
        let mut sums: Vec<Carried> = outer.iter().map(|x| state(self, *x)).collect();
        let mut states: Vec<Carried> = active.iter().map(|i| state(self, r.carried[*i].state)).collect();
        for (x, c) in outer.iter().zip(&sums) {
            self.sums.insert(*x, Some(c.state));
        }
        for i in &active {
            self.sums.insert(renamed_array(r.carried[*i].state), None);
        }
        for (i, c) in active.iter().zip(&states) {
            self.contribute(renamed_array(r.carried[*i].next), c.state);
        }
        self.block(&body)?;
        for (i, c) in active.iter().zip(&mut states) {
            c.next = self.total_or_zero(renamed_array(r.carried[*i].state));
        }
        for (x, c) in outer.iter().zip(&mut sums) {
            c.next = self.total_or_zero(*x);
        }
        let body = std::mem::replace(&mut self.p.stms, outside);
        (self.adjoints, self.sums) = saved;

        // The loop, and what it gives.
        for (c, adj) in states.iter_mut().zip(adjoints) {
            c.start = match adj {
                Some(a) => a,
                None => self.zeros(c.state),
            };
        }
        for c in &mut sums {
            c.start = self.zeros(c.state);
        }
        carried.extend(states.iter().chain(&sums));
        self.p.stms.push(Stm::Repeat(Repeat { trips: Trips::For(index, count), carried, body, loc: r.loc }));
        for (i, c) in active.iter().zip(states) {
            self.contribute(r.carried[*i].start, c.result);
        }
        for (x, c) in outer.iter().zip(sums) {
            self.contribute(*x, c.result);
        }
        Ok(())
    }

    fn zeros(&mut self, like: ArrayId) -> ArrayId {
        let info = self.p.array(like).clone();
        self.p.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default())
    }

    /// Has the loop, which stands among the statements, store its history.
    fn with_history(&mut self, r: &Repeat) -> Vec<History> {
        let first = r.carried.first().map(|c| c.state);
        let is_it = |s: &Stm| matches!(s, Stm::Repeat(q) if q.carried.first().map(|c| c.state) == first);
        let Some(at) = self.p.stms.iter().position(is_it) else { return Vec::new() };
        let rest = self.p.stms.split_off(at);
        let mut rest = rest.into_iter();
        let Some(Stm::Repeat(mut q)) = rest.next() else { return Vec::new() };
        let history = store_history(&mut self.p, &mut q);
        self.p.stms.push(Stm::Repeat(q));
        self.p.stms.extend(rest);
        history
    }

    /// Has a `while` count its trips.
    fn counted(&mut self, r: &Repeat) -> Dim {
        let first = r.carried.first().map(|c| c.state);
        let is_it = |s: &Stm| matches!(s, Stm::Repeat(q) if q.carried.first().map(|c| c.state) == first);
        let Some(at) = self.p.stms.iter().position(is_it) else { return Dim::default() };
        let rest = self.p.stms.split_off(at);
        let p = &mut self.p;
        let start = p.constant("trips", &[], Const::of(Elem::I64, 0), r.loc);
        let state = p.new_array("trips", Elem::I64, Vec::new());
        let result = p.new_array("trips", Elem::I64, Vec::new());
        let mut rest = rest.into_iter();
        let Some(Stm::Repeat(mut q)) = rest.next() else { return Dim::default() };
        let outside = std::mem::replace(&mut p.stms, std::mem::take(&mut q.body));
        let next = p.store("trips", Elem::I64, &[], r.loc, |p, code, _| {
            let k = code.read(p, state, &[]);
            code.op(p, Op::Add, &[k, int(1)])
        });
        q.body = std::mem::replace(&mut p.stms, outside);
        q.carried.push(Carried { state, start, next, result });
        p.stms.push(Stm::Repeat(q));
        p.stms.extend(rest);
        Dim::atom(SizeAtom::Scalar(result.0))
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

/// Adds to a counted loop what stores its history; arrays that it starts from are made before.
fn store_history(p: &mut Program, r: &mut Repeat) -> Vec<History> {
    let Trips::For(index, count) = r.trips.clone() else { return Vec::new() };
    let mut out = Vec::new();
    for c in r.carried.clone() {
        let writes = writes(p, r, &c);
        let Some(writes) = writes else {
            let info = p.array(c.state).clone();
            let all = store_in_trip(p, r, 0, &info.dims, info.elem, index, &count, |p, code, at| {
                code.read(p, c.state, at)
            });
            out.push(History::Whole(all));
            continue;
        };
        let mut logs = Vec::new();
        for result in writes {
            // The nests before it move as logs are added.
            let Some(at) = r.body.iter().position(|s| s.results().contains(&result)) else { continue };
            let Stm::Nest(n) = r.body[at].clone() else { continue };
            let Some(YieldKind::Write { into, index: place, .. }) = n.yields.first().map(|y| y.kind.clone())
            else {
                continue;
            };
            let dims: Vec<Dim> = n.axes.iter().map(|a| a.extent.clone()).collect();
            let code_of = |p: &mut Program, code: &mut Code, at: &[Atom]| -> Vec<Atom> {
                let mut map = fresh();
                map.extend(n.axes.iter().map(|a| a.var).zip(at.iter().copied()));
                code.lets.extend(p.copy_lets(&n.body.lets, &mut map));
                place.iter().map(|a| renamed(&map, *a)).collect()
            };
            let mut indices = Vec::new();
            for k in 0..place.len() {
                let a = store_in_trip(p, r, at, &dims, Elem::I64, index, &count, |p, code, at| {
                    code_of(p, code, at)[k]
                });
                indices.push(a);
            }
            let elem = p.array(into).elem;
            let at = at + place.len();
            let value = store_in_trip(p, r, at, &dims, elem, index, &count, |p, code, at| {
                let place = code_of(p, code, at);
                guarded_read(p, code, into, &place)
            });
            logs.push(Log { axes: dims, index: indices, value });
        }
        out.push(History::Overwritten(logs));
    }
    out
}

/// The writes that make the next state out of the state, in order; `None` if it is made in another way, or an element may be
/// written more than once by one of them.
fn writes(p: &Program, r: &Repeat, c: &Carried) -> Option<Vec<ArrayId>> {
    if p.array(c.state).dims.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let mut at = c.next;
    while at != c.state {
        let nest = r.body.iter().find_map(|s| match s {
            Stm::Nest(n) if n.yields.iter().any(|y| y.array == at) => Some(n),
            _ => None,
        })?;
        let [Yield { kind: YieldKind::Write { into, index, .. }, .. }] = nest.yields.as_slice() else {
            return None;
        };
        // Different points write to different places, or there is one point.
        let distinct = nest.axes.iter().all(|a| index.contains(&Atom::Var(a.var)));
        if !distinct {
            return None;
        }
        out.push(at);
        at = *into;
    }
    out.reverse();
    Some(out)
}

/// Has each trip store an array of dimensions `dims`; the array of all of them.
#[allow(clippy::too_many_arguments, reason = "a nest in the words of its loop")]
fn store_in_trip(
    p: &mut Program,
    r: &mut Repeat,
    at: usize,
    dims: &[Dim],
    elem: Elem,
    index: ArrayId,
    count: &Dim,
    value: impl FnOnce(&mut Program, &mut Code, &[Atom]) -> Atom,
) -> ArrayId {
    let all: Vec<Dim> = [count].into_iter().chain(dims).cloned().collect();
    let start = p.constant("history", &all, Const::of(elem, 0), r.loc);
    let [state, next, result] = [(); 3].map(|()| p.new_array("history", elem, all.clone()));
    let axes = p.new_axes(dims);
    let places: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(r.loc);
    let trip = code.read(p, index, &[]);
    let value = value(p, &mut code, &places);
    let place = [trip].into_iter().chain(places).collect();
    let yields = vec![Yield { array: next, kind: YieldKind::Write { into: state, index: place, value } }];
    r.body.insert(at, Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc: r.loc }));
    r.carried.push(Carried { state, start, next, result });
    result
}

/// The state before a nest overwrote something.
fn undone(p: &mut Program, state: ArrayId, log: &Log, trip: ArrayId, loc: Loc) -> ArrayId {
    let axes = p.new_axes(&log.axes);
    let mut code = Code::new(loc);
    let mut at = vec![code.read(p, trip, &[])];
    at.extend(axes.iter().map(|a| Atom::Var(a.var)));
    let index = log.index.iter().map(|a| code.read(p, *a, &at)).collect();
    let value = code.read(p, log.value, &at);
    let info = p.array(state).clone();
    let array = p.new_array(info.name, info.elem, info.dims);
    let yields = vec![Yield { array, kind: YieldKind::Write { into: state, index, value } }];
    p.stms.push(Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc }));
    array
}
