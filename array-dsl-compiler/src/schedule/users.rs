//! Which memory a step uses, how many steps use some memory, and steps that become one.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::uses::scalars;
use crate::bulk::{self, ArrayId};
use crate::dim::Dim;
use crate::loops::uses::{Access, visit_arrays, visit_sizes};
use crate::loops::{Program, Step, Tree, no_bands};

/// The memory that a step uses.
#[derive(Default)]
pub(super) struct Uses {
    pub reads: FxHashSet<ArrayId>,
    pub changes: FxHashSet<ArrayId>,
    /// Numbers of the host level that sizes mention.
    pub sizes: FxHashSet<ArrayId>,
}

impl Uses {
    /// Of a step that others may be moved past; none of others.
    pub fn of(p: &Program, s: &Step) -> Option<Uses> {
        let mut u = Uses::default();
        match s {
            Step::Tree(t) => u.tree(p, t),
            Step::Fill { array, .. } => drop(u.changes.insert(p.root(*array))),
            Step::Copy { array, source } => {
                u.changes.insert(p.root(*array));
                u.reads.insert(p.root(*source));
            }
            Step::Move { array, source } => u.changes.extend([array, source].map(|a| p.root(*a))),
            Step::Contract(_) | Step::Check(..) | Step::Sort(_) | Step::Call(_) | Step::Repeat(_) => {
                return None;
            }
            Step::Bands(_) => no_bands(),
        }
        // Whose memory has a size that is computed needs that.
        let sizes: Vec<ArrayId> =
            u.changes.iter().flat_map(|a| &p.arrays[a.0 as usize].dims).flat_map(scalars).collect();
        u.sizes.extend(sizes.into_iter().map(|a| p.root(a)));
        Some(u)
    }

    pub fn tree(&mut self, p: &Program, t: &Tree) {
        visit_arrays(&t.body, &mut |a, access| {
            let memory = if access == Access::Read { &mut self.reads } else { &mut self.changes };
            memory.insert(p.root(a));
            self.sizes.extend(p.arrays[a.0 as usize].dims.iter().flat_map(scalars).map(|s| p.root(s)));
        });
        let mut size = |d: &Dim| self.sizes.extend(scalars(d).map(|s| p.root(s)));
        t.axes.iter().for_each(|a| size(&a.extent));
        visit_sizes(&t.body, &mut size);
    }

    pub fn is_apart_from(&self, other: &Uses) -> bool {
        self.keeps_sizes_of(other)
            && self.changes.is_disjoint(&other.changes)
            && self.changes.is_disjoint(&other.reads)
            && self.reads.is_disjoint(&other.changes)
    }

    /// Whether neither changes a number that is in a size of the other one.
    pub fn keeps_sizes_of(&self, other: &Uses) -> bool {
        self.changes.is_disjoint(&other.sizes) && self.sizes.is_disjoint(&other.changes)
    }

    /// What is used beside some memory.
    pub fn without(&self, memory: &FxHashSet<ArrayId>) -> Uses {
        let [reads, changes, sizes] =
            [&self.reads, &self.changes, &self.sizes].map(|all| all.difference(memory).copied().collect());
        Uses { reads, changes, sizes }
    }

    /// Adds what another step uses.
    pub fn extend(&mut self, other: Uses) {
        self.reads.extend(other.reads);
        self.changes.extend(other.changes);
        self.sizes.extend(other.sizes);
    }
}

/// By memory, the number of steps that use it; those whose size it is in as well, and the caller.
pub(super) struct Users(FxHashMap<ArrayId, usize>);

impl Users {
    pub fn of(p: &Program) -> Users {
        let mut uses = FxHashMap::default();
        count(p, &p.steps, &mut uses);
        for a in p.result.leaves() {
            *uses.entry(p.root(*a)).or_default() += 1;
        }
        Users(uses)
    }

    pub fn count(&self, root: ArrayId) -> usize {
        self.0.get(&root).copied().unwrap_or(0)
    }

    /// Two steps are one.
    pub fn join(&mut self, p: &Program, a: &Step, b: &Step) {
        let roots = [a, b].map(|s| {
            let mut one = FxHashMap::default();
            count(p, std::slice::from_ref(s), &mut one);
            one
        });
        for root in roots[0].keys().filter(|root| roots[1].contains_key(root)) {
            self.0.entry(*root).and_modify(|n| *n -= 1);
        }
    }

