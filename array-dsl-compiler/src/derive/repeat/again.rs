//! A forward trip in a backward one: the states before it, its statements under names of their own, and how far it is had again before it
//! goes backwards. A trip that goes straight back (`straight`) has what it kept and what depends on no state; another one is undone to its
//! start and executed again.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::history::{History, Kept, Trip, Update, undone};
use super::super::reverse::Reverse;
use super::straight::Segments;
use super::versions;
use crate::bulk::build::Redirect;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Carried, Repeat, Stm};
use crate::ty::{Elem, Loc};

/// From the arrays that the forward loop binds to those that a backward trip binds in their places.
pub(super) type Restored = FxHashMap<ArrayId, ArrayId>;

/// A state that a trip writes into, in a backward trip.
pub(super) struct Rewound<'a> {
    /// Which of the arrays that the backward loop carries.
    pub carried: usize,
    updates: &'a [Update],
    /// The state before the trip, as it was restored, and what each of the updates made of it when the trip was executed again.
    pub versions: Vec<ArrayId>,
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
        let versions = versions(body, next, before);
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

    /// The update that a statement is, if it is to be undone: of what, what it makes, and what undoes it.
    fn update(&self, s: &Stm) -> Option<(ArrayId, ArrayId, &Update)> {
        let results = s.results();
        let u = (0..self.last).find(|u| results.contains(&self.versions[u + 1]))?;
        Some((self.versions[u], self.versions[u + 1], &self.updates[u]))
    }
}

/// A forward trip in a backward one.
pub(super) struct TripAgain<'a> {
    /// Which it is, with the integers that it made, of which numbers of trips inside and of points may be made.
    pub trip: Trip,
    /// Its statements, under names of their own.
    pub body: Vec<Stm>,
    pub restored: Restored,
    pub written: Vec<Rewound<'a>>,
    /// If it goes straight back.
    pub segments: Option<Segments>,
    /// What it has kept.
    pub kept: Kept,
}

impl TripAgain<'_> {
    /// The updates that a statement is.
    pub fn updates(&self, s: &Stm) -> impl Iterator<Item = (ArrayId, ArrayId, &Update)> {
        self.written.iter().filter_map(move |w| w.update(s))
    }
}

