//! What a loop stores of its trips while it goes forward.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::reverse::guarded_read;
use super::keep::room;
use super::place::{Place, PlaceCode, unconditional};
use super::told::{Flat, Told, told};
use super::{History, Kept, Log, Trip, Update};
use crate::affine::{Checked, Facts, not_negative};
use crate::bulk::build::{Code, int};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Carried, Check, CheckKind, Exp, Item, Let, Nest, Program, Reducer, Repeat, Stm, Trips,
    Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Adds to a counted loop what stores its history; arrays that it starts from are made before.
pub(in crate::derive) fn store_history(p: &mut Program, r: &mut Repeat) -> (Vec<History>, Kept) {
    let Trips::For(index, count) = r.trips.clone() else { return Default::default() };
    let mut made = FxHashSet::default();
    made_inside(r, &mut made);
    let level = Level { index, count: count.clone(), most: count };
    let told = told(p, r, &made);
    let mut logger =
        Logger { p, made: &made, told: &told, levels: vec![level], room: Dim::default(), loc: r.loc };
    let mut all = Vec::new();
    for c in &r.carried {
        let writes = logger.writes(&r.body, c);
        all.push((*c, writes.filter(|w| !is_less(&logger.p.array(c.state).dims, w))));
    }
    let overwritten: Vec<(Carried, &[Writes])> =
        all.iter().filter_map(|(c, w)| Some((*c, w.as_deref()?))).collect();
    let whole =
        all.iter().filter(|(_, w)| w.is_none()).map(|(c, _)| Dim::product(&logger.p.array(c.state).dims));
    let stored = overwritten.iter().map(|(_, w)| size(w)).chain(whole);
    logger.room = room(&stored.fold(Dim::default(), |sum, n| sum.add(&n)));
    let plan = logger.keeping(&r.body, &overwritten).unwrap_or_default();
    let (body, first) = (r.body.clone(), r.carried.len());
    let mut out = Vec::new();
    for (c, writes) in all {
        out.push(match writes {
            Some(writes) => History::Overwritten(logger.trips(r, &writes)),
            None => {
                let info = logger.p.array(c.state).clone();
                let read = |p: &mut Program, code: &mut Code, at: &[Atom]| code.read(p, c.state, at);
                History::States(logger.store_in_trip(r, 0, &info.dims, &info.dims, info.elem, read))
            }
        });
    }
    let kept = logger.keep(r, &body, &plan);
    for log in &mut r.carried[first..] {
        let info = p.array(log.state).clone();
        log.start = p.constant("history", &info.dims, Const::of(info.elem, 0), r.loc);
    }
    (out, kept)
}

/// Whether a state of these dimensions takes less memory than what is written into it: then it is stored whole.
pub(super) fn is_less(dims: &[Dim], writes: &[Writes]) -> bool {
    let (state, log) = (Dim::product(dims), size(writes));
    // The whole costs a copy of what no trip may write.
    let more = log.sub(&state.scale(2));
    let certain = more.is_nonnegative() && more != Dim::default();
    certain || state.as_constant().is_some() && log.as_constant().is_none()
}

/// How many elements are written, at most.
fn size(writes: &[Writes]) -> Dim {
    let sizes = writes.iter().map(|w| match w {
        Writes::Nest(_, most) => Dim::product(most),
        Writes::Loop(_, level, writes) => level.most.mul(&size(writes)),
    });
    sizes.fold(Dim::default(), |sum, n| sum.add(&n))
}

/// The arrays that a loop makes, but for the numbers of trips.
fn made_inside(r: &Repeat, made: &mut FxHashSet<ArrayId>) {
    made.extend(r.carried.iter().map(|c| c.state));
    for s in &r.body {
        made.extend(s.results());
        if let Stm::Repeat(r) = s {
            made_inside(r, made);
        }
    }
}

