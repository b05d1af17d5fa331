//! The history of a loop: what its trips store so that each trip's states can be had again, going backwards.
//!
//! A state that a trip replaces is stored whole: memory for n states. A state that a trip only writes into, element by
//! element, is stored by what is overwritten: the old values, and the index unless it can be computed again, so that memory
//! and time are those of the writes; going back, the old values are written back.
//!
//! ```text
//! repeat i < n with s {                          repeat i < n with s, h {
//!   t = write s at p of x                          h' = write h at i of s[p];  t = write s at p of x
//!   u = repeat k < m(i) with v = t {               u, h'' = repeat k < m(i) with v = t, g = h' {
//!     w = write v at q of y                          g' = write g at i, k of v[q];  w = write v at q of y
//!     => w }                                         => w, g' }
//!   => u }                                         => u, h'' }
//! ```
//!
//! Trips keep some of the values that they compute, too (`keep`), first those without which they could not go straight back.
//!
//! A state that is smaller than what is written into it in a trip, as a vector of three numbers is in steps of steps, is stored whole.
//! Loops inside that write into the state are logged as well, if the numbers of their trips are polynomials over what is known before
//! the outer loop and the numbers of trips around; then there is a bound for them (`most`), and the log is an array of that size. Where
//! trips make these numbers of data from outside it is as long as they are together (`told`).
//!
//! `log` adds what stores it to the loop, `keep` what else is kept, `place` has where a nest writes, `told` what data tell; here is how it is had again.

mod keep;
mod log;
mod place;
mod told;

use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use self::log::store_history;
use self::place::Place;
use self::told::Flat;
pub(super) use self::told::greatest;
use super::reverse::guarded_read;
use crate::bulk::build::{Code, redirected};
use crate::bulk::{ArrayId, Atom, Axis, Carried, Exp, Nest, Program, Repeat, Stm, Trips, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// How a state is had again, going backwards.
pub(super) enum History {
    /// The array of all states; its first dimension is the trip.
    States(ArrayId),
    /// What is to be undone, in the order in which it was done.
    Overwritten(Vec<Update>),
}

/// What is kept of the trips of a loop besides what they overwrite, in arrays of the trips of all loops around and of dimensions of their
/// own; in a plan for it instead of each what is to be kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Of a loop in a trip of another one: the states that it replaces, by places among those that it carries.
    pub states: Vec<(usize, ArrayId)>,
    /// What statements of its body made, by their places in it: of each result that is kept the place among all.
    pub values: Vec<(usize, Vec<(usize, ArrayId)>)>,
    /// The same of loops inside that write into states.
    pub inside: Vec<(usize, Kept)>,
}

/// Something in a trip that writes into a state.
#[derive(Clone)]
pub(super) enum Update {
    /// A nest.
    Write(Log),
    /// A loop: the number of its trip, how many there are, and what is done in each.
    Loop(ArrayId, Dim, Vec<Update>),
}

/// What one nest overwrote: an array of the trips of the loops around, from the outside in, and of the nest's axes.
#[derive(Clone)]
pub(super) struct Log {
    axes: Vec<Dim>,
    place: Place,
    value: ArrayId,
    /// If data tell how much it is.
    flat: Option<Flat>,
}

/// A trip of the loops around.
#[derive(Clone, Default)]
pub(super) struct Trip {
    /// Its numbers, from the outside in.
    numbers: Vec<ArrayId>,
    /// The numbers that the loops had when they went forward, and these.
    again: FxHashMap<ArrayId, ArrayId>,
}

impl Trip {
    /// Of the loop whose trips were numbered by `index`, or that has no number of its own, the trip of this number.
    pub fn of(index: Option<ArrayId>, number: ArrayId) -> Trip {
        Trip::default().then(index.unwrap_or(number), number)
    }

    /// The same trip, in which integers that it made are had again under other names.
    pub fn with(&self, again: impl Iterator<Item = (ArrayId, ArrayId)>) -> Trip {
        let mut trip = self.clone();
        trip.again.extend(again);
        trip
    }

    /// Its numbers, read.
    pub fn index(&self, p: &mut Program, code: &mut Code) -> Vec<Atom> {
        self.numbers.iter().map(|a| code.read(p, *a, &[])).collect()
    }

    /// Of a loop inside, whose trips were numbered by `index`, the trip of this number.
    pub fn then(&self, index: ArrayId, number: ArrayId) -> Trip {
        let mut inside = self.clone();
        inside.numbers.push(number);
        inside.again.insert(index, number);
        inside
    }

    /// A size, with these numbers.
    fn size(&self, d: &Dim) -> Dim {
        redirected(d, &self.again)
    }
}

impl Kept {
    /// Of the loop at a place.
    pub fn inside(&self, at: usize) -> Kept {
        self.inside.iter().find(|(place, _)| *place == at).map(|(_, kept)| kept.clone()).unwrap_or_default()
    }

    /// What is kept of the statement at a place.
    pub fn of(&self, at: usize) -> Option<&[(usize, ArrayId)]> {
        self.values.iter().find(|(place, _)| *place == at).map(|(_, values)| &values[..])
    }

