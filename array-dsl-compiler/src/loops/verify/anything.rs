//! Arrays that begin as anything: one loop takes their memory over, each of its trips writes a row of its own, and nothing else uses them.
//! What is not so would be read before it is written, and no other rule would notice.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::uses::{Access, visit_arrays};
use super::super::{Carried, Node, Repeat, Step, Tree};
use super::Verifier;
use crate::bulk::{ArrayId, Atom, Exp, Trips, Var};
use crate::dim::Dim;
use crate::loops::Program;
use crate::loops::touched::Touched;

impl Verifier<'_> {
    /// The rule for an array that begins so before these steps.
    pub(super) fn anything(&mut self, array: ArrayId, after: &[Step]) {
        let first = after.iter().find(|s| uses(self.p, s, &|a| self.p.root(a) == self.p.root(array)));
        let is_set = match first {
            Some(Step::Repeat(r)) => {
                let starts: Vec<&Carried> = r.carried.iter().filter(|c| c.arrays.start == array).collect();
                matches!(starts[..], [c] if c.takes == (true, true) && sets_all(self.p, r, c))
            }
            _ => false,
        };
        if !is_set {
            let name = self.scope.name(array);
            self.scope.error(format!("`{name}` begins as anything, and no loop sets all of it"));
        }
    }
}

/// Whether a step uses some memory.
fn uses(p: &Program, s: &Step, is_it: &dyn Fn(ArrayId) -> bool) -> bool {
    let Touched { reads, changes } = Touched::of(p, s);
    reads.iter().chain(&changes).any(|a| is_it(*a))
}

/// Whether the trips of a loop write all of a state, each its own row, and do nothing else with it.
fn sets_all(p: &Program, r: &Repeat, c: &Carried) -> bool {
    let Trips::For(_, count) = &r.trips else { return false };
    let dims = &p.arrays[c.arrays.state.0 as usize].dims;
    let mut names: FxHashSet<ArrayId> = [p.root(c.arrays.state)].into_iter().collect();
    let mut rows = 0;
    for s in &r.steps {
        let has = |a: ArrayId| names.contains(&p.root(a));
        match s {
            Step::Move { array, source } if has(*source) => drop(names.insert(p.root(*array))),
            Step::Tree(t) if uses(p, s, &has) && writes_row(t, &r.trips, dims, &has) => rows += 1,
            s if uses(p, s, &has) => return false,
            _ => {}
        }
    }
    dims.first() == Some(count) && rows == 1 && names.contains(&p.root(c.arrays.next))
}

/// Whether all that a tree does with some memory is to write the row of a trip, an element at each of its points.
fn writes_row(t: &Tree, trips: &Trips, dims: &[Dim], is_it: &dyn Fn(ArrayId) -> bool) -> bool {
    let mut reads = false;
    visit_arrays(&t.body, &mut |a, access| reads |= access == Access::Read && is_it(a));
    let mut w =
        Writes { is_it, axes: FxHashMap::default(), definitions: FxHashMap::default(), found: Vec::new() };
    w.axes.extend(t.axes.iter().map(|a| (a.var, a.extent.clone())));
    w.nodes(&t.body, t.axes.len());
    let [(index, points)] = &w.found[..] else { return false };
    let Some((Atom::Var(row), places)) = index.split_first() else { return false };
    let is_trip = w.definitions.get(row).is_some_and(|e| trips.goes_through(e));
    let axes: FxHashSet<Var> = places.iter().filter_map(|a| a.var()).collect();
    let is_place = |(a, d): (&Atom, &Dim)| a.var().is_some_and(|v| w.axes.get(&v) == Some(d));
    !reads
        && is_trip
        && places.len() + 1 == dims.len()
        && places.iter().zip(&dims[1..]).all(is_place)
        // As many axes as places: each point has one of its own.
        && axes.len() == places.len()
        && *points == places.len()
}

/// What a tree writes into some memory.
struct Writes<'a> {
    is_it: &'a dyn Fn(ArrayId) -> bool,
    axes: FxHashMap<Var, Dim>,
    definitions: FxHashMap<Var, Exp>,
    /// The places, and how many axes are around each.
    found: Vec<(Vec<Atom>, usize)>,
}

impl Writes<'_> {
    fn nodes(&mut self, nodes: &[Node], around: usize) {
        for n in nodes {
            match n {
                Node::Let(l) => drop(self.definitions.insert(l.vars[0], l.exp.clone())),
                Node::Loop(l) if l.range.is_whole() => {
                    self.axes.extend(l.axes().map(|a| (a.var, a.extent.clone())));
                    self.nodes(&l.body, around + l.axes().count());
                }
                Node::Write { array, index, .. } | Node::Store { array, index, .. }
                    if (self.is_it)(*array) =>
                {
                    self.found.push((index.clone(), around));
                }
                // No row is combined.
                Node::Accumulate { array, .. } if (self.is_it)(*array) => self.found.push((Vec::new(), 0)),
                _ => {}
            }
        }
    }
}
