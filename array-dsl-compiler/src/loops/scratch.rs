//! Arrays of which a tree needs no more at a time than the elements of the points that are executed.
//!
//! ```text
//! par p < n { for t < m with s = .. { history[t, p] := s; .. }; for t < m with .. { .. history[m - 1 - t, p] .. } }
//! ```
//!
//! Of `history` a worker needs `m` elements for each point that it executes together with others, whatever `n` is. An array may live so
//! if
//!
//! 1. one tree uses it, and none of its views: every access there has each axis of the points at one place, the same for all;
//! 2. a point sets all its elements before anything else is done with one: stores or writes that cover them come first.
//!
//! The points are the axes of the tree and those of a loop that is all that they do, and so on.

use std::collections::{BTreeMap, BTreeSet};

use super::uses::{Access, places, visit_arrays};
use super::{Covers, Form, Loop, Node, Plan, Program, Rounds, Tree};
use crate::bulk::{ArrayId, Axis, Var};

/// Points: their axes, and what each of them does.
struct Points<'t> {
    axes: Vec<&'t Axis>,
    body: &'t [Node],
    /// The axes of which so many go together, if any do.
    lanes: Option<(Vec<&'t Axis>, usize)>,
}

impl<'t> Points<'t> {
    fn of(t: &'t Tree) -> Self {
        let mut points = Points { axes: Vec::new(), body: &t.body, lanes: None };
        points.enter(t.axes.iter(), &t.plan);
        while let Some(l) = points.all() {
            points.enter(l.axes(), &l.plan);
            points.body = &l.body;
        }
        points
    }

    fn enter(&mut self, axes: impl Iterator<Item = &'t Axis> + Clone, plan: &Plan) {
        self.axes.extend(axes.clone());
        if let Form::Together(width) = plan.form {
            self.lanes = Some((axes.collect(), width));
        }
    }

    /// The loop that is all that they do, but for scalar code before.
    fn all(&self) -> Option<&'t Loop> {
        let Some((Node::Loop(l), before)) = self.body.split_last() else { return None };
        let is_all =
            l.folds.is_empty() && !l.is_ordered() && before.iter().all(|n| matches!(n, Node::Let(_)));
        is_all.then_some(l)
    }
}

/// The axes of whose points several go together, and how many at most: so many have scratch memory at a time.
pub fn lanes(t: &Tree) -> Option<(Vec<&Axis>, usize)> {
    Points::of(t).lanes
}

/// Which of the array's dimensions are the points', each at one axis, if all accesses in the tree are to a point's own elements.
pub fn own(p: &Program, t: &Tree, array: ArrayId) -> Option<BTreeMap<usize, Var>> {
    own_of(p, &Points::of(t), t, array)
}

fn own_of(p: &Program, around: &Points<'_>, t: &Tree, array: ArrayId) -> Option<BTreeMap<usize, Var>> {
    let axes: BTreeSet<Var> = around.axes.iter().map(|a| a.var).collect();
    let mut viewed = false;
    visit_arrays(&t.body, &mut |a, _| viewed |= a != array && p.end_of_views(a) == Some(array));
    let mut at: BTreeMap<Var, usize> = BTreeMap::new();
    for (k, v) in places(&t.body, &axes, &|a| a == array) {
        at.entry(v).or_insert(k);
    }
    let is_own = !axes.is_empty() && at.len() == axes.len() && !viewed;
    is_own.then(|| at.into_iter().map(|(v, k)| (k, v)).collect())
}

/// Which of the array's dimensions are the points', if it may live in scratch memory as far as the tree is concerned.
pub fn points(p: &Program, t: &Tree, array: ArrayId) -> Option<BTreeSet<usize>> {
    let around = Points::of(t);
    let own = own_of(p, &around, t, array)?;
    is_set_first(p, around, array).then(|| own.into_keys().collect())
}

fn is_set_first(p: &Program, points: Points<'_>, array: ArrayId) -> bool {
    let mut set = Set { p, array, covers: Covers::default(), around: points.axes };
    let mut is_set = false;
    for n in points.body {
        let mut only_writes = true;
        visit_arrays(std::slice::from_ref(n), &mut |a, access| {
            only_writes &= a != array || access == Access::Write;
        });
        if !only_writes && !is_set {
            return false;
        }
        is_set |= set.node(n);
    }
    is_set
}

/// What has been set of an array.
struct Set<'t> {
    p: &'t Program,
    array: ArrayId,
    covers: Covers,
    /// The axes around a node.
    around: Vec<&'t Axis>,
}

impl<'t> Set<'t> {
    /// Whether a node sets the last elements that were not set.
    fn node(&mut self, n: &'t Node) -> bool {
        match n {
            Node::Store { array, index, .. } | Node::Write { array, index, .. } if *array == self.array => {
                let dims = &self.p.arrays[array.0 as usize].dims;
                self.covers.store(*array, dims, index, &self.around)
            }
            Node::Loop(l) => self.inside(l.axes(), &l.body),
            Node::Recurrence(r) => match &r.rounds {
                Rounds::For(a, None) => self.inside([a], &r.body),
                Rounds::For(_, Some(_)) | Rounds::While(_) => false,
            },
            _ => false,
        }
    }

    fn inside(&mut self, axes: impl IntoIterator<Item = &'t Axis>, body: &'t [Node]) -> bool {
        let outside = self.around.len();
        self.around.extend(axes);
        let is_set = body.iter().fold(false, |set, n| self.node(n) | set);
        self.around.truncate(outside);
        is_set
    }
}
