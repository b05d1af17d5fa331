//! What the code of a tree costs.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::{Cost, Steps};
use crate::bulk::{ArrayId, Atom, Axis, Block, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::{Fold, Node, Program, Recurrence, Rounds, Tree};
use crate::reducer::Reducer;
use crate::scalar::Op;
use crate::ty::Line;

/// What one tree has.
pub(super) struct Nodes<'a, 'p> {
    steps: &'a Steps<'p>,
    /// Of axes.
    extents: FxHashMap<Var, Dim>,
    /// The sizes that scalars are.
    bound: FxHashMap<Var, Dim>,
    pub cost: Cost,
    /// The part that is read of each array: how many places in each dimension.
    pub read: BTreeMap<ArrayId, Vec<Dim>>,
    pub written: BTreeMap<ArrayId, Vec<Dim>>,
    pub lines: BTreeSet<Line>,
    pub copied: BTreeSet<ArrayId>,
    pub has_recurrence: bool,
}

impl<'a, 'p> Nodes<'a, 'p> {
    /// Those of a tree.
    pub fn of(steps: &'a Steps<'p>, t: &Tree) -> Nodes<'a, 'p> {
        let mut nodes = Nodes {
            steps,
            extents: t.axes.iter().map(|a| (a.var, a.extent.clone())).collect(),
            bound: FxHashMap::default(),
            cost: Cost::default(),
            read: BTreeMap::new(),
            written: BTreeMap::new(),
            lines: BTreeSet::new(),
            copied: BTreeSet::new(),
            has_recurrence: false,
        };
        nodes.nodes(&t.body, &Dim::product(t.axes.iter().map(|a| &a.extent)));
        nodes
    }

    fn nodes(&mut self, nodes: &[Node], times: &Dim) {
        for n in nodes {
            match n {
                Node::Let(l) => self.binding(l, times),
                Node::Scan(s) => self.block(&s.step.block, times),
                Node::Loop(l) => {
                    self.extents.extend(l.axes().map(|a| (a.var, a.extent.clone())));
                    let trips = times.mul(&l.extent());
                    self.nodes(&l.body, &trips);
                    l.folds.iter().for_each(|f| self.fold(f, &trips));
                }
                Node::Recurrence(r) => self.recurrence(r, times),
                Node::Store { array, index, .. } | Node::Write { array, index, .. } => {
                    let part = self.part(*array, index);
                    touch(self.steps.p, &mut self.written, *array, part);
                }
                Node::Accumulate { array, index, value, .. } => {
                    let part = self.part(*array, index);
                    touch(self.steps.p, &mut self.read, *array, part.clone());
                    touch(self.steps.p, &mut self.written, *array, part);
                    self.copied.insert(self.steps.p.root(*array));
                    self.operation(*value, times);
                }
            }
        }
    }

    fn operation(&mut self, of: Atom, times: &Dim) {
        if self.steps.p.elem(of).is_float() {
            self.cost.operations = self.cost.operations.add(times);
        }
    }

    fn fold(&mut self, f: &Fold, trips: &Dim) {
        if f.reducer != Reducer::Last {
            self.operation(f.value, trips);
        }
    }

    fn recurrence(&mut self, r: &Recurrence, times: &Dim) {
        self.has_recurrence = true;
        let trips = match &r.rounds {
            Rounds::For(Axis { var, extent }, _) => {
                self.extents.insert(*var, extent.clone());
                extent.clone()
            }
            Rounds::While(_) => self.steps.trips(r.loc),
        };
        self.nodes(&r.body, &times.mul(&trips));
    }

    fn block(&mut self, b: &Block, times: &Dim) {
        b.lets.iter().for_each(|l| self.binding(l, times));
    }

    fn binding(&mut self, l: &Let, times: &Dim) {
        self.lines.extend(self.steps.line(l.loc));
        match &l.exp {
            Exp::Op(op, args) => {
                let result = Atom::Var(l.vars[0]);
                if args.iter().chain([&result]).any(|a| self.steps.p.elem(*a).is_float()) {
                    self.function(*op, times);
                }
            }
            Exp::Size(d) => {
                self.bound.insert(l.vars[0], d.clone());
            }
            Exp::Read { array, index, .. } => {
                let part = self.part(*array, index);
                touch(self.steps.p, &mut self.read, *array, part);
            }
            Exp::If(_, x, y) => {
                self.block(&x.block, times);
                self.block(&y.block, times);
            }
            Exp::Inside { .. } | Exp::StopGradient(_) => {}
        }
    }

    fn function(&mut self, op: Op, times: &Dim) {
        match op.row().filter(|_| !op.is_instruction()) {
            Some(row) => {
                let sum = self.cost.functions.entry(row.name).or_default();
                *sum = sum.add(times);
            }
            None => self.cost.operations = self.cost.operations.add(times),
        }
    }

    /// How many places in each dimension of an array an index can be at.
    fn part(&self, array: ArrayId, index: &[Atom]) -> Vec<Dim> {
        let dims = self.steps.p.memory_dims(array);
        let at = |(k, dim): (usize, &Dim)| match &index[k] {
            // Of a diagonal one place for each.
            i if index[..k].contains(i) => Dim::constant(1),
            Atom::Const(_) => Dim::constant(1),
            Atom::Var(v) if self.bound.contains_key(v) => Dim::constant(1),
            Atom::Var(v) => self.extents.get(v).unwrap_or(dim).clone(),
        };
        dims.iter().enumerate().map(|(k, dim)| at((k, dim))).collect()
    }
}

/// A part of an array is used besides what is used already. Of dimensions where two differ all places are taken.
fn touch(p: &Program, parts: &mut BTreeMap<ArrayId, Vec<Dim>>, array: ArrayId, part: Vec<Dim>) {
    let root = p.root(array);
    let dims = &p.arrays[root.0 as usize].dims;
    // Under other dimensions it is all.
    let part = if root == array { part } else { dims.clone() };
    match parts.get_mut(&root) {
        Some(known) => {
            for ((known, new), dim) in known.iter_mut().zip(part).zip(dims) {
                if *known != new {
                    *known = dim.clone();
                }
            }
        }
        None => {
            parts.insert(root, part);
        }
    }
}
