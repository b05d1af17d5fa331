//! What the nests of a loop's body read of its states and do to them.

use super::States;
use crate::affine::places::Place;
use crate::affine::{Checked, Facts};
use crate::bulk::{Axis, Nest, Program, Reducer, Stm, YieldKind};

/// What is done to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Something is combined into it.
    Add(Reducer),
}

/// An access to an element of a state.
pub(super) struct Access {
    /// By which of the nests, and of which axes.
    pub nest: usize,
    pub axes: Vec<Axis>,
    /// To which of the states.
    pub state: usize,
    /// The updates before it.
    pub version: usize,
    pub kind: Kind,
    pub place: Place,
    /// Whether it writes a sum with what was there, or reads that for it.
    pub adds: bool,
}

impl Access {
    /// What it is where these nests are made additions: then nobody reads what is added to.
    pub fn kind_among(&self, additions: &[usize]) -> Option<Kind> {
        match self.kind {
            kind if !self.adds || !additions.contains(&self.nest) => Some(kind),
            Kind::Read => None,
            Kind::Write | Kind::Add(_) => Some(Kind::Add(Reducer::Add)),
        }
    }
}

/// The accesses of nests that follow each other.
pub(super) fn accesses(p: &Program, body: &[Nest], states: &States, known: &Checked) -> Vec<Access> {
    let mut out = Vec::new();
    let mut known = known.clone();
    for (nest, n) in body.iter().enumerate() {
        let mut add = |(state, version): (usize, usize), kind, place, adds| {
            let axes = n.axes.clone();
            out.push(Access { nest, axes, state, version, kind, place, adds });
        };
        let mut facts = Facts::new(&n.axes, &known);
        for r in facts.reads(p.into(), n) {
            let is_summand =
                || n.yields.iter().any(|y| y.kind.addition(&n.body).is_some_and(|a| a.old == r.var));
            if let Some(at) = states.at.get(&r.array) {
                add(*at, Kind::Read, r.place, is_summand());
            }
        }
        for y in &n.yields {
            let (kind, into, index) = match &y.kind {
                YieldKind::Write { into, index, .. } => (Kind::Write, into, index),
                YieldKind::Accumulate { reducer, into, index, .. } => (Kind::Add(*reducer), into, index),
                YieldKind::Store(_) | YieldKind::Reduce { .. } => continue,
            };
            if let Some(at) = states.at.get(into) {
                add(*at, kind, facts.place(index), y.kind.addition(&n.body).is_some());
            }
        }
        known.statement(&Stm::Nest(n.clone()), p);
    }
    out
}
