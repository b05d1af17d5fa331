//! Loops that a point makes one after the other, of the same number of trips, are one:
//!
//! ```text
//! for t < m { v = f(x[t]); scan s by v; h[i, t] = s }    c = g(i)    for u < m { y[k(u)] add= f(x[u]) * h[i, u] * c }
//!     = c = g(i)    for t < m { v = f(x[t]); scan s by v; y[k(t)] add= v * s * c }
//! ```
//!
//! So do the way back of a recurrence and what it adds up, which have come from different nests (`collect`): `h` needs no memory, and
//! what both compute is computed once (`unroll`). The second one goes along with the first if
//!
//! 1. the trips of the first are in order, so that it has no lanes to lose, and the second one has no functions that vectors compute, or
//!    the first one has some as well,
//! 2. the second reads what the first one makes, at each trip's own elements alone, or they have something in common that costs much,
//! 3. what stands between them and the second one needs can be executed before both, and nothing else there is in its way: what both
//!    are added to does not matter,
//! 4. no two of all these may fail, unless the loops do so alike: the first failure is the one that is told.

use rustc_hash::{FxHashMap, FxHashSet};

use super::adjoin::{fails, share_own};
use super::shared::{fails_alike, shares};
use super::users::Uses;
use super::values::{Values, stored};
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Var};
use crate::loops::uses::{Access, bound, combined, each_tree, takes_long, visit_arrays, visit_atoms};
use crate::loops::{Fold, Loop, Node, Program, Tree};
use crate::ty::Loc;

/// Joins the loops of the points of a program.
pub(super) fn siblings(p: &mut Program) {
    let mut steps = std::mem::take(&mut p.steps);
    each_tree(&mut steps, &mut |t| {
        // The trips of what is executed once are divided among tasks.
        Siblings { p, around: t.axes.clone() }.nodes(&mut t.body, !t.axes.is_empty());
    });
    p.steps = steps;
}

struct Siblings<'a> {
    p: &'a Program,
    /// The axes around, outermost first.
    around: Vec<Axis>,
}