    /// The places of statements of which something is kept.
    pub fn places(&self) -> FxHashSet<usize> {
        self.values.iter().map(|(at, _)| *at).collect()
    }

    fn redirect(&mut self, names: &FxHashMap<ArrayId, ArrayId>) {
        let rename = |a: &mut ArrayId| *a = names.get(a).copied().unwrap_or(*a);
        self.states.iter_mut().for_each(|(_, log)| rename(log));
        self.values.iter_mut().flat_map(|(_, values)| values).for_each(|(_, log)| rename(log));
        self.inside.iter_mut().for_each(|(_, kept)| kept.redirect(names));
    }
}

impl Update {
    /// Whether only data tell how much it is.
    pub fn is_told(&self) -> bool {
        match self {
            Update::Write(log) => log.flat.is_some(),
            Update::Loop(_, _, updates) => updates.iter().any(Update::is_told),
        }
    }

    /// After the loop around: it gives the logs under other names.
    fn redirect(&mut self, names: &FxHashMap<ArrayId, ArrayId>) {
        let rename = |a: &mut ArrayId| *a = names.get(a).copied().unwrap_or(*a);
        match self {
            Update::Write(log) => {
                rename(&mut log.value);
                if let Place::Stored(index) = &mut log.place {
                    index.iter_mut().for_each(rename);
                }
            }
            Update::Loop(_, _, updates) => updates.iter_mut().for_each(|u| u.redirect(names)),
        }
    }
}

/// The state before an update of a trip.
pub(super) fn undone(p: &mut Program, after: ArrayId, update: &Update, trip: &Trip, loc: Loc) -> ArrayId {
    match update {
        Update::Write(log) => overwritten(p, after, log, trip, loc),
        Update::Loop(index, count, updates) => {
            let info = p.array(after).clone();
            let [state, result] =
                [(); 2].map(|()| p.new_array(info.name.clone(), info.elem, info.dims.clone()));
            let count = trip.size(count);
            let j = p.new_array("trip", Elem::I64, Vec::new());
            let outside = std::mem::take(&mut p.stms);
            let inside = trip.then(*index, from_the_end(p, j, &count, loc));
            let next = updates.iter().rev().fold(state, |after, u| undone(p, after, u, &inside, loc));
            let body = std::mem::replace(&mut p.stms, outside);
            let carried = vec![Carried { state, start: after, next, result }];
            p.stms.push(Stm::Repeat(Repeat { trips: Trips::For(j, count), carried, body, loc }));
            result
        }
    }
}

/// `count - 1 - j`: the number of the forward trip that the backward trip `j` undoes.
pub(super) fn from_the_end(p: &mut Program, j: ArrayId, count: &Dim, loc: Loc) -> ArrayId {
    let last = count.sub(&Dim::constant(1));
    p.store("trip", Elem::I64, &[], loc, |p, code, _| {
        let (last, j) = (code.size(p, &last), code.read(p, j, &[]));
        code.op(p, Op::Sub, &[last, j])
    })
}

/// The state before a nest overwrote something.
fn overwritten(p: &mut Program, state: ArrayId, log: &Log, trip: &Trip, loc: Loc) -> ArrayId {
    let (axes, mut code, at, index) = log.places(p, trip, loc);
    let value = log.read(p, &mut code, log.value, &at);
    let info = p.array(state).clone();
    let array = p.new_array(info.name, info.elem, info.dims);
    let yields =
        vec![Yield { array, kind: YieldKind::Write { into: state, index, value, contested: false } }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
    array
}

/// What a nest wrote, from the state that it left: an array of its axes.
pub(super) fn written_values(p: &mut Program, left: ArrayId, log: &Log, trip: &Trip, loc: Loc) -> ArrayId {
    let (axes, mut code, _, index) = log.places(p, trip, loc);
    let value = guarded_read(p, &mut code, left, &index);
    let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
    let array = p.new_array("written", p.array(left).elem, dims);
    let yields = vec![Yield { array, kind: YieldKind::Store(value) }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
    array
}

impl Log {
    /// An element of it, or of the indices in it. What data tell is compared: that all of it is inside no proof says.
    fn read(&self, p: &mut Program, code: &mut Code, array: ArrayId, at: &[Atom]) -> Atom {
        let Some(flat) = &self.flat else { return code.read(p, array, at) };
        let index = flat.index(p, code, at.to_vec());
        let elem = p.array(array).elem;
        code.bind(p, elem, Exp::Read { array, index, checked: true })
    }

    /// The nest's points in a trip, where the log has them, and where they wrote.
    fn places(&self, p: &mut Program, trip: &Trip, loc: Loc) -> (Vec<Axis>, Code, Vec<Atom>, Vec<Atom>) {
        let axes: Vec<Dim> = self.axes.iter().map(|d| trip.size(d)).collect();
        let axes = p.new_axes(&axes);
        let mut code = Code::new(loc);
        let point: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut at = trip.index(p, &mut code);
        at.extend(&point);
        let index = match &self.place {
            Place::Stored(arrays) => arrays.iter().map(|a| self.read(p, &mut code, *a, &at)).collect(),
            Place::Recomputed(place) => place.at(p, &mut code, &point, trip),
        };
        (axes, code, at, index)
    }
}
