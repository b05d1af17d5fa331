//! `reduce`, `scan` and `scan_exclusive` with any operator, `cumsum` and `cumprod`.
//!
//! * The neutral element tells what is combined: a number for the elements of vectors, a tuple for a tuple of arrays, a row for
//!   the rows of a matrix. Arrays of higher rank are mapped over, so `scan(add, 0.0, matrix)` scans each row, and
//!   `scan(add, zeros(m), matrix)` down the columns.
//! * A built-in operator may start with what is not its neutral element: the result is `op(e, fold)`, for scans at every
//!   position, and an exclusive scan begins with `e`. Other operators must have `e` as neutral element.
//! * A built-in operator by its name works on each part of a tuple.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::operator::{Combine, is_neutral, same_structure};
use super::value::{Function, Value};
use crate::core::{self, Atom, Axis, Body, Exp, Prefix, Reducer, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::ty::{Elem, Name};

impl Elaborator<'_> {
    /// `cumsum(xs)`, `cumprod(xs)`.
    pub(super) fn cumulate(&mut self, r: Reducer, c: &Call<'_>) -> Option<Value> {
        let Call { ref what, args, span } = *c;
        let atoms = self.reduced_atoms(r, what, args, span)?;
        if r == Reducer::Mul && self.inference.is_complex(self.elem(atoms[0])) {
            return self.complex_product(Some(Prefix::Inclusive), &args[0], c);
        }
        self.lift(what, &[1], &atoms, span, &mut |e, cell| {
            Some(Value::Atom(e.fold_by(r, Some(Prefix::Inclusive), cell[0], span)))
        })
    }

    /// `reduce(op, e, xs)`; scans with `prefix`.
    pub(super) fn fold(&mut self, prefix: Option<Prefix>, c: &Call<'_>) -> Option<Value> {
        let Call { ref what, args, span } = *c;
        let [op, neutral, xs] = args else { return None };
        let f = self.function_argument(op, what, span)?;
        let named = matches!(&f, Function::Builtin(n) if Reducer::from_name(n).is_some());
        if let (true, Value::Tuple(es), Value::Tuple(parts)) = (named, neutral, xs)
            && es.len() == parts.len()
        {
            let each: Vec<Option<Value>> = es
                .iter()
                .zip(parts)
                .map(|(e, x)| self.fold(prefix, &c.of(&[op.clone(), e.clone(), x.clone()])))
                .collect();
            return Some(Value::Tuple(each.into_iter().collect::<Option<_>>()?));
        }
        let (starts, arrays) = self.fold_operands(what, neutral, xs, span)?;
        let types: Vec<Type> = starts.iter().map(|a| self.atom_type(*a)).collect();
        let combine = self.operator(&f, what, neutral, &types, span)?;
        let ranks: Vec<usize> = types.iter().map(Type::rank).collect();
        let expected: Vec<usize> = ranks.iter().copied().chain(ranks.iter().map(|r| r + 1)).collect();
        let all = [starts, arrays].concat();
        // The operator's variables are bound once: `lift` makes its code at one place.
        let mut combine = Some(combine);
        self.lift(what, &expected, &all, span, &mut |e, cells| {
            let (starts, arrays) = cells.split_at(ranks.len());
            let results = match combine.take()? {
                Combine::Rows(operator) => e.fold_rows(operator, prefix, starts, arrays, span)?,
                combine => e.fold_positions(what, combine, prefix, starts, arrays, span)?,
            };
            Some(neutral.with_atoms(&mut results.into_iter()))
        })
    }

    /// The leaves of the neutral element and of the arrays, of fitting types.
    fn fold_operands(
        &mut self,
        what: &str,
        neutral: &Value,
        xs: &Value,
        span: Span,
    ) -> Option<(Vec<Atom>, Vec<Atom>)> {
        let both = neutral.atoms().zip(xs.atoms()).filter(|_| same_structure(neutral, xs));
        let Some((starts, arrays)) = both.filter(|(starts, _)| !starts.is_empty()) else {
            let (e, x) = (self.describe(neutral), self.describe(xs));
            self.error(
                Code::TupleShape,
                span,
                format!("{what}: the neutral element is {e}, the values are {x}"),
                "give one array for each part of the neutral element: `reduce(op, (1.0, 0.0), (xs, ys))`",
            );
            return None;
        };
        for (e, x) in starts.iter().zip(&arrays) {
            let (te, tx) = (self.atom_type(*e), self.atom_type(*x));
            if tx.rank() <= te.rank() {
                let (x, e) = (self.show_type(&tx), self.show_type(&te));
                let (message, help) = if tx.rank() == 0 {
                    (format!("{what} expects an array, found {x}"), "give it an array")
                } else {
                    (
                        format!("{what}: the neutral element {e} is no element of {x}"),
                        "it must be of the type of the array's elements or rows",
                    )
                };
                self.error(Code::Rank, span, message, help);
                return None;
            }
            self.unify(te.elem, tx.elem, span, &format!("the neutral element of {what}"))?;
        }
        Some((starts, arrays))
    }

    /// Folds vectors, or position by position the columns of arrays of higher rank.
    fn fold_positions(
        &mut self,
        what: &str,
        combine: Combine,
        prefix: Option<Prefix>,
        starts: &[Atom],
        arrays: &[Atom],
        span: Span,
    ) -> Option<Vec<Atom>> {
        let rank = starts.first().map_or(0, |e| self.rank(*e));
        // The folded axis goes last.
        let order: Vec<usize> = (1..=rank).chain([0]).collect();
        let mut columns = Vec::new();
        for x in arrays {
            columns.push(if rank > 0 { self.permuted(*x, &order, span)? } else { *x });
        }
        let expected: Vec<usize> = starts.iter().map(|_| 0).chain(arrays.iter().map(|_| 1)).collect();
        let all = [starts, &columns].concat();
        let mut combine = Some(combine);
        let found = self.lift(what, &expected, &all, span, &mut |e, cells| {
            let (starts, vectors) = cells.split_at(starts.len());
            let vectors = e.equally_long(what, vectors, span)?;
            let results = match combine.take()? {
                Combine::Reducers(reducers) => {
                    let parts = reducers.into_iter().zip(starts).zip(vectors);
                    let each = parts.map(|((r, start), xs)| e.fold_from(r, prefix, *start, xs, span));
                    each.collect::<Option<_>>()?
                }
                Combine::Positions(mut operator) | Combine::Rows(mut operator) => {
                    operator.neutral = starts.to_vec();
                    let parts: Vec<(Atom, Vec<Atom>)> = vectors.iter().map(|v| (*v, Vec::new())).collect();
                    e.fold_parts(operator, prefix, &parts, span)
                }
            };
            Some(Value::Tuple(results.into_iter().map(Value::Atom).collect()))
        })?;
        let results = found.atoms()?;
        if rank == 0 || prefix.is_none() {
            return Some(results);
        }
        let back: Vec<usize> = [rank].into_iter().chain(0..rank).collect();
        results.into_iter().map(|a| self.permuted(a, &back, span)).collect()
    }

    /// Vectors of the length of the first.
    pub(super) fn equally_long(&mut self, what: &str, arrays: &[Atom], span: Span) -> Option<Vec<Atom>> {
        let first = self.atom_type(*arrays.first()?).dims.first()?.clone();
        arrays
            .iter()
            .map(|a| {
                let mut dims = self.atom_type(*a).dims;
                dims[0] = first.clone();
                self.coerce(*a, &dims, span, &format!("the arrays of {what}"), false)
            })
            .collect()
    }

    /// A fold of a vector by a reducer, begun with `start`.
    fn fold_from(
        &mut self,
        r: Reducer,
        prefix: Option<Prefix>,
        start: Atom,
        xs: Atom,
        span: Span,
    ) -> Option<Atom> {
        let folded = self.fold_by(r, prefix, xs, span);
        let neutral = match start {
            Atom::Const(c) => {
                let elem = self.elem(start);
                is_neutral(r, c, elem, self.inference.is_differentiable(elem))
            }
            Atom::Var(_) => false,
        };
        if neutral {
            return Some(folded);
        }
        let op = r.op()?;
        let both = [start, folded];
        let v =
            self.lift(r.name(), &[0, 0], &both, span, &mut |e, c| Some(Value::Atom(e.op(op, c, span))))?;
        v.atoms()?.first().copied()
    }

    /// Folds by an operator on all elements of small arrays.
    fn fold_rows(
        &mut self,
        mut operator: core::Operator,
        prefix: Option<Prefix>,
        starts: &[Atom],
        arrays: &[Atom],
        span: Span,
    ) -> Option<Vec<Atom>> {
        let arrays = self.equally_long("an operator", arrays, span)?;
        let mut parts = Vec::new();
        let mut shapes = Vec::new();
        for (e, x) in starts.iter().zip(&arrays) {
            let ty = self.atom_type(*e);
            let mut shape = Vec::new();
            for (d, own) in self.atom_type(*x).dims[1..].to_vec().iter().zip(&ty.dims) {
                self.equal(d, own, span, "the values and the neutral element", false)?;
                shape.push(own.as_constant()?);
            }
            for at in points(&shape) {
                let at: Vec<Atom> = at.iter().map(|i| self.int(*i)).collect();
                operator.neutral.push(self.index(*e, &at, span));
                parts.push((*x, at));
            }
            shapes.push(shape);
        }
        let mut results = self.fold_parts(operator, prefix, &parts, span);
        let mut out = Vec::new();
        for (e, shape) in starts.iter().zip(shapes) {
            let rest = results.split_off(shape.iter().product::<i64>() as usize);
            let dims = self.atom_type(*e).dims;
            out.push(self.assembled(&dims, &shape, &results, span)?);
            results = rest;
        }
        Some(out)
    }

    /// An array of the dimensions `dims` from its elements; from vectors of elements an array with their
    /// dimension in front.
    pub(super) fn assembled(
        &mut self,
        dims: &[Dim],
        shape: &[i64],
        elements: &[Atom],
        span: Span,
    ) -> Option<Atom> {
        let Some(first) = elements.first().filter(|_| !shape.is_empty()) else {
            return elements.first().copied();
        };
        let outer = self.atom_type(*first).dims;
        let extents: Vec<Dim> = outer.iter().chain(dims).cloned().collect();
        let v = self.build("rows", &extents, &[], span, |e, ix| {
            let (outer, inner) = ix.split_at(outer.len());
            e.element(shape, elements, outer, inner, span)
        })?;
        v.atoms()?.first().copied()
    }

    /// The element at `inner` of those in row-major order, read at `outer`.
    fn element(
        &mut self,
        shape: &[i64],
        elements: &[Atom],
        outer: &[Atom],
        inner: &[Atom],
        span: Span,
    ) -> Option<Value> {
        let (Some((n, shape)), Some((i, inner))) = (shape.split_first(), inner.split_first()) else {
            return Some(Value::Atom(self.index(*elements.first()?, outer, span)));
        };
        self.part(0, *n, shape, elements, outer, *i, inner, span)
    }

    #[allow(clippy::too_many_arguments, reason = "one loop of `element`")]
    fn part(
        &mut self,
        at: i64,
        n: i64,
        shape: &[i64],
        elements: &[Atom],
        outer: &[Atom],
        i: Atom,
        inner: &[Atom],
        span: Span,
    ) -> Option<Value> {
        let (own, rest) = elements.split_at(elements.len() / usize::try_from(n - at).ok()?.max(1));
        if at + 1 >= n {
            return self.element(shape, own, outer, inner, span);
        }
        let here = self.int(at);
        let c = self.op(crate::scalar::Op::Eq, &[i, here], span);
        self.choice(c, span, &mut |e| e.element(shape, own, outer, inner, span), &mut |e| {
            e.part(at + 1, n, shape, rest, outer, i, inner, span)
        })
    }

    /// Folds by an operator: each part is an array and where in its rows to read.
    pub(super) fn fold_parts(
        &mut self,
        operator: core::Operator,
        prefix: Option<Prefix>,
        parts: &[(Atom, Vec<Atom>)],
        span: Span,
    ) -> Vec<Atom> {
        let extent = parts.first().map(|(x, _)| self.atom_type(*x).dims[0].clone()).unwrap_or_default();
        let k = self.new_var("k", Type::scalar(Elem::I64));
        self.frame.push((extent.clone(), Name::from("k")));
        self.bodies.push(Vec::new());
        let results: Vec<Atom> =
            parts.iter().map(|(x, at)| self.index(*x, &[&[Atom::Var(k)], &at[..]].concat(), span)).collect();
        let stms = self.close_body();
        self.frame.pop();
        let dims: Vec<Dim> = prefix.iter().map(|_| extent.clone()).collect();
        let name = if prefix.is_some() { "scan" } else { "reduce" };
        let vars: Vec<Var> = results
            .iter()
            .map(|a| {
                let elem = self.atom_type(*a).elem;
                self.new_var(name, Type { elem, dims: dims.clone() })
            })
            .collect();
        let loc = self.loc(span);
        let axis = Axis { var: k, extent };
        let exp = Exp::Fold(Box::new(operator), prefix, axis, Body { stms, results });
        self.push(Stm { vars: vars.clone(), exp, loc });
        vars.into_iter().map(Atom::Var).collect()
    }
}

/// All indices of an array, in row-major order.
pub(super) fn points(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut out = vec![Vec::new()];
    for n in shape {
        out = out.iter().flat_map(|p| (0..*n).map(|i| [&p[..], &[i]].concat())).collect();
    }
    out
}
