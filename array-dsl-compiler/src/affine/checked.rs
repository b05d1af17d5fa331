//! What the statements before a place have established: sizes by their checks, integers that are polynomials over sizes by the nests
//! that compute them, positions by their sorts, by the nests that exchange them and by those that have used them as indices, and inside
//! of a loop what holds of the number of its trip. That a loop's state is an array of positions is shown by induction: its start is one, and its next value is one if
//! the state is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bounds::Bounds;
use super::{Facts, IndexedArrays};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, ArrayInfo, Atom, Carried, Check, CheckKind, Nest, Program, Repeat, Stm, Trips, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::ty::Elem;

/// What is established at some place between statements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    checks: Vec<Check>,
    /// Integers of the host level and what they are equal to.
    values: Vec<(ArrayId, Dim)>,
    /// Arrays of positions, and the dimension that they are positions in.
    positions: FxHashMap<ArrayId, Dim>,
    /// Arrays of which some elements are no positions.
    others: FxHashSet<ArrayId>,
    /// Arrays of which elements have been indices, if that is to be known.
    indexed: Option<IndexedArrays>,
    /// The numbers of the trips around.
    trips: Vec<ArrayId>,
    /// The integers of the host level that tell how many trips these loops make.
    counts: Vec<ArrayId>,
}

impl Checked {
    /// Of statements that are all executed, as those that nobody uses are not: what has been an index becomes known as well.
    pub fn executed() -> Checked {
        Checked { indexed: Some(IndexedArrays::default()), ..Checked::default() }
    }

    /// From here on all statements are executed.
    pub fn learn_indices(&mut self) {
        self.indexed.get_or_insert_default();
    }

    /// After a statement of Bulk.
    pub fn statement(&mut self, s: &Stm, p: &Program) {
        match s {
            Stm::Check(c, _) => self.check(c),
            Stm::Sort(s) => self.sorted_positions(s.result, &p.arrays),
            Stm::Nest(n) => self.nest(n, p),
            Stm::Reshape { result, source } => self.same(*result, *source),
            Stm::Repeat(r) => {
                let inside = self.inside_repeat(r, p);
                self.after(&inside, &r.carried);
            }
            _ => {}
        }
    }

    fn nest(&mut self, n: &Nest, p: &Program) {
        let learns = self.indexed.is_some() && n.body.lets().any(|l| l.exp.compares());
        if !learns && n.yields.iter().all(|y| p.array(y.array).elem != Elem::I64) {
            return;
        }
        let mut facts = Facts::new(&n.axes, self);
        for l in n.body.lets() {
            self.indexed.iter_mut().for_each(|known| known.compared(l, &facts, p.into(), |_| true));
            facts.learn(p.into(), l);
        }
        for y in &n.yields {
            if let YieldKind::Store(v) = &y.kind {
                self.stored(y.array, n.axes.is_empty(), *v, &mut facts);
            }
        }
    }

    /// After a statement in which elements have been indices.
    pub fn compared(&mut self, indexed: IndexedArrays) {
        self.indexed.iter_mut().for_each(|known| known.and(indexed.clone()));
    }

    /// At the start of a trip of a loop of Bulk.
    pub fn inside_repeat(&self, r: &Repeat, p: &Program) -> Checked {
        self.inside(&r.trips, &r.carried, |c| r.body.iter().for_each(|s| c.statement(s, p)))
    }

    /// At the start of a loop's trip; `body` adds what its statements establish.
    pub fn inside(&self, trips: &Trips, carried: &[Carried], body: impl Fn(&mut Checked)) -> Checked {
        let mut start = self.clone();
        start.trip(trips);
        let positions = carried.iter().filter_map(|c| Some((c.state, self.positions.get(&c.start)?.clone())));
        start.positions.extend(positions);
        while carried.iter().any(|c| start.positions.contains_key(&c.state)) {
            let mut end = start.clone();
            body(&mut end);
            let lost = carried.iter().filter(|c| {
                let is_one = start.positions.contains_key(&c.state);
                is_one && end.positions.get(&c.next) != start.positions.get(&c.state)
            });
            let lost: Vec<ArrayId> = lost.map(|c| c.state).collect();
            if lost.is_empty() {
                return start;
            }
            start.positions.retain(|a, _| !lost.contains(a));
        }
        start
    }

    /// After a loop: the last state is what every one is.
    pub fn after(&mut self, inside: &Checked, carried: &[Carried]) {
        let positions =
            carried.iter().filter_map(|c| Some((c.result, inside.positions.get(&c.state)?.clone())));
        self.positions.extend(positions);
    }

    /// After an array has been given the elements of another one.
    pub fn same(&mut self, array: ArrayId, source: ArrayId) {
        let position = self.positions.get(&source).cloned();
        self.positions.extend(position.map(|d| (array, d)));
    }

    /// What holds of all rows of an array holds of some, under another name.
    pub fn rows_of(&mut self, rows: ArrayId, array: ArrayId) {
        self.same(rows, array);
        self.indexed.iter_mut().for_each(|known| known.rows_of(rows, array));
    }

    /// From here on the elements of an array are not what they were.
    pub fn forget(&mut self, array: ArrayId) {
        self.positions.remove(&array);
        self.others.remove(&array);
        self.indexed.iter_mut().for_each(|known| known.forget(array));
    }

