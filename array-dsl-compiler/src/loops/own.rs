//! Writes of which each is to the point's own elements: other points have nothing to do with these, so that points are divided, computed
//! in lanes and folded as if nothing were changed.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::uses::{visit_arrays, visit_indices};
use super::{Division, Node, Program, Tree};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Var};
use crate::scalar::Op;

/// The arrays that points overwrite. What a recurrence changes belongs to its point.
pub fn overwritten(nodes: &[Node]) -> BTreeSet<ArrayId> {
    fn inside(nodes: &[Node], out: &mut BTreeSet<ArrayId>) {
        for n in nodes {
            match n {
                Node::Write { array, .. } => drop(out.insert(*array)),
                Node::Loop(l) => inside(&l.body, out),
                Node::Let(_)
                | Node::Scan(_)
                | Node::Recurrence(_)
                | Node::Store { .. }
                | Node::Accumulate { .. } => {}
            }
        }
    }
    let mut out = BTreeSet::new();
    inside(nodes, &mut out);
    out
}

/// Whether the points of some axes overwrite nothing but elements of their own.
pub fn overwrite_their_own(p: &Program, axes: &[Axis], nodes: &[Node]) -> bool {
    let vars: Vec<Var> = axes.iter().map(|a| a.var).collect();
    overwritten(nodes).into_iter().all(|a| is_own(&|a| p.root(a), &vars, nodes, a))
}

/// Whether all that is done with an array has each of some axes at one index, the same for all: alone, or moved or turned around by what is
/// the same at all points. In the order of the axes, so that neighbors are neighbors in memory. `root` tells what memory an array is in.
pub fn is_own(root: &impl Fn(ArrayId) -> ArrayId, axes: &[Var], nodes: &[Node], array: ArrayId) -> bool {
    let array = root(array);
    let mut is_viewed = false;
    visit_arrays(nodes, &mut |b, _| is_viewed |= b != array && root(b) == array);
    // What all accesses have at their places, as far as it is the same.
    let mut common: Option<Vec<Option<Atom>>> = None;
    visit_indices(nodes, &mut |b, index| {
        if b == array {
            let here = index.iter().map(|i| Some(*i)).collect::<Vec<_>>();
            common = Some(match common.take() {
                None => here,
                Some(before) => before.into_iter().zip(here).map(|(a, b)| a.filter(|_| a == b)).collect(),
            });
        }
    });
    let places = common.unwrap_or_default().into_iter().enumerate();
    let index: Vec<(usize, Atom)> = places.filter_map(|(k, i)| Some((k, i?))).collect();
    !is_viewed && distinct(axes, nodes, &index).is_some_and(|order| order.is_sorted())
}

/// If places of an index are another one at each point of some axes: for each of them the place that it is, alone, or moved or turned
/// around by what is the same at all points.
pub fn distinct(axes: &[Var], nodes: &[Node], index: &[(usize, Atom)]) -> Option<Vec<usize>> {
    let axes: Vec<Atom> = axes.iter().map(|v| Atom::Var(*v)).collect();
    let mut found = Shifted { differ: axes.iter().copied().collect(), axes, shifted: FxHashMap::default() };
    if found.nodes(nodes).is_none() {
        found.shifted.clear();
    }
    let Shifted { axes, shifted, .. } = found;
    let place = |axis| index.iter().find(|(_, i)| shifted.get(i).unwrap_or(i) == axis).map(|(k, _)| *k);
    axes.iter().map(place).collect()
}

/// Scalars that are an axis plus what is the same at all points, or that minus the axis.
struct Shifted {
    axes: Vec<Atom>,
    /// What differs from point to point, as far as it can be told.
    differ: FxHashSet<Atom>,
    shifted: FxHashMap<Atom, Atom>,
}

impl Shifted {
    /// None if there are nodes of which it is not known.
    fn nodes(&mut self, nodes: &[Node]) -> Option<()> {
        nodes.iter().try_for_each(|n| match n {
            Node::Let(l) => {
                self.binding(l);
                Some(())
            }
            Node::Loop(l) => {
                self.differ.extend(l.axes().map(|a| Atom::Var(a.var)));
                self.nodes(&l.body)?;
                self.differ.extend(l.folds.iter().map(|f| Atom::Var(f.result)));
                Some(())
            }
            Node::Scan(_) | Node::Recurrence(_) => None,
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => Some(()),
        })
    }

    fn binding(&mut self, l: &Let) {
        let mut differs = false;
        l.exp.visit_atoms(&mut |a| differs |= self.differ.contains(&a));
        if let (Exp::Op(Op::Add | Op::Sub, args), [v]) = (&l.exp, l.vars.as_slice())
            && let Some(axis) = args.iter().find(|a| self.axes.contains(a))
            && args.iter().filter(|a| self.differ.contains(a)).count() == 1
        {
            self.shifted.insert(Atom::Var(*v), *axis);
        }
        self.differ.extend(l.vars.iter().filter(|_| differs).map(|v| Atom::Var(*v)));
    }
}

/// Whether a tree overwrites elements that may be other points' as well, or is no tree of points.
pub fn overwrites_others(p: &Program, t: &Tree) -> bool {
    if !t.axes.is_empty() {
        return !overwrite_their_own(p, &t.axes, &t.body);
    }
    t.body.iter().any(|n| match n {
        Node::Write { .. } => true,
        Node::Loop(l) => {
            let is_plain = l.merged.is_empty() && !l.is_ordered();
            let is_own = || is_plain && overwrite_their_own(p, std::slice::from_ref(&l.axis), &l.body);
            !overwritten(&l.body).is_empty() && !is_own()
        }
        Node::Let(_) | Node::Scan(_) | Node::Recurrence(_) | Node::Store { .. } | Node::Accumulate { .. } => {
            false
        }
    })
}

/// The same of a tree that has been lowered: where points are not divided, they are not known to overwrite their own.
pub fn overwrites_in_order(p: &Program, t: &Tree) -> bool {
    let is_undivided = |n: &Node| matches!(n, Node::Loop(l) if l.plan.division == Division::Undivided && !overwritten(&l.body).is_empty());
    let in_order = match t.axes.is_empty() {
        true => t.body.iter().any(is_undivided),
        false => t.plan.division == Division::Undivided && !overwritten(&t.body).is_empty(),
    };
    in_order || overwrites_others(p, t)
}
