//! Loops: the scheduled program, what the back ends print. This header is the IR's manual.
//!
//! * A program is a list of steps. Nearly every step is a [`Tree`]: parallel axes and, for each point of them, a
//!   list of nodes executed in order. Inner [`Loop`]s are sequential and may fold values; the folds' results are
//!   scalars bound after the loop.
//! * Scalars are bound once in a tree and visible from their binding to the end of the enclosing node list, inner loops and branches
//!   included. The same scalar in another tree is computed in the same way, if it is no axis: it comes from a copy of the code.
//! * Arrays live at a [`Home`]. `Row` arrays have only the dimensions beyond the first `depth`: one buffer per
//!   worker, rewritten for each point of the first `depth` axes of the one tree that uses them; loads and stores give only
//!   the remaining indices.
//! * `Scratch` arrays are of one tree as well. Their indices are whole, but each worker has memory for the points that it is at, one
//!   or the lanes of a form: [`scratch`] says of which arrays that is enough.
//! * A tree with no axes is executed once.
//! * A `Scan` is as in Bulk, and runs along the loop whose body it stands in: it has a state for each execution of the loop.
//! * A loop with a [`Range`] makes some of its trips only: the others would fold, store and change nothing. `lower` makes such loops for
//!   the CPU, where a comparison of the counter is settled in parts, or all trips beyond a point's own do nothing.
//! * Points that overwrite elements of their own alone are divided, compute in lanes and fold as others do ([`own`]); else a tree with a
//!   `Write` has its points in order. A `Write` without a comparison is proven to be inside, as a `Read` is.
//! * Points may combine values into arrays that all of them share: by `Accumulate`s that stand in no recurrence, all of one type and
//!   operator.
//! * A [`Recurrence`] is a loop that a point makes by itself: its states are scalars. In it `Write` and `Accumulate` change elements
//!   that belong to the point: of an array that is changed there every access has each parallel axis at one place, the same for all.
//! * **How trees and loops are executed** stands in their [`Plan`]s, which `schedule` leaves empty and `lower` makes for one target; it
//!   also rewrites trees where that takes other loops. A plan changes nothing of what the program means.
//! * `Repeat` executes steps again and again. A state has memory of its own; at the end of a trip all states become their next
//!   values at once. `Move` gives an array the memory of another one, which is not used again.
//! * [`Bands`] executes steps for some rows at a time, of arrays that have as many: what these steps hand on to each other is memory for
//!   the rows of one band, and what they add up is summed over all bands. `lower` makes them for the CPU.
//! * `Contract`, `Sort` and `Call` are done by the runtime.
//! * `Fill` and `Copy` prepare the target of `Accumulate` and `Write` nodes.
//! * `Read` expressions are as in Bulk (of `bulk::Exp`), with the indices of `Row` arrays shortened.

pub mod costs;
mod covers;
pub mod own;
mod plan;
pub mod print;
pub mod rename;
pub mod scratch;
pub mod together;
pub mod touched;
pub mod uses;
pub mod verify;

pub use crate::bulk::Check;
use crate::bulk::{self, ArrayId, Atom, Axis, Call, Let, Param, Reducer, Scan, Strip, Var};
use crate::dim::{Dim, SizeAtom};
use crate::internal;
use crate::ty::{Const, Elem, Loc, Name, Place, Tree as Structure};
pub use covers::Covers;
pub use plan::{Across, Border, Division, FEW_TRIPS, Form, LANES, MOST_FOLDED, Middle, Plan, Sides, Which};
pub use together::together;

