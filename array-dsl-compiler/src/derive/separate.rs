//! Nests with scans in parts: what is differentiated by the rule for scans alone, and what by that for nests.

use rustc_hash::FxHashSet;

use crate::affine::{Checked, not_negative};
use crate::bulk::build::{Code, Fresh, Renaming};
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayId, Atom, Axis, Body, Check, CheckKind, Exp, Item, Let, Nest, Prefix, Program, Reducer, Repeat,
    Scan, Stm, Trips, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::scalar::Op;

/// Statements with their nests in parts, each of which is ordinary, or has one scan as its last item and yields its states.
pub(super) fn separate(p: &mut Program, stms: &[Stm]) -> Vec<Stm> {
    separate_in(p, stms, Checked::default())
}

/// Within a list of statements before which this is established.
fn separate_in(p: &mut Program, stms: &[Stm], mut known: Checked) -> Vec<Stm> {
    let mut out = Vec::new();
    for s in stms {
        match s {
            Stm::Repeat(r) => out.extend(separate_loop(p, r, &known)),
            Stm::Nest(n) if n.body.is_ordered() => out.extend(separate_scans(p, n.clone(), &known)),
            _ => out.push(s.clone()),
        }
        known.statement(s, p);
    }
    out
}

/// A loop with the nests of its body in parts, after the counts of its trips and of loops in it.
fn separate_loop(p: &mut Program, r: &Repeat, known: &Checked) -> Vec<Stm> {
    let mut out = Vec::new();
    let trips = match &r.trips {
        Trips::For(index, count) => Trips::For(*index, not_negative(p, count, known, r.loc, &mut out)),
        trips => trips.clone(),
    };
    let body = separate_in(p, &r.body, known.inside_repeat(r, p));
    let (counts, body) = counted_before(r, body);
    out.extend(counts);
    out.push(Stm::Repeat(Repeat { trips, body, ..r.clone() }));
    out
}

/// A nest for each scan, which stores its states, and one for the rest, which reads them.
fn separate_scans(p: &mut Program, mut n: Nest, known: &Checked) -> Vec<Stm> {
    let mut out = Vec::new();
    let last = |y: &Yield| matches!(y.kind, YieldKind::Reduce { reducer: Reducer::Last, .. });
    if let Some(axis) = n.axes.last_mut().filter(|_| n.yields.iter().all(last)) {
        axis.extent = not_negative(p, &axis.extent, known, n.loc, &mut out);
    }
    let n = &n;
    if as_scan(p, n).is_some() {
        out.push(Stm::Nest(n.clone()));
        return out;
    }
    let mut stored: Vec<Vec<ArrayId>> = Vec::new();
    for (at, i) in n.body.items.iter().enumerate() {
        let Item::Scan(s) = i else { continue };
        let Part { axes, mut body, mut map } = replaced(p, n, &n.body.items[..at], &stored);
        let mut scan = s.clone();
        Fresh { vars: &mut p.vars, names: &mut map }.scan(&mut scan);
        let dims: Vec<_> = n.axes.iter().map(|a| a.extent.clone()).collect();
        let mut yields = Vec::new();
        for v in &scan.vars {
            let array = p.new_array("state", p.vars[v.0 as usize], dims.clone());
            yields.push(Yield { array, kind: YieldKind::Store(Atom::Var(*v)) });
        }
        stored.push(yields.iter().map(|y| y.array).collect());
        body.items.push(Item::Scan(scan));
        out.push(Stm::Nest(Nest { axes, body, yields, loc: n.loc }));
    }
    let Part { axes, body, map } = replaced(p, n, &n.body.items, &stored);
    let yields = n
        .yields
        .iter()
        .map(|y| {
            let mut kind = y.kind.clone();
            kind.rename(&map);
            Yield { array: y.array, kind }
        })
        .collect();
    out.push(Stm::Nest(Nest { axes, body, yields, loc: n.loc }));
    out
}

