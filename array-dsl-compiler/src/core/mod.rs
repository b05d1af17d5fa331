//! Core: the typed, sized, nested program, in A-normal form. This header is the IR's manual.
//!
//! * A **function** is a list of statements and a tree of results. A statement binds variables to one
//!   expression; every variable is bound once in the whole function; operands are variables or constants.
//! * Every variable has a [`Type`]: an element type and dimensions. A **scalar** has no dimensions. Tuples are
//!   gone: an expression that gives several values binds several variables.
//! * Dimensions are polynomials over size atoms ([`Dim`]). **Every atom of a dimension is a named size of the function or an
//!   integer scalar variable bound at depth 0** (outside all expressions but derivatives), before the place where the dimension
//!   is used.
//! * `Build`, `Reduce` and `Scatter` bind index variables (`i64` scalars) that run from 0 to the extent. Rank lifting has
//!   already become `Build`; `map`, `transpose`, slices and the like are `Build` with an `Index` inside.
//! * `Index` takes leading indices; fewer than the rank gives a sub-array. An index outside its dimension is an
//!   error of the running program, at the statement's place.
//! * The body of a `Reduce` or a `Scan` gives one scalar per reducer. A reduction over an empty axis gives the neutral
//!   element. A `Scan` gives, for each point, what the points so far give: with it (inclusive) or without (exclusive).
//! * A `Fold` does the same with an [`Operator`] on several scalars at once. Its `body` gives the values for `right`.
//!   An associative operator may be regrouped, so code may compute it in parts; its `start` is its neutral element.
//!   The operator's body sees what is bound outside the `Fold`, not the axis and not the `body`'s variables.
//! * A `Loop` is sequential: its state, scalars and arrays, goes from trip to trip; the results are the state after the last.
//!   The body gives the next state; a state keeps its type, dimensions included.
//! * `Update` is its array with one element or sub-array replaced. Values are never changed; that a loop updates in
//!   place is what later stages make of it.
//! * A [`Derivative`] executes its body at a point, floats under new names, and differentiates it there. What depends on the
//!   new names varies with them; everything else, what the point was made of included, is constant. The statement gives the
//!   values of the body and then, **forward**, a tangent for each float among them, or, **in reverse**, a cotangent for each
//!   float of the point. What the values' cotangents are is the body's matter: they are its last results, one for each float
//!   among the values, since their dimensions may be known only there.
//! * The body of a derivative is executed once, where it stands, and **is of the depth of its surroundings**: at depth 0, checks
//!   may stand in it. What it binds is out of sight after it, but for integer scalars of depth 0: dimensions of its values
//!   may mention them.
//! * A `Custom` gives floats new names whose derivative is made by a **rule**: a function of its own, in the function's table.
//! * `Check` may stand only at depth 0. The front end puts each where the last integer that it compares is bound.

pub mod complex;
pub mod interp;
pub mod parse;
pub mod print;
pub mod verify;
mod visit;

use std::rc::Rc;

pub use crate::check::{Check, CheckKind};
use crate::dim::Dim;
pub use crate::reducer::{Prefix, Reducer};
use crate::routine::Routine;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name, Place, Tree};

/// The deepest nesting of bodies in a function: a text cannot make the parser use up the stack, and no pass the macro's.
pub const MAX_DEPTH: usize = 200;

/// A variable of Core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// A variable or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "described by the types")]
pub enum Atom {
    Var(Var),
    Const(Const),
}

/// Element type and dimensions, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Type {
    pub elem: Elem,
    pub dims: Vec<Dim>,
}

impl Type {
    /// A scalar type.
    pub fn scalar(elem: Elem) -> Type {
        Type { elem, dims: Vec::new() }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// An index variable and the number of values it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Axis {
    pub var: Var,
    pub extent: Dim,
}

/// One step of a fold over several scalars at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The values so far.
    pub left: Vec<Var>,
    /// The values that come next; of the same types.
    pub right: Vec<Var>,
    /// Both combined; of the same types. Scalar code: no arrays are made inside, but rows of outer arrays may be taken.
    pub body: Body,
    /// What combines to the other operand: a fold of nothing.
    pub neutral: Vec<Atom>,
}

/// A sequential loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Variables bound inside to the state before the trip, and what they are before the first.
    pub state: Vec<(Var, Atom)>,
    /// How many trips.
    pub trips: Trips,
    /// Its results are the state after the trip.
    pub body: Body,
}

/// How many trips a loop makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// The variable runs from 0; the count is an `i64`, none if negative.
    For(Var, Atom),
    /// As long as the body, which sees the state, gives `true`.
    While(Body),
}

/// The derivative of a body by floats that it starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivative {
    /// Variables bound inside, and the floats that they are equal to.
    pub point: Vec<(Var, Atom)>,
    /// Its results are values, of any types; in reverse mode followed by a cotangent for each float among them.
    pub body: Body,
    /// Which derivatives are given.
    pub mode: Mode,
}

/// Which way a derivative is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The tangents of the values, for these of the point.
    Forward(Vec<Atom>),
    /// The cotangents of the point, for those of the values.
    Reverse,
}

