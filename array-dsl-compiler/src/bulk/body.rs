//! What a nest does at its points: scalar code, and scans, which relate a point to those before it.

use super::{Atom, Branch, Let, Var};
use crate::internal::broken;
use crate::reducer::Prefix;
use crate::ty::Loc;

/// A nest's code: what is done at a point, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described above")]
pub struct Body {
    pub items: Vec<Item>,
}

/// A part of a nest's code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// What a point does by itself.
    Let(Let),
    /// What relates it to the points before it on the last axis.
    Scan(Scan),
}

/// Prefixes along the last axis of a nest.
///
/// ```text
/// state = start;   at each point of the axis:   new = step(left = state, right = values);  state = new
/// ```
///
/// With `right` variables it is **associative**: there are as many of them as states, `start` is neutral, `step` uses nothing of
/// the point but them, and the back end may regroup. Without, `step` may use every scalar of the point bound before, and is
/// executed in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// Bound after the step: the state after the point (inclusive) or before it (exclusive).
    pub vars: Vec<Var>,
    /// Which states it gives.
    pub prefix: Prefix,
    /// The state before the point, as `step` sees it.
    pub left: Vec<Var>,
    /// The state before the first point; does not depend on the axis.
    pub start: Vec<Atom>,
    /// The point's values, as `step` sees them.
    pub right: Vec<Var>,
    /// The point's values.
    pub values: Vec<Atom>,
    /// The new state.
    pub step: Branch,
    /// Where it comes from.
    pub loc: Loc,
}

impl Scan {
    /// Whether the back end may regroup it.
    pub fn is_associative(&self) -> bool {
        !self.right.is_empty()
    }
}

impl Body {
    /// Whether a scan stands here.
    pub fn is_ordered(&self) -> bool {
        self.scans().next().is_some()
    }

    /// The scalar code, scans and their steps left out.
    pub fn lets(&self) -> impl Iterator<Item = &Let> {
        self.items.iter().filter_map(|i| match i {
            Item::Let(l) => Some(l),
            Item::Scan(_) => None,
        })
    }

    /// The scans.
    pub fn scans(&self) -> impl Iterator<Item = &Scan> {
        self.items.iter().filter_map(|i| match i {
            Item::Let(_) => None,
            Item::Scan(s) => Some(s),
        })
    }

    /// The code of a nest that has no scan, for rules that take its points in another order or one of them alone.
    #[track_caller]
    pub fn unordered(&self) -> Vec<Let> {
        if self.is_ordered() {
            broken("the points of a nest with a scan are taken out of their order".into());
        }
        self.lets().cloned().collect()
    }
}

impl From<Vec<Let>> for Body {
    fn from(lets: Vec<Let>) -> Body {
        lets.into_iter().collect()
    }
}

impl FromIterator<Let> for Body {
    fn from_iter<T: IntoIterator<Item = Let>>(lets: T) -> Body {
        Body { items: lets.into_iter().map(Item::Let).collect() }
    }
}

impl Extend<Let> for Body {
    fn extend<T: IntoIterator<Item = Let>>(&mut self, lets: T) {
        self.items.extend(lets.into_iter().map(Item::Let));
    }
}

impl Item {
    /// The scalars that it binds for the items after it.
    pub fn vars(&self) -> &[Var] {
        match self {
            Item::Let(l) => &l.vars,
            Item::Scan(s) => &s.vars,
        }
    }

    /// Where it comes from.
    pub fn loc(&self) -> Loc {
        match self {
            Item::Let(l) => l.loc,
            Item::Scan(s) => s.loc,
        }
    }
}
