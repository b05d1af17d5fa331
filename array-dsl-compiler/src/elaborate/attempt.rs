//! Attempts: elaboration that may turn out not to be possible, and is taken back then.

use rustc_hash::FxHashMap;

use super::Elaborator;
use super::scope::Scope;
use crate::core::Var;
use crate::dim::Dim;

/// What an attempt may have changed.
pub(super) struct Saved {
    bodies: Vec<usize>,
    vars: usize,
    known: FxHashMap<Var, Dim>,
    scope: Scope,
    frame: usize,
    branches: usize,
    errors: usize,
    in_order: usize,
    writes: usize,
}

impl Elaborator<'_> {
    /// The state before an attempt.
    pub(super) fn save(&self) -> Saved {
        Saved {
            bodies: self.bodies.iter().map(Vec::len).collect(),
            vars: self.vars.len(),
            known: self.known.clone(),
            scope: self.scope.clone(),
            frame: self.frame.len(),
            branches: self.branches.len(),
            errors: self.diagnostics.list().len(),
            in_order: self.in_order.len(),
            writes: self.writes.len(),
        }
    }

    /// Takes an attempt back.
    pub(super) fn restore(&mut self, s: Saved) {
        self.bodies.truncate(s.bodies.len());
        self.bodies.iter_mut().zip(s.bodies).for_each(|(b, n)| b.truncate(n));
        self.vars.truncate(s.vars);
        self.known = s.known;
        self.scope = s.scope;
        self.frame.truncate(s.frame);
        self.branches.truncate(s.branches);
        self.diagnostics.truncate(s.errors);
        self.in_order.truncate(s.in_order);
        self.writes.truncate(s.writes);
        self.declined = false;
    }
}