/// A statement that writes into a state, by the array that it makes.
pub(super) enum Writes {
    /// A nest over so many points.
    Nest(ArrayId, Vec<Dim>),
    Loop(ArrayId, Level, Vec<Writes>),
}

/// A loop around what is logged.
#[derive(Clone)]
pub(super) struct Level {
    pub index: ArrayId,
    /// The number of its trips, over what is known before the outermost loop and the numbers of the trips around.
    pub count: Dim,
    /// As many or more, known before the outermost loop.
    pub most: Dim,
}

/// Adds logs to a loop and to those in it.
pub(super) struct Logger<'a> {
    pub p: &'a mut Program,
    /// What the outermost loop makes.
    made: &'a FxHashSet<ArrayId>,
    /// What integers that its trips make are in all of them, where data tell.
    told: &'a FxHashMap<ArrayId, Told>,
    /// The loops around, from the outside in.
    pub levels: Vec<Level>,
    /// How many numbers each trip of the outermost loop may still keep.
    pub room: Dim,
    loc: Loc,
}

impl Logger<'_> {
    /// What makes the next state out of the state, in order; `None` if it is made in another way, an element may be written more than
    /// once by one nest, or nobody can tell before the outermost loop how much there is to log.
    pub fn writes(&mut self, body: &[Stm], c: &Carried) -> Option<Vec<Writes>> {
        if self.p.array(c.state).dims.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        let mut at = c.next;
        while at != c.state {
            at = match body.iter().find(|s| s.results().contains(&at))? {
                Stm::Nest(n) => {
                    let (into, index) = written(n)?;
                    let (index, code) = unconditional(n, index);
                    // Different points write to different places, or there is one point.
                    let mut facts = Facts::new(&n.axes, &Checked::default());
                    n.body.lets().chain(&code).for_each(|l| facts.learn((&*self.p).into(), l));
                    let distinct = facts.tells_all(&index, &n.axes.iter().map(|a| a.var).collect());
                    let most = n
                        .axes
                        .iter()
                        .map(|a| self.most(&polynomial(body, &a.extent)))
                        .collect::<Option<Vec<_>>>()?;
                    // Of two such numbers the product is not told.
                    if self.all_dims(&most).iter().filter(|d| self.is_told([*d])).count() > 1 {
                        return None;
                    }
                    out.push(Writes::Nest(at, most));
                    distinct.then_some(into)?
                }
                Stm::Repeat(r) => {
                    let Trips::For(index, count) = &r.trips else { return None };
                    let inner = r.carried.iter().find(|c| c.result == at)?;
                    let count = polynomial(body, count);
                    let level = Level { index: *index, most: self.most(&count)?, count };
                    self.levels.push(level.clone());
                    let inside = self.writes(&r.body, inner);
                    self.levels.pop();
                    out.push(Writes::Loop(at, level, inside?));
                    inner.start
                }
                _ => return None,
            };
        }
        out.reverse();
        Some(out)
    }

    /// Has a loop carry the logs of a loop inside; their names after it.
    pub fn passed_through(
        &mut self,
        logs: &mut [Carried],
        carried: &mut Vec<Carried>,
    ) -> FxHashMap<ArrayId, ArrayId> {
        let mut after = FxHashMap::default();
        for log in logs {
            let info = self.p.array(log.state).clone();
            let [state, result] =
                [(); 2].map(|()| self.p.new_array(info.name.clone(), info.elem, info.dims.clone()));
            log.start = state;
            after.insert(log.result, result);
            carried.push(Carried { state, start: state, next: log.result, result });
        }
        after
    }

    /// A bound for a number of trips or points: the polynomial at the first trips or at the last ones, with whose numbers it falls or
    /// grows.
    pub fn most(&self, count: &Dim) -> Option<Dim> {
        if let Some(SizeAtom::Scalar(a)) = count.as_atom()
            && let Some(told) = self.told.get(&ArrayId(*a))
        {
            return Some(Dim::atom(SizeAtom::Scalar(told.total.0)));
        }
        let mut most = count.clone();
        for l in self.levels.iter().rev() {
            let at = |number: &Dim| {
                most.substitute(&mut |a| match a {
                    SizeAtom::Scalar(s) if ArrayId(*s) == l.index => number.clone(),
                    _ => Dim::atom(a.clone()),
                })
            };
            let one = Dim::constant(1);
            let slope = at(&Dim::atom(SizeAtom::Scalar(l.index.0)).add(&one)).sub(&most);
            most = if slope.is_nonnegative() {
                at(&l.count.sub(&one))
            } else if slope.scale(-1).is_nonnegative() {
                at(&Dim::default())
            } else {
                return None;
            };
        }
        let known = scalars(&most).all(|a| !self.made.contains(&a));
        known.then_some(most)
    }

    /// Has a loop log what it writes into a state. The logs are the last arrays that it carries; what they start from is the matter of
    /// what is around.
    fn trips(&mut self, r: &mut Repeat, writes: &[Writes]) -> Vec<Update> {
        let mut out = Vec::new();
        for w in writes {
            out.push(match w {
                Writes::Nest(result, most) => Update::Write(self.nest(r, *result, most)),
                Writes::Loop(result, level, writes) => self.inner(r, *result, level, writes),
            });
        }
        out
    }

    /// A loop inside, whose logs go from trip to trip of the loop around it.
    fn inner(&mut self, r: &mut Repeat, result: ArrayId, level: &Level, writes: &[Writes]) -> Update {
        let at = position(r, result);
        let Stm::Repeat(inner) = &mut r.body[at] else { panic!("array {} is not made by a loop", result.0) };
        let first = inner.carried.len();
        let most = self.extent(&level.most);
        self.levels.push(Level { most, ..level.clone() });
        let mut updates = self.trips(inner, writes);
        self.levels.pop();
        let after = self.passed_through(&mut inner.carried[first..], &mut r.carried);
        updates.iter_mut().for_each(|u| u.redirect(&after));
        Update::Loop(level.index, level.count.clone(), updates)
    }

    /// Has the nest that makes `result` store what it is about to overwrite, and where.
    fn nest(&mut self, r: &mut Repeat, result: ArrayId, most: &[Dim]) -> Log {
        let Stm::Nest(n) = r.body[position(r, result)].clone() else {
            panic!("array {} is not written by a nest", result.0)
        };
        let (into, index) = expect(written(&n), || format!("array {} is not written by element", result.0));
        let axes: Vec<Dim> = n.axes.iter().map(|a| polynomial(&r.body, &a.extent)).collect();
        let flat = Flat::of(&self.all_dims(most), self.told);
        let most: Vec<Dim> = most.iter().map(|d| self.extent(d)).collect();
        let code = PlaceCode::new(&n, index);
        let now = Trip::default();
        let place = if code.is_known(self.made) {
            Place::Recomputed(code.clone())
        } else {
            let component = |k: usize| {
                self.store_in_trip(r, position(r, result), &axes, &most, Elem::I64, |p, c, point| {
                    code.at(p, c, point, &now)[k]
                })
            };
            Place::Stored((0..index.len()).map(component).collect())
        };
        let elem = self.p.array(into).elem;
        let compared = code.compared(&n, into, &self.p.vars);
        let value = self.store_in_trip(r, position(r, result), &axes, &most, elem, |p, c, point| {
            let index = code.at(p, c, point, &now);
            let Some(loc) = compared else { return guarded_read(p, c, into, &index) };
            let value = p.new_var(elem);
            let exp = Exp::Read { array: into, index, checked: true };
            c.lets.push(Let { vars: vec![value], exp, loc });
            Atom::Var(value)
        });
        Log { axes, place, value, flat }
    }

    /// Has each trip store an array over axes of so many points, and at most so many; the array of all of them.
    pub fn store_in_trip(
        &mut self,
        r: &mut Repeat,
        at: usize,
        axes: &[Dim],
        most: &[Dim],
        elem: Elem,
        value: impl FnOnce(&mut Program, &mut Code, &[Atom]) -> Atom,
    ) -> ArrayId {
        let mut all = self.all_dims(most);
        let flat = Flat::of(&all, self.told);
        if flat.is_some() {
            all.remove(0);
        }
        let p = &mut *self.p;
        let [state, next, result] = [(); 3].map(|()| p.new_array("history", elem, all.clone()));
        let axes = p.new_axes(axes);
        let points: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(self.loc);
        let mut index: Vec<Atom> = self.levels.iter().map(|l| code.read(p, l.index, &[])).collect();
        let value = value(p, &mut code, &points);
        index.extend(points);
        if let Some(flat) = flat {
            index = flat.index(p, &mut code, index);
        }
        let kind = YieldKind::Write { into: state, index, value, contested: false };
        let yields = vec![Yield { array: next, kind }];
        r.body.insert(at, Stm::Nest(Nest { axes, body: code.into(), yields, loc: self.loc }));
        r.carried.push(Carried { state, start: state, next, result });
        result
    }

    /// The dimensions of a log of so many points in each trip of the loops around, at most.
    fn all_dims(&self, most: &[Dim]) -> Vec<Dim> {
        self.levels.iter().map(|l| &l.most).chain(most).cloned().collect()
    }

    /// Whether data tell one of these bounds.
    pub fn is_told<'d>(&self, bounds: impl IntoIterator<Item = &'d Dim>) -> bool {
        bounds.into_iter().flat_map(scalars).any(|a| self.told.values().any(|t| t.total == a))
    }

    /// A bound as a dimension, which is not negative. That it is not less than the bound is a check that always holds, for the proofs.
    pub fn extent(&mut self, most: &Dim) -> Dim {
        if self.is_told([most]) {
            return most.clone();
        }
        let mut stms = Vec::new();
        let extent = not_negative(self.p, most, &Checked::default(), self.loc, &mut stms);
        self.p.stms.extend(stms);
        if extent != *most {
            let kind = CheckKind::AtLeast(most.clone(), extent.clone());
            self.p.stms.push(Stm::Check(Check { kind, guards: Vec::new() }, self.loc));
        }
        extent
    }
}

