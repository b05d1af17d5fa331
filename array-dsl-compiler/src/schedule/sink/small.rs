//! Small arrays of a point as scalars: one for each element, known by constants. Their loops are unrolled.

use rustc_hash::FxHashMap;

use super::Sink;
use crate::bulk::build::{int, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Nest, Prefix, Reducer, Scan, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::loops::Node;
use crate::scalar::Op;
use crate::ty::Elem;

/// The most elements along an axis, and in all.
const MOST: i64 = 16;
const ALL: i64 = 64;
/// The most statements that their loops become.
pub(super) const MOST_CODE: usize = 4000;

/// A small constant extent.
pub(super) fn few(d: &Dim) -> Option<i64> {
    d.as_constant().filter(|n| (1..=MOST).contains(n))
}

/// Whether there are so few trips along axes that they are unrolled, whatever they do.
pub(super) fn are_few(axes: &[Axis]) -> bool {
    let extents: Option<Vec<i64>> = axes.iter().map(|a| few(&a.extent)).collect();
    extents.is_some_and(|e| e.iter().product::<i64>() <= 4)
}

/// All places in an array of these extents, in order.
pub(super) fn places(extents: &[i64]) -> Vec<Vec<i64>> {
    extents.iter().fold(vec![Vec::new()], |places, n| {
        places.iter().flat_map(|p| (0..*n).map(|k| p.iter().copied().chain([k]).collect())).collect()
    })
}

/// What has been combined so far, and where the best value was.
#[derive(Clone, Copy)]
struct Folded {
    value: Atom,
    at: Atom,
}

impl Sink<'_> {
    /// The extents that an array has for each point, if it has few elements: none of a scalar.
    pub(super) fn extents(&self, a: ArrayId) -> Option<Vec<i64>> {
        let dims = &self.p.array(a).dims;
        let own = dims.strip_prefix(&self.points[..]).unwrap_or(dims);
        if !own.is_empty() && !self.small {
            return None;
        }
        let extents: Vec<i64> = own.iter().map(few).collect::<Option<_>>()?;
        (extents.iter().product::<i64>() <= ALL).then_some(extents)
    }

    /// The place of an element among those of the point; inner none if it is outside of the array.
    pub(super) fn place(&self, a: ArrayId, index: &[Atom]) -> Option<Option<usize>> {
        let extents = self.extents(a)?;
        let own = index.len().checked_sub(extents.len())?;
        if index[..own] != self.at[..own.min(self.at.len())] {
            return None;
        }
        let mut place = 0;
        for (i, n) in index[own..].iter().zip(extents) {
            let Atom::Const(c) = i else { return None };
            if !(0..n).contains(&c.as_i64()) {
                return Some(None);
            }
            place = place * n + c.as_i64();
        }
        usize::try_from(place).ok().map(Some)
    }

    /// Whether a nest uses or makes an array of a few elements for each point.
    pub(super) fn has_few(&self, n: &Nest) -> bool {
        let is_few = |a: ArrayId| self.inside.contains(&a) && self.extents(a).is_some_and(|e| !e.is_empty());
        let mut any = n.yields.iter().any(|y| is_few(y.array));
        n.body.visit_reads(&mut |a, _| any |= is_few(a));
        any
    }

    /// All trips of a nest along these axes, one after the other.
    pub(super) fn trips_of_few(
        &mut self,
        n: &Nest,
        inner: &[Axis],
        mut names: FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        let extents: Vec<i64> = inner.iter().map(|a| few(&a.extent)).collect::<Option<_>>()?;
        if extents.iter().product::<i64>() > ALL {
            return None;
        }
        let mut states: Vec<Vec<Atom>> = vec![Vec::new(); n.body.scans().count()];
        let mut made = n.yields.iter().map(|y| self.before_trips(y, n, out)).collect::<Option<Vec<_>>>()?;
        let mut folded: Vec<Option<Folded>> = vec![None; n.yields.len()];
        for place in places(&extents) {
            let before = out.len();
            names.extend(inner.iter().map(|a| a.var).zip(place.iter().copied().map(int)));
            let mut left = states.iter_mut();
            for i in &n.body.items {
                match i {
                    Item::Let(l) => self.binding(l, &mut names, out)?,
                    Item::Scan(s) => {
                        let state = left.next()?;
                        if place.last() == Some(&0) {
                            *state = s.start.iter().map(|a| renamed(&names, *a)).collect();
                        }
                        self.step(s, state, &mut names, out)?;
                    }
                }
            }
            for ((y, made), folded) in n.yields.iter().zip(&mut made).zip(&mut folded) {
                match &y.kind {
                    YieldKind::Store(v) => made.push(renamed(&names, *v)),
                    YieldKind::Reduce { reducer, over, value } => {
                        let value = renamed(&names, *value);
                        let axis = inner.len().checked_sub(*over)?;
                        let is_first = place[axis..].iter().all(|k| *k == 0);
                        let before = folded.take().filter(|_| !is_first);
                        let now =
                            self.combined_of_few(*reducer, before, value, int(*place.last()?), n, out)?;
                        if place[axis..].iter().zip(&extents[axis..]).all(|(k, n)| k + 1 == *n) {
                            made.push(if reducer.is_extremum() { now.at } else { now.value });
                        }
                        *folded = Some(now);
                    }
                    YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                        if self.is_scalar(*into) {
                            self.changed(&y.kind, made, &names, n.loc, out)?;
                        } else {
                            self.change(&y.kind, &names, out)?;
                        }
                    }
                }
            }
            self.left = self.left.checked_sub(out.len() - before)?;
        }
        for (y, made) in n.yields.iter().zip(made) {
            match &y.kind {
                YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }
                    if !self.is_scalar(*into) =>
                {
                    self.taken_over(y)?;
                }
                _ => drop(self.values.insert(y.array, made)),
            }
        }
        Some(())
    }

    /// The elements that a yield has before the trips: those of what it updates, unless they are in points' memory.
    fn before_trips(&mut self, y: &Yield, n: &Nest, out: &mut Vec<Node>) -> Option<Vec<Atom>> {
        match &y.kind {
            YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } if self.is_scalar(*into) => {
                self.all(*into, n.loc, out)
            }
            // Points' memory is changed trip by trip: what they read is not it.
            YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                let mut reads = false;
                n.body.visit_reads(&mut |a, _| reads |= a == *into);
                if reads {
                    return None;
                }
                self.has_memory(*into, n.loc, out)?;
                Some(Vec::new())
            }
            YieldKind::Store(_) | YieldKind::Reduce { .. } => Some(Vec::new()),
        }
    }

    /// One more value of a reduction, at place `k`.
    fn combined_of_few(
        &mut self,
        by: Reducer,
        before: Option<Folded>,
        value: Atom,
        k: Atom,
        n: &Nest,
        out: &mut Vec<Node>,
    ) -> Option<Folded> {
        let neutral = Atom::Const(by.neutral(self.p.elem(value)));
        let Folded { value: so_far, at } = before.unwrap_or(Folded { value: neutral, at: int(0) });
        Some(match by {
            Reducer::Last => Folded { value, at },
            Reducer::ArgMin | Reducer::ArgMax => {
                let better = if by == Reducer::ArgMin { Op::Lt } else { Op::Gt };
                let is_better = self.bind(Elem::Bool, Exp::Op(better, vec![value, so_far]), n.loc, out);
                let elem = self.p.elem(value);
                let mut select = |elem, yes, no| {
                    self.bind(elem, Exp::Op(Op::Select, vec![is_better, yes, no]), n.loc, out)
                };
                Folded { value: select(elem, value, so_far), at: select(Elem::I64, k, at) }
            }
            // The first value is what it is, but for what `min` and `max` make of what is no number.
            Reducer::Add | Reducer::Mul if before.is_none() => Folded { value, at },
            by => Folded { value: self.combined(by, so_far, value, n.loc, out)?, at },
        })
    }

    /// One step of a scan.
    fn step(
        &mut self,
        s: &Scan,
        state: &mut Vec<Atom>,
        names: &mut FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        names.extend(s.left.iter().copied().zip(state.iter().copied()));
        for (v, a) in s.right.iter().zip(&s.values) {
            let value = renamed(names, *a);
            names.insert(*v, value);
        }
        for l in &s.step.block.lets {
            self.binding(l, names, out)?;
        }
        let new: Vec<Atom> = s.step.results.iter().map(|a| renamed(names, *a)).collect();
        let given = if s.prefix == Prefix::Inclusive { &new } else { &*state };
        names.extend(s.vars.iter().copied().zip(given.iter().copied()));
        *state = new;
        Some(())
    }
}
