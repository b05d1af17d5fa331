//! Arrays of which a tree's points need their own elements go to scratch memory: the history of a loop that is left again by the same
//! tree takes as much as the points that are executed at a time need, which stays in a cache, and not what all need.

use std::collections::{BTreeMap, BTreeSet};

use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Trips};
use crate::loops::uses::{visit_arrays, visit_sizes};
use crate::loops::{Home, Node, Program, Step, Tree, scratch};

/// Moves what can live there to scratch memory.
pub(super) fn scratch(p: &mut Program) {
    let mut found = Uses::default();
    for a in p.result.leaves() {
        found.fixed.extend(p.end_of_views(*a));
    }
    found.steps(p, &p.steps);
    for a in found.fits() {
        p.arrays[a.0 as usize].home = Home::Scratch;
        for i in 0..p.arrays.len() {
            let id = ArrayId(i as u32);
            if id != a && p.end_of_views(id) == Some(a) {
                p.arrays[i].home = Home::Nowhere;
            }
        }
    }
    let homes: Vec<Home> = p.arrays.iter().map(|a| a.home.clone()).collect();
    without_fills(&mut p.steps, &homes);
}

/// What uses the memory of arrays.
#[derive(Default)]
struct Uses {
    /// What needs memory of its own.
    fixed: BTreeSet<ArrayId>,
    /// The number of trees that use an array, and whether the last one has it fit.
    trees: BTreeMap<ArrayId, (usize, bool)>,
}

impl Uses {
    fn fits(&self) -> Vec<ArrayId> {
        let fits = self.trees.iter().filter(|(a, (n, fits))| *n == 1 && *fits && !self.fixed.contains(a));
        fits.map(|(a, _)| *a).collect()
    }

    fn fix(&mut self, p: &Program, a: ArrayId) {
        self.fixed.extend(p.end_of_views(a));
    }

    fn steps(&mut self, p: &Program, steps: &[Step]) {
        for s in steps {
            match s {
                Step::Tree(t) => self.tree(p, t),
                Step::Fill { .. } => {}
                Step::Contract(c) => [c.result, c.a.0, c.b.0].into_iter().for_each(|a| self.fix(p, a)),
                Step::Copy { array, source } | Step::Move { array, source } => {
                    self.fix(p, *array);
                    self.fix(p, *source);
                }
                Step::Sort(s) => {
                    self.fix(p, s.result);
                    self.fix(p, s.keys);
                }
                Step::Check(c, _) => {
                    c.dims().into_iter().flat_map(scalars).for_each(|a| self.fix(p, a));
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
            let fits =
                has_loops && p.arrays[a.0 as usize].home == Home::Heap && scratch::points(p, t, a).is_some();
            let (count, last) = self.trees.entry(a).or_default();
            *count += 1;
            *last = fits;
        }
    }
}

/// Scratch memory is set by the tree that it belongs to.
fn without_fills(steps: &mut Vec<Step>, homes: &[Home]) {
    steps.retain(|s| !matches!(s, Step::Fill { array, .. } if homes[array.0 as usize] == Home::Scratch));
    for s in steps {
        if let Step::Repeat(r) = s {
            without_fills(&mut r.steps, homes);
        }
    }
}
