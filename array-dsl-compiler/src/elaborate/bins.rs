//! `hist`, `reduce_by_index` and `scatter`: values combined, or written, by their index.
//!
//! * The neutral element of `hist`, or the element (row) of the target, tells what is combined: a number, a tuple for a tuple of
//!   arrays, a row. Arrays of higher rank are mapped over by `hist`.
//! * Built-in operators, also several side by side on the parts of a tuple, are accumulations in any order: one expression of
//!   Core. So `e` need not be neutral for them. Other operators: see `segments`.
//! * Indices outside are ignored.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::operator::{Combine, same_structure};
use super::segments::Bins;
use super::value::{Function, Value};
use crate::core::{Atom, Axis, Body, Exp, Placing, Reducer, Type};
use crate::diagnostics::Code;
use crate::ty::{Elem, Name};

impl Elaborator<'_> {
    /// `hist(op, e, k, at, values)`.
    pub(super) fn hist(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let [op, neutral, k, at, values] = args else { return None };
        let what = "`hist`";
        let f = self.function_argument(op, what, span)?;
        if let Some(each) = parts_by_name(&f, neutral, values) {
            let each = each
                .into_iter()
                .map(|(e, v)| self.hist(&c.of(&[op.clone(), e.clone(), k.clone(), at.clone(), v.clone()])));
            return Some(Value::Tuple(each.collect::<Option<_>>()?));
        }
        let count = self.dim_of(k, span)?;
        self.check_extent(&count, span)?;
        let starts = self.parts(what, neutral, span)?;
        let arrays = self.paired(what, neutral, values, span)?;
        for (e, x) in starts.iter().zip(&arrays) {
            self.unify(self.elem(*e), self.elem(*x), span, "the neutral element of `hist`")?;
        }
        let at = self.plain_atoms(what, std::slice::from_ref(at), span)?[0];
        self.require_integers(at, span)?;
        let types: Vec<Type> = starts.iter().map(|a| self.atom_type(*a)).collect();
        let combine = self.operator(&f, what, neutral, &types, span)?;
        let ranks: Vec<usize> = types.iter().map(Type::rank).collect();
        let expected: Vec<usize> =
            ranks.iter().copied().chain([1]).chain(ranks.iter().map(|r| r + 1)).collect();
        let all = [&starts[..], &[at], &arrays].concat();
        // The operator's variables are bound once: `lift` makes its code at one place.
        let mut combine = Some(combine);
        self.lift(what, &expected, &all, span, &mut |e, cells| {
            let (starts, cells) = cells.split_at(ranks.len());
            let mut dest = Vec::new();
            for start in starts {
                let bins = e.build("bins", std::slice::from_ref(&count), &[], span, |_, _| {
                    Some(Value::Atom(*start))
                })?;
                dest.extend(bins.atoms()?);
            }
            let bins = Bins { what, f: &f, model: neutral, dest: &dest, at: cells[0], values: &cells[1..] };
            e.binned(combine.take()?, &bins, true, span)
        })
    }

    /// `reduce_by_index(dest, op, at, values)`.
    pub(super) fn reduce_by_index(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let [dest, op, at, values] = args else { return None };
        let what = "`reduce_by_index`";
        let f = self.function_argument(op, what, span)?;
        if let Some(each) = parts_by_name(&f, dest, values) {
            let each = each
                .into_iter()
                .map(|(d, v)| self.reduce_by_index(&c.of(&[d.clone(), op.clone(), at.clone(), v.clone()])));
            return Some(Value::Tuple(each.collect::<Option<_>>()?));
        }
        let mut targets = self.parts(what, dest, span)?;
        let arrays = self.paired(what, dest, values, span)?;
        let at = self.plain_atoms(what, std::slice::from_ref(at), span)?[0];
        for (d, v) in targets.iter().zip(&arrays) {
            self.require_indexed(what, *d, at, *v, span)?;
            self.unify(self.elem(*v), self.elem(*d), span, what)?;
        }
        let count = self.atom_type(targets[0]).dims[0].clone();
        for d in &mut targets {
            let mut dims = self.atom_type(*d).dims;
            dims[0] = count.clone();
            *d = self.coerce(*d, &dims, span, "the targets of `reduce_by_index`", false)?;
        }
        let types: Vec<Type> = targets
            .iter()
            .map(|d| {
                let ty = self.atom_type(*d);
                Type { elem: ty.elem, dims: ty.dims[1..].to_vec() }
            })
            .collect();
        let combine = self.operator(&f, what, dest, &types, span)?;
        let bins = Bins { what, f: &f, model: dest, dest: &targets, at, values: &arrays };
        self.binned(combine, &bins, false, span)
    }

    /// Values combined into bins; `neutral` says that what is there does not count.
    fn binned(&mut self, combine: Combine, bins: &Bins<'_>, neutral: bool, span: Span) -> Option<Value> {
        let results = match combine {
            Combine::Reducers(reducers) => {
                let parts = reducers.into_iter().zip(bins.dest).zip(bins.values);
                let each = parts.map(|((r, d), v)| {
                    self.scattered(bins.what, Placing::Combined(r), *d, bins.at, *v, span)
                });
                each.collect::<Option<Vec<Atom>>>()?
            }
            Combine::Positions(operator) => self.by_segments(operator, bins, false, neutral, span)?,
            Combine::Rows(operator) => self.by_segments(operator, bins, true, neutral, span)?,
        };
        Some(bins.model.with_atoms(&mut results.into_iter()))
    }

    /// `scatter(dest, at, values)`.
    pub(super) fn scatter(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let atoms = self.plain_atoms("`scatter`", args, span)?;
        Some(Value::Atom(self.scattered("`scatter`", Placing::Last, atoms[0], atoms[1], atoms[2], span)?))
    }

    /// The leaves of the values, which must be nested as the neutral element or the target is.
    fn paired(&mut self, what: &str, model: &Value, values: &Value, span: Span) -> Option<Vec<Atom>> {
        if same_structure(model, values)
            && let Some(arrays) = values.atoms()
        {
            return Some(arrays);
        }
        let (m, v) = (self.describe(model), self.describe(values));
        self.error(
            Code::TupleShape,
            span,
            format!("{what} combines values like {m}, but the values are {v}"),
            "give one array for each part: `hist(op, (0.0, 1.0), k, at, (xs, ys))`",
        );
        None
    }

    /// Requires an array, a vector of integers and one value (or row) per index.
    fn require_indexed(&mut self, what: &str, dest: Atom, at: Atom, v: Atom, span: Span) -> Option<()> {
        let (td, ti, tv) = (self.atom_type(dest), self.atom_type(at), self.atom_type(v));
        if td.rank() == 0 || ti.rank() != 1 || tv.rank() != td.rank() {
            let found = [&td, &ti, &tv].map(|t| self.show_type(t)).join(", ");
            self.error(
                Code::Rank,
                span,
                format!("{what} expects an array, a vector of indices and one value (or row) per index, found {found}"),
                "for example `scatter_add(zeros(n), at, values)`",
            );
            return None;
        }
        self.require_integers(at, span)
    }

    /// Requires indices to be integers.
    fn require_integers(&mut self, at: Atom, span: Span) -> Option<()> {
        let elem = self.elem(at);
        self.inference.settle_for_int(elem);
        if !self.inference.is_int(elem) {
            let found = self.inference.describe(elem);
            self.error(
                Code::ElementType,
                span,
                format!("indices must be integers, found {found}"),
                "convert with `as usize`",
            );
            return None;
        }
        Some(())
    }

    /// `dest` with the rows `v[p]` combined in or written at `at[p]`.
    pub(super) fn scattered(
        &mut self,
        what: &str,
        how: Placing,
        dest: Atom,
        at: Atom,
        v: Atom,
        span: Span,
    ) -> Option<Atom> {
        self.require_indexed(what, dest, at, v, span)?;
        let (td, ti, tv) = (self.atom_type(dest), self.atom_type(at), self.atom_type(v));
        self.unify(tv.elem, td.elem, span, what)?;
        let mut dims = td.dims.clone();
        dims[0] = ti.dims[0].clone();
        let values = self.coerce(v, &dims, span, what, false)?;
        let axes: Vec<Axis> = dims
            .iter()
            .map(|d| Axis { var: self.new_var("p", Type::scalar(Elem::I64)), extent: d.clone() })
            .collect();
        let ix: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let depth = self.frame.len();
        self.frame.extend(dims.iter().map(|d| (d.clone(), Name::from("p"))));
        let body = self.in_body(|e| {
            let place = e.index(at, &ix[..1], span);
            let place = e.cast(place, Elem::I64, span);
            let value = e.index(values, &ix, span);
            Some([&[place], &ix[1..], &[value]].concat())
        });
        self.frame.truncate(depth);
        let (stms, results) = body?;
        let Atom::Var(dest) = dest else { return None };
        let exp = Exp::Scatter { how, dest, axes, body: Body { stms, results } };
        Some(self.emit("scatter", td, exp, span))
    }
}

/// For a built-in operator by its name and tuples of equally many parts: the pairs of parts, to be combined each on its own.
fn parts_by_name<'v>(
    f: &Function,
    model: &'v Value,
    values: &'v Value,
) -> Option<Vec<(&'v Value, &'v Value)>> {
    match (f, model, values) {
        (Function::Builtin(n), Value::Tuple(m), Value::Tuple(v))
            if m.len() == v.len() && Reducer::from_name(n).is_some() =>
        {
            Some(m.iter().zip(v).collect())
        }
        _ => None,
    }
}
