//! Reductions that stride through memory: whether they are better done in tiles.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Cpu;
use crate::bulk::{Atom, Axis, Exp, Var};
use crate::loops::{Home, Loop, Node, Program};

impl Cpu<'_> {
    /// Whether a loop over `axis` with this body is better done in tiles: some reduction in it then strides through
    /// fewer arrays.
    pub(super) fn tiles_pay(&self, axis: &Axis, body: &[Node], merged: &[Vec<Var>]) -> bool {
        let mut cost = Strides {
            p: self.p,
            merged,
            column: axis.var,
            through: FxHashMap::default(),
            lanes: 0,
            tiles: 0,
        };
        cost.through.insert(axis.var, FxHashSet::from_iter([axis.var]));
        cost.nodes(body, None) && cost.lanes > cost.tiles
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
}

impl Strides<'_> {
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
        l.range.is_whole()
            && l.folds.iter().all(|f| f.reducer.op().is_some())
            && self.nodes(&l.body, Some(l.axis.var))
    }

    fn exp(&mut self, e: &Exp, vars: &[Var], trip: Option<Var>) {
        match e {
            Exp::Op(..) => {
                let mut axes = FxHashSet::default();
                e.visit_atoms(&mut |a| axes.extend(self.axes(a)));
                vars.iter().for_each(|v| drop(self.through.insert(*v, axes.clone())));
            }
            Exp::Read { index, .. } => {
                if let Some(trip) = trip {
                    self.lanes += usize::from(self.strides(index, trip));
                    self.tiles += usize::from(self.strides(index, self.column));
                }
            }
            Exp::If(_, x, y) => {
                for l in [x, y].iter().flat_map(|b| &b.block.lets) {
                    self.exp(&l.exp, &l.vars, trip);
                }
            }
            Exp::Size(_) | Exp::StopGradient(_) => {}
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
