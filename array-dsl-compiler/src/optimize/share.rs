//! Equal statements are shared, unused ones removed; states that no trip of a loop changes are none.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::Numbered;
use crate::bulk::uses::scalars;
use crate::bulk::verify::same_product;
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayId, Atom, Axis, Body, Carried, Check, Nest, Program, Repeat, Stm, Trips, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::routine::Routine;

/// Removes duplicates and dead statements.
pub(super) fn share(seq: &mut Sequence, p: &mut Program) {
    equal(seq, p);
    dead(seq, p);
}

/// Replaces arrays everywhere, and sizes that are known polynomials after all.
#[derive(Default)]
struct Replace {
    arrays: FxHashMap<ArrayId, ArrayId>,
    sizes: FxHashMap<ArrayId, Dim>,
}

impl Replace {
    fn current(&self, a: ArrayId) -> ArrayId {
        let mut a = a;
        while let Some(b) = self.arrays.get(&a) {
            a = *b;
        }
        a
    }
}

impl Rewriter for Replace {
    fn array(&mut self, a: &mut ArrayId) {
        *a = self.current(*a);
    }

    fn dim(&mut self, d: &mut Dim) {
        if self.arrays.is_empty() && self.sizes.is_empty() {
            return;
        }
        *d = d.substitute(&mut |a| match a {
            SizeAtom::Scalar(s) => {
                let array = self.current(ArrayId(*s));
                let known = self.sizes.get(&array);
                known.map_or_else(|| Dim::atom(SizeAtom::Scalar(array.0)), Dim::clone)
            }
            n => Dim::atom(n.clone()),
        });
    }
}

fn equal(seq: &mut Sequence, p: &mut Program) {
    let mut replace = Replace::default();
    let mut checks = seq.known.checks().to_vec();
    let mut seen: FxHashMap<Key, Vec<ArrayId>> =
        checks.iter().map(|c| (Key::Check(c.clone()), Vec::new())).collect();
    // And their views.
    let mut params: FxHashSet<ArrayId> = p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut stms = Vec::new();
    let mut of_params: FxHashMap<ArrayId, ArrayId> = FxHashMap::default();
    for mut s in std::mem::take(&mut seq.stms) {
        replace.stm(&mut s);
        // What is only read may be the parameter itself.
        let read: &mut [ArrayId] = match &mut s {
            Stm::Call(c) => &mut c.args,
            Stm::Sort(s) => std::slice::from_mut(&mut s.keys),
            _ => &mut [],
        };
        read.iter_mut().for_each(|a| *a = of_params.get(a).copied().unwrap_or(*a));
        if let Stm::Reshape { result, source } = s {
            // A view under the same dimensions is the array itself.
            if p.array(result).dims == p.array(source).dims {
                replace.arrays.insert(result, source);
                continue;
            }
            if params.contains(&source) {
                params.insert(result);
            }
            // A view of a view is a view of the array, unless only the view between shows that there are as many elements.
            if let Some(Stm::Reshape { source: inner, .. }) = stms
                .iter()
                .find(|t: &&Stm| matches!(t, Stm::Reshape { result, .. } if *result == source))
                .cloned()
                && same_product(&p.array(result).dims, &p.array(inner).dims, &checks)
            {
                s = Stm::Reshape { result, source: inner };
            }
        }
        if let Stm::Check(c, _) = &s {
            checks.push(c.clone());
        }
        if let Stm::Repeat(r) = &mut s
            && unchanged(r, p, &params, &mut replace)
        {
            replace.stm(&mut s);
        }
        if let Some((copy, source)) = copy_of(p, &s) {
            // A result has memory of its own.
            if !params.contains(&source) {
                replace.arrays.insert(copy, source);
                continue;
            }
            of_params.insert(copy, source);
        }
        if let Some((array, size)) = size_of(p, &s, &seq.known) {
            replace.sizes.insert(array, size);
        }
        let key = key(p, &s);
        let results = s.results();
        match key.and_then(|k| {
            let old = seen.get(&k).cloned();
            if old.is_none() {
                seen.insert(k, results.clone());
            }
            old
        }) {
            Some(old) => replace.arrays.extend(results.into_iter().zip(old)),
            None => stms.push(s),
        }
    }
    seq.stms = stms;
    p.arrays.iter_mut().flat_map(|a| &mut a.dims).for_each(|d| replace.dim(d));
    seq.results.iter_mut().for_each(|a| *a = replace.current(*a));
}