    /// After this integer has been stored at every place of an array, or at some: then all that is stored has to be positions in one
    /// dimension. What is known here learns it as well. A number of the host level is an array with one place.
    pub fn stored(&mut self, array: ArrayId, is_number: bool, value: Atom, facts: &mut Facts) {
        if let Some(form) = facts.form(value).filter(|f| facts.exact(f))
            && let Some(d) = form.as_dim()
        {
            self.values.push((array, d.clone()));
        } else if is_number {
            self.between(array, value, facts);
        }
        let found = facts.position(value);
        let position = match self.positions.get(&array) {
            Some(d) if found.as_ref() == Some(d) || facts.inside(value, d) => Some(d.clone()),
            None if !self.others.contains(&array) => found,
            _ => None,
        };
        if position.is_none() {
            self.others.insert(array);
        }
        for positions in [&mut self.positions, &mut facts.positions] {
            match &position {
                Some(d) => positions.insert(array, d.clone()),
                None => positions.remove(&array),
            };
        }
    }

    /// What is certain of an integer of the host level that is no polynomial.
    fn between(&mut self, array: ArrayId, value: Atom, facts: &Facts) {
        let this = Dim::atom(SizeAtom::Scalar(array.0));
        let Bounds { at_least, at_most } = facts.bounds(value);
        let below = at_least.into_iter().map(|d| CheckKind::AtLeast(d, this.clone()));
        let kinds: Vec<CheckKind> =
            below.chain(at_most.into_iter().map(|d| CheckKind::AtLeast(this.clone(), d))).collect();
        kinds.into_iter().for_each(|kind| self.check(&Check { kind, guards: Vec::new() }));
    }

    /// After a check.
    pub fn check(&mut self, c: &Check) {
        if !self.checks.contains(c) {
            self.checks.push(c.clone());
        }
    }

    /// After a sort that gives positions.
    pub fn sorted_positions(&mut self, result: ArrayId, arrays: &[ArrayInfo]) {
        if let Some(row) = arrays[result.0 as usize].dims.last() {
            self.positions.insert(result, row.clone());
        }
    }

    /// At the start of a trip: its number is counted from zero and less than the trips, and what is checked where there are
    /// trips holds, also of the number of those that are done.
    fn trip(&mut self, trips: &Trips) {
        if let Trips::For(index, count) = trips {
            self.trips.push(*index);
            self.counts.extend(scalars(count));
        }
        for kind in self.of_trip(trips) {
            self.check(&Check { kind, guards: Vec::new() });
        }
    }

    /// In a band: the number of its first row and how many it has are counts, within that of all rows.
    pub fn band(&mut self, first: ArrayId, rows: ArrayId, total: &Dim) {
        self.trips.extend([first, rows]);
        let [first, rows] = [first, rows].map(|a| Dim::atom(SizeAtom::Scalar(a.0)));
        let end = first.add(&rows);
        let known = [CheckKind::NonNegative(first), CheckKind::NonNegative(rows)];
        // Where there are rows at all.
        let within = Check { kind: CheckKind::AtLeast(end, total.clone()), guards: vec![total.clone()] };
        known.into_iter().for_each(|kind| self.check(&Check { kind, guards: Vec::new() }));
        self.check(&within);
    }

    fn of_trip(&self, trips: &Trips) -> Vec<CheckKind> {
        let Trips::For(index, count) = trips else { return Vec::new() };
        let index = Dim::atom(SizeAtom::Scalar(index.0));
        let next = index.add(&Dim::constant(1));
        let most = self.checks.iter().filter_map(|c| match &c.kind {
            CheckKind::AtLeast(a, b) if a == count && c.guards.iter().all(|g| g == count) => Some(b),
            _ => None,
        });
        let more = most.flat_map(|b| [&next, count].map(|a| CheckKind::AtLeast(a.clone(), b.clone())));
        let known = [CheckKind::NonNegative(index), CheckKind::AtLeast(next.clone(), count.clone())];
        known.into_iter().chain(more).collect()
    }

    /// Whether an array is the number of a trip of some loop around, or tells how many trips that makes.
    pub fn is_of_trips(&self, a: ArrayId) -> bool {
        self.trips.contains(&a) || self.counts.contains(&a)
    }

    /// The numbers of the trips around.
    pub(super) fn trips(&self) -> &[ArrayId] {
        &self.trips
    }

    /// The checks that have been made, those of trips included.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Polynomials over sizes that are at least zero: always, and where some dimensions are all positive.
    pub(super) fn sizes(&self) -> (Vec<Dim>, Vec<(Dim, Vec<Dim>)>) {
        let (mut always, mut guarded) = (Vec::new(), Vec::new());
        for c in &self.checks {
            let least = match &c.kind {
                CheckKind::NonNegative(d) => vec![d.clone()],
                CheckKind::AtLeast(a, b) => vec![b.sub(a)],
                CheckKind::Equal(a, b) => vec![a.sub(b), b.sub(a)],
            };
            match &c.guards[..] {
                [] => always.extend(least),
                guards => guarded.extend(least.into_iter().map(|d| (d, guards.to_vec()))),
            }
        }
        for (a, d) in &self.values {
            let more = Dim::atom(SizeAtom::Scalar(a.0)).sub(d);
            always.extend([more.scale(-1), more]);
        }
        (always, guarded)
    }

    /// Integers of the host level and what they are equal to.
    pub(super) fn values(&self) -> impl Iterator<Item = &(ArrayId, Dim)> {
        self.values.iter()
    }

    pub(super) fn indexed(&self) -> IndexedArrays {
        self.indexed.clone().unwrap_or_default()
    }

    pub(super) fn positions(&self) -> &FxHashMap<ArrayId, Dim> {
        &self.positions
    }
}
