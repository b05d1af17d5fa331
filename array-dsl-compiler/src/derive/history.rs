//! The history of a loop: what its trips store so that each trip's states can be had again, going backwards.
//!
//! A state that a trip replaces is stored whole: memory for n states. A state that a trip only writes into, element by
//! element, is stored by what is overwritten: the old values, and the index unless it can be computed again, so that memory
//! and time are those of the writes; going back, the old values are written back.

use std::collections::{HashMap, HashSet};

use super::reverse::guarded_read;
use crate::bulk::build::{Code, Redirect, Renaming, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Carried, Let, Nest, Program, Repeat, Stm, Trips, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::internal::expect;
use crate::ty::{Const, Elem, Loc};

/// How a state is had again, going backwards.
pub(super) enum History {
    /// The array of all states; its first dimension is the trip.
    States(ArrayId),
    /// What each of the writes into the state overwrote, in their order.
    Overwritten(Vec<Log>),
}

/// What one nest overwrote: the trip, then the nest's axes.
pub(super) struct Log {
    axes: Vec<Dim>,
    place: Place,
    value: ArrayId,
}

/// Where it wrote.
pub(super) enum Place {
    /// One array for each component of the index.
    Stored(Vec<ArrayId>),
    /// The code of the index, which uses nothing that the loop makes but the number of the trip.
    Recomputed(PlaceCode, ArrayId),
}

/// The code of a nest's index.
pub(super) struct PlaceCode {
    axes: Vec<Axis>,
    lets: Vec<Let>,
    index: Vec<Atom>,
}

impl PlaceCode {
    /// What the index needs of the nest's code.
    fn new(n: &Nest, index: &[Atom]) -> PlaceCode {
        let mut needed: HashSet<Atom> = index.iter().copied().collect();
        let mut lets = Vec::new();
        for l in n.body.unordered().into_iter().rev() {
            if l.vars.iter().any(|v| needed.contains(&Atom::Var(*v))) {
                l.exp.visit_atoms(&mut |a| {
                    needed.insert(a);
                });
                lets.push(l);
            }
        }
        lets.reverse();
        PlaceCode { axes: n.axes.clone(), lets, index: index.to_vec() }
    }

    /// Whether it uses of what the loop makes nothing but the number of the trip.
    fn is_known(&self, r: &Repeat) -> bool {
        let mut made: HashSet<ArrayId> = r.carried.iter().map(|c| c.state).collect();
        made.extend(r.body.iter().flat_map(Stm::results));
        let body = Block { lets: self.lets.clone() };
        let mut known = true;
        body.visit_reads(&mut |a, _| known &= !made.contains(&a));
        body.visit_sizes(&mut |d| known &= !scalars(d).any(|a| made.contains(&a)));
        known
    }

    /// The index at a point, with the number of the trip read from another array.
    fn at(&self, p: &mut Program, code: &mut Code, point: &[Atom], trips: (ArrayId, ArrayId)) -> Vec<Atom> {
        let mut map: Renaming = self.axes.iter().map(|a| a.var).zip(point.iter().copied()).collect();
        let mut lets = p.copy_lets(&self.lets, &mut map);
        let trips = HashMap::from([trips]);
        lets.iter_mut().for_each(|l| Redirect(&trips).binding(l));
        code.lets.extend(lets);
        self.index.iter().map(|a| renamed(&map, *a)).collect()
    }
}

/// Adds to a counted loop what stores its history; arrays that it starts from are made before.
pub(super) fn store_history(p: &mut Program, r: &mut Repeat) -> Vec<History> {
    let Trips::For(index, count) = r.trips.clone() else { return Vec::new() };
    let mut out = Vec::new();
    for c in r.carried.clone() {
        let writes = writes(p, r, &c);
        let Some(writes) = writes else {
            let info = p.array(c.state).clone();
            let all = store_in_trip(p, r, 0, &info.dims, info.elem, index, &count, |p, code, at| {
                code.read(p, c.state, at)
            });
            out.push(History::States(all));
            continue;
        };
        let mut logs = Vec::new();
        for result in writes {
            // The nests before it move as logs are added.
            let at = r.body.iter().position(|s| s.results().contains(&result));
            let at = expect(at, || format!("nothing in the loop makes array {}", result.0));
            let Stm::Nest(n) = r.body[at].clone() else {
                panic!("array {} is not written by a nest", result.0)
            };
            let Some(YieldKind::Write { into, index: place, .. }) = n.yields.first().map(|y| y.kind.clone())
            else {
                panic!("array {} is not written by element", result.0)
            };
            let dims: Vec<Dim> = n.axes.iter().map(|a| a.extent.clone()).collect();
            let code = PlaceCode::new(&n, &place);
            let mut indices = Vec::new();
            let known = code.is_known(r);
            for k in 0..if known { 0 } else { place.len() } {
                let a = store_in_trip(p, r, at, &dims, Elem::I64, index, &count, |p, c, point| {
                    code.at(p, c, point, (index, index))[k]
                });
                indices.push(a);
            }
            let elem = p.array(into).elem;
            let at = at + indices.len();
            let value = store_in_trip(p, r, at, &dims, elem, index, &count, |p, c, point| {
                let place = code.at(p, c, point, (index, index));
                guarded_read(p, c, into, &place)
            });
            let place = if known { Place::Recomputed(code, index) } else { Place::Stored(indices) };
            logs.push(Log { axes: dims, place, value });
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
    let yields = vec![Yield {
        array: next,
        kind: YieldKind::Write { into: state, index: place, value, contested: false },
    }];
    r.body.insert(at, Stm::Nest(Nest { axes, body: code.into(), yields, loc: r.loc }));
    r.carried.push(Carried { state, start, next, result });
    result
}

/// The state before a nest overwrote something.
pub(super) fn undone(p: &mut Program, state: ArrayId, log: &Log, trip: ArrayId, loc: Loc) -> ArrayId {
    let axes = p.new_axes(&log.axes);
    let mut code = Code::new(loc);
    let point: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let at: Vec<Atom> = [code.read(p, trip, &[])].into_iter().chain(point.iter().copied()).collect();
    let index = match &log.place {
        Place::Stored(arrays) => arrays.iter().map(|a| code.read(p, *a, &at)).collect(),
        Place::Recomputed(place, index) => place.at(p, &mut code, &point, (*index, trip)),
    };
    let value = code.read(p, log.value, &at);
    let info = p.array(state).clone();
    let array = p.new_array(info.name, info.elem, info.dims);
    let yields =
        vec![Yield { array, kind: YieldKind::Write { into: state, index, value, contested: false } }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
    array
}
