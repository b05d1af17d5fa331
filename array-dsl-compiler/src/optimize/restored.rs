//! Reads of elements that a write has just copied, from where it had them.
//!
//! ```text
//! before   t = nest [k < m] { v = h[j, k] } write into s at [i, k] of v;   y = nest [l < m] { x = t[i, l]; .. }
//! after    the same write;                                                  y = nest [l < m] { x = h[j, l]; .. }
//! ```
//!
//! A way back puts into a state what each trip overwrote, and its next statements read that. Where all reads are of this kind nothing needs
//! the state, and it is neither undone nor kept (`share`): half of the memory of a loop that changes its elements one after the other.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::affine::{Affine, Checked, Facts};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Let, Nest, Program, Stm, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::internal::expect;
use crate::ty::Elem;

/// Has them read from there.
pub(super) fn restored(seq: &mut Sequence, p: &mut Program) {
    // What is changed in place later has its own elements until then only.
    let changed: FxHashSet<ArrayId> = seq.stms.iter().flat_map(changed).collect();
    let mut known = seq.known.clone();
    let mut copies: Vec<Copied> = Vec::new();
    for s in &mut seq.stms {
        if let Stm::Nest(n) = s {
            from_sources(n, &copies, &known, p);
            copies.extend(Copied::by(n, &known, p).filter(|c| !changed.contains(&c.source)));
        }
        known.statement(s, p);
    }
}

/// The arrays that a statement changes in place.
fn changed(s: &Stm) -> Vec<ArrayId> {
    match s {
        Stm::Nest(n) => n
            .yields
            .iter()
            .filter_map(|y| match &y.kind {
                YieldKind::Write { into, .. } | YieldKind::Accumulate { into, .. } => Some(*into),
                YieldKind::Store(_) | YieldKind::Reduce { .. } => None,
            })
            .collect(),
        Stm::Repeat(r) => r.carried.iter().map(|c| c.start).collect(),
        _ => Vec::new(),
    }
}

/// A part of a place: all positions, by the number of the axis, or one that is known at the host level.
#[derive(PartialEq)]
enum Part {
    Axis(usize),
    At(Dim),
}

/// Elements of an array that are copies of others.
struct Copied {
    array: ArrayId,
    place: Vec<Part>,
    source: ArrayId,
    source_place: Vec<Part>,
}

impl Copied {
    /// What a nest makes, if each of its points copies one element, and they all together some rows.
    fn by(n: &Nest, known: &Checked, p: &Program) -> Option<Copied> {
        let [Yield { array, kind: YieldKind::Write { into, index, value: Atom::Var(value), .. } }] =
            &n.yields[..]
        else {
            return None;
        };
        let read = n.body.lets().find(|l| l.vars == [*value])?;
        let Exp::Read { array: source, index: from, checked: false } = &read.exp else { return None };
        if n.body.is_ordered() || into == source {
            return None;
        }
        let mut facts = Facts::new(&n.axes, known);
        n.body.lets().for_each(|l| facts.learn((&*p).into(), l));
        let parts = |index: &[Atom]| {
            let part = |f: Option<Affine>| {
                let f = f?;
                let axis = n.axes.iter().position(|a| f == Affine::axis(a.var));
                axis.map(Part::Axis).or_else(|| f.as_dim().cloned().map(Part::At))
            };
            facts.place(index).into_iter().map(part).collect::<Option<Vec<Part>>>()
        };
        let place = parts(index)?;
        // Each axis covers a dimension of the array, and one point writes an element.
        let covers = |(axis, a): (usize, &Axis)| {
            let mut of = place.iter().zip(&p.array(*array).dims).filter(|(x, _)| **x == Part::Axis(axis));
            matches!((of.next(), of.next()), (Some((_, d)), None) if *d == a.extent)
        };
        let whole = n.axes.iter().enumerate().all(covers);
        whole.then_some(Copied { array: *array, place, source: *source, source_place: parts(from)? })
    }
}

/// Has a nest read copied elements where they came from. A read that is not compared is inside, so it is of a point that copied.
fn from_sources(n: &mut Nest, copies: &[Copied], known: &Checked, p: &mut Program) {
    if !n.inputs().iter().any(|a| copies.iter().any(|c| c.array == *a)) {
        return;
    }
    let mut facts = Facts::new(&n.axes, known);
    let mut from = Vec::new();
    for read in facts.reads((&*p).into(), n) {
        let is_there = |c: &&Copied| {
            let same = |(part, at): (&Part, &Option<Affine>)| match part {
                Part::Axis(_) => true,
                Part::At(d) => at.as_ref().and_then(Affine::as_dim) == Some(d),
            };
            c.array == read.array && c.place.iter().zip(&read.place).all(same)
        };
        from.extend(copies.iter().find(is_there).map(|c| (read.var, c)));
    }
    let mut moved = Moved { from, p, sizes: Vec::new() };
    moved.body(&mut n.body);
    let sizes = moved.sizes;
    n.body.items.splice(
        ..0,
        sizes.into_iter().map(|(d, v)| Item::Let(Let { vars: vec![v], exp: Exp::Size(d), loc: n.loc })),
    );
}

/// Moves reads.
struct Moved<'a> {
    /// What they bind, and what they are copies of.
    from: Vec<(Var, &'a Copied)>,
    p: &'a mut Program,
    /// Places that the sources need.
    sizes: Vec<(Dim, Var)>,
}

impl Moved<'_> {
    fn size(&mut self, d: &Dim) -> Atom {
        if let Some((_, v)) = self.sizes.iter().find(|(known, _)| known == d) {
            return Atom::Var(*v);
        }
        let v = self.p.new_var(Elem::I64);
        self.sizes.push((d.clone(), v));
        Atom::Var(v)
    }
}

impl Rewriter for Moved<'_> {
    fn binding(&mut self, l: &mut Let) {
        let found = self.from.iter().find(|(v, _)| l.vars == [*v]).map(|(_, c)| *c);
        if let (Some(c), Exp::Read { array, index, checked: false }) = (found, &mut l.exp) {
            let at = |axis: usize| {
                let place = c.place.iter().position(|x| *x == Part::Axis(axis));
                index[expect(place, || format!("array {} is not written along an axis", c.array.0))]
            };
            let parts: Vec<Result<Atom, &Dim>> = c
                .source_place
                .iter()
                .map(|part| match part {
                    Part::Axis(axis) => Ok(at(*axis)),
                    Part::At(d) => Err(d),
                })
                .collect();
            *index = parts.into_iter().map(|x| x.unwrap_or_else(|d| self.size(d))).collect();
            *array = c.source;
            return;
        }
        self.walk_binding(l);
    }
}
