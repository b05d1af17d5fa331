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
//! A `while` counts its trips first; a loop of that many trips then stores the history.
//!
//! **Sums.** Adjoints of states and of outer arrays are added to in place: a loop that reads one element a trip costs one
//! element a trip backwards. Source: thesis 2.6 (loops, strip-mining, in-place updates) with old values in place of the
//! analysis of false dependences.

use std::collections::HashMap;

use super::NotDifferentiable;
use super::forward::Forward;
use super::history::{History, store_history, undone};
use super::reverse::Reverse;
use crate::bulk::build::int;
use crate::bulk::{ArrayId, Atom, Carried, Repeat, Stm, Trips};
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
            Trips::While(on) => {
                let count = self.counted(r, *on);
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

    /// Takes the loop from the statements, with what stands after it.
    fn take(&mut self, r: &Repeat) -> (Repeat, Vec<Stm>) {
        let first = r.carried.first().map(|c| c.state);
        let is_it = |s: &Stm| matches!(s, Stm::Repeat(q) if q.carried.first().map(|c| c.state) == first);
        let at = expect(self.p.stms.iter().position(is_it), || "a loop is not before its adjoint".into());
        let rest = self.p.stms.split_off(at + 1);
        let Some(Stm::Repeat(q)) = self.p.stms.pop() else { panic!("a loop is not before its adjoint") };
        (q, rest)
    }

    /// Has the loop, which stands among the statements, store its history.
    fn with_history(&mut self, r: &Repeat) -> Vec<History> {
        let (mut q, rest) = self.take(r);
        let history = store_history(&mut self.p, &mut q);
        self.p.stms.push(Stm::Repeat(q));
        self.p.stms.extend(rest);
        history
    }

    /// Has a `while` count its trips.
    fn counted(&mut self, r: &Repeat, on: ArrayId) -> Dim {
        let (mut q, rest) = self.take(r);
        let p = &mut self.p;
        let start = p.constant("trips", &[], Const::of(Elem::I64, 0), r.loc);
        let state = p.new_array("trips", Elem::I64, Vec::new());
        let result = p.new_array("trips", Elem::I64, Vec::new());
        let outside = std::mem::replace(&mut p.stms, std::mem::take(&mut q.body));
        // A trip too many does not count: see `bulk::Trips`.
        let next = p.store("trips", Elem::I64, &[], r.loc, |p, code, _| {
            let (k, on) = (code.read(p, state, &[]), code.read(p, on, &[]));
            let one = code.op(p, Op::Select, &[on, int(1), int(0)]);
            code.op(p, Op::Add, &[k, one])
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