impl Reverse {
    /// Has a forward trip again, as far as that is done before it goes backwards, and gives what the backward loop carries for that:
    /// states that were only written into, in their order, which go back from trip to trip.
    pub(super) fn trip_again<'a>(
        &mut self,
        r: &Repeat,
        history: &'a [History],
        kept: Kept,
        trip: &Trip,
        number: Option<(ArrayId, ArrayId)>,
    ) -> (Vec<Carried>, TripAgain<'a>) {
        let mut restored: Restored = number.into_iter().collect();
        let mut carried = Vec::new();
        for (c, h) in r.carried.iter().zip(history) {
            let info = self.p.array(c.state).clone();
            let state = match h {
                History::States(all) => {
                    self.p.store(&info.name, info.elem, &info.dims, r.loc, |p, code, at| {
                        let mut index = trip.index(p, code);
                        index.extend(at);
                        code.read(p, *all, &index)
                    })
                }
                History::Overwritten(_) => {
                    let [before, after, result] =
                        [(); 3].map(|()| self.p.new_array(info.name.clone(), info.elem, info.dims.clone()));
                    carried.push(Carried { state: after, start: self.now(c.result), next: after, result });
                    self.rewound.insert(c.result, result);
                    before
                }
            };
            restored.insert(c.state, state);
        }
        let body = self.p.copy_stms(&r.body, &mut restored);
        let is_integer = |a: &ArrayId| self.p.array(*a).dims.is_empty() && self.p.array(*a).elem == Elem::I64;
        let integers = r.body.iter().flat_map(Stm::results).filter(is_integer);
        let now = trip.with(integers.filter_map(|a| Some((a, *restored.get(&a)?))));
        let copies = restored.iter().filter(|(old, _)| self.active.contains(old)).map(|(_, new)| *new);
        self.active.extend(copies.collect::<Vec<_>>());
        let in_trip = |a: ArrayId| restored.get(&a).copied().unwrap_or(a);
        let overwritten = r.carried.iter().zip(history).filter_map(|(c, h)| match h {
            History::Overwritten(updates) => Some((in_trip(c.state), in_trip(c.next), &updates[..])),
            History::States(_) => None,
        });
        let written = overwritten
            .enumerate()
            .map(|(at, (before, next, updates))| Rewound::new(at, updates, &body, before, next))
            .collect();
        let mut again = TripAgain { trip: now, body, restored, written, segments: None, kept };
        let written: Vec<Vec<ArrayId>> = again.written.iter().map(|w| w.versions.clone()).collect();
        again.segments = Segments::of(&self.p, &again.body, &written, &again.kept);
        match &again.segments {
            Some(segments) => {
                for w in &mut again.written {
                    w.last = w.updates.len();
                    self.is_again(w.versions[w.last], carried[w.carried].state);
                }
                // What is kept has sizes that are computed, and what is computed may read what is kept.
                for (at, s) in again.body.iter().enumerate() {
                    if let Some(values) = again.kept.of(at) {
                        let results = s.results();
                        for (k, log) in values {
                            self.had_again(results[*k], *log, &again.trip, r.loc);
                        }
                    } else if segments.steady.contains(&at) {
                        self.execute([s].into_iter());
                    }
                }
                let last = segments.of.last().into_iter().flatten();
                self.execute(last.map(|at| &again.body[*at]));
            }
            None => self.undo_trip(r, &mut again, &carried),
        }
        (carried, again)
    }

    /// Has what a trip computed from where it was kept.
    fn had_again(&mut self, a: ArrayId, log: ArrayId, trip: &Trip, loc: Loc) {
        let info = self.p.array(a).clone();
        let now = self.p.store(&info.name, info.elem, &info.dims, loc, |p, code, at| {
            let mut index = trip.index(p, code);
            index.extend(at);
            code.read(p, log, &index)
        });
        self.is_again(a, now);
    }

    /// Undoes a whole trip and executes it again.
    fn undo_trip(&mut self, r: &Repeat, again: &mut TripAgain<'_>, carried: &[Carried]) {
        let mut names = FxHashMap::default();
        // How much is undone may be told by integers that the trip makes of what is there.
        if again.written.iter().flat_map(|w| w.updates).any(Update::is_told) {
            let undone = again.written.iter().map(|w| w.versions[0]);
            let first = self.integers_of_data(&again.body, undone.collect());
            let mut at = 0..;
            again.body.retain(|_| at.next().is_none_or(|at| !first.contains(&at)));
        }
        for w in &mut again.written {
            let after = carried[w.carried].state;
            let undone = |state, u: &Update| undone(&mut self.p, state, u, &again.trip, r.loc);
            let before = w.updates.iter().rev().fold(after, undone);
            self.active.extend(self.active.contains(&w.versions[0]).then_some(before));
            names.insert(w.versions[0], before);
            w.versions[0] = before;
        }
        again.body.iter_mut().for_each(|s| Redirect(&names).stm(s));
        again.restored.values_mut().for_each(|a| *a = names.get(a).copied().unwrap_or(*a));
        self.p.stms.extend(again.body.iter().cloned());
    }

    /// Executes the nests of a trip that make integers of what is neither to be undone nor made by other statements; their places.
    fn integers_of_data(&mut self, body: &[Stm], undone: Vec<ArrayId>) -> Vec<usize> {
        let mut made: FxHashSet<ArrayId> = body.iter().flat_map(Stm::results).chain(undone).collect();
        let mut places = Vec::new();
        for (at, s) in body.iter().enumerate() {
            let results = s.results();
            let are_integers = results.iter().all(|a| {
                let info = self.p.array(*a);
                info.dims.is_empty() && info.elem == Elem::I64
            });
            let is_first = matches!(s, Stm::Nest(n) if n.axes.is_empty())
                && are_integers
                && !s.inputs().iter().any(|a| made.contains(a));
            if is_first {
                results.iter().for_each(|a| _ = made.remove(a));
                places.push(at);
                self.p.stms.push(s.clone());
            }
        }
        places
    }
}