    /// The number of arrays that a tree made of two has to have: what it stores and nobody reads is gone in the end.
    pub fn arrays_of_two(&self, p: &Program, t: &Tree, [a, b]: [&Tree; 2]) -> usize {
        let both = [a, b].map(|t| {
            let mut uses = Uses::default();
            uses.tree(p, t);
            uses
        });
        let uses = |u: &Uses, root: &ArrayId| u.reads.contains(root) || u.changes.contains(root);
        let is_shared = |root: &ArrayId| both.iter().all(|u| uses(u, root));
        self.needed(p, t, |root| self.count(root).saturating_sub(usize::from(is_shared(&root))))
    }

    /// The number of arrays that a tree has to have.
    pub fn arrays(&self, p: &Program, t: &Tree) -> usize {
        self.needed(p, t, |root| self.count(root))
    }

    fn needed(&self, p: &Program, t: &Tree, users: impl Fn(ArrayId) -> usize) -> usize {
        let mut all: BTreeMap<ArrayId, bool> = BTreeMap::new();
        visit_arrays(&t.body, &mut |a, access| *all.entry(p.root(a)).or_default() |= access != Access::Write);
        all.into_iter().filter(|(root, is_read)| *is_read || users(*root) > 1).count()
    }
}

/// What can be joined with the step at a place: where that is, and both as one.
type Find<'a> = &'a dyn Fn(&mut Program, &[Step], usize, &Users) -> Option<(usize, Tree)>;

/// Joins steps as long as there are some to be joined, those of loops as well.
pub(super) fn join_steps(
    p: &mut Program,
    mut steps: Vec<Step>,
    users: &mut Users,
    find: Find<'_>,
) -> Vec<Step> {
    for s in &mut steps {
        if let Step::Repeat(r) = s {
            r.steps = join_steps(p, std::mem::take(&mut r.steps), users, find);
        }
    }
    let mut at = 0;
    while at < steps.len() {
        match find(p, &steps, at, users) {
            Some((other, joined)) => {
                users.join(p, &steps[at], &steps[other]);
                steps[at] = Step::Tree(joined);
                steps.remove(other);
                at -= usize::from(other < at);
            }
            None => at += 1,
        }
    }
    steps
}

fn count(p: &Program, steps: &[Step], uses: &mut FxHashMap<ArrayId, usize>) {
    for s in steps {
        let mut all: Vec<ArrayId> = Vec::new();
        let mut sizes: Vec<Dim> = Vec::new();
        match s {
            Step::Tree(t) => {
                visit_arrays(&t.body, &mut |a, _| all.push(a));
                visit_sizes(&t.body, &mut |d| sizes.push(d.clone()));
                sizes.extend(t.axes.iter().map(|a| a.extent.clone()));
            }
            Step::Contract(c) => {
                all.extend([c.result, c.a.array, c.b.array]);
                sizes.extend(c.sizes().cloned());
            }
            Step::Check(c, _) => sizes.extend(c.dims().into_iter().cloned()),
            Step::Fill { array, .. } => all.push(*array),
            Step::Copy { array, source } | Step::Move { array, source } => all.extend([*array, *source]),
            Step::Sort(s) => all.extend([s.result, s.keys]),
            Step::Call(c) => all.extend(c.arrays()),
            Step::Bands(_) => no_bands(),
            Step::Repeat(r) => {
                for c in &r.carried {
                    let bulk::Carried { state, start, next, result } = c.arrays;
                    all.extend([state, start, next, result]);
                }
                match &r.trips {
                    bulk::Trips::For(index, count) => {
                        all.push(*index);
                        sizes.push(count.clone());
                    }
                    bulk::Trips::While(on) => all.push(*on),
                }
                count(p, &r.steps, uses);
            }
        }
        sizes.extend(all.iter().flat_map(|a| p.arrays[a.0 as usize].dims.iter().cloned()));
        all.extend(sizes.iter().flat_map(scalars));
        let mut roots: Vec<ArrayId> = all.into_iter().map(|a| p.root(a)).collect();
        roots.sort();
        roots.dedup();
        roots.into_iter().for_each(|r| *uses.entry(r).or_default() += 1);
    }
}
