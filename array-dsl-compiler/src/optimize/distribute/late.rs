//! What a loop only adds up, after it.
//!
//! **Late** is what adds to a state of which the loop makes nothing else, and the small products that are computed for that alone. What
//! late statements use of a trip is **logged**, but for elements of what is there before the loop, which are made again. That pays where
//! each log is smaller than what is computed of it, by an axis that is not short. Sums are regrouped, as those of reductions are; what adds
//! to a state in several places adds to most of it first, which may then be what makes it.
//!
//! Cost: the logs, one write for each number that late statements use of a trip.

use rustc_hash::{FxHashMap, FxHashSet};

use super::along::Along;
use super::numbers::numbers;
use super::order::Order;
use super::{Rows, Trip, are_rows, is_long, reads};
use crate::affine::{Checked, Facts, not_negative};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Axis, Carried, Nest, Program, Reducer, Repeat, Stm, Trips, Yield, YieldKind};
use crate::dim::Dim;
use crate::optimize::independent::nests;
use crate::ty::{Const, Elem};

/// The loop without what is late, and that.
pub(super) fn late(
    p: &mut Program,
    r: &Repeat,
    (index, count): (ArrayId, &Dim),
    known: &Checked,
) -> Option<Vec<Stm>> {
    let r = &numbers(p, r);
    let late = Late::of(&Trip::of(p, r, index, known), count)?;
    let mut out = Vec::new();
    let extent = not_negative(p, count, known, r.loc, &mut out);
    let order = Order::of(p, &late.nests, (index, count), &known.inside_repeat(r, p));
    let (mut core, mut logs) = (Vec::new(), FxHashMap::default());
    let mut carried: Vec<Carried> =
        r.carried.iter().filter(|c| late.sums.iter().all(|s| s.carried != **c)).copied().collect();
    let mut log = |p: &mut Program, a: ArrayId, core: &mut Vec<Stm>| {
        let info = p.array(a).clone();
        let dims = [std::slice::from_ref(&extent), &info.dims].concat();
        let start = p.constant("log", &dims, Const::of(info.elem, 0), r.loc);
        out.append(&mut p.stms);
        let [state, next, result] = [(); 3].map(|()| p.new_array("log", info.elem, dims.clone()));
        carried.push(Carried { state, start, next, result });
        core.push(Stm::Nest(order.written(p, a, (state, next), r)));
        logs.insert(a, result);
    };
    for c in r.carried.iter().filter(|c| late.logged.contains(&c.state)) {
        log(p, c.state, &mut core);
    }
    for (_, s) in r.body.iter().enumerate().filter(|(at, _)| !late.at.contains(at)) {
        core.push(s.clone());
        for a in s.results().into_iter().filter(|a| late.logged.contains(a)) {
            log(p, a, &mut core);
        }
    }
    let core = Stm::Repeat(Repeat { trips: r.trips.clone(), carried, body: core, loc: r.loc });
    let mut after = known.clone();
    out.iter().chain([&core]).for_each(|s| after.statement(s, p));
    let late = late.repeat(p, r, &order, &logs, known)?;
    let nests = nests(p, &late, &after)?;
    out.push(core);
    out.extend(nests);
    Some(out)
}

/// A state of which a loop makes nothing but a sum.
struct Sum {
    carried: Carried,
    /// The positions of the statements that add to it, one after the other.
    at: Vec<usize>,
}

/// What is late.
struct Late {
    sums: Vec<Sum>,
    /// The positions of the statements.
    at: FxHashSet<usize>,
    /// Those of others that are executed again.
    again: FxHashSet<usize>,
    /// The statements of both, in order.
    nests: Vec<Nest>,
    /// What they use of a trip.
    logged: FxHashSet<ArrayId>,
}

impl Late {
    /// None if there is nothing, or if it does not pay.
    fn of(body: &Trip<'_>, count: &Dim) -> Option<Late> {
        let carried = &body.r.carried;
        let mut sums: Vec<Sum> = carried.iter().filter_map(|c| body.sum(c)).collect();
        if sums.len() == carried.len() || body.are_points() {
            return None;
        }
        loop {
            if sums.is_empty() {
                return None;
            }
            let late = body.late(sums);
            let mut without: FxHashSet<ArrayId> =
                late.logged.iter().filter(|a| !body.pays(**a, &late, count)).copied().collect();
            let others = late.sums.iter().filter(|s| !body.is_product(s, &late.nests, count));
            without.extend(others.map(|s| s.carried.next));
            if without.is_empty() {
                return Some(late);
            }
            // Sums that need such an array, be it by others, stay in the loop.
            for n in &late.nests {
                if n.inputs().iter().any(|a| without.contains(a)) {
                    without.extend(n.yields.iter().map(|y| y.array));
                }
            }
            sums = late.sums.into_iter().filter(|s| !without.contains(&s.carried.next)).collect();
        }
    }

