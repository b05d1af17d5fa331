//! Conditions on sizes. Every IR has these.

use crate::dim::Dim;

/// A condition checked when the kernel runs, before the loops that rely on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// What must hold.
    pub kind: CheckKind,
    /// The check is made only if all of these are positive (the trip counts of the loops it was hoisted out of).
    pub guards: Vec<Dim>,
}

impl Check {
    /// Whether `other` holds if this does: it says the same, and is made whenever `other` would be.
    pub fn implies(&self, other: &Check) -> bool {
        let same = match (&self.kind, &other.kind) {
            (CheckKind::Equal(a, b), CheckKind::Equal(c, d)) => (a, b) == (c, d) || (a, b) == (d, c),
            (a, b) => a == b,
        };
        same && self.guards.iter().all(|g| other.guards.contains(g))
    }

    /// The sizes that it looks at.
    pub fn dims(&self) -> Vec<&Dim> {
        self.kind.dims().into_iter().chain(&self.guards).collect()
    }

    /// The same, to be changed.
    pub fn dims_mut(&mut self) -> Vec<&mut Dim> {
        self.kind.dims_mut().into_iter().chain(&mut self.guards).collect()
    }
}

/// What a check compares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// Two sizes are the same.
    Equal(Dim, Dim),
    /// `0 <= d`: a computed size.
    NonNegative(Dim),
    /// `lo <= d`: a slice within its array, or a non-empty axis.
    AtLeast(Dim, Dim),
}

impl CheckKind {
    /// The sizes that are compared.
    pub fn dims(&self) -> Vec<&Dim> {
        match self {
            CheckKind::Equal(a, b) | CheckKind::AtLeast(a, b) => vec![a, b],
            CheckKind::NonNegative(a) => vec![a],
        }
    }

    /// The same, to be changed.
    pub fn dims_mut(&mut self) -> Vec<&mut Dim> {
        match self {
            CheckKind::Equal(a, b) | CheckKind::AtLeast(a, b) => vec![a, b],
            CheckKind::NonNegative(a) => vec![a],
        }
    }
}