impl Derivative {
    /// The tangents of the point, in forward mode.
    pub fn tangents(&self) -> &[Atom] {
        match &self.mode {
            Mode::Forward(tangents) => tangents,
            Mode::Reverse => &[],
        }
    }

    /// The values and their cotangents, where the statement binds so many variables.
    pub fn results(&self, vars: usize) -> (&[Atom], &[Atom]) {
        let results = &self.body.results;
        let values = match self.mode {
            Mode::Forward(_) => results.len(),
            Mode::Reverse => vars.saturating_sub(self.point.len()).min(results.len()),
        };
        results.split_at(values)
    }
}

/// Statements and the values they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Body {
    pub stms: Vec<Stm>,
    pub results: Vec<Atom>,
}

/// `vars = exp`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Stm {
    pub vars: Vec<Var>,
    pub exp: Exp,
    pub loc: Loc,
}

/// What becomes of a value at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// It is combined with what is there, in any order.
    Combined(Reducer),
    /// It is written; no other one is written to the same place.
    Only,
    /// It is written over what is there: several may meet at a place, as the indices are a user's, and the last one stays.
    Last,
}

/// Expressions. `vars` of the statement are the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exp {
    /// Another name for an atom (scalar or array).
    Atom(Atom),
    /// A scalar function.
    Op(Op, Vec<Atom>),
    /// A size as an `i64`.
    Size(Dim),
    /// `array[indices]`, leading indices.
    Index(Var, Vec<Atom>),
    /// A lazy choice; both bodies give values of the same types.
    If(Atom, Body, Body),
    /// Arrays with one element (or sub-array) of each result per point; the axes become leading dimensions.
    Build(Vec<Axis>, Body),
    /// Folds over the axis: the i-th result of the body by the i-th reducer.
    Reduce(Vec<Reducer>, Axis, Body),
    /// Prefixes of the i-th result of the body by the i-th reducer (not `ArgMin`, `ArgMax`), as vectors.
    Scan(Vec<Reducer>, Prefix, Axis, Body),
    /// Folds by an operator: to scalars, or to the vectors of all prefixes.
    Fold(Box<Operator>, Option<Prefix>, Axis, Body),
    /// See [`Loop`].
    Loop(Box<Loop>),
    /// The array with the element or sub-array at leading indices replaced. An index outside is an error.
    Update(Var, Vec<Atom>, Atom),
    /// `dest` with values combined in or written at indices. The body gives
    /// `indices` index values and then the value, all scalars; indices outside `dest` are ignored. The result is a new array.
    Scatter {
        /// What becomes of a value at its place.
        how: Placing,
        /// The array to start from.
        dest: Var,
        /// The points.
        axes: Vec<Axis>,
        /// As above.
        body: Body,
    },
    /// For each row along the last dimension, the positions (`i64`) of its elements in ascending order; equal elements keep
    /// their order. `false` comes first, every NaN last, and the zeros are equal.
    Argsort(Var),
    /// The same elements in row-major order under other dimensions of the same product.
    Reshape(Var, Vec<Dim>),
    /// See [`Check`]; binds nothing.
    Check(Check),
    /// The value, treated as a constant by differentiation.
    StopGradient(Atom),
    /// See [`Derivative`].
    Derivative(Box<Derivative>),
    /// The same float values, as a function of `args` whose derivative is a rule's: a position in the function's table.
    #[allow(missing_docs, reason = "described above")]
    Custom { values: Vec<Atom>, args: Vec<Atom>, rule: usize },
}

/// How a function is to be differentiated, and what else than its text may compute it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which of the arguments the result has cotangents of, in order.
    pub by: Vec<usize>,
    /// Of the arguments and a cotangent for each float of the result.
    pub function: Function,
    /// What gives the values on a target that has it.
    pub routine: Option<Routine>,
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct VarInfo {
    pub name: Name,
    pub ty: Type,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The user's name for it.
    pub name: Name,
    /// Its variables (several for a tuple).
    pub vars: Tree<Var>,
    /// Whether it is differentiated (its floats are, unless marked `#[no_grad]`).
    pub active: bool,
    /// Where it is declared.
    pub loc: Loc,
}

/// A kernel in Core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The kernel's name.
    pub name: Name,
    /// The named sizes, in the order of their first mention. Each is a whole dimension of some parameter.
    pub sizes: Vec<Name>,
    /// Parameters.
    pub params: Vec<Param>,
    /// All variables; a `Var` is a position here.
    pub vars: Vec<VarInfo>,
    /// The code; its results are the leaves of `result`.
    pub body: Body,
    /// The structure of the result; leaves are positions in `body.results`.
    pub result: Tree<usize>,
    /// The types of `body.results`.
    pub result_types: Vec<Type>,
    /// Table of places, indexed by `Loc`.
    pub places: Vec<Place>,
    /// Table of rules.
    pub rules: Vec<Rc<Rule>>,
}

impl Function {
    /// The type of a variable.
    pub fn ty(&self, v: Var) -> &Type {
        &self.vars[v.0 as usize].ty
    }

    /// The type of an atom.
    pub fn atom_type(&self, a: Atom) -> Type {
        match a {
            Atom::Var(v) => self.ty(v).clone(),
            Atom::Const(c) => Type::scalar(c.elem),
        }
    }
}