    /// The loop that makes what is late, of the logs.
    fn repeat(
        &self,
        p: &mut Program,
        r: &Repeat,
        order: &Order<'_>,
        logs: &FxHashMap<ArrayId, ArrayId>,
        known: &Checked,
    ) -> Option<Repeat> {
        let Trips::For(index, count) = &r.trips else { return None };
        let is_known = |d: &Dim| scalars(d).all(|a| a != *index);
        let inside = known.inside_repeat(r, p);
        let trip = p.new_array("trip", Elem::I64, Vec::new());
        let mut arrays = FxHashMap::from_iter([(*index, trip)]);
        let (mut nests, mut carried) = (Vec::new(), Vec::new());
        for mut n in self.in_order(r) {
            order.turned(&mut n);
            if n.axes.iter().any(|a| !is_known(&a.extent)) {
                n = Along::of(p, &n, &inside, is_known)?.made(p, n);
            }
            Rows::redirect(p, &mut n, *index, logs);
            nests.push(Stm::Nest(n));
        }
        for Sum { carried: c, .. } in &self.sums {
            let info = p.array(c.state).clone();
            arrays.insert(c.state, p.new_array(info.name, info.elem, info.dims));
        }
        let body = p.copy_stms(&nests, &mut arrays);
        for Sum { carried: c, .. } in &self.sums {
            let [state, next] = [c.state, c.next].map(|a| arrays[&a]);
            carried.push(Carried { state, start: c.start, next, result: c.result });
        }
        Some(Repeat { trips: Trips::For(trip, count.clone()), carried, body, loc: r.loc })
    }

    /// The products and what they are of, and then what adds to each state, along more axes first.
    fn in_order(&self, r: &Repeat) -> Vec<Nest> {
        let adds = |at: &usize| self.sums.iter().any(|s| s.at.contains(at));
        let mut products: Vec<usize> = self.at.union(&self.again).copied().filter(|at| !adds(at)).collect();
        products.sort_unstable();
        let nest = |at: &usize| if let Stm::Nest(n) = &r.body[*at] { Some(n.clone()) } else { None };
        let mut out: Vec<Nest> = products.iter().filter_map(nest).collect();
        for s in &self.sums {
            let mut nests: Vec<Nest> = s.at.iter().filter_map(nest).collect();
            let names: Vec<ArrayId> = nests.iter().flat_map(|n| &n.yields).map(|y| y.array).collect();
            nests.sort_by_key(|n| std::cmp::Reverse(n.axes.len()));
            let mut last = s.carried.state;
            for (n, name) in nests.iter_mut().zip(names) {
                for y in &mut n.yields {
                    if let YieldKind::Accumulate { into, .. } = &mut y.kind {
                        *into = std::mem::replace(&mut last, name);
                    }
                    y.array = name;
                }
            }
            out.extend(nests);
        }
        out
    }
}

