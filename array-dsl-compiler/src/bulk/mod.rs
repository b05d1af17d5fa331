//! Bulk: a straight list of statements over immutable arrays. This header is the IR's manual.
//!
//! * **Arrays** ([`ArrayId`]) have symbolic dimensions and are bound once, before use. A scalar of the host level
//!   is an array of rank 0. A dimension's `SizeAtom::Scalar` is an `i64` array of rank 0 bound earlier.
//! * Nearly every statement is a [`Nest`]: a rectangular space of axes, a [`Body`] executed once per point, and what the
//!   points yield. **Scalars** ([`Var`]) live inside one nest; each is bound once in the whole program; a scalar bound in a
//!   branch of an `if` is visible in that branch only.
//! * A body is a list of [`Item`]s: scalar code ([`Let`]), which is what a point does by itself, and scans. A [`Block`], in a
//!   branch or in the step of a scan, has scalar code only.
//! * A `Read` gives one element: as many indices as the array's rank. `checked` is true where an index may be
//!   outside; then the running program reports an error at `loc`. Where nobody uses the element the comparison alone is left,
//!   `Inside`, which does not need the array.
//! * Yields:
//!   - `Store(v)`: one element per point; the result's dimensions are the axes' extents.
//!   - `Reduce { reducer, over, value }`: folded over the last `over` axes (one or more); the others remain.
//!     `ArgMin`, `ArgMax` and `Last` need `over == 1`, and give 0 for nothing: that `argmin` of nothing is an
//!     error is for a `Check` to say, since derivatives ask for the place of an extremum that nobody uses.
//!   - `Accumulate { reducer, into, index, value }`: starts from the array `into`, combines `value` in at `index`; an index
//!     outside is ignored. Only `Add`, `Mul`, `Min`, `Max`, `And`, `Or`.
//!   - `Write { into, index, value, contested }`: starts from `into`, overwrites; outside is ignored. Two points write to one place
//!     only if the write is contested; then the last one's value is kept.
//! * A [`Scan`] runs along the last axis: at each point it combines the point's values into a state that it had from the
//!   point before, and gives the state. A nest that has one is **ordered**: its last axis is executed in order, and its axes do
//!   not change places; it stores and reduces only.
//! * A [`Repeat`] is a sequential loop over statements. What its body binds is visible in the body only; the body sees what is
//!   bound before, its state and the number of the trip.
//! * A [`Call`] gives what a routine of the runtime computes; it comes in place of a `Custom` when no more derivatives are taken.
//! * A [`Sort`] gives the positions that order each row along the last dimension of an array, all rows on their own.
//! * A size is told by dimensions of parameters (`dim::told`), or is one of a [`Strip`]: then the host chooses it on entry.
//! * `Reshape` is another view of the same elements.
//! * The form is closed: the bulk-operation transform produces nests, differentiation maps nests to nests,
//!   fusion merges nests, both back ends print them.

mod addition;
mod body;
pub mod build;
pub mod condition;
pub mod idle;
mod import;
pub mod interp;
pub mod live;
pub mod parse;
pub mod print;
pub mod uses;
pub mod verify;
pub mod walk;

pub use self::addition::Addition;
pub use self::body::{Body, Item, Scan};
pub use crate::check::{Check, CheckKind};
pub use crate::reducer::{Prefix, Reducer};
use std::sync::Arc;

use crate::dim::Dim;
use crate::routine::Routine;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name, Place, Tree};

/// An array of a Bulk program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

/// A scalar inside a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// A scalar or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "described by the types")]
pub enum Atom {
    Var(Var),
    Const(Const),
}

impl Atom {
    /// The scalar that this is, if it is no constant.
    pub fn var(self) -> Option<Var> {
        match self {
            Atom::Var(v) => Some(v),
            Atom::Const(_) => None,
        }
    }
}

/// What is known of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct ArrayInfo {
    pub name: Name,
    pub elem: Elem,
    pub dims: Vec<Dim>,
}

/// An index scalar (`i64`) and the number of values it takes, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Axis {
    pub var: Var,
    pub extent: Dim,
}

/// Scalar code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Block {
    pub lets: Vec<Let>,
}

/// `vars = exp`; several variables only for `If`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Let {
    pub vars: Vec<Var>,
    pub exp: Exp,
    pub loc: Loc,
}

