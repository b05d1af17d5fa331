//! Loops whose trips do not need each other, as nests: all trips of a statement at once.
//!
//! ```text
//! before   repeat j < m with s = a { b = nest [p..] f(s, j);  s' = nest [q..] write s at i(j, q) of g(s, b, j);  => s' }
//! after    b = nest [j < m, p..] f(a, j);   s' = nest [j < m, q..] write a at i(j, q) of g(a, b[j], j)
//! ```
//!
//! The **versions** of a state are what it is before the first update of a trip, after it, after the second, and so on. A read of version
//! r sees, in the loop, what earlier trips have written, and the updates before r of its own trip; in the nests, the updates before r of
//! all trips. It is the same if the read
//!
//! * never meets an update before r of a later trip,
//! * never meets an update from r on of an earlier trip,
//!
//! and the last to write to an element is the same if an update never meets a later one of an earlier trip, nor itself in another trip.
//! Additions to one element may meet each other. What adds to an element by reading and writing it is an addition if it has to be one.
//!
//! A loop whose nests all begin with the same axes stays: it has many points already, which may make it by themselves when loops are
//! scheduled. So does one in which an extent depends on the trip. Source: Allen and Kennedy's loop distribution, with accesses of which
//! `affine::meet` proves that they are to different elements.

mod access;

use rustc_hash::{FxHashMap, FxHashSet};

use self::access::{Access, Kind, accesses};
use super::Sequence;
use crate::affine::meet::{Meeting, Side};
use crate::affine::{Checked, not_negative};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    Addition, ArrayId, Atom, Axis, Block, Body, Branch, Exp, Item, Let, Nest, Program, Reducer, Repeat, Stm,
    Trips, Var, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// Turns what loops can be into nests.
pub(super) fn independent(seq: &mut Sequence, p: &mut Program) {
    let mut known = seq.known.clone();
    for s in std::mem::take(&mut seq.stms) {
        let nests = match &s {
            Stm::Repeat(r) if !have_points(r) => nests(p, r, &known),
            _ => None,
        };
        let made = nests.unwrap_or_else(|| vec![s]);
        made.iter().for_each(|s| known.statement(s, p));
        seq.stms.extend(made);
    }
}

/// Whether all that a loop's body does begins with the same axes.
pub(super) fn have_points(r: &Repeat) -> bool {
    let first = |s: &Stm| match s {
        Stm::Nest(n) => n.axes.first().map(|a| a.extent.clone()),
        _ => None,
    };
    r.body.first().and_then(first).is_some_and(|e| r.body.iter().all(|s| first(s).as_ref() == Some(&e)))
}

/// The nests that do what a loop does, if it can be done so.
pub(super) fn nests(p: &mut Program, r: &Repeat, known: &Checked) -> Option<Vec<Stm>> {
    let Trips::For(index, count) = &r.trips else { return None };
    let mut body = of_nests(p, r, *index)?;
    let states = States::of(r, &body)?;
    let inside = known.inside_repeat(r, p);
    let all = accesses(p, &body, &states, &inside);
    // What a trip computes for itself may be another number in each.
    let mut own = FxHashSet::from_iter([*index]);
    own.extend(r.bound().into_iter().chain(r.body.iter().flat_map(Stm::results)));
    let meeting = Meeting::new(&own, &inside);
    let order = Order { all: &all, meeting, index: *index, count };
    let additions = order.additions()?;
    additions.into_iter().for_each(|at| added(p, &mut body[at]));
    let made: FxHashSet<ArrayId> =
        body.iter().flat_map(|n| &n.yields).map(|y| y.array).filter(|a| !states.at.contains_key(a)).collect();
    // What has no points may as well have less than none, but an array may not.
    let mut out = Vec::new();
    let extent = match made.is_empty() {
        true => count.clone(),
        false => not_negative(p, count, known, r.loc, &mut out),
    };
    for a in &made {
        p.arrays[a.0 as usize].dims.insert(0, extent.clone());
    }
    let mut names: FxHashMap<ArrayId, ArrayId> = FxHashMap::default();
    for c in &r.carried {
        names.extend([(c.state, c.start), (c.next, c.result)]);
    }
    let nest = |n| {
        let var = p.new_var(Elem::I64);
        let mut a = Along { index: *index, var, made: &made, states: &names, names: Renaming::default() };
        a.nest(p, n, extent.clone())
    };
    out.extend(body.into_iter().map(nest).map(Stm::Nest));
    Some(out)
}