impl Trip<'_> {
    /// A state with which nothing is done but that nests add to it.
    fn sum(&self, c: &Carried) -> Option<Sum> {
        let (mut last, mut at) = (c.state, Vec::new());
        while last != c.next {
            let [user] = self.users(last) else { return None };
            let Stm::Nest(n) = &self.r.body[*user] else { return None };
            let [Yield { array, kind: YieldKind::Accumulate { reducer: Reducer::Add, into, .. } }] =
                &n.yields[..]
            else {
                return None;
            };
            if *into != last || reads(n, last) || self.nexts.contains(&last) || !self.may_be_late(n) {
                return None;
            }
            (last, at) = (*array, [&at[..], &[*user]].concat());
        }
        let is_its_own =
            self.users(last).is_empty() && self.nexts.iter().filter(|a| **a == last).count() == 1;
        (is_its_own && !at.is_empty()).then_some(Sum { carried: *c, at })
    }

    /// Whether what adds to an array can be made for all trips at once.
    fn may_be_late(&self, n: &Nest) -> bool {
        let goes_along = || {
            let along = Along::of(self.p, n, &self.inside, |d| self.is_known(d));
            along.is_some_and(|along| along.sizes().all(|d| self.is_of_trip_alone(d)))
        };
        self.may_be_moved(n)
            && n.axes.iter().all(|a| self.is_of_trip_alone(&a.extent))
            && (self.has_known_extents(n) || goes_along())
    }

    /// What is late if these sums are.
    fn late(&self, sums: Vec<Sum>) -> Late {
        let mut at: FxHashSet<usize> = sums.iter().flat_map(|s| s.at.iter().copied()).collect();
        let mut made: FxHashSet<ArrayId> = sums.iter().map(|s| s.carried.state).collect();
        for (k, s) in self.r.body.iter().enumerate().rev() {
            let is_for_late = |a: &ArrayId| {
                let users = self.users(*a);
                !self.nexts.contains(a) && !users.is_empty() && users.iter().all(|u| at.contains(u))
            };
            if let Stm::Nest(n) = s
                && self.is_small_product(n)
                && self.may_be_moved(n)
                && self.has_known_extents(n)
                && s.results().iter().all(is_for_late)
            {
                at.insert(k);
            }
        }
        let inputs = at.iter().flat_map(|k| self.r.body[*k].inputs());
        let needed: FxHashSet<ArrayId> = inputs.collect();
        let is_again = |k: &usize| {
            let s = &self.r.body[*k];
            s.results().iter().any(|a| needed.contains(a)) && self.is_made_again(s)
        };
        let again: FxHashSet<usize> =
            (0..self.r.body.len()).filter(|k| !at.contains(k)).filter(is_again).collect();
        let is_late = |(k, s): (usize, &Stm)| match s {
            Stm::Nest(n) if at.contains(&k) || again.contains(&k) => Some(n.clone()),
            _ => None,
        };
        let nests: Vec<Nest> = self.r.body.iter().enumerate().filter_map(is_late).collect();
        made.extend(nests.iter().flat_map(|n| &n.yields).map(|y| y.array));
        let used = nests.iter().flat_map(Nest::inputs);
        let logged = used.filter(|a| self.arrays.contains(a) && !made.contains(a)).collect();
        Late { sums, at, again, nests, logged }
    }

    /// Whether something is made again rather than logged: simple elements of what is there before the loop.
    fn is_made_again(&self, s: &Stm) -> bool {
        let Stm::Nest(n) = s else { return false };
        let has_elements = n.yields.iter().all(|y| matches!(y.kind, YieldKind::Store(_)));
        let uses_trip = n.inputs().iter().any(|a| self.arrays.contains(a));
        has_elements && !uses_trip && self.may_be_moved(n) && self.has_known_extents(n)
    }

    /// The nests that add to a sum.
    fn parts(&self, s: &Sum) -> impl Iterator<Item = &Nest> {
        s.at.iter().filter_map(|at| if let Stm::Nest(n) = &self.r.body[*at] { Some(n) } else { None })
    }

    /// Whether a sum is a product of matrices for all trips together: of each trip it has something of its own, or adds two arrays'
    /// products. What one array of a trip is multiplied with in all of them could as well be multiplied with the sum of these arrays.
    fn is_product(&self, s: &Sum, nests: &[Nest], count: &Dim) -> bool {
        let Some(most) = self.parts(s).max_by_key(|n| n.axes.len()) else { return false };
        let makes = |n: &&Nest, a: ArrayId| n.yields.iter().any(|y| y.array == a);
        let is_of_trip = |a: &ArrayId| {
            let made_late = nests.iter().any(|n| makes(&n, *a));
            (self.arrays.contains(a) && !made_late)
                || self.p.array(*a).dims.iter().any(|d| are_rows(d, count))
        };
        let has_two = |n: &Nest| n.inputs().iter().filter(|a| reads(n, **a) && is_of_trip(a)).count() > 1;
        let of_most = nests.iter().filter(|n| n.yields.iter().any(|y| reads(most, y.array)));
        self.is_at_places_of_trip(most) || has_two(most) || of_most.into_iter().any(has_two)
    }

    /// Whether each trip adds to places of its own, or may: the trip tells a part of them.
    fn is_at_places_of_trip(&self, n: &Nest) -> bool {
        let mut facts = Facts::new(&n.axes, &self.inside);
        facts.reads(self.p.into(), n);
        let places = n.yields.iter().flat_map(|y| match &y.kind {
            YieldKind::Accumulate { index, .. } => facts.place(index),
            _ => Vec::new(),
        });
        places.flatten().any(|c| c.axes.is_empty() && scalars(&c.rest).any(|a| a == self.index))
    }

    /// Whether there is room for a log, and it is smaller than what is computed of it, or than what else is added to the same state.
    fn pays(&self, logged: ArrayId, late: &Late, count: &Dim) -> bool {
        let dims = &self.p.array(logged).dims;
        let has_more = |n: &Nest| has_more(&n.axes, dims);
        let of_sum = |s: &&Sum| self.parts(s).any(|n| reads(n, logged));
        dims.iter().all(|d| self.is_known(d))
            && self.has_room(dims, count)
            && (late.nests.iter().any(|n| reads(n, logged) && has_more(n))
                || late.sums.iter().filter(of_sum).any(|s| self.parts(s).any(has_more)))
    }
}

/// Whether axes are those of some dimensions, and one more that is not short.
fn has_more(axes: &[Axis], dims: &[Dim]) -> bool {
    let mut others: Vec<&Dim> = axes.iter().map(|a| &a.extent).collect();
    for d in dims {
        let Some(at) = others.iter().position(|e| *e == d) else { return false };
        others.remove(at);
    }
    others.into_iter().any(is_long)
}