/// A branch of an `if` or the step of a scan: its code and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Branch {
    pub block: Block,
    pub results: Vec<Atom>,
}

/// A scalar expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Exp {
    /// A scalar function.
    Op(Op, Vec<Atom>),
    /// A size as an `i64`.
    Size(Dim),
    /// One element.
    Read {
        /// Which array.
        array: ArrayId,
        /// One index per dimension.
        index: Vec<Atom>,
        /// Whether the indices must be compared with the dimensions when running.
        checked: bool,
    },
    /// Whether an index is inside the dimensions of an array, as a `bool`. One that is not is an error at `loc`.
    Inside {
        /// The array's name, for what is told of the comparison.
        of: Name,
        /// One index per dimension that it may be outside of.
        index: Vec<Atom>,
        /// These dimensions.
        dims: Vec<Dim>,
    },
    /// A lazy choice: only the chosen branch is executed.
    If(Atom, Branch, Branch),
    /// The value, treated as a constant by differentiation.
    StopGradient(Atom),
}

/// A rectangular space, its code and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Nest {
    pub axes: Vec<Axis>,
    pub body: Body,
    pub yields: Vec<Yield>,
    pub loc: Loc,
}

/// One result of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Yield {
    pub array: ArrayId,
    pub kind: YieldKind,
}

/// How a nest's points make an array; see the header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the header")]
pub enum YieldKind {
    Store(Atom),
    Reduce { reducer: Reducer, over: usize, value: Atom },
    Accumulate { reducer: Reducer, into: ArrayId, index: Vec<Atom>, value: Atom },
    Write { into: ArrayId, index: Vec<Atom>, value: Atom, contested: bool },
}

/// An array that goes from trip to trip of a [`Repeat`]. All four have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Bound in the body: its value before the trip.
    pub state: ArrayId,
    /// Its value before the first trip.
    pub start: ArrayId,
    /// Its value after the trip: bound in the body or before, or a state.
    pub next: ArrayId,
    /// Bound after the loop: its value after the last trip.
    pub result: ArrayId,
}

/// How many trips a [`Repeat`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// The array, an `i64` of rank 0 bound in the body, runs from 0 to the size.
    For(ArrayId, Dim),
    /// As long as an element of the state, an array of `bool`s, is true. Its dimensions are the **points** of the loop, each of which
    /// ends when its element is false. **A trip that finds it false leaves it false, and changes nothing of its point that anything
    /// depends on**: who cannot look at it all the time may make a few trips too many.
    While(ArrayId),
}

/// A sequential loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Repeat {
    pub trips: Trips,
    pub carried: Vec<Carried>,
    pub body: Vec<Stm>,
    pub loc: Loc,
}

impl Repeat {
    /// The arrays bound at the start of a trip.
    pub fn bound(&self) -> Vec<ArrayId> {
        let index = match &self.trips {
            Trips::For(index, _) => Some(*index),
            Trips::While(_) => None,
        };
        self.carried.iter().map(|c| c.state).chain(index).collect()
    }
}

/// The position (`i64`) in its row of the element that comes at each place, when the rows along the last dimension of `keys` are in
/// ascending order; equal elements keep their order. `false` comes first, every NaN last, and the zeros are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Sort {
    pub result: ArrayId,
    pub keys: ArrayId,
}

/// The arrays that a routine gives, of those that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Call {
    pub routine: Routine,
    pub results: Vec<ArrayId>,
    pub args: Vec<ArrayId>,
}

impl Call {
    /// The arrays that it uses.
    pub fn arrays(&self) -> impl Iterator<Item = ArrayId> + '_ {
        self.results.iter().chain(&self.args).copied()
    }
}

/// The same floats, as a function of `args` whose derivative is a rule's. The arrays may have the axes of a frame in front, which
/// the rule does not have: then it is the rule at each point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Custom {
    pub results: Vec<ArrayId>,
    pub values: Vec<ArrayId>,
    pub args: Vec<ArrayId>,
    /// A position in the program's table.
    pub rule: usize,
    pub loc: Loc,
}

