//! Trees that give prefixes along one axis and can be divided along it; see `scan` for how.
//!
//! All scans of the loop are one: their states together are the state. That is right if none uses what another gives.
//! Operators must use nothing that differs from point to point.

use rustc_hash::FxHashSet;

use super::reduction::is_across;
use super::separate::collect;
use crate::bulk::{Atom, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::loops::uses::is_pure;
use crate::loops::{Loop, Node, Program, Tree};
use crate::ty::Elem;

/// The most words of states: those of 256 threads fill the memory of a workgroup.
const MOST_WORDS: usize = 16;

/// A tree that gives prefixes along the axis of its loop.
pub(crate) struct Prefixes {
    /// Executed once per point of the tree's axes.
    pub before: Vec<Node>,
    pub l: Loop,
    /// What is done with the last values.
    pub after: Vec<Node>,
    pub scans: Vec<Scan>,
    /// Whether what is read is contiguous along the tree's last axis rather than along the loop's.
    pub across: bool,
}

impl Prefixes {
    /// The extent of the axis.
    pub fn length(&self) -> &Dim {
        &self.l.axis.extent
    }

    /// The states, as operators see those before.
    pub fn states(&self) -> impl Iterator<Item = Var> + '_ {
        self.scans.iter().flat_map(|s| s.left.iter().copied())
    }

    /// The 32-bit words that the states take.
    fn words(&self, p: &Program) -> usize {
        let words = |v: Var| if matches!(p.vars[v.0 as usize], Elem::F64 | Elem::I64) { 2 } else { 1 };
        self.states().map(words).sum()
    }

    /// The scans without their values.
    pub fn operators(&self) -> Vec<Node> {
        let operator = |s: &Scan| Node::Scan(Scan { values: Vec::new(), ..s.clone() });
        self.scans.iter().map(operator).collect()
    }

    /// The states before the first point.
    pub fn starts(&self) -> impl Iterator<Item = Atom> + '_ {
        self.scans.iter().flat_map(|s| s.start.iter().copied())
    }
}

impl Prefixes {
    /// The tree as prefixes, if its loop can be divided.
    pub fn of(program: &Program, tree: &Tree) -> Option<Prefixes> {
        let at = tree.body.iter().position(|n| matches!(n, Node::Loop(_)))?;
        let (before, [Node::Loop(l), after @ ..]) = tree.body.split_at(at) else { return None };
        let stores = |n: &Node| matches!(n, Node::Store { .. });
        let gives = if l.folds.is_empty() {
            after.is_empty() && l.body.iter().all(|n| stores(n) || is_pure(std::slice::from_ref(n)))
        } else {
            is_pure(&l.body) && l.folds.iter().all(|f| f.reducer == Reducer::Last)
        };
        if !gives || !before.iter().all(|n| matches!(n, Node::Let(_))) {
            return None;
        }
        let mut p = Prefixes {
            before: before.to_vec(),
            l: l.clone(),
            after: after.to_vec(),
            scans: Vec::new(),
            across: is_across(tree, l, &[]),
        };
        let varying = p.hoist();
        p.scans = p.l.scans().cloned().collect();
        let fits = (1..=MOST_WORDS).contains(&p.words(program));
        (fits && p.regroups(&varying)).then_some(p)
    }

    /// Moves out of the loop what is the same at all points, which is there because it may fail. Gives the scalars that
    /// differ.
    fn hoist(&mut self) -> FxHashSet<Var> {
        let mut varying = FxHashSet::from_iter([self.l.axis.var]);
        for n in std::mem::take(&mut self.l.body) {
            let mut used = FxHashSet::default();
            collect(std::slice::from_ref(&n), &mut used);
            match &n {
                Node::Let(_) if used.is_disjoint(&varying) => {
                    self.before.push(n);
                    continue;
                }
                _ => varying.extend(n.binds()),
            }
            self.l.body.push(n);
        }
        varying
    }

    /// Whether all scans are associative, with operators that use nothing of the point, and none uses another.
    fn regroups(&self, varying: &FxHashSet<Var>) -> bool {
        let mut of_scans: FxHashSet<Var> = FxHashSet::default();
        for n in &self.l.body {
            let mut used = FxHashSet::default();
            collect(std::slice::from_ref(n), &mut used);
            let follows = !used.is_disjoint(&of_scans);
            let is_scan = n.as_scan().is_some();
            if is_scan && follows {
                return false;
            }
            if is_scan || follows {
                of_scans.extend(n.binds());
            }
        }
        let mut free = FxHashSet::default();
        collect(&self.operators(), &mut free);
        self.scans.iter().all(Scan::is_associative) && free.is_disjoint(varying)
    }
}

/// Those of the nodes, none of which stores, that others need.
pub(crate) fn needed(nodes: &[Node], others: &[Node]) -> Vec<Node> {
    let mut used = FxHashSet::default();
    collect(others, &mut used);
    let mut kept: Vec<Node> = Vec::new();
    for n in nodes.iter().rev() {
        if n.as_scan().is_some() || n.binds().iter().any(|v| used.contains(v)) {
            collect(std::slice::from_ref(n), &mut used);
            kept.push(n.clone());
        }
    }
    kept.reverse();
    kept
}
