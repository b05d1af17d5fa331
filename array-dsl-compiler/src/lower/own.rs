//! Who needs the memory of arrays: whether that is nobody but the points of trees that make loops by themselves, each its own elements.

use std::collections::{BTreeMap, BTreeSet};

use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Trips, Var};
use crate::loops::uses::{visit_arrays, visit_sizes};
use crate::loops::{Home, Node, Program, Step, Tree, scratch};

/// What uses the memory of arrays.
#[derive(Default)]
pub(super) struct Uses {
    /// What needs memory of its own.
    fixed: BTreeSet<ArrayId>,
    /// What begins as a copy of another array, whose memory it must be like.
    copies: BTreeSet<ArrayId>,
    /// How trees use an array.
    trees: BTreeMap<ArrayId, Vec<Use>>,
}

/// How a tree uses an array.
struct Use {
    /// Which dimensions are the points', if they make loops by themselves and all is at their own elements.
    points: Option<BTreeMap<usize, Var>>,
    /// Whether it may be scratch memory of the tree.
    is_scratch: bool,
}

impl Uses {
    pub fn of(p: &Program) -> Uses {
        let mut found = Uses::default();
        for a in p.result.leaves() {
            found.fixed.extend(p.end_of_views(*a));
        }
        found.steps(p, &p.steps);
        found
    }

    /// The arrays that may be scratch memory of the one tree that uses them.
    pub fn alone(&self) -> impl Iterator<Item = ArrayId> {
        let is_scratch = |uses: &[Use]| matches!(uses, [one] if one.is_scratch);
        let fits = move |(a, uses): &(&ArrayId, &Vec<Use>)| is_scratch(uses) && !self.fixed.contains(a);
        self.trees.iter().filter(fits).map(|(a, _)| *a)
    }

    /// The arrays that one tree uses, and steps that set all of them.
    pub fn once(&self) -> impl Iterator<Item = ArrayId> {
        let is_once = |(a, uses): &(&ArrayId, &Vec<Use>)| uses.len() == 1 && !self.fixed.contains(a);
        self.trees.iter().filter(is_once).map(|(a, _)| *a)
    }

    /// The arrays of which all trees use elements of the points' own, and which dimensions are the points'.
    pub fn of_points(&self) -> impl Iterator<Item = (ArrayId, BTreeSet<usize>)> {
        let is_free = |a: &ArrayId| !self.fixed.contains(a) && !self.copies.contains(a);
        let free = self.trees.iter().filter(move |(a, _)| is_free(a));
        free.filter_map(|(a, uses)| {
            let mut all = uses.iter().map(|u| Some(u.points.as_ref()?.keys().copied().collect()));
            let first: BTreeSet<usize> = all.next()??;
            all.all(|other| other.as_ref() == Some(&first)).then_some((*a, first))
        })
    }

    fn fix(&mut self, p: &Program, a: ArrayId) {
        self.fixed.extend(p.end_of_views(a));
    }

    fn steps(&mut self, p: &Program, steps: &[Step]) {
        for s in steps {
            match s {
                Step::Tree(t) => self.tree(p, t),
                Step::Fill { .. } => {}
                Step::Contract(c) => {
                    [c.result, c.a.array, c.b.array].into_iter().for_each(|a| self.fix(p, a))
                }
                Step::Copy { array, source } => {
                    self.copies.extend(p.end_of_views(*array));
                    self.fix(p, *source);
                }
                Step::Move { array, source } => {
                    self.fix(p, *array);
                    self.fix(p, *source);
                }
                Step::Call(c) => c.arrays().for_each(|a| self.fix(p, a)),
                Step::Sort(s) => {
                    self.fix(p, s.result);
                    self.fix(p, s.keys);
                }
                Step::Check(c, _) => {
                    c.dims().into_iter().flat_map(scalars).for_each(|a| self.fix(p, a));
                }
                Step::Bands(b) => {
                    let handed = b.read.iter().chain(&b.made).chain(&b.sums);
                    handed.flat_map(|h| [h.outside, h.inside]).for_each(|a| self.fix(p, a));
                    self.fix(p, b.first);
                    self.fix(p, b.rows);
                    scalars(&b.total).for_each(|a| self.fix(p, a));
                    self.steps(p, &b.steps);
                }
                Step::Repeat(r) => {
                    for c in &r.carried {
                        let c = c.arrays;
                        [c.state, c.start, c.next, c.result].into_iter().for_each(|a| self.fix(p, a));
                    }
                    match &r.trips {
                        Trips::For(index, count) => {
                            self.fix(p, *index);
                            scalars(count).for_each(|a| self.fix(p, a));
                        }
                        Trips::While(on) => self.fix(p, *on),
                    }
                    self.steps(p, &r.steps);
                }
            }
        }
    }

    fn tree(&mut self, p: &Program, t: &Tree) {
        let mut used = BTreeSet::new();
        visit_arrays(&t.body, &mut |a, _| used.extend(p.end_of_views(a)));
        visit_sizes(&t.body, &mut |d| scalars(d).for_each(|a| self.fix(p, a)));
        let has_loops = t.body.iter().any(|n| matches!(n, Node::Recurrence(_)));
        for a in used {
            let may_move = has_loops && p.arrays[a.0 as usize].home == Home::Heap;
            let points = scratch::own(p, t, a).filter(|_| may_move);
            let is_scratch = points.is_some() && scratch::points(p, t, a).is_some();
            self.trees.entry(a).or_default().push(Use { points, is_scratch });
        }
    }
}

/// Gives an array another home, scratch memory or none, of which there are no views.
pub(super) fn move_home(p: &mut Program, a: ArrayId, home: Home) {
    let all = (0..p.arrays.len() as u32).map(ArrayId);
    let views: Vec<ArrayId> = all.filter(|v| *v != a && p.end_of_views(*v) == Some(a)).collect();
    for v in views {
        p.arrays[v.0 as usize].home = Home::Nowhere;
    }
    p.arrays[a.0 as usize].home = home;
}
