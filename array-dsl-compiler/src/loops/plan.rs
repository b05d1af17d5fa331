//! How trees and loops are executed.
//!
//! | on | a tree with axes | a loop of a tree without axes |
//! |---|---|---|
//! | the CPU | chunks of its points, which count as one axis | chunks of its trips |
//! | a GPU | a thread for each point | in the one thread |
//!
//! is where [`Division`] starts from; [`Form`] says how whoever has a chunk, or all of a loop, goes through it.

use super::Node;
use crate::bulk::{ArrayId, Atom, Var};
use crate::dim::Dim;

/// Independent partial results of a reduction in lanes.
pub const LANES: usize = 32;

/// The words of 32 bits that what one loop folds may take on a GPU: every device has room for 256 times as many in a workgroup.
pub const MOST_FOLDED: usize = 12;

/// With fewer trips than these a loop does not fill the widest vectors, but several points that make it together do.
pub const FEW_TRIPS: i64 = 8;

/// How a tree or a loop is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Plan {
    pub division: Division,
    pub form: Form,
}

/// Among whom points or trips are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Among nobody: all are executed, in order, where they stand.
    #[default]
    Undivided,
    /// Tasks of neighboring ones, or a thread each. What a loop folds is combined in order.
    Points,
    /// Tasks of many neighboring columns: see [`Form::Tiles`].
    Columns,
    /// The same, and the trips of the tree's one reduction are divided as well.
    ColumnsAndTrips,
    /// Tasks, or workgroups, that combine into memory of their own, which is combined into the arrays at the end: see [`combined`](super::uses::combined).
    Copies,
    /// Several threads for each point, which share the trips of its one reduction.
    Groups,
    /// Tasks, or workgroups, of trips that are first executed from the scans' neutral states, for the states that they leave, and
    /// again from the states before them.
    Prefixes,
}

/// How trips are executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One after the other.
    #[default]
    Plain,
    /// The same, by other code away from the ends. A loop with loops inside chooses at each trip.
    Peeled(Middle),
    /// The same, of code without loops that folds nothing, by other code on each side of the places where its choices change.
    Sided(Sides),
    /// Folds in [`LANES`] independent lanes, which are combined as a tree; fewer trips are folded one after the other, their values
    /// computed in vectors before.
    Lanes(Option<Middle>),
    /// So many at a time, in lanes: of points or trips that each make [`Recurrence`](super::Recurrence)s, or short loops that fold.
    Together(usize),
    /// So many at a time where the loops inside make fewer than [`FEW_TRIPS`], which sizes say when running; else in this form.
    Few(usize, Box<Form>),
    /// So many at a time: the code between the loops inside in lanes, each of these loops one trip after the other. All of the code if
    /// there are none.
    Blocks(usize),
    /// In tiles of neighboring trips, inside of which the loops of the body change places with the tile.
    Tiles,
    /// In tiles, where sizes say when running that this pays; else in another form.
    Across(Across),
}

/// The code of the trips from `margin` on, up to `margin` before the extent. It binds the scalars of the whole code that are needed
/// there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Middle {
    pub margin: i64,
    pub body: Vec<Node>,
    /// What the loop folds there.
    pub values: Vec<Atom>,
    /// So many trips go together there.
    pub together: Option<usize>,
}

/// The code of the trips before each border, from the border before it on, and of those from the last one on. Where a border is less
/// than one before it, it has no trips of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Sides {
    pub borders: Vec<Border>,
    /// One more than there are borders.
    pub parts: Vec<Vec<Node>>,
}

/// A place along a loop: so far from where an axis around it is, or from its begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Border {
    pub axis: Option<Var>,
    pub offset: Dim,
}

/// Which trips have code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// Those so far away from either end.
    Away(i64),
    /// Those from one border on, up to another.
    Between(Option<&'a Border>, Option<&'a Border>),
}

/// Tiles of code that reads these arrays at `[trip, ..]`, from copies of which the rows are columns: neighboring trips read neighbors there.
/// What the trips fold is folded in their order, tile by tile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct Across {
    /// Arrays of two dimensions that the tree does not change.
    pub arrays: Vec<ArrayId>,
    /// The extents of what is around in the tree: how often the copies are read.
    pub around: Vec<Dim>,
    pub otherwise: Box<Form>,
}

impl Form {
    /// The code away from the ends, if there is such.
    pub fn middle(&self) -> Option<&Middle> {
        match self {
            Form::Peeled(m) => Some(m),
            Form::Lanes(m) => m.as_ref(),
            Form::Few(_, otherwise) | Form::Across(Across { otherwise, .. }) => otherwise.middle(),
            Form::Plain | Form::Sided(_) | Form::Together(_) | Form::Blocks(_) | Form::Tiles => None,
        }
    }

    /// The code that some trips have instead of the loop's.
    pub fn codes_mut(&mut self) -> Vec<&mut Vec<Node>> {
        match self {
            Form::Sided(s) => s.parts.iter_mut().collect(),
            Form::Across(Across { otherwise, .. }) => otherwise.codes_mut(),
            Form::Few(_, otherwise) => otherwise.codes_mut(),
            Form::Peeled(m) | Form::Lanes(Some(m)) => vec![&mut m.body],
            Form::Plain | Form::Tiles | Form::Together(_) | Form::Blocks(_) | Form::Lanes(None) => Vec::new(),
        }
    }

    /// All code that some trips have instead of the loop's, and what it folds.
    pub fn codes(&self) -> Vec<(Which<'_>, &[Node], &[Atom])> {
        match self {
            Form::Sided(s) => {
                let borders =
                    |k: usize| Which::Between(k.checked_sub(1).map(|k| &s.borders[k]), s.borders.get(k));
                s.parts.iter().enumerate().map(|(k, part)| (borders(k), &part[..], &[][..])).collect()
            }
            Form::Across(Across { otherwise, .. }) => otherwise.codes(),
            f => {
                f.middle().map(|m| (Which::Away(m.margin), &m.body[..], &m.values[..])).into_iter().collect()
            }
        }
    }
}
