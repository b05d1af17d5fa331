//! Nests of more axes than the points have: each point goes through the rest by itself, in order. What is folded, what is added to a
//! scalar and the states of scans go from trip to trip; what is the same in all trips comes before them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sink;
use crate::affine::Checked;
use crate::bulk::build::renamed;
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Nest, Prefix, Reducer, Scan, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::loops::{Node, Recurrence, Rounds, State};
use crate::schedule::repeat::reads_own;
use crate::ty::{Elem, Loc};

/// The most elements that a point folds by itself in a trip.
const MOST: i64 = 64;

/// What the trips through a nest of more axes than the points have do.
struct Own<'a> {
    inside: &'a [&'a Item],
    folds: &'a [Fold],
    /// The writes and accumulations to memory.
    changes: &'a [Yield],
    loc: Loc,
}

/// What goes from trip to trip, a fold's value or an array's only element at the point.
struct Fold {
    array: ArrayId,
    reducer: Reducer,
    value: Atom,
}

impl Sink<'_> {
    /// So many trips, of which numbers of the loop's own may tell.
    pub(super) fn rounds(&mut self, count: &Dim, loc: Loc, out: &mut Vec<Node>) -> Option<Rounds> {
        let mut lets = Vec::new();
        let until = self.size(count, loc, &mut lets)?;
        out.extend(lets.into_iter().map(Node::Let));
        let most = self.bounded(count)?;
        Some(Rounds::For(Axis { var: self.p.new_var(Elem::I64), extent: most }, until))
    }

    /// What a size is at most, whatever the numbers of the loop's own.
    pub(super) fn bounded(&self, d: &Dim) -> Option<Dim> {
        let mut most = Dim::constant(0);
        for (m, c) in d.terms() {
            let own: Vec<ArrayId> = m.iter().filter_map(|a| self.own_number(a)).collect();
            match own[..] {
                [] => most = most.add(&Dim::monomial(m.clone()).scale(c)),
                [number] if m.len() == 1 => {
                    let greatest = self.most.get(&number)?.sub(&Dim::constant(1));
                    if c > 0 {
                        most = most.add(&greatest.scale(c));
                    }
                }
                _ => return None,
            }
        }
        Some(most)
    }

    /// A nest in which each point has a few elements, or one after the other: a loop of its own.
    pub(super) fn folded(
        &mut self,
        n: &Nest,
        inner: &[Axis],
        mut names: FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        let scans: Vec<&Scan> = n.body.scans().collect();
        let few = inner.iter().try_fold(1i64, |p, a| p.checked_mul(at_most(&a.extent)?));
        let depends = inner.iter().any(|a| scalars(&a.extent).any(|s| self.inside.contains(&s)));
        let is_short = few.is_some_and(|n| n <= MOST) || depends || !scans.is_empty();
        if !is_short || (!scans.is_empty() && inner.len() > 1) {
            return None;
        }
        let inside = self.outside_first(n, inner, &scans, &mut names, out)?;
        let (mut states, mut folds, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for y in &n.yields {
            match &y.kind {
                YieldKind::Reduce { reducer, over, value }
                    if *over == inner.len() && !reducer.is_extremum() =>
                {
                    let elem = self.p.array(y.array).elem;
                    states.push((Atom::Const(reducer.neutral(elem)), elem));
                    folds.push(Fold { array: y.array, reducer: *reducer, value: *value });
                }
                YieldKind::Accumulate { reducer, into, index, value } if self.is_scalar(*into) => {
                    let index: Vec<Atom> = index.iter().map(|i| renamed(&names, *i)).collect();
                    self.place(*into, &index)??;
                    let before = self.value(*into, n.loc, out)?;
                    states.push((before, self.p.elem(before)));
                    folds.push(Fold { array: y.array, reducer: *reducer, value: *value });
                }
                YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                    // What is changed is not read, but at the element itself.
                    let mut reads = false;
                    n.body.visit_reads(&mut |a, _| reads |= a == *into);
                    if reads && !reads_own(self.p, n, *into, &Checked::default()) {
                        return None;
                    }
                    self.has_memory(*into, n.loc, out)?;
                    changes.push(y.clone());
                }
                YieldKind::Store(value) => {
                    let memory = self.private(y.array)?;
                    self.memory.insert(y.array, memory);
                    let index = n.axes.iter().map(|a| Atom::Var(a.var)).collect();
                    let kind = YieldKind::Write { into: y.array, index, value: *value, contested: false };
                    changes.push(Yield { array: y.array, kind });
                }
                YieldKind::Reduce { .. } => return None,
            }
        }
        for s in &scans {
            for a in &s.start {
                let start = renamed(&names, *a);
                states.push((start, self.p.elem(start)));
            }
        }
        let own = Own { inside: &inside, folds: &folds, changes: &changes, loc: n.loc };
        let outside = self.known.enter();
        let results = self.trips(&own, inner, &states, &mut names, out);
        self.known.leave(outside);
        self.values.extend(folds.iter().map(|f| f.array).zip(results?.into_iter().map(|v| vec![v])));
        changes.iter().try_for_each(|y| self.taken_over(y))
    }

    /// The statements that are the same in all trips come before them, unless they may fail; gives the others.
    fn outside_first<'n>(
        &mut self,
        n: &'n Nest,
        inner: &[Axis],
        scans: &[&Scan],
        names: &mut FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<&'n Item>> {
        let mut differ: FxHashSet<Var> = inner.iter().map(|a| a.var).collect();
        let mut inside = Vec::new();
        for i in &n.body.items {
            let mut differs = i.may_fail(&self.p.vars);
            i.visit_atoms(&mut |a| differs |= a.var().is_some_and(|v| differ.contains(&v)));
            match i {
                Item::Let(l) if !differs => self.binding(l, names, out)?,
                i => {
                    differ.extend(i.vars());
                    inside.push(i);
                }
            }
        }
        let starts = scans.iter().flat_map(|s| &s.start);
        starts.filter_map(|a| a.var()).all(|v| !differ.contains(&v)).then_some(inside)
    }

    /// The loops over the axes, from the outside in, through which the states go; what they become.
    fn trips(
        &mut self,
        own: &Own<'_>,
        axes: &[Axis],
        states: &[(Atom, Elem)],
        names: &mut FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<Atom>> {
        let Some((axis, rest)) = axes.split_first() else {
            let before: Vec<Atom> = states.iter().map(|(a, _)| *a).collect();
            return self.trip(own, &before, names, out);
        };
        let rounds = self.rounds(&axis.extent, own.loc, out)?;
        if let Rounds::For(new, _) = &rounds {
            names.insert(axis.var, Atom::Var(new.var));
        }
        let mut carried: Vec<State> = states
            .iter()
            .map(|(start, elem)| {
                let [state, result] = [(), ()].map(|()| self.p.new_var(*elem));
                State { state, start: *start, next: *start, result }
            })
            .collect();
        let inside: Vec<(Atom, Elem)> =
            carried.iter().zip(states).map(|(c, (_, elem))| (Atom::Var(c.state), *elem)).collect();
        let mut body = Vec::new();
        let next = self.trips(own, rest, &inside, names, &mut body)?;
        carried.iter_mut().zip(next).for_each(|(c, next)| c.next = next);
        let results = carried.iter().map(|c| Atom::Var(c.result)).collect();
        out.push(Node::Recurrence(Recurrence { rounds, states: carried, body, loc: own.loc }));
        Some(results)
    }

    /// One trip: what the states become.
    fn trip(
        &mut self,
        own: &Own<'_>,
        before: &[Atom],
        names: &mut FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<Atom>> {
        let (folds, mut lefts) = before.split_at(own.folds.len());
        let mut after_scans = Vec::new();
        for i in own.inside {
            let s = match i {
                Item::Let(l) => {
                    self.binding(l, names, out)?;
                    continue;
                }
                Item::Scan(s) => s,
            };
            let (left, rest) = lefts.split_at(s.left.len());
            lefts = rest;
            names.extend(s.left.iter().copied().zip(left.iter().copied()));
            for (v, a) in s.right.iter().zip(&s.values) {
                let value = renamed(names, *a);
                names.insert(*v, value);
            }
            for l in &s.step.block.lets {
                self.binding(l, names, out)?;
            }
            for (k, a) in s.step.results.iter().enumerate() {
                let new = renamed(names, *a);
                after_scans.push(new);
                names.insert(s.vars[k], if s.prefix == Prefix::Inclusive { new } else { left[k] });
            }
        }
        let mut after = Vec::new();
        for (f, before) in own.folds.iter().zip(folds) {
            let value = renamed(names, f.value);
            after.push(match f.reducer {
                Reducer::Last => value,
                by => self.combined(by, *before, value, own.loc, out)?,
            });
        }
        own.changes.iter().try_for_each(|y| self.change(&y.kind, names, out))?;
        after.extend(after_scans);
        Some(after)
    }

    pub(super) fn combined(
        &mut self,
        by: Reducer,
        a: Atom,
        b: Atom,
        loc: Loc,
        out: &mut Vec<Node>,
    ) -> Option<Atom> {
        let exp = Exp::Op(by.op()?, vec![a, b]);
        Some(self.bind(self.p.elem(a), exp, loc, out))
    }
}

/// A bound on a size: sizes and numbers of trips are not negative.
fn at_most(d: &Dim) -> Option<i64> {
    let terms = d.terms().filter(|(m, c)| m.is_empty() || *c > 0);
    terms.fold(Dim::constant(0), |sum, (m, c)| sum.add(&Dim::monomial(m.clone()).scale(c))).as_constant()
}