/// Where an array's elements are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// A parameter's memory.
    Param,
    /// Memory of its own.
    Heap,
    /// A buffer per worker; see the header.
    Row {
        /// How many leading dimensions it lacks.
        depth: usize,
    },
    /// Memory of a worker for the elements of the points that it is at; see `scratch`.
    Scratch,
    /// The memory of another array, under other dimensions.
    View(ArrayId),
    /// In [`Bands`] the memory of a band's rows of another array.
    Band(ArrayId),
    /// Nowhere: fused away.
    Nowhere,
}

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct ArrayInfo {
    pub name: Name,
    pub elem: Elem,
    /// All dimensions, also for `Row`.
    pub dims: Vec<Dim>,
    pub home: Home,
    /// Of an integer of rank 0: what it is at most, if it is not negative. `lower` finds it for the GPU.
    pub most: Option<Dim>,
}

/// A sum of products of two arrays of floats: `result[out] = sum over the other axes of a[places] * b[places]`.
/// Axes in `out` and in both operands are batch axes; in `out` and `a` rows; in `out` and `b` columns; in `a` and `b` alone
/// the summed ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The result.
    pub result: ArrayId,
    /// Extents of all axes; the lists below are positions here.
    pub extents: Vec<Dim>,
    /// The result's axes, outermost first.
    pub out: Vec<usize>,
    /// The first operand.
    pub a: Operand,
    /// The second operand.
    pub b: Operand,
    /// Where it comes from.
    pub loc: Loc,
}

/// An operand of a [`Contract`]: an array or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The array.
    pub array: ArrayId,
    /// For each of its dimensions the axis that moves along it, if one does, and where that begins: sizes and integers of the host level.
    pub places: Vec<(Option<usize>, Dim)>,
}

impl Contract {
    /// The sizes that it mentions.
    pub fn sizes(&self) -> impl Iterator<Item = &Dim> {
        let places = self.a.places.iter().chain(&self.b.places);
        self.extents.iter().chain(places.map(|(_, from)| from))
    }
}

impl Operand {
    /// All of an array that has just these axes.
    pub fn whole(array: ArrayId, axes: &[usize]) -> Operand {
        Operand { array, places: axes.iter().map(|x| (Some(*x), Dim::default())).collect() }
    }

    /// Its axes, outermost first.
    pub fn axes(&self) -> Vec<usize> {
        self.places.iter().filter_map(|(axis, _)| *axis).collect()
    }

    /// Its axes, of a contraction for a target that takes no parts of arrays.
    pub fn axes_of_whole(&self, c: &Contract, arrays: &[ArrayInfo]) -> Vec<usize> {
        let info = &arrays[self.array.0 as usize];
        if !self.is_whole(&c.extents, &info.dims) {
            crate::internal::broken(format!(
                "a part of `{}` is multiplied where parts are not taken",
                info.name
            ))
        }
        self.axes()
    }

    /// Whether it is all of an array of these dimensions.
    pub fn is_whole(&self, extents: &[Dim], dims: &[Dim]) -> bool {
        let axes = self.axes();
        axes.len() == dims.len()
            && self.places.iter().all(|(_, from)| *from == Dim::default())
            && axes.iter().zip(dims).all(|(x, d)| extents.get(*x) == Some(d))
    }
}

/// What a [`Sort`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sorted {
    /// The position (`i64`) in its row of the element that comes at each place.
    Positions,
    /// The elements themselves: what nothing needs the positions of.
    Values,
}

/// The rows along the last dimension of `keys` in ascending order, with ties as in `bulk::Sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Sort {
    pub result: ArrayId,
    pub gives: Sorted,
    pub keys: ArrayId,
}

/// A scheduled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header and in `core`")]
pub struct Program {
    pub name: Name,
    pub sizes: Vec<Name>,
    pub strips: Vec<Strip>,
    pub params: Vec<Param>,
    pub arrays: Vec<ArrayInfo>,
    pub vars: Vec<Elem>,
    pub steps: Vec<Step>,
    pub result: Structure<ArrayId>,
    pub places: Vec<Place>,
}