/// How a part of a program is to be differentiated, and what else than its statements may compute it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which of the arguments the result has cotangents of, in order.
    pub by: Vec<usize>,
    /// Of the arguments and a cotangent for each value.
    pub program: Program,
    /// What gives the values on a target that has it.
    pub routine: Option<Routine>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stm {
    /// See [`Nest`].
    Nest(Nest),
    /// `result` has the elements of `source` in row-major order under its own dimensions.
    Reshape {
        /// The view.
        result: ArrayId,
        /// The array viewed.
        source: ArrayId,
    },
    /// A condition on sizes, at a place.
    Check(Check, Loc),
    /// See [`Repeat`].
    Repeat(Repeat),
    /// See [`Sort`].
    Sort(Sort),
    /// See [`Custom`]; gone before scheduling.
    Custom(Custom),
    /// See [`Call`]; where a [`Custom`] was, once there are no more derivatives to be taken.
    Call(Call),
}

/// A parameter; its arrays are bound at entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described in `core`")]
pub struct Param {
    pub name: Name,
    pub arrays: Tree<ArrayId>,
    pub active: bool,
    pub loc: Loc,
}

/// Two sizes that the host chooses: `trips` loops over `width` of `total` directions at a time, the last ones possibly a second
/// time. `width` is at most `total`, `trips * width` at least.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Strip {
    pub width: Name,
    pub trips: Name,
    pub total: Dim,
    /// The memory that one direction takes.
    pub bytes: Dim,
}

impl Strip {
    /// A choice for interpreters, narrow enough that tests make several trips: the width and the number of trips.
    pub fn narrow(total: i64) -> (i64, i64) {
        let width = total.clamp(0, 3);
        (width, if width == 0 { 0 } else { (total + width - 1) / width })
    }
}

/// A kernel, or a derivative of one, in Bulk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header and in `core`")]
pub struct Program {
    pub name: Name,
    pub sizes: Vec<Name>,
    /// Where `sizes` are not bound by parameters.
    pub strips: Vec<Strip>,
    pub params: Vec<Param>,
    /// An `ArrayId` is a position here.
    pub arrays: Vec<ArrayInfo>,
    /// Types of the scalars; a `Var` is a position here.
    pub vars: Vec<Elem>,
    pub stms: Vec<Stm>,
    pub result: Tree<ArrayId>,
    pub places: Vec<Place>,
    /// What [`Custom`] statements are differentiated by.
    pub rules: Vec<Arc<Rule>>,
}

impl Program {
    /// What is known of an array.
    pub fn array(&self, a: ArrayId) -> &ArrayInfo {
        &self.arrays[a.0 as usize]
    }

    /// Whether an array is a number that is an argument, which has no memory on a device.
    pub fn is_given_number(&self, a: ArrayId) -> bool {
        self.array(a).dims.is_empty() && self.params.iter().any(|q| q.arrays.leaves().contains(&&a))
    }

    /// A new array.
    pub fn new_array(&mut self, name: impl Into<Name>, elem: Elem, dims: Vec<Dim>) -> ArrayId {
        self.arrays.push(ArrayInfo { name: name.into(), elem, dims });
        ArrayId(self.arrays.len() as u32 - 1)
    }

    /// A new scalar.
    pub fn new_var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }

    /// The type of an atom.
    pub fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }
}

impl Stm {
    /// The number of statements that it is, those of loops included.
    pub fn size(&self) -> usize {
        match self {
            Stm::Repeat(r) => 1 + r.body.iter().map(Stm::size).sum::<usize>(),
            _ => 1,
        }
    }

    /// The arrays the statement binds.
    pub fn results(&self) -> Vec<ArrayId> {
        match self {
            Stm::Nest(n) => n.yields.iter().map(|y| y.array).collect(),
            Stm::Reshape { result, .. } => vec![*result],
            Stm::Check(..) => Vec::new(),
            Stm::Repeat(r) => r.carried.iter().map(|c| c.result).collect(),
            Stm::Sort(s) => vec![s.result],
            Stm::Custom(c) => c.results.clone(),
            Stm::Call(c) => c.results.clone(),
        }
    }
}

impl YieldKind {
    /// The atoms the yield uses.
    pub fn atoms(&self) -> Vec<Atom> {
        match self {
            YieldKind::Store(v) => vec![*v],
            YieldKind::Reduce { value, .. } => vec![*value],
            YieldKind::Accumulate { index, value, .. } | YieldKind::Write { index, value, .. } => {
                index.iter().copied().chain([*value]).collect()
            }
        }
    }
}