impl Siblings<'_> {
    /// The loops in nodes, of which those that stand side by side are joined if `beside`.
    fn nodes(&mut self, nodes: &mut Vec<Node>, beside: bool) {
        for n in nodes.iter_mut() {
            if let Node::Loop(l) = n {
                let outside = self.around.len();
                self.around.extend(l.axes().cloned());
                self.nodes(&mut l.body, true);
                self.around.truncate(outside);
            }
        }
        let mut at = 1;
        while beside && at < nodes.len() {
            let before = (0..at).rev().filter(|k| matches!(nodes[*k], Node::Loop(_)));
            match before.into_iter().find_map(|k| self.joined(&nodes[k..=at]).map(|joined| (k, joined))) {
                Some((k, joined)) => drop(nodes.splice(k..=at, joined)),
                None => at += 1,
            }
        }
    }

    /// Nodes that begin and end with a loop, with these as one.
    fn joined(&self, nodes: &[Node]) -> Option<Vec<Node>> {
        let [Node::Loop(first), between @ .., Node::Loop(second)] = nodes else { return None };
        let is_whole = |l: &Loop| l.range.is_whole() && l.merged.is_empty();
        if !first.is_ordered()
            || first.axis.extent != second.axis.extent
            || ![first, second].into_iter().all(is_whole)
            || second.body.iter().any(|n| matches!(n, Node::Recurrence(_) | Node::Write { .. }))
        {
            return None;
        }
        let trip = Atom::Var(first.axis.var);
        let names = [(second.axis.var, trip)].into_iter().collect();
        let mut renaming = Values { stored: FxHashMap::default(), names };
        let second_body = renaming.nodes(second.body.clone());
        let second_fails = fails(&second_body, &self.p.vars);
        let both_fail = second_fails && fails(&first.body, &self.p.vars);
        let alike = || fails_alike(first.axis.var, &first.body, &second_body, &self.p.vars);
        let (needed, rest) = divided(between, first, second)?;
        let [a, b, moved, passed] = [&first.body, &second_body, &needed, &rest].map(|nodes| self.uses(nodes));
        let sums = self.only_combined(&second_body, &rest);
        let gains = b.reads.iter().any(|r| a.changes.contains(r))
            || shares(first.axis.var, &first.body, &second_body);
        let may_fail_before = fails(&needed, &self.p.vars) || fails(&rest, &self.p.vars) && second_fails;
        let loses_vectors = takes_long(&second_body) && !takes_long(&first.body);
        let axes: Vec<Axis> = self.around.iter().chain([&first.axis]).cloned().collect();
        if !gains
            || loses_vectors
            || both_fail && !alike()
            || may_fail_before
            || !moved.is_apart_from(&a)
            || !moved.is_apart_from(&passed)
            || !b.without(&sums).is_apart_from(&passed.without(&sums))
            || !share_own(self.p, &axes, &first.body, &second_body)
            || !bound(&first.body).is_disjoint(&bound(&second_body))
        {
            return None;
        }
        let own: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let elements = stored(self.p, &first.body, &second_body, &own);
        let mut known = Values { stored: elements, names: Renaming::default() };
        let body = first.body.iter().cloned().chain(known.nodes(second_body)).collect();
        let value = |f: &Fold| renamed(&known.names, renamed(&renaming.names, f.value));
        let folds = second.folds.iter().map(|f| Fold { value: value(f), ..f.clone() });
        let folds = first.folds.iter().cloned().chain(folds).collect();
        let joined = Node::Loop(Loop { body, folds, ..first.clone() });
        Some(needed.into_iter().chain([joined]).chain(rest).collect())
    }

    /// The memory of which both of two pieces of code combine values into elements, by one operator, and use it in no other way.
    fn only_combined(&self, a: &[Node], b: &[Node]) -> FxHashSet<ArrayId> {
        let mut others = FxHashSet::default();
        let is_combined = |access| access == Access::Combine;
        for nodes in [a, b] {
            visit_arrays(nodes, &mut |a, access| {
                others.extend((!is_combined(access)).then(|| self.p.root(a)));
            });
        }
        let [a, b] = [a, b].map(|nodes| {
            let into = combined(nodes).into_iter();
            into.map(|(a, reducer)| (self.p.root(a), reducer)).collect::<FxHashSet<_>>()
        });
        let by_several = |root| a.union(&b).filter(|(array, _)| *array == root).count() > 1;
        let both = a.intersection(&b).map(|(root, _)| *root);
        both.filter(|root| !others.contains(root) && !by_several(*root)).collect()
    }

    /// The memory that nodes use.
    fn uses(&self, nodes: &[Node]) -> Uses {
        let mut u = Uses::default();
        u.tree(self.p, &Tree::new(Vec::new(), nodes.to_vec(), Loc::default()));
        u
    }
}

/// The scalar code between two loops that the second one needs, and all else; none if that needs what the first one folds.
fn divided(between: &[Node], first: &Loop, second: &Loop) -> Option<(Vec<Node>, Vec<Node>)> {
    let mut wanted: FxHashSet<Var> = FxHashSet::default();
    visit_atoms(std::slice::from_ref(&Node::Loop(second.clone())), &mut |a| wanted.extend(a.var()));
    let (mut needed, mut rest) = (Vec::new(), Vec::new());
    for n in between.iter().rev() {
        let binds = bound(std::slice::from_ref(n));
        if binds.is_disjoint(&wanted) {
            rest.push(n.clone());
        } else {
            let Node::Let(l) = n else { return None };
            l.exp.visit_atoms(&mut |a| wanted.extend(a.var()));
            needed.push(n.clone());
        }
    }
    if first.folds.iter().any(|f| wanted.contains(&f.result)) {
        return None;
    }
    needed.reverse();
    rest.reverse();
    Some((needed, rest))
}