/// A step of the host level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// See [`Tree`].
    Tree(Tree),
    /// See [`Contract`].
    Contract(Contract),
    /// A condition on sizes.
    Check(Check, Loc),
    /// Sets every element.
    Fill {
        /// The array.
        array: ArrayId,
        /// The value; if there is none, the elements are anything, and each is written before it is read.
        value: Option<Const>,
    },
    /// Copies every element.
    Copy {
        /// To.
        array: ArrayId,
        /// From; same type.
        source: ArrayId,
    },
    /// Takes over the memory.
    Move {
        /// To.
        array: ArrayId,
        /// From; same type, a `Heap` array that is not used after.
        source: ArrayId,
    },
    /// See [`Repeat`].
    Repeat(Repeat),
    /// See [`Bands`].
    Bands(Bands),
    /// Rows in order; see `bulk::Sort`.
    Sort(Sort),
    /// What a library computes; see `routine`.
    Call(Call),
}

impl Step {
    /// The steps that stand in it.
    pub fn inside(&self) -> &[Step] {
        match self {
            Step::Repeat(Repeat { steps, .. }) | Step::Bands(Bands { steps, .. }) => steps,
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub fn inside_mut(&mut self) -> Option<&mut Vec<Step>> {
        match self {
            Step::Repeat(Repeat { steps, .. }) | Step::Bands(Bands { steps, .. }) => Some(steps),
            _ => None,
        }
    }
}

/// An array that goes from trip to trip; see `bulk::Carried`. The result is a view of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The arrays.
    pub arrays: bulk::Carried,
    /// Whether the state takes over the memory of its start, and of its next value.
    pub takes: (bool, bool),
}

/// A sequential loop of the host level.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header and in `bulk`")]
pub struct Repeat {
    pub trips: bulk::Trips,
    pub carried: Vec<Carried>,
    pub steps: Vec<Step>,
    pub loc: Loc,
}

/// An array outside of [`Bands`] and what a band has in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Handed {
    pub outside: ArrayId,
    pub inside: ArrayId,
}

/// What passes do with [`Bands`] that run before there are any, or for a target that has none.
pub fn no_bands() -> ! {
    internal::broken("steps in bands where there are none".into())
}

/// Steps executed for a band of rows at a time, in any order, or for all rows at once: again, if one of several bands fails. What they write
/// is theirs. There is at least one band, which may have no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bands {
    /// The number of all rows.
    pub total: Dim,
    /// `i64` numbers that the steps know: which row is the first of the band.
    pub first: ArrayId,
    /// How many rows it has.
    pub rows: ArrayId,
    /// Arrays of `total` rows that the steps read at these rows, and the band's rows of each (`Home::Band`).
    pub read: Vec<Handed>,
    /// Arrays of `total` rows that the steps make, and the band's rows of each.
    pub made: Vec<Handed>,
    /// Arrays of floats that are sums of what each band has.
    pub sums: Vec<Handed>,
    /// What is done in a band.
    pub steps: Vec<Step>,
}

impl Bands {
    /// The bytes of a row of all that the steps hand on to each other.
    pub fn row_bytes(&self, p: &Program) -> Dim {
        let rows = Dim::atom(SizeAtom::Scalar(self.rows.0));
        let is_own = |a: &&ArrayInfo| a.home == Home::Heap && a.dims.first() == Some(&rows);
        let own = p.arrays.iter().filter(is_own);
        own.fold(Dim::default(), |sum, a| sum.add(&Dim::product(&a.dims[1..]).scale(a.elem.bytes())))
    }

    /// The bytes of what a band adds.
    pub fn sum_bytes(&self, p: &Program) -> Dim {
        let addends = self.sums.iter().map(|h| &p.arrays[h.inside.0 as usize]);
        addends.fold(Dim::default(), |sum, a| sum.add(&Dim::product(&a.dims).scale(a.elem.bytes())))
    }
}

/// Parallel axes and what is done at each point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Tree {
    pub axes: Vec<Axis>,
    pub body: Vec<Node>,
    pub plan: Plan,
    pub loc: Loc,
}