/// The counts of trips that are the same in each trip of the loop around, and the other statements: histories have these counts
/// as dimensions.
fn counted_before(r: &Repeat, body: Vec<Stm>) -> (Vec<Stm>, Vec<Stm>) {
    let mut inside: FxHashSet<ArrayId> =
        r.bound().into_iter().chain(body.iter().flat_map(Stm::results)).collect();
    let mut counts: FxHashSet<Dim> = FxHashSet::default();
    let (mut before, mut rest) = (Vec::new(), Vec::new());
    for s in body {
        let is_known = |d: &Dim| {
            d.atoms().iter().all(|a| !matches!(a, SizeAtom::Scalar(s) if inside.contains(&ArrayId(*s))))
        };
        let is_fixed = match &s {
            Stm::Nest(Nest { axes, body, yields, .. }) => {
                let of_sizes = |i: &Item| match i {
                    Item::Let(Let { exp: Exp::Size(d), .. }) => is_known(d),
                    Item::Let(Let { exp: Exp::Op(op, _), .. }) => *op == Op::Max,
                    _ => false,
                };
                let is_stored = |y: &Yield| matches!(y.kind, YieldKind::Store(_));
                axes.is_empty() && yields.iter().all(is_stored) && body.items.iter().all(of_sizes)
            }
            Stm::Check(Check { kind: CheckKind::AtLeast(trips, count), guards }, _) => {
                counts.contains(trips) && guards[..] == [trips.clone()] && is_known(count)
            }
            _ => false,
        };
        if !is_fixed {
            rest.push(s);
            continue;
        }
        for a in s.results() {
            inside.remove(&a);
            counts.insert(Dim::atom(SizeAtom::Scalar(a.0)));
        }
        before.push(s);
    }
    (before, rest)
}

/// A part of a nest under new names, which has no scan.
struct Part {
    axes: Vec<Axis>,
    body: Body,
    map: Renaming,
}

/// A copy of the first items of a nest with scans read where they were stored.
fn replaced(p: &mut Program, n: &Nest, items: &[Item], stored: &[Vec<ArrayId>]) -> Part {
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut body = Body::default();
    let mut stored = stored.iter();
    for i in items {
        match i {
            Item::Let(l) => body.extend(p.copy_lets(std::slice::from_ref(l), &mut map)),
            Item::Scan(s) => {
                let arrays = expect(stored.next(), || "a scan is used before it is stored".into());
                let mut code = Code::new(s.loc);
                for (v, a) in s.vars.iter().zip(arrays) {
                    let x = code.read(p, *a, &index);
                    map.insert(*v, x);
                }
                body.extend(code.lets);
            }
        }
    }
    Part { axes, body, map }
}

/// A nest with a scan as its last item, of which it yields the states.
pub(super) struct ScanNest<'a> {
    pub before: Vec<Let>,
    pub scan: &'a Scan,
    /// The arrays of all states and of the last ones, where they are wanted.
    pub stored: Vec<Option<ArrayId>>,
    pub last: Vec<Option<ArrayId>>,
    /// Which states are floats: those that have adjoints.
    pub floats: Vec<usize>,
}

/// The nest in these parts, if it has no more.
pub(super) fn as_scan<'a>(p: &Program, n: &'a Nest) -> Option<ScanNest<'a>> {
    let (Item::Scan(s), before) = n.body.items.split_last()? else { return None };
    let lets = before.iter().map(|i| match i {
        Item::Let(l) => Some(l.clone()),
        Item::Scan(_) => None,
    });
    let before: Vec<Let> = lets.collect::<Option<_>>()?;
    let (mut stored, mut last) = (vec![None; s.vars.len()], vec![None; s.vars.len()]);
    for y in &n.yields {
        let (value, place) = match &y.kind {
            YieldKind::Store(v) => (v, &mut stored),
            YieldKind::Reduce { reducer: Reducer::Last, value, .. } if s.prefix == Prefix::Inclusive => {
                (value, &mut last)
            }
            _ => return None,
        };
        let k = s.vars.iter().position(|v| Atom::Var(*v) == *value)?;
        if place[k].replace(y.array).is_some() {
            return None;
        }
    }
    let floats = (0..s.left.len()).filter(|i| p.vars[s.left[*i].0 as usize].is_float()).collect();
    Some(ScanNest { before, scan: s, stored, last, floats })
}
