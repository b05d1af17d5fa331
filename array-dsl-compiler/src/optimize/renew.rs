//! Additions to what has just been set to zero, as writes.
//!
//! ```text
//! before   z = nest [i < m] { } write into x at [p(i)] of 0;   y = nest [j < m] { v } accumulate(+) into z at [p(j)] of v
//! after    y = nest [j < m] { v } write into x at [p(j)] of v                                     p(i) another one for every i
//! ```
//!
//! What an element was before it was written has no adjoint, and what it was made of has one: a loop that changes its elements in place,
//! `a[i] = f(a[i])`, sets an adjoint to zero on its way back, and adds to it. Other additions between these come after the write.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::{Rename, Renaming};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Nest, Program, Reducer, Stm, Var, Yield, YieldKind};

/// Makes them writes.
pub(super) fn renew(seq: &mut Sequence, p: &mut Program) {
    let mut at = 0;
    while at < seq.stms.len() {
        match chain(seq, p, at) {
            // What stands at this place now is looked at again.
            Some(sums) => written(seq, at, &sums),
            None => at += 1,
        }
    }
}

/// A nest that makes an array from another one: writes or additions, and where.
fn changed(s: &Stm) -> Option<(&Nest, ArrayId, ArrayId, &[Atom])> {
    let Stm::Nest(n) = s else { return None };
    match &n.yields[..] {
        [
            Yield {
                array,
                kind:
                    YieldKind::Accumulate { reducer: Reducer::Add, into, index, .. }
                    | YieldKind::Write { into, index, value: Atom::Const(_), .. },
            },
        ] => Some((n, *array, *into, index)),
        _ => None,
    }
}

/// The additions to what the statement at `at` sets to zero, by their places; the last one adds where there are zeros.
fn chain(seq: &Sequence, p: &Program, at: usize) -> Option<Vec<usize>> {
    let (zeros, mut array, ..) = changed(&seq.stms[at])?;
    let YieldKind::Write { value: Atom::Const(c), .. } = &zeros.yields[0].kind else { return None };
    if !c.is_zero() || zeros.axes.is_empty() {
        return None;
    }
    let mut sums = Vec::new();
    loop {
        let mut users = (at + 1..seq.stms.len()).filter(|i| seq.stms[*i].inputs().contains(&array));
        let (Some(next), None) = (users.next(), users.next()) else { return None };
        if seq.results.contains(&array) {
            return None;
        }
        let (n, sum, into, _) = changed(&seq.stms[next])?;
        let mut reads = false;
        n.body.visit_reads(&mut |a, _| reads |= a == array);
        if reads || into != array || !matches!(n.yields[0].kind, YieldKind::Accumulate { .. }) {
            return None;
        }
        sums.push(next);
        if adds_there(p, zeros, n, &seq.known) {
            return Some(sums);
        }
        array = sum;
    }
}

/// Whether every point of a nest adds to the one element that its point of the other nest sets to zero.
fn adds_there(p: &Program, zeros: &Nest, sums: &Nest, known: &Checked) -> bool {
    let extents = |n: &Nest| n.axes.iter().map(|a| a.extent.clone()).collect::<Vec<_>>();
    if extents(zeros) != extents(sums) || zeros.body.is_ordered() || sums.body.is_ordered() {
        return false;
    }
    let places = |n: &Nest| {
        let (YieldKind::Write { index, .. } | YieldKind::Accumulate { index, .. }) = &n.yields[0].kind else {
            return None;
        };
        let mut facts = Facts::new(&n.axes, known);
        n.body.lets().for_each(|l| facts.learn(p.into(), l));
        let axes: FxHashSet<Var> = n.axes.iter().map(|a| a.var).collect();
        let of_axis = |v: Var| n.axes.iter().position(|a| a.var == v);
        // Polynomials over the axes by their order.
        let form = |a: &Atom| {
            let form = facts.form(*a)?;
            let of_axes = form.axes.iter().map(|(v, c)| Some((of_axis(*v)?, c.clone())));
            let mut of_axes = of_axes.collect::<Option<Vec<_>>>()?;
            of_axes.sort_by_key(|(at, _)| *at);
            Some((of_axes, form.rest))
        };
        let forms = index.iter().map(form).collect::<Option<Vec<_>>>()?;
        facts.tells_all(index, &axes).then_some(forms)
    };
    places(zeros).is_some_and(|z| places(sums) == Some(z))
}

/// Has the last of these additions write, and the others add after it. The zeros are at `at`.
fn written(seq: &mut Sequence, at: usize, sums: &[usize]) {
    let Some((zeros, _, start, _)) = changed(&seq.stms[at]) else { return };
    let zeros = zeros.clone();
    let arrays: Vec<ArrayId> = sums.iter().filter_map(|k| Some(changed(&seq.stms[*k])?.1)).collect();
    let mut nests: Vec<Nest> = Vec::new();
    for k in sums {
        if let Stm::Nest(n) = &seq.stms[*k] {
            nests.push(n.clone());
        }
    }
    let Some(mut first) = nests.pop() else { return };
    // What the zeros compare their places with is compared by the write.
    let names: Renaming =
        zeros.axes.iter().map(|a| a.var).zip(first.axes.iter().map(|a| Atom::Var(a.var))).collect();
    let mut body = zeros.body;
    Rename(&names).body(&mut body);
    body.items.append(&mut first.body.items);
    first.body = body;
    if let [Yield { kind, .. }] = &mut first.yields[..]
        && let YieldKind::Accumulate { index, value, into, .. } = kind
    {
        *kind =
            YieldKind::Write { into: *into, index: std::mem::take(index), value: *value, contested: false };
    }
    nests.insert(0, first);
    let mut from = start;
    for (n, array) in nests.iter_mut().zip(arrays) {
        n.yields[0].array = array;
        if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &mut n.yields[0].kind {
            *into = from;
        }
        from = array;
    }
    let last = sums[sums.len() - 1];
    seq.stms.splice(last..=last, nests.into_iter().map(Stm::Nest));
    for k in sums[..sums.len() - 1].iter().rev() {
        seq.stms.remove(*k);
    }
    seq.stms.remove(at);
}
