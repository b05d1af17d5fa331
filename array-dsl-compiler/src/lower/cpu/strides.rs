//! Reductions that stride through memory: whether they are better done in tiles, of arrays as they are or of copies.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Cpu;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Var};
use crate::loops::uses::is_pure;
use crate::loops::{Fold, Home, Loop, Node, Program};

impl Cpu<'_> {
    /// Whether a loop over `axis` with this body is better done in tiles: some reduction in it then strides through
    /// fewer arrays.
    pub(super) fn tiles_pay(&self, axis: &Axis, body: &[Node], merged: &[Vec<Var>]) -> bool {
        let mut cost = Strides::new(self.p, merged, axis.var);
        cost.nodes(body, None) && cost.lanes > cost.tiles
    }

    /// The arrays with which a loop is better done in tiles if their rows were columns: then no reduction in it strides through any.
    /// None of them is one of those that are changed.
    pub(super) fn across(
        &self,
        l: &Loop,
        merged: &[Vec<Var>],
        changed: &BTreeSet<ArrayId>,
    ) -> Option<Vec<ArrayId>> {
        let mut cost = Strides { with_data: true, ..Strides::new(self.p, merged, l.axis.var) };
        let folds = |f: &Fold| f.reducer.op().is_some() || f.reducer.is_extremum();
        let mut inner = l.body.iter().filter_map(|n| if let Node::Loop(l) = n { Some(l) } else { None });
        let can = l.range.is_whole()
            && l.merged.is_empty()
            && l.folds.iter().all(folds)
            && inner.all(|l| is_pure(&l.body))
            && cost.nodes(&l.body, None)
            && cost.across.len() == cost.tiles;
        let arrays: BTreeSet<ArrayId> = cost.across.into_iter().collect();
        let stays = |a: &ArrayId| {
            let root = self.p.root(*a);
            let home = &self.p.arrays[root.0 as usize].home;
            matches!(home, Home::Param | Home::Heap) && !changed.contains(&root)
        };
        (can && !arrays.is_empty() && arrays.iter().all(stays)).then(|| arrays.into_iter().collect())
    }
}

/// Counts the reads inside reductions that stride through memory, if they are done one after another and if they are done
/// in tiles.
struct Strides<'a> {
    p: &'a Program,
    merged: &'a [Vec<Var>],
    column: Var,
    /// The axes that an integer changes with.
    through: FxHashMap<Var, FxHashSet<Var>>,
    lanes: usize,
    tiles: usize,
    /// Whether data counts that is read at an axis and tells where to read.
    with_data: bool,
    /// The arrays of the latter whose rows are the columns.
    across: Vec<ArrayId>,
}

impl<'a> Strides<'a> {
    fn new(p: &'a Program, merged: &'a [Vec<Var>], column: Var) -> Self {
        let through = FxHashMap::from_iter([(column, FxHashSet::from_iter([column]))]);
        Strides { p, merged, column, through, lanes: 0, tiles: 0, with_data: false, across: Vec::new() }
    }

    /// Whether tiles can be made of the nodes; `trip` is the innermost loop around them.
    fn nodes(&mut self, nodes: &[Node], trip: Option<Var>) -> bool {
        nodes.iter().all(|n| match n {
            Node::Let(l) => {
                self.exp(&l.exp, &l.vars, trip);
                true
            }
            Node::Loop(l) => self.inner(l),
            // A row belongs to one column.
            Node::Store { array, .. } => !matches!(self.p.arrays[array.0 as usize].home, Home::Row { .. }),
            Node::Scan(_) | Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
        })
    }

    fn inner(&mut self, l: &Loop) -> bool {
        self.through.insert(l.axis.var, FxHashSet::from_iter([l.axis.var]));
        let can = l.range.is_whole()
            && l.folds.iter().all(|f| f.reducer.op().is_some())
            && self.nodes(&l.body, Some(l.axis.var));
        if self.with_data {
            l.folds
                .iter()
                .for_each(|f| drop(self.through.insert(f.result, [self.column].into_iter().collect())));
        }
        can
    }

    fn exp(&mut self, e: &Exp, vars: &[Var], trip: Option<Var>) {
        if self.with_data {
            let mut axes = FxHashSet::default();
            e.visit_atoms(&mut |a| axes.extend(self.axes(a)));
            vars.iter().for_each(|v| drop(self.through.insert(*v, axes.clone())));
        }
        match e {
            Exp::Op(..) => {
                let mut axes = FxHashSet::default();
                e.visit_atoms(&mut |a| axes.extend(self.axes(a)));
                vars.iter().for_each(|v| drop(self.through.insert(*v, axes.clone())));
            }
            Exp::Read { array, index, checked } => {
                if let Some(trip) = trip {
                    if let [row, k] = index[..]
                        && !checked
                        && row == Atom::Var(self.column)
                        && !self.axes(k).contains(&self.column)
                    {
                        self.across.push(*array);
                    }
                    self.lanes += usize::from(self.strides(index, trip));
                    self.tiles += usize::from(self.strides(index, self.column));
                }
            }
            Exp::If(_, x, y) => {
                for l in [x, y].iter().flat_map(|b| &b.block.lets) {
                    self.exp(&l.exp, &l.vars, trip);
                }
            }
            Exp::Inside { .. } | Exp::Size(_) | Exp::StopGradient(_) => {}
        }
    }

    fn axes(&self, a: Atom) -> FxHashSet<Var> {
        match a {
            Atom::Var(v) => self.through.get(&v).cloned().unwrap_or_default(),
            Atom::Const(_) => FxHashSet::default(),
        }
    }

    /// Whether an index other than the last changes with an axis.
    fn strides(&self, index: &[Atom], axis: Var) -> bool {
        (0..index.len())
            .any(|k| k + self.count(index[k]) < index.len() && self.axes(index[k]).contains(&axis))
    }

    /// How many of the indices that start with `a` are one merged axis.
    fn count(&self, a: Atom) -> usize {
        let Atom::Var(v) = a else { return 1 };
        self.merged.iter().find(|g| g.first() == Some(&v)).map_or(1, Vec::len)
    }
}