pub(super) fn position(r: &Repeat, made: ArrayId) -> usize {
    let at = r.body.iter().position(|s| s.results().contains(&made));
    expect(at, || format!("nothing in the loop makes array {}", made.0))
}

/// The array that a nest writes into, and nothing else, and where.
fn written(n: &Nest) -> Option<(ArrayId, &[Atom])> {
    let [Yield { kind, .. }] = n.yields.as_slice() else { return None };
    match kind {
        YieldKind::Write { into, index, .. }
        | YieldKind::Accumulate { reducer: Reducer::Add, into, index, .. } => Some((*into, index)),
        _ => None,
    }
}

/// A number of trips or points; where it has been made of a polynomial (`affine::not_negative`), that.
pub(super) fn polynomial(body: &[Stm], count: &Dim) -> Dim {
    let made = || {
        let Some(SizeAtom::Scalar(a)) = count.as_atom() else { return None };
        let n = body.iter().find_map(|s| match s {
            Stm::Nest(n) if n.yields.iter().any(|y| y.array == ArrayId(*a)) => Some(n),
            _ => None,
        })?;
        let [Item::Let(size), Item::Let(most)] = n.body.items.as_slice() else { return None };
        let (Exp::Size(d), Exp::Op(Op::Max, args)) = (&size.exp, &most.exp) else { return None };
        (args[..] == [Atom::Var(size.vars[0]), int(0)]).then(|| d.clone())
    };
    made().unwrap_or_else(|| count.clone())
}
