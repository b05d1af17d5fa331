//! `filter`, `partition` and `count`: what a condition on the elements keeps.
//!
//! ```text
//! flag[i] = p(xs[i]);   k = sum of flag;   at = flag summed up before i
//! filter(p, xs)         ys: [_; k],  ys[at[i]] = xs[i]            where flag[i]
//! partition(p, xs)      and  zs: [_; n - k],  zs[i - at[i]] = xs[i]   elsewhere
//! ```
//!
//! The size `k` is **existential**: an integer of depth 0 that only data tell, bound with the value. Two filters have two sizes.
//! Inside a `build` the size would depend on the index, which no dimension may. The writes are scatters, so derivatives are
//! those of scatters: reads at the same places. That `k` is at most `n` is not said here: who needs it sees it in the sum of
//! flags (`emit/wgsl/bounds.rs`).

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::{Function, Value};
use crate::core::{Atom, Axis, Body, Exp, Placing, Prefix, Reducer, Type};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Name};

/// Which elements are kept, and where.
struct Matches {
    /// Whether the element is.
    flags: Atom,
    /// How many before it are.
    before: Atom,
    /// How many all in all.
    count: Dim,
}

impl Elaborator<'_> {
    /// `count(p, xs)`.
    pub(super) fn count_matching(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let (f, xs, extent) = self.conditioned("`count`", args, span)?;
        let flags = self.flags("`count`", &f, &xs, &extent, span)?;
        let ones = self.as_numbers(flags, &extent, span)?;
        Some(Value::Atom(self.fold_by(Reducer::Add, None, ones, span)))
    }

    /// `filter(p, xs)`.
    pub(super) fn filter(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let (xs, extent, matches) = self.matches("`filter`", args, span)?;
        let count = matches.count.clone();
        self.compacted("filtered", &xs, &extent, &count, span, |e, i| {
            let flag = e.index(matches.flags, &[i], span);
            (flag, e.index(matches.before, &[i], span))
        })
    }

    /// `partition(p, xs)`: what matches, and the others.
    pub(super) fn partition(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let (xs, extent, matches) = self.matches("`partition`", args, span)?;
        let (count, others) = (matches.count.clone(), extent.sub(&matches.count));
        let matching = self.compacted("matching", &xs, &extent, &count, span, |e, i| {
            let flag = e.index(matches.flags, &[i], span);
            (flag, e.index(matches.before, &[i], span))
        })?;
        let rest = self.compacted("others", &xs, &extent, &others, span, |e, i| {
            let flag = e.index(matches.flags, &[i], span);
            let before = e.index(matches.before, &[i], span);
            (e.op(Op::Not, &[flag], span), e.op(Op::Sub, &[i, before], span))
        })?;
        Some(Value::Tuple(vec![matching, rest]))
    }

    /// The condition and the arrays under one leading extent.
    fn conditioned(&mut self, what: &str, args: &[Value], span: Span) -> Option<(Function, Value, Dim)> {
        let f = self.function_argument(&args[0], what, span)?;
        let parts = self.parts(what, &args[1], span)?;
        let mut extent: Option<Dim> = None;
        let mut aligned = Vec::new();
        for a in parts {
            let mut dims = self.atom_type(a).dims;
            let Some(outer) = dims.first_mut() else {
                let found = self.show_type(&self.atom_type(a));
                self.error(
                    Code::Rank,
                    span,
                    format!("{what} expects arrays, found {found}"),
                    "a scalar has no elements to choose from; use `if`",
                );
                return None;
            };
            *outer = extent.get_or_insert_with(|| outer.clone()).clone();
            aligned.push(self.coerce(a, &dims, span, &format!("the arrays of {what}"), false)?);
        }
        Some((f, args[1].with_atoms(&mut aligned.into_iter()), extent?))
    }

    /// The condition's value for each element.
    fn flags(&mut self, what: &str, f: &Function, xs: &Value, extent: &Dim, span: Span) -> Option<Atom> {
        let flags = self.build("flags", std::slice::from_ref(extent), &[], span, |e, ix| {
            let cells: Vec<Atom> = xs.atoms()?.into_iter().map(|a| e.index(a, ix, span)).collect();
            let flag = e.apply(f, &[xs.with_atoms(&mut cells.into_iter())], span)?;
            match &flag {
                Value::Atom(a) if e.rank(*a) == 0 => {
                    e.unify(e.elem(*a), Elem::Bool, span, &format!("the condition of {what}"))?;
                    Some(flag)
                }
                other => {
                    let found = e.describe(other);
                    e.error(
                        Code::ElementType,
                        span,
                        format!("the condition of {what} must be a bool, found {found}"),
                        "a row is kept or not as a whole: combine its elements' conditions with `any` or `all`",
                    );
                    None
                }
            }
        })?;
        flags.atoms()?.first().copied()
    }

    /// One where a flag is set, zero elsewhere.
    fn as_numbers(&mut self, flags: Atom, extent: &Dim, span: Span) -> Option<Atom> {
        let ones = self.build("ones", std::slice::from_ref(extent), &[], span, |e, ix| {
            let flag = e.index(flags, ix, span);
            Some(Value::Atom(e.cast(flag, Elem::I64, span)))
        })?;
        ones.atoms()?.first().copied()
    }

    /// What is kept, counted at depth 0.
    fn matches(&mut self, what: &str, args: &[Value], span: Span) -> Option<(Value, Dim, Matches)> {
        if self.bodies.len() > 1 {
            let inside = match self.frame.last() {
                Some((_, name)) if name.is_empty() => "on the row".to_string(),
                Some((_, name)) => format!("on the index `{name}`"),
                None => "on a condition or a loop's trip".to_string(),
            };
            self.error(
                Code::DependentDimension,
                span,
                format!("how many elements {what} keeps depends {inside} here, so arrays would differ in length"),
                "filter before, outside of `build`, `map`, `if` and loops; here count with `count(p, xs)`, and sum with the rest \
                 masked: `sum(map(|x| if p(x) { x } else { 0.0 }, xs))`",
            );
            return None;
        }
        let (f, xs, extent) = self.conditioned(what, args, span)?;
        let flags = self.flags(what, &f, &xs, &extent, span)?;
        let ones = self.as_numbers(flags, &extent, span)?;
        let count = self.fold_by(Reducer::Add, None, ones, span);
        let before = self.fold_by(Reducer::Add, Some(Prefix::Exclusive), ones, span);
        let size = self.dim_of(&Value::Atom(count), span)?;
        if let Atom::Var(v) = count {
            self.vars[v.0 as usize].name = "kept".into();
        }
        Some((xs, extent, Matches { flags, before, count: size }))
    }

    /// Each part's elements or rows written into a new array of `count`: `place` says whether, and where.
    fn compacted(
        &mut self,
        name: &str,
        xs: &Value,
        extent: &Dim,
        count: &Dim,
        span: Span,
        place: impl Fn(&mut Self, Atom) -> (Atom, Atom),
    ) -> Option<Value> {
        let mut out = Vec::new();
        for a in xs.atoms()? {
            let ty = self.atom_type(a);
            let rows = ty.dims[1..].to_vec();
            let dims: Vec<Dim> = std::iter::once(count.clone()).chain(rows.iter().cloned()).collect();
            let zero = Atom::Const(Const::of(ty.elem, 0));
            let dest = self.build(name, &dims, &[], span, |_, _| Some(Value::Atom(zero)))?;
            let Atom::Var(dest) = dest.atoms()?.first().copied()? else { return None };
            let axes: Vec<Axis> = std::iter::once(extent.clone())
                .chain(rows)
                .map(|extent| Axis { var: self.new_var("p", Type::scalar(Elem::I64)), extent })
                .collect();
            let ix: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let depth = self.frame.len();
            self.frame.extend(axes.iter().map(|a| (a.extent.clone(), Name::from("p"))));
            let body = self.in_body(|e| {
                let (flag, at) = place(e, ix[0]);
                // Nothing is written outside.
                let nowhere = e.int(-1);
                let at = e.op(Op::Select, &[flag, at, nowhere], span);
                let value = e.index(a, &ix, span);
                Some([&[at], &ix[1..], &[value]].concat())
            });
            self.frame.truncate(depth);
            let (stms, results) = body?;
            let exp = Exp::Scatter { how: Placing::Only, dest, axes, body: Body { stms, results } };
            out.push(self.emit(name, Type { elem: ty.elem, dims }, exp, span));
        }
        Some(xs.with_atoms(&mut out.into_iter()))
    }
}