/// The nests of a loop's body, if it has nothing else, and no size depends on the trip or on what it makes.
fn of_nests(p: &Program, r: &Repeat, index: ArrayId) -> Option<Vec<Nest>> {
    let mut made: FxHashSet<ArrayId> = r.body.iter().flat_map(Stm::results).collect();
    made.extend(r.carried.iter().map(|c| c.state));
    let is_of_trip = |a: ArrayId| a == index || made.contains(&a);
    let mut nests = Vec::new();
    for s in &r.body {
        let Stm::Nest(n) = s else { return None };
        let mut is_same = !n.axes.iter().flat_map(|a| scalars(&a.extent)).any(is_of_trip);
        n.body.visit_sizes(&mut |d| {
            is_same &= !scalars(d).any(|a| made.contains(&a)) && linear(d, index).is_some();
        });
        is_same.then(|| nests.push(n.clone()))?;
    }
    // A size of a result is known before the loop.
    let sizes_are_known =
        r.carried.iter().all(|c| !p.array(c.state).dims.iter().flat_map(scalars).any(is_of_trip));
    (sizes_are_known && !nests.is_empty()).then_some(nests)
}

/// `a + b * trip` as `a` and `b`.
fn linear(d: &Dim, index: ArrayId) -> Option<(Dim, Dim)> {
    let trip = SizeAtom::Scalar(index.0);
    let (mut rest, mut factor) = (Dim::default(), Dim::default());
    for (m, c) in d.terms() {
        let mut others = m.clone();
        match others.iter().position(|a| *a == trip) {
            None => rest = rest.add(&Dim::monomial(others).scale(c)),
            Some(at) => {
                others.remove(at);
                if others.contains(&trip) {
                    return None;
                }
                factor = factor.add(&Dim::monomial(others).scale(c));
            }
        }
    }
    (!d.is_too_large()).then_some((rest, factor))
}

/// The states of a loop and what its updates make of them.
struct States {
    /// By array: which state, and how many updates before.
    at: FxHashMap<ArrayId, (usize, usize)>,
}

impl States {
    /// If every state is made into the next one by updates alone, one after the other.
    fn of(r: &Repeat, body: &[Nest]) -> Option<States> {
        let mut at: FxHashMap<ArrayId, (usize, usize)> =
            r.carried.iter().enumerate().map(|(k, c)| (c.state, (k, 0))).collect();
        let mut last: Vec<ArrayId> = r.carried.iter().map(|c| c.state).collect();
        for y in body.iter().flat_map(|n| &n.yields) {
            let (YieldKind::Write { into, .. } | YieldKind::Accumulate { into, .. }) = &y.kind else {
                continue;
            };
            let (k, version) = *at.get(into)?;
            if last[k] != *into {
                return None;
            }
            last[k] = y.array;
            at.insert(y.array, (k, version + 1));
        }
        let is_next = r.carried.iter().zip(&last).all(|(c, last)| c.next == *last && c.next != c.state);
        is_next.then_some(States { at })
    }
}

/// What has to be shown of a loop's accesses.
struct Order<'a> {
    all: &'a [Access],
    meeting: Meeting<'a>,
    index: ArrayId,
    count: &'a Dim,
}

impl Order<'_> {
    /// The nests that have to be additions, if the trips do not need each other then.
    fn additions(&self) -> Option<Vec<usize>> {
        let mut additions = Vec::new();
        loop {
            let Some(nests) = self.obstacle(&additions) else { return Some(additions) };
            let may_be = |n: usize| self.all.iter().any(|a| a.nest == n && a.adds);
            additions.push(nests.into_iter().find(|n| !additions.contains(n) && may_be(*n))?);
        }
    }

    /// The nests of two accesses that may meet in another order than they did.
    fn obstacle(&self, additions: &[usize]) -> Option<[usize; 2]> {
        for a in self.all {
            for b in self.all.iter().filter(|b| a.state == b.state) {
                let kinds = [a, b].map(|a| a.kind_among(additions));
                let [Some(first), Some(second)] = kinds else { continue };
                // `a` in an earlier trip than `b`.
                let is_other_order = match (first, second) {
                    (Kind::Read, Kind::Read) => false,
                    (Kind::Read, _) => b.version < a.version,
                    (_, Kind::Read) => a.version >= b.version,
                    (Kind::Add(x), Kind::Add(y)) if x == y => false,
                    _ => a.version >= b.version,
                };
                if is_other_order && !self.is_apart(a, b) {
                    return Some([a.nest, b.nest]);
                }
            }
        }
        None
    }

    /// Whether an access in an earlier trip never meets another one in a later trip.
    fn is_apart(&self, earlier: &Access, later: &Access) -> bool {
        let mut m = self.meeting.clone();
        for (side, a) in [(Side::First, earlier), (Side::Second, later)] {
            m.axes(side, &a.axes);
            m.trip(side, self.index, self.count);
        }
        m.earlier(self.index);
        m.rules_out(&earlier.place, &later.place)
    }
}

