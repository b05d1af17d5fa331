//! Arrays of which every read says which place of a short axis it means, as an array for each of these places.
//!
//! ```text
//! before   d = nest [i, c < 3] { if c == 0 { x[i] } else if c == 1 { y[i] } else { z[i] } } store
//!          .. d[i, 0] .. d[i, 2] ..
//! after    d0 = nest [i] { x[i] } store;  d2 = nest [i] { z[i] } store
//!          .. d0[i] .. d2[i] ..
//! ```
//!
//! A vector that a point makes of its components, `let d = [dx, dy, dz]`, has no axis then, and neither has its adjoint: that of an element
//! is added up from the reads of that element, and not chosen among sums along the axis. What the places have in common is computed for
//! each of them, so a function that takes long is none of it; and what is not read is not computed, so nothing in it may fail.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::bulk::build::Renaming;
use crate::bulk::walk::{Rewriter, Visitor};
use crate::bulk::{ArrayId, Atom, Exp, Item, Nest, Program, Stm, Yield, YieldKind};
use crate::ty::{Const, Elem};

/// The longest axis that is short.
const SHORT: i64 = 15;

/// An array's short axis.
struct Short {
    /// Its place among the dimensions.
    at: usize,
    extent: i64,
    /// The places that are read.
    read: FxHashSet<i64>,
}

/// Takes apart what there is.
pub(super) fn apart(seq: &mut Sequence, p: &mut Program) {
    let places: FxHashMap<ArrayId, Short> = seq.stms.iter().filter_map(|s| candidate(p, s)).collect();
    if places.is_empty() {
        return;
    }
    let mut reads = Reads { places, others: seq.results.iter().copied().collect() };
    seq.stms.iter().for_each(|s| reads.stm(s));
    let Reads { mut places, others } = reads;
    places.retain(|a, short| !others.contains(a) && !short.read.is_empty());
    if places.is_empty() {
        return;
    }
    let mut parts: FxHashMap<(ArrayId, i64), ArrayId> = FxHashMap::default();
    for mut s in std::mem::take(&mut seq.stms) {
        Parts { places: &places, parts: &parts }.stm(&mut s);
        let taken = match &s {
            Stm::Nest(n) => n.yields.iter().find_map(|y| Some((n, y.array, places.get(&y.array)?))),
            _ => None,
        };
        let Some((n, array, short)) = taken else {
            seq.stms.push(s);
            continue;
        };
        let mut read: Vec<i64> = short.read.iter().copied().collect();
        read.sort_unstable();
        for place in read {
            let part = part(p, n, array, (short.at, place));
            parts.insert((array, place), part.yields[0].array);
            seq.stms.push(Stm::Nest(part));
        }
    }
}

/// The array that a statement makes and one of its axes that is short, beside others of which some are not: if no read of it is of
/// another kind, it can be taken apart.
fn candidate(p: &Program, s: &Stm) -> Option<(ArrayId, Short)> {
    let Stm::Nest(n) = s else { return None };
    let [Yield { array, kind: YieldKind::Store(_) }] = &n.yields[..] else { return None };
    let is_simple = |i: &Item| matches!(i, Item::Let(l) if !l.takes_long() && !l.may_fail(&p.vars));
    let dims = &p.array(*array).dims;
    let length = |k: usize| dims[k].as_constant();
    let short = |k: usize| Some((k, length(k).filter(|n| (1..=SHORT).contains(n))?));
    let (at, extent) = (0..dims.len()).rev().find_map(short)?;
    let is_along = (0..dims.len()).any(|k| length(k).is_none());
    let short = Short { at, extent, read: FxHashSet::default() };
    (is_along && n.body.items.iter().all(is_simple)).then_some((*array, short))
}

/// The nest that makes one place of an array.
fn part(p: &mut Program, n: &Nest, array: ArrayId, (k, place): (usize, i64)) -> Nest {
    let info = p.array(array).clone();
    let mut dims = info.dims;
    dims.remove(k);
    let part = p.new_array(info.name, info.elem, dims);
    let mut axes = n.axes.clone();
    let axis = axes.remove(k);
    let mut map = Renaming::default();
    map.insert(axis.var, Atom::Const(Const::int(Elem::I64, place)));
    let axes = p.copy_axes(&axes, &mut map);
    let body = p.copy_body(&n.body, &mut map);
    let mut kind = n.yields[0].kind.clone();
    kind.rename(&map);
    Nest { axes, body, yields: vec![Yield { array: part, kind }], loc: n.loc }
}

/// Looks at all uses of arrays.
struct Reads {
    places: FxHashMap<ArrayId, Short>,
    /// What is used otherwise.
    others: FxHashSet<ArrayId>,
}

impl Visitor for Reads {
    fn array(&mut self, a: &ArrayId) {
        self.others.insert(*a);
    }

    fn exp(&mut self, e: &Exp) {
        if let Exp::Read { array, index, checked: false } = e
            && let Some(short) = self.places.get_mut(array)
            && let Some(Atom::Const(c)) = index.get(short.at)
            && (0..short.extent).contains(&c.as_i64())
        {
            short.read.insert(c.as_i64());
            return;
        }
        self.walk_exp(e);
    }
}

/// Has reads read the arrays of their places.
struct Parts<'a> {
    places: &'a FxHashMap<ArrayId, Short>,
    parts: &'a FxHashMap<(ArrayId, i64), ArrayId>,
}

impl Rewriter for Parts<'_> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e
            && let Some(short) = self.places.get(array)
            && let Some(Atom::Const(c)) = index.get(short.at)
            && let Some(part) = self.parts.get(&(*array, c.as_i64()))
        {
            *array = *part;
            index.remove(short.at);
        }
        self.walk_exp(e);
    }
}