/// A part of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A scalar binding.
    Let(Let),
    /// A state that goes from trip to trip of the loop in whose body it stands.
    Scan(Scan),
    /// A sequential loop.
    Loop(Loop),
    /// A loop of one point by itself.
    Recurrence(Recurrence),
    /// One element.
    Store {
        /// The array.
        array: ArrayId,
        /// Its indices; always inside.
        index: Vec<Atom>,
        /// The value.
        value: Atom,
    },
    /// Combines a value in; an index outside is ignored.
    Accumulate {
        /// The array.
        array: ArrayId,
        /// How.
        reducer: Reducer,
        /// Where.
        index: Vec<Atom>,
        /// What.
        value: Atom,
    },
    /// Overwrites; an index outside is ignored.
    Write {
        /// The array.
        array: ArrayId,
        /// Where.
        index: Vec<Atom>,
        /// What.
        value: Atom,
        /// Whether the index is compared. If not it is always inside.
        checked: bool,
    },
}

/// A scalar that goes from trip to trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Bound in the body: its value before the trip.
    pub state: Var,
    /// Its value before the first trip.
    pub start: Atom,
    /// Its value after the trip.
    pub next: Atom,
    /// Bound after the loop: its value after the last trip.
    pub result: Var,
}

/// How many trips a [`Recurrence`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// As many as the axis has values, or as the integer says if that is less.
    For(Axis, Option<Atom>),
    /// As long as the state, a `bool`, is true.
    While(Var),
}

/// A sequential loop of one point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Recurrence {
    pub rounds: Rounds,
    pub states: Vec<State>,
    pub body: Vec<Node>,
    pub loc: Loc,
}

/// The trips of a loop that are made, where not all are: those from an integer on, and up to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Range {
    pub from: Option<Atom>,
    pub to: Option<Atom>,
}

impl Range {
    /// Whether it is all trips.
    pub fn is_whole(&self) -> bool {
        *self == Range::default()
    }

    /// The integers that bound it.
    pub fn ends(&self) -> impl Iterator<Item = Atom> {
        self.from.into_iter().chain(self.to)
    }
}

/// A sequential loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Loop {
    pub axis: Axis,
    /// Of a loop over one axis that stores nothing but elements of rows.
    pub range: Range,
    /// More axes, inside of this one, that count on with it as one: see [`Loop::axes`].
    pub merged: Vec<Axis>,
    pub body: Vec<Node>,
    pub folds: Vec<Fold>,
    pub plan: Plan,
    pub loc: Loc,
}

impl Loop {
    /// A loop over one axis, without a plan.
    pub fn new(axis: Axis, body: Vec<Node>, folds: Vec<Fold>, loc: Loc) -> Loop {
        Loop { axis, range: Range::default(), merged: Vec::new(), body, folds, plan: Plan::default(), loc }
    }

    /// The axes that are counted as one, outermost first. The code uses them together only, as neighboring indices of arrays that
    /// have them as neighboring dimensions.
    pub fn axes(&self) -> impl Iterator<Item = &Axis> + Clone {
        std::iter::once(&self.axis).chain(&self.merged)
    }

    /// The number of trips.
    pub fn extent(&self) -> Dim {
        Dim::product(self.axes().map(|a| &a.extent))
    }
}

impl Program {
    /// A new scalar.
    pub fn new_var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }
}

impl Tree {
    /// A tree without a plan.
    pub fn new(axes: Vec<Axis>, body: Vec<Node>, loc: Loc) -> Tree {
        Tree { axes, body, plan: Plan::default(), loc }
    }
}

/// `result` = the values of all trips combined; the neutral element for none.
/// For `ArgMin` and `ArgMax` the result is the trip's number (`i64`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Fold {
    pub result: Var,
    pub reducer: Reducer,
    pub value: Atom,
}
