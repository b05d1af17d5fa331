//! Reductions by index with any associative operator: by sorting the points by their index.
//!
//! ```text
//! order = argsort(at);   key[q] = at[order[q]];   x[q] = v[order[q]]         stable: in a bin the points keep their order
//! tag[q] = 2 where a bin begins, else 1
//! (_, total[q]) = inclusive scan of (tag, x) by
//!     (s, a) (t, b)  ->  max(s, t),  b        if t == 2 or s == 0            a bin begins, or nothing is before
//!                                    a        if t == 0                      nothing comes after
//!                                    a op b   else
//!     whose neutral element is (0, anything)
//! place[q] = key[q] where a bin ends, else nowhere
//! y = dest with (dest[place[q]] op total[q]) written at place[q]
//! ```
//!
//! The scan is associative if `op` is, so it stays parallel; its derivative, and those of the sort and the writes, are the rules there
//! are. `op` needs no neutral element, and need not commute: a bin's points are combined in their order, after what is in
//! the target. Indices outside make bins of their own that are written nowhere.
//!
//! Cost: a sort, a scan, and passes over points and bins. Source: thesis 3.4.2 (general operators), with the tags in place of two
//! exclusive scans by `op`.

use proc_macro2::Span;

use super::Elaborator;
use super::scan::points;
use super::value::{Function, Value};
use crate::core::{self, Atom, Body, Exp, Placing, Prefix, Stm, Type, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A reduction by index.
pub(super) struct Bins<'a> {
    /// The function's name, for messages.
    pub what: &'a str,
    /// The operator.
    pub f: &'a Function,
    /// A value of the structure of what is combined.
    pub model: &'a Value,
    /// What is in the bins: one array for each part.
    pub dest: &'a [Atom],
    /// The indices.
    pub at: Atom,
    /// The values: one array for each part.
    pub values: &'a [Atom],
}

/// The points in the order of their indices.
struct Ordered {
    extent: Dim,
    /// The tags of the scan.
    tags: Atom,
    /// The indices where a bin ends, elsewhere one that is outside.
    place: Atom,
    values: Vec<Atom>,
}