/// Makes an addition of what writes a sum with the element that was there.
fn added(p: &mut Program, n: &mut Nest) {
    for y in &mut n.yields {
        let YieldKind::Write { into, index, .. } = &y.kind else { continue };
        let Some(Addition { term, is_negated, .. }) = y.kind.addition(&n.body) else { continue };
        let mut value = term;
        if is_negated {
            let var = p.new_var(p.elem(term));
            n.body.extend([Let { vars: vec![var], exp: Exp::Op(Op::Neg, vec![term]), loc: n.loc }]);
            value = Atom::Var(var);
        }
        y.kind = YieldKind::Accumulate { reducer: Reducer::Add, into: *into, index: index.clone(), value };
    }
}

/// Code of a trip as code along an axis.
struct Along<'a> {
    index: ArrayId,
    /// The axis.
    var: Var,
    /// The arrays that a trip makes: each trip has its own.
    made: &'a FxHashSet<ArrayId>,
    /// The states, as they are called around the loop.
    states: &'a FxHashMap<ArrayId, ArrayId>,
    names: Renaming,
}

impl Along<'_> {
    fn nest(&mut self, p: &mut Program, n: Nest, count: Dim) -> Nest {
        let items = n.body.items.into_iter().flat_map(|i| self.item(p, i)).collect();
        let mut axes = vec![Axis { var: self.var, extent: count }];
        axes.extend(n.axes);
        let mut yields = n.yields;
        for y in &mut yields {
            y.kind.rename(&self.names);
            y.array = self.state(y.array);
            if let YieldKind::Write { into, .. } | YieldKind::Accumulate { into, .. } = &mut y.kind {
                *into = self.state(*into);
            }
        }
        Nest { axes, body: Body { items }, yields, loc: n.loc }
    }

    fn state(&self, a: ArrayId) -> ArrayId {
        self.states.get(&a).copied().unwrap_or(a)
    }

    fn item(&mut self, p: &mut Program, i: Item) -> Vec<Item> {
        match i {
            Item::Let(l) => self.binding(p, l).into_iter().map(Item::Let).collect(),
            Item::Scan(mut s) => {
                s.start.iter_mut().chain(&mut s.values).for_each(|a| self.atom(a));
                self.branch(p, &mut s.step);
                vec![Item::Scan(s)]
            }
        }
    }

    fn branch(&mut self, p: &mut Program, b: &mut Branch) {
        let lets = std::mem::take(&mut b.block.lets);
        b.block = Block { lets: lets.into_iter().flat_map(|l| self.binding(p, l)).collect() };
        b.results.iter_mut().for_each(|a| self.atom(a));
    }

    fn binding(&mut self, p: &mut Program, mut l: Let) -> Vec<Let> {
        match &mut l.exp {
            Exp::Read { array, .. } if *array == self.index => {
                self.names.insert(l.vars[0], Atom::Var(self.var));
                Vec::new()
            }
            Exp::Size(d) if scalars(d).any(|a| a == self.index) => {
                let d = d.clone();
                self.size(p, &d, l)
            }
            Exp::If(c, yes, no) => {
                self.atom(c);
                self.branch(p, yes);
                self.branch(p, no);
                vec![l]
            }
            Exp::Read { array, index, .. } => {
                index.iter_mut().for_each(|a| self.atom(a));
                if self.made.contains(array) {
                    index.insert(0, Atom::Var(self.var));
                }
                *array = self.state(*array);
                vec![l]
            }
            _ => {
                self.binding_atoms(&mut l);
                vec![l]
            }
        }
    }

    fn binding_atoms(&mut self, l: &mut Let) {
        Rewriter::binding(self, l);
    }

    /// A size that is linear in the trip.
    fn size(&mut self, p: &mut Program, d: &Dim, l: Let) -> Vec<Let> {
        let Some((rest, factor)) = linear(d, self.index) else {
            crate::internal::broken("a size that is not linear in a trip".into())
        };
        let mut code = Code::new(l.loc);
        let factor = code.size(p, &factor);
        let along = code.mul(p, Atom::Var(self.var), factor);
        let rest = code.size(p, &rest);
        let sum = if rest == int(0) { along } else { code.op(p, Op::Add, &[rest, along]) };
        self.names.insert(l.vars[0], sum);
        code.lets
    }
}

impl Rewriter for Along<'_> {
    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(&self.names, *a);
    }
}