/// A state that no trip changes is what it starts from. Whether a loop had any.
fn unchanged(r: &mut Repeat, p: &Program, params: &FxHashSet<ArrayId>, replace: &mut Replace) -> bool {
    let before = r.carried.len();
    let condition = if let Trips::While(on) = r.trips { Some(on) } else { None };
    r.carried.retain(|c| {
        let changes = c.next != c.state || condition == Some(c.state);
        // A result has memory of its own.
        let keeps = params.contains(&c.start) || p.array(c.state).dims != p.array(c.start).dims;
        if !changes && !keeps {
            replace.arrays.extend([c.state, c.result].map(|a| (a, c.start)));
        }
        changes || keeps
    });
    r.carried.len() < before
}

/// The integer that a nest without axes stores, if it is a polynomial over names and the numbers and counts of trips around: the proofs
/// know more of `n - 1 - trip` than of some number that has this value, and how large it becomes can be told before the loop.
fn size_of(p: &Program, s: &Stm, known: &Checked) -> Option<(ArrayId, Dim)> {
    let Stm::Nest(Nest { axes, yields, body, .. }) = s else { return None };
    let ([], [Yield { array, kind: YieldKind::Store(v) }]) = (axes.as_slice(), yields.as_slice()) else {
        return None;
    };
    if let Atom::Const(c) = v {
        return c.elem.is_int().then(|| (*array, Dim::constant(c.as_i64())));
    }
    let mut facts = Facts::new(&[], known);
    body.lets().for_each(|l| facts.learn(p.into(), l));
    let form = facts.form(*v).filter(|f| facts.exact(f))?;
    let size = form.as_dim()?;
    let named = scalars(size).all(|a| known.is_of_trips(a));
    named.then(|| (*array, size.clone()))
}

/// The array that a nest copies as it is.
fn copy_of(p: &Program, s: &Stm) -> Option<(ArrayId, ArrayId)> {
    let Stm::Nest(n) = s else { return None };
    let (copy, source) = (n.yields.first()?.array, n.copied()?);
    (p.array(copy).dims == p.array(source).dims).then_some((copy, source))
}

/// What equal statements have in common, under the dimensions of their results.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Its scalars numbered.
    Nest(Vec<Axis>, Body, Vec<YieldKind>, Vec<Vec<Dim>>),
    Reshape(ArrayId, Vec<Dim>),
    Check(Check),
    Sort(ArrayId, Vec<Dim>),
    Call(Routine, Vec<ArrayId>),
}

/// None of loops, and of what has a derivative of its own.
pub(super) fn key(p: &Program, s: &Stm) -> Option<Key> {
    match s {
        Stm::Nest(n) => {
            let (mut n, mut numbered) = (n.clone(), Numbered::default());
            n.axes.iter_mut().for_each(|a| numbered.bound_var(&mut a.var));
            numbered.body(&mut n.body);
            n.yields.iter_mut().for_each(|y| numbered.walk_yield(&mut y.kind));
            let dims = n.yields.iter().map(|y| p.array(y.array).dims.clone()).collect();
            Some(Key::Nest(n.axes, n.body, n.yields.into_iter().map(|y| y.kind).collect(), dims))
        }
        Stm::Reshape { result, source } => Some(Key::Reshape(*source, p.array(*result).dims.clone())),
        Stm::Check(c, _) => Some(Key::Check(c.clone())),
        Stm::Sort(s) => Some(Key::Sort(s.keys, p.array(s.result).dims.clone())),
        Stm::Call(c) => Some(Key::Call(c.routine, c.args.clone())),
        Stm::Repeat(_) | Stm::Custom(_) => None,
    }
}

