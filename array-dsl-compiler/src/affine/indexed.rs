//! Arrays whose elements have been indices:
//!
//! ```text
//! nest [i < n, c < d] { v = at[i]; w = x[v, c]? }       x: [m][d]f64
//!     =>  0 <= at[i] < m for all i, if d > 0, in the statements after it
//! ```
//!
//! **A run ends after a statement in which an index was outside**, so that nothing after it is executed with one; on a GPU the rest of
//! the run gives nothing, and its language keeps every read within its buffer. What the same
//! elements select later, as a derivative does with all that was selected before it, is read without a comparison; if only the comparison
//! was left of a read, nothing is.
//!
//! That is known only where all statements are executed ([`Checked::executed`](super::Checked::executed)): one that nobody uses is
//! dropped with its comparisons, and what comes after it must still tell of an index that is outside. `optimize` asks when nothing is
//! dropped any more (`compared`).
//!
//! Only reads count that every point makes, at all elements of the array, or at all that have the same constant at some places
//! (`edge[e][0]`). Axes that the index does not move along must have points, or nothing was compared: what is learned holds where the
//! same dimensions are positive.

use super::{Facts, Types};
use crate::bulk::{ArrayId, Atom, Exp, Let, Var};
use crate::dim::Dim;
use crate::ty::Elem;

/// Elements of an array that are positions in a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Indexed {
    /// Of which elements this holds: all along a dimension, or those at one place of it.
    place: Vec<Option<Dim>>,
    dim: Dim,
    /// The dimensions that must have been positive.
    guards: Vec<Dim>,
}

/// The most places of a dimension that are asked for one by one.
const MOST_PLACES: i64 = 16;

/// What is established about elements of arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexedArrays(Vec<(ArrayId, Indexed)>);

impl IndexedArrays {
    /// After an index is compared that all points of the loops around it have. `lasts` says of an array whether it is there after these, under all of
    /// its dimensions: the rows that points have for themselves are not.
    pub fn compared(&mut self, l: &Let, facts: &Facts, t: Types<'_>, lasts: impl Fn(ArrayId) -> bool) {
        let (index, dims) = match &l.exp {
            Exp::Read { array, index, checked: true } if lasts(*array) => {
                (index, &t.arrays[array.0 as usize].dims)
            }
            Exp::Inside { index, dims, .. } => (index, dims),
            _ => return,
        };
        for (array, new) in facts.indexed_by(t, index, dims) {
            if lasts(array) {
                self.learn(array, new, &t.arrays[array.0 as usize].dims);
            }
        }
    }

    /// What holds at all places of a dimension, one by one, holds along it.
    fn learn(&mut self, array: ArrayId, new: Indexed, dims: &[Dim]) {
        if self.has(array, &new) {
            return;
        }
        self.0.push((array, new.clone()));
        for (k, dim) in dims.iter().enumerate().filter(|(k, _)| new.place[*k].is_some()) {
            let at = |place: Option<Dim>| {
                let mut there = new.clone();
                there.place[k] = place;
                there
            };
            let is_all =
                |n: i64| n <= MOST_PLACES && (0..n).all(|c| self.has(array, &at(Some(Dim::constant(c)))));
            if dim.as_constant().is_some_and(is_all) {
                self.learn(array, at(None), dims);
            }
        }
    }

    fn has(&self, array: ArrayId, what: &Indexed) -> bool {
        self.0.iter().any(|(a, known)| *a == array && known == what)
    }

    /// After code that has one of two forms.
    pub fn or(&mut self, other: &IndexedArrays) {
        self.0.retain(|(a, known)| other.has(*a, known));
    }

    /// After more code.
    pub fn and(&mut self, more: IndexedArrays) {
        let new: Vec<_> = more.0.into_iter().filter(|(a, known)| !self.has(*a, known)).collect();
        self.0.extend(new);
    }

    /// What holds at all places of an array's first dimension holds at some, under another name.
    pub fn rows_of(&mut self, rows: ArrayId, array: ArrayId) {
        let known = self.of(array).filter(|known| known.place.first() == Some(&None));
        let known: Vec<_> = known.cloned().map(|known| (rows, known)).collect();
        self.0.extend(known);
    }

    /// From here on the elements of an array are not what they were.
    pub fn forget(&mut self, array: ArrayId) {
        self.0.retain(|(a, _)| *a != array);
    }

    fn of(&self, array: ArrayId) -> impl Iterator<Item = &Indexed> {
        self.0.iter().filter(move |(a, _)| *a == array).map(|(_, known)| known)
    }
}

impl Facts {
    /// Which elements are positions after an index was compared, and of which arrays.
    fn indexed_by(&self, t: Types<'_>, index: &[Atom], dims: &[Dim]) -> Vec<(ArrayId, Indexed)> {
        let selects = index.iter().zip(dims).filter_map(|(at, dim)| {
            let (array, place) = at.var().and_then(|v| self.elements.get(&v))?;
            let (place, moved) = self.all_places(place, &t.arrays[array.0 as usize].dims)?;
            let beside = self.extents.iter().filter(|(v, _)| !moved.contains(v));
            let mut guards: Vec<Dim> = beside.map(|(_, e)| e.clone()).collect();
            guards.sort();
            guards.dedup();
            Some((*array, Indexed { place, dim: dim.clone(), guards }))
        });
        selects.collect()
    }

    /// The elements that an index goes through, and the axes that it moves along.
    fn all_places(&self, index: &[Atom], dims: &[Dim]) -> Option<(Vec<Option<Dim>>, Vec<Var>)> {
        let mut moved = Vec::new();
        let mut place = |at: &Atom, dim: &Dim| {
            let form = self.form(*at).filter(|f| self.exact(f))?;
            if let Some(d) = form.as_dim() {
                return Some(Some(d.clone()));
            }
            let (axis, step) = form.axes.first_key_value().filter(|_| form.axes.len() == 1)?;
            let first = match step.as_constant()? {
                1 => Dim::default(),
                -1 => dim.sub(&Dim::constant(1)),
                _ => return None,
            };
            let is_all = self.extents.get(axis) == Some(dim) && form.rest == first && !moved.contains(axis);
            moved.push(*axis);
            is_all.then_some(None)
        };
        let place = index.iter().zip(dims).map(|(at, dim)| place(at, dim)).collect::<Option<Vec<_>>>()?;
        Some((place, moved))
    }

    /// The dimension that an element is a position in because it has been an index.
    pub(super) fn was_index(&self, array: ArrayId, index: &[Atom]) -> Option<&Dim> {
        let known = self.indexed.of(array).find(|known| {
            let is_there = |(at, place): (&Atom, &Option<Dim>)| {
                let form = |d: &Dim| self.form(*at).is_some_and(|f| f.as_dim() == Some(d));
                place.as_ref().is_none_or(form)
            };
            index.iter().zip(&known.place).all(is_there) && known.guards.iter().all(|g| self.positive_here(g))
        });
        known.map(|known| &known.dim)
    }

    /// Learns where an integer comes from.
    pub(super) fn element(&mut self, v: Var, array: ArrayId, index: &[Atom], t: Types<'_>) {
        if t.arrays[array.0 as usize].elem == Elem::I64 {
            self.below.extend(self.was_index(array, index).cloned().map(|d| (v, d)));
            self.elements.insert(v, (array, index.to_vec()));
        }
    }
}
