//! Which memory steps read, sizes included, and which they change.

use std::collections::BTreeSet;

use super::uses::{Access, visit_arrays, visit_sizes};
use super::{Contract, Node, Program, Step, Tree};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Trips};
use crate::dim::Dim;

/// Memory that something uses, by the arrays whose it is.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// What is read.
    pub reads: BTreeSet<ArrayId>,
    /// What is changed, or goes elsewhere.
    pub changes: BTreeSet<ArrayId>,
}

impl Touched {
    /// By a step.
    pub fn of(p: &Program, s: &Step) -> Touched {
        let mut t = Touched::default();
        t.step(p, s);
        t
    }

    /// By some steps.
    pub fn of_all<'s>(p: &Program, steps: impl IntoIterator<Item = &'s Step>) -> Touched {
        let mut t = Touched::default();
        steps.into_iter().for_each(|s| t.step(p, s));
        t
    }

    /// By a tree.
    pub fn of_tree(p: &Program, tree: &Tree) -> Touched {
        let mut t = Touched::default();
        t.tree(p, tree);
        t
    }

    /// By a product.
    pub fn of_contract(p: &Program, c: &Contract) -> Touched {
        let mut t = Touched::default();
        t.contract(p, c);
        t
    }

    /// By the code of a tree.
    pub fn of_nodes(p: &Program, nodes: &[Node]) -> Touched {
        let mut t = Touched::default();
        t.nodes(p, nodes);
        t
    }

    /// Whether it is used at all.
    pub fn has(&self, a: &ArrayId) -> bool {
        self.reads.contains(a) || self.changes.contains(a)
    }

    /// Adds what something else uses.
    pub fn extend(&mut self, other: Touched) {
        self.reads.extend(other.reads);
        self.changes.extend(other.changes);
    }

    fn array(&mut self, p: &Program, a: ArrayId, changes: bool) {
        let all = if changes { &mut self.changes } else { &mut self.reads };
        all.insert(p.root(a));
        p.arrays[a.0 as usize].dims.iter().for_each(|d| self.size(p, d));
    }

    fn size(&mut self, p: &Program, d: &Dim) {
        self.reads.extend(scalars(d).map(|a| p.root(a)));
    }

    fn nodes(&mut self, p: &Program, nodes: &[Node]) {
        visit_arrays(nodes, &mut |a, access| self.array(p, a, access != Access::Read));
        visit_sizes(nodes, &mut |d| self.size(p, d));
    }

    fn tree(&mut self, p: &Program, t: &Tree) {
        t.axes.iter().for_each(|a| self.size(p, &a.extent));
        self.nodes(p, &t.body);
    }

    fn contract(&mut self, p: &Program, c: &Contract) {
        self.array(p, c.result, true);
        [c.a.array, c.b.array].into_iter().for_each(|a| self.array(p, a, false));
        c.sizes().for_each(|d| self.size(p, d));
    }

    fn step(&mut self, p: &Program, s: &Step) {
        match s {
            Step::Tree(t) => self.tree(p, t),
            Step::Contract(c) => self.contract(p, c),
            Step::Check(c, _) => c.dims().into_iter().for_each(|d| self.size(p, d)),
            Step::Fill { array, .. } => self.array(p, *array, true),
            Step::Copy { array, source } => {
                self.array(p, *array, true);
                self.array(p, *source, false);
            }
            Step::Move { array, source } => {
                [*array, *source].into_iter().for_each(|a| self.array(p, a, true))
            }
            Step::Sort(s) => {
                self.array(p, s.result, true);
                self.array(p, s.keys, false);
            }
            Step::Call(c) => {
                c.results.iter().for_each(|a| self.array(p, *a, true));
                c.args.iter().for_each(|a| self.array(p, *a, false));
            }
            Step::Repeat(r) => {
                for c in &r.carried {
                    let all = [c.arrays.state, c.arrays.start, c.arrays.next, c.arrays.result];
                    all.into_iter().for_each(|a| self.array(p, a, true));
                }
                match &r.trips {
                    Trips::For(index, count) => {
                        self.array(p, *index, true);
                        self.size(p, count);
                    }
                    Trips::While(on) => self.array(p, *on, false),
                }
                r.steps.iter().for_each(|s| self.step(p, s));
            }
            Step::Bands(b) => {
                self.size(p, &b.total);
                [b.first, b.rows].into_iter().for_each(|a| self.array(p, a, true));
                b.read.iter().for_each(|h| self.array(p, h.outside, false));
                b.made.iter().chain(&b.sums).for_each(|h| self.array(p, h.outside, true));
                b.steps.iter().for_each(|s| self.step(p, s));
            }
        }
    }
}