fn dead(seq: &mut Sequence, p: &mut Program) {
    let mut live: FxHashSet<ArrayId> = seq.results.iter().copied().collect();
    for a in p.params.iter().flat_map(|q| q.arrays.leaves().into_iter().copied().collect::<Vec<_>>()) {
        p.array(a).dims.iter().for_each(|d| live.extend(scalars(d)));
    }
    for a in live.clone() {
        p.array(a).dims.iter().for_each(|d| live.extend(scalars(d)));
    }
    let mut kept = Vec::new();
    for mut s in std::mem::take(&mut seq.stms).into_iter().rev() {
        match &mut s {
            Stm::Nest(n) => n.yields.retain(|y| live.contains(&y.array)),
            Stm::Repeat(r) => states(r, &live),
            _ => {}
        }
        let needed = match &s {
            Stm::Check(..) => true,
            s => s.results().iter().any(|a| live.contains(a)),
        };
        if !needed {
            continue;
        }
        live.extend(s.inputs());
        sizes_of(p, &s, &mut live);
        kept.push(s);
    }
    kept.reverse();
    seq.stms = kept;
}

/// Which states of a loop the results in `live` need, and the arrays that its trips use for these.
fn needed(r: &Repeat, live: &FxHashSet<ArrayId>) -> (Vec<bool>, FxHashSet<ArrayId>) {
    // Checks may need what no result needs.
    let checks: FxHashSet<ArrayId> =
        r.body.iter().filter(|s| matches!(s, Stm::Check(..))).flat_map(Stm::inputs).collect();
    let condition = |a: ArrayId| matches!(r.trips, Trips::While(c) if c == a);
    let is_needed = |c: &Carried| live.contains(&c.result) || condition(c.state) || checks.contains(&c.state);
    let mut needed: Vec<bool> = r.carried.iter().map(is_needed).collect();
    loop {
        let next = r.carried.iter().zip(&needed).filter(|(_, n)| **n).map(|(c, _)| c.next);
        let mut used: FxHashSet<ArrayId> = next.collect();
        for s in r.body.iter().rev() {
            if matches!(s, Stm::Check(..)) || s.results().iter().any(|a| used.contains(a)) {
                used.extend(uses(s, &used));
                s.visit_sizes(&mut |d| used.extend(scalars(d)));
            }
        }
        let before = needed.clone();
        for (n, c) in needed.iter_mut().zip(&r.carried) {
            *n |= used.contains(&c.state);
        }
        if before == needed {
            return (needed, used);
        }
    }
}

/// The arrays that a statement uses for its results in `live`. A state of a loop that only goes through to the next trip uses nothing.
fn uses(s: &Stm, live: &FxHashSet<ArrayId>) -> Vec<ArrayId> {
    let Stm::Repeat(r) = s else { return s.inputs() };
    let (needed, inside) = needed(r, live);
    let starts = r.carried.iter().zip(needed).filter(|(_, n)| *n).map(|(c, _)| c.start);
    starts.chain(inside).collect()
}

/// Keeps the states that the results in `live` need, or the condition of the loop.
fn states(r: &mut Repeat, live: &FxHashSet<ArrayId>) {
    let (needed, used) = needed(r, live);
    let mut i = 0;
    r.carried.retain(|_| {
        i += 1;
        needed[i - 1]
    });
    // A loop inside no longer has what its states started from.
    for s in &mut r.body {
        if let Stm::Repeat(inner) = s {
            states(inner, &used);
        }
    }
}

/// The arrays that the sizes of a statement mention, and those of what it binds.
fn sizes_of(p: &Program, s: &Stm, live: &mut FxHashSet<ArrayId>) {
    for a in s.results() {
        p.array(a).dims.iter().for_each(|d| live.extend(scalars(d)));
    }
    if let Stm::Repeat(r) = s {
        for s in &r.body {
            sizes_of(p, s, live);
        }
        for c in &r.carried {
            p.array(c.state).dims.iter().for_each(|d| live.extend(scalars(d)));
        }
    }
    s.visit_sizes(&mut |d| live.extend(scalars(d)));
}