impl Elaborator<'_> {
    /// The bins with values combined in by `operator`: on numbers position by position, or on rows as wholes (`on_rows`). With `neutral` what is
    /// in the bins does not count where there are values.
    pub(super) fn by_segments(
        &mut self,
        operator: core::Operator,
        bins: &Bins<'_>,
        on_rows: bool,
        neutral: bool,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let target = self.atom_type(*bins.dest.first()?).dims;
        let (count, rows) = (target[0].clone(), if on_rows { Vec::new() } else { target[1..].to_vec() });
        let mut dest = bins.dest.to_vec();
        if !on_rows {
            for d in &mut dest {
                *d = self.coerce(*d, &target, span, bins.what, false)?;
            }
        }
        let bins = &Bins { dest: &dest, ..*bins };
        let sorted = self.in_order(bins, span)?;
        let operator = self.in_segments(operator, span)?;
        let totals = match on_rows {
            true => self.row_totals(operator, bins, &sorted, span)?,
            false => self.totals(operator, &rows, &sorted, span)?,
        };
        let extents: Vec<Dim> = std::iter::once(sorted.extent.clone()).chain(rows).collect();
        let ends = self.build("ends", &extents, &[], span, |e, ix| {
            let (q, js) = (&ix[..1], &ix[1..]);
            let total: Vec<Atom> = totals.iter().map(|t| e.index(*t, &[js, q].concat(), span)).collect();
            let total = bins.model.with_atoms(&mut total.into_iter());
            if neutral {
                return Some(total);
            }
            let place = e.index(sorted.place, q, span);
            let count = e.size_value(&count, span);
            let zero = e.int(0);
            let low = e.op(Op::Ge, &[place, zero], span);
            let high = e.op(Op::Lt, &[place, count], span);
            let inside = e.op(Op::And, &[low, high], span);
            let at = [&[place], js].concat();
            let mut combined = |e: &mut Self| {
                let own: Vec<Atom> = bins.dest.iter().map(|d| e.index(*d, &at, span)).collect();
                let own = bins.model.with_atoms(&mut own.into_iter());
                e.apply(bins.f, &[own, total.clone()], span)
            };
            e.choice(inside, span, &mut combined, &mut |_| Some(total.clone()))
        })?;
        let ends = ends.atoms()?;
        let each = bins.dest.iter().zip(ends);
        each.map(|(d, v)| self.scattered(bins.what, Placing::Only, *d, sorted.place, v, span)).collect()
    }

    /// Sorts the points by their index.
    fn in_order(&mut self, bins: &Bins<'_>, span: Span) -> Option<Ordered> {
        let extent = self.atom_type(bins.at).dims.first()?.clone();
        let order = self.positions(bins.at, span)?;
        let mut values = Vec::new();
        for (v, d) in bins.values.iter().zip(bins.dest) {
            let mut dims = self.atom_type(*d).dims;
            dims[0] = extent.clone();
            let v = self.coerce(*v, &dims, span, bins.what, false)?;
            values.extend(self.gathered(order, &Value::Atom(v), span)?.atoms()?);
        }
        let along = std::slice::from_ref(&extent);
        let keys = self.build("keys", along, &[], span, |e, ix| {
            let p = e.index(order, ix, span);
            let key = e.index(bins.at, &[p], span);
            Some(Value::Atom(e.cast(key, Elem::I64, span)))
        })?;
        let keys = keys.atoms()?[0];
        let (none, goes_on, begins) = (self.int(-1), self.int(1), self.int(2));
        let tags = self.build("tags", along, &[], span, |e, ix| {
            let zero = e.int(0);
            let follows = e.op(Op::Gt, &[ix[0], zero], span);
            let mut compared = |e: &mut Self| {
                let other = e.differs(keys, ix[0], Op::Sub, span);
                Some(Value::Atom(e.op(Op::Select, &[other, begins, goes_on], span)))
            };
            e.choice(follows, span, &mut compared, &mut |_| Some(Value::Atom(begins)))
        })?;
        let place = self.build("place", along, &[], span, |e, ix| {
            let (n, one) = (e.size_value(&extent, span), e.int(1));
            let next = e.op(Op::Add, &[ix[0], one], span);
            let goes_on = e.op(Op::Lt, &[next, n], span);
            let key = e.index(keys, ix, span);
            let mut compared = |e: &mut Self| {
                let other = e.differs(keys, ix[0], Op::Add, span);
                Some(Value::Atom(e.op(Op::Select, &[other, key, none], span)))
            };
            e.choice(goes_on, span, &mut compared, &mut |_| Some(Value::Atom(key)))
        })?;
        Some(Ordered { extent, tags: tags.atoms()?[0], place: place.atoms()?[0], values })
    }

    /// Whether the key at `q` is another than the one before (`Op::Sub`) or after (`Op::Add`).
    fn differs(&mut self, keys: Atom, q: Atom, step: Op, span: Span) -> Atom {
        let one = self.int(1);
        let neighbour = self.op(step, &[q, one], span);
        let (own, other) = (self.index(keys, &[q], span), self.index(keys, &[neighbour], span));
        self.op(Op::Ne, &[own, other], span)
    }

    /// The operator on tagged values: see the module's header.
    fn in_segments(&mut self, operator: core::Operator, span: Span) -> Option<core::Operator> {
        let core::Operator { left, right, body, .. } = operator;
        let loc = self.loc(span);
        let atoms = |vars: &[Var]| -> Vec<Atom> { vars.iter().map(|v| Atom::Var(*v)).collect() };
        let types: Vec<Type> = left.iter().map(|v| self.vars[v.0 as usize].ty.clone()).collect();
        let (before, after) =
            (self.new_var("tag", Type::scalar(Elem::I64)), self.new_var("tag", Type::scalar(Elem::I64)));
        let (stms, results) = self.in_body(|e| {
            let (s, t) = (Atom::Var(before), Atom::Var(after));
            let (zero, two) = (e.int(0), e.int(2));
            let begins = e.op(Op::Eq, &[t, two], span);
            let nothing = e.op(Op::Eq, &[s, zero], span);
            let alone = e.op(Op::Or, &[begins, nothing], span);
            let (stms, combined) = e.in_body(|e| {
                let over = e.op(Op::Eq, &[t, zero], span);
                let vars: Vec<Var> = types.iter().map(|t| e.new_var("combined", t.clone())).collect();
                let kept = Body { stms: Vec::new(), results: atoms(&left) };
                e.push(Stm { vars: vars.clone(), exp: Exp::If(over, kept, body), loc });
                Some(atoms(&vars))
            })?;
            let vars: Vec<Var> = types.iter().map(|t| e.new_var("total", t.clone())).collect();
            let restarted = Body { stms: Vec::new(), results: atoms(&right) };
            let exp = Exp::If(alone, restarted, Body { stms, results: combined });
            e.push(Stm { vars: vars.clone(), exp, loc });
            let tag = e.op(Op::Max, &[s, t], span);
            Some([&[tag], &atoms(&vars)[..]].concat())
        })?;
        let anything = types.iter().map(|t| Atom::Const(Const::of(t.elem, 0)));
        let neutral = std::iter::once(self.int(0)).chain(anything).collect();
        Some(core::Operator {
            left: [&[before], &left[..]].concat(),
            right: [&[after], &right[..]].concat(),
            body: Body { stms, results },
            neutral,
        })
    }

    /// The values of each bin so far, of every position of the rows: arrays of the dimensions `rows` and then the points.
    fn totals(
        &mut self,
        operator: core::Operator,
        rows: &[Dim],
        sorted: &Ordered,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let mut parts = vec![(sorted.tags, Vec::new())];
        if rows.is_empty() {
            parts.extend(sorted.values.iter().map(|v| (*v, Vec::new())));
            return Some(self.fold_parts(operator, Some(Prefix::Inclusive), &parts, span).split_off(1));
        }
        let all = self.build("totals", rows, &[], span, |e, js| {
            parts.extend(sorted.values.iter().map(|v| (*v, js.to_vec())));
            let totals = e.fold_parts(operator, Some(Prefix::Inclusive), &parts, span);
            Some(Value::Tuple(totals.into_iter().skip(1).map(Value::Atom).collect()))
        })?;
        all.atoms()
    }

    /// As `totals`, of small arrays as wholes: arrays of the points and then the dimensions of a value.
    fn row_totals(
        &mut self,
        operator: core::Operator,
        bins: &Bins<'_>,
        sorted: &Ordered,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let mut parts = vec![(sorted.tags, Vec::new())];
        let mut shapes = Vec::new();
        for (v, d) in sorted.values.iter().zip(bins.dest) {
            let dims = &self.atom_type(*d).dims[1..];
            let shape = dims.iter().map(Dim::as_constant).collect::<Option<Vec<i64>>>()?;
            for at in points(&shape) {
                parts.push((*v, at.iter().map(|i| self.int(*i)).collect()));
            }
            shapes.push(shape);
        }
        let mut totals = self.fold_parts(operator, Some(Prefix::Inclusive), &parts, span).split_off(1);
        let mut out = Vec::new();
        for (d, shape) in bins.dest.iter().zip(shapes) {
            let rest = totals.split_off(shape.iter().product::<i64>() as usize);
            let dims = self.atom_type(*d).dims;
            out.push(self.assembled(&dims[1..], &shape, &totals, span)?);
            totals = rest;
        }
        Some(out)
    }
}
