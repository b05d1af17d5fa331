//! Functions that change the shape of an array, put arrays together, and tell their dimensions.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::slices::Taken;
use super::value::Value;
use crate::core::{Atom, Body, Exp, Stm, Type};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

impl Elaborator<'_> {
    /// The elements under other dimensions, of which there are as many. A number is one element.
    pub(super) fn reshape(&mut self, a: Atom, dims: Vec<Dim>, span: Span) -> Option<Value> {
        let ty = self.atom_type(a);
        if ty.dims == dims {
            return Some(Value::Atom(a));
        }
        match a {
            Atom::Var(v) if ty.rank() > 0 && dims.is_empty() => {
                let first = vec![Atom::Const(Const::int(Elem::I64, 0)); ty.rank()];
                Some(Value::Atom(self.emit("reshape", Type::scalar(ty.elem), Exp::Index(v, first), span)))
            }
            Atom::Var(v) if ty.rank() > 0 => {
                let ty = Type { elem: ty.elem, dims: dims.clone() };
                Some(Value::Atom(self.emit("reshape", ty, Exp::Reshape(v, dims), span)))
            }
            number => self.build("reshape", &dims, &[], span, |_, _| Some(Value::Atom(number))),
        }
    }

    /// `reshape(a, (n, m))`.
    pub(super) fn reshaped(&mut self, c: &Call<'_>) -> Option<Value> {
        let dims = self.dims_argument(&c.args[1], c.span)?;
        let a = self.plain_atoms(&c.what, &c.args[..1], c.span)?[0];
        let have = Dim::product(&self.atom_type(a).dims);
        let want = Dim::product(&dims);
        self.equal(&have, &want, c.span, "the number of elements in `reshape`", true)?;
        self.reshape(a, dims, c.span)
    }

    /// `flatten(a)`.
    pub(super) fn flattened(&mut self, c: &Call<'_>) -> Option<Value> {
        let a = self.plain_atoms(&c.what, c.args, c.span)?[0];
        let dims = self.atom_type(a).dims;
        self.reshape(a, vec![Dim::product(&dims)], c.span)
    }

    /// `unflatten(a, (n, m))`: the outermost dimension becomes several.
    pub(super) fn unflattened(&mut self, c: &Call<'_>) -> Option<Value> {
        let mut dims = self.dims_argument(&c.args[1], c.span)?;
        let a = self.plain_atoms(&c.what, &c.args[..1], c.span)?[0];
        let have = self.atom_type(a).dims;
        let (outer, rows) = have.split_at(have.len().min(1));
        // Rows without elements are rows all the same.
        let (outer, want) = (Dim::product(outer), Dim::product(&dims));
        self.equal(&outer, &want, c.span, "the number of rows in `unflatten`", true)?;
        dims.extend(rows.iter().cloned());
        self.reshape(a, dims, c.span)
    }

    /// `slice(a, lo, hi)`.
    pub(super) fn sliced(&mut self, c: &Call<'_>) -> Option<Value> {
        let a = self.plain_atoms(&c.what, &c.args[..1], c.span)?[0];
        self.slices(
            a,
            "the array",
            &[Taken::Range((Some(c.args[1].clone()), Some(c.args[2].clone())))],
            c.span,
        )
    }

    /// `len(a)`, `dim(a, axis)`.
    pub(super) fn extent(&mut self, c: &Call<'_>) -> Option<Value> {
        let span = c.span;
        let axis = match c.args.get(1) {
            None => 0,
            Some(v) => match self.constant_int(v) {
                Some(axis) => axis,
                None => {
                    let help = "the number of dimensions is fixed: write 0 for the outermost, 1 for the next";
                    let message = "the dimension that `dim` asks for must be a constant";
                    self.error(Code::Rank, span, message, help);
                    return None;
                }
            },
        };
        let a = match &c.args[0] {
            // All parts of an array of tuples are equally long.
            Value::Tuple(vs) => vs.first().and_then(Value::atoms).and_then(|a| a.first().copied()),
            v => v.atoms().and_then(|a| a.first().copied()),
        };
        let dims = a.map(|a| self.atom_type(a).dims).unwrap_or_default();
        if let Some(d) = usize::try_from(axis).ok().and_then(|i| dims.get(i)) {
            return Some(Value::Atom(self.size_value(d, span)));
        }
        let found = self.describe(&c.args[0]);
        let what = if axis == 0 { "an array" } else { "an array of higher rank" };
        self.error(Code::Rank, span, format!("expected {what}, found {found}"), "scalars have no length");
        None
    }

    /// `permute(a, (1, 0))`.
    pub(super) fn permute(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let a = self.plain_atoms("`permute`", &args[..1], span)?[0];
        // The order arrives as an array literal of constants: its defining choices are folded away again.
        let order = self.literal_ints(&args[1]);
        let rank = self.rank(a);
        let valid = order.as_ref().is_some_and(|o| {
            let mut sorted = o.clone();
            sorted.sort_unstable();
            sorted == (0..rank).collect::<Vec<_>>()
        });
        match order {
            Some(o) if valid => Some(Value::Atom(self.permuted(a, &o, span)?)),
            _ => {
                self.error(
                    Code::Rank,
                    span,
                    format!(
                        "the order of `permute` must list the axes 0 to {} once each",
                        rank.saturating_sub(1)
                    ),
                    "for example `permute(a, (2, 0, 1))`",
                );
                None
            }
        }
    }

    /// The constants of a tuple or an array literal.
    fn literal_ints(&self, v: &Value) -> Option<Vec<usize>> {
        match v {
            Value::Tuple(vs) => {
                vs.iter().map(|v| self.constant_int(v).and_then(|i| usize::try_from(i).ok())).collect()
            }
            Value::Atom(Atom::Var(v)) => {
                let definition = self.bodies.iter().flatten().find(|s| s.vars == [*v])?;
                let Exp::Build(axes, body) = &definition.exp else { return None };
                let [axis] = axes.as_slice() else { return None };
                let mut out: Vec<usize> = Vec::new();
                let mut body = body;
                loop {
                    let constant = |b: &Body| match b.results.first()? {
                        Atom::Const(c) => usize::try_from(c.raw() as i64).ok(),
                        Atom::Var(_) => None,
                    };
                    match body.stms.as_slice() {
                        [] => {
                            out.push(constant(body)?);
                            let all = axis.extent.as_constant() == i64::try_from(out.len()).ok();
                            return all.then_some(out);
                        }
                        // As `choose` makes them.
                        [
                            Stm { exp: Exp::Op(Op::Eq, args), .. },
                            Stm { exp: Exp::If(_, first, rest), .. },
                        ] if *args == [Atom::Var(axis.var), self.int(i64::try_from(out.len()).ok()?)] => {
                            out.push(constant(first)?);
                            body = rest;
                        }
                        _ => return None,
                    }
                }
            }
            _ => None,
        }
    }

    /// Axis p of the result is axis `order[p]` of `a`; axes beyond the list stay.
    pub(super) fn permuted(&mut self, a: Atom, order: &[usize], span: Span) -> Option<Atom> {
        let dims = self.atom_type(a).dims;
        if order.len() > dims.len() {
            let found = self.show_type(&self.atom_type(a));
            self.error(
                Code::Rank,
                span,
                format!("expected an array of rank {} or more, found {found}", order.len()),
                "check the neutral element's rank",
            );
            return None;
        }
        let extents: Vec<Dim> = order.iter().map(|p| dims[*p].clone()).collect();
        let v = self.build("permute", &extents, &[], span, |e, ix| {
            let mut at = vec![ix[0]; order.len()];
            for (p, q) in order.iter().enumerate() {
                at[*q] = ix[p];
            }
            Some(Value::Atom(e.index(a, &at, span)))
        })?;
        v.atoms().and_then(|a| a.first().copied())
    }

    /// `concat(a, b)`, of two or more.
    pub(super) fn concat(&mut self, c: &Call<'_>) -> Option<Value> {
        let atoms = self.plain_atoms(&c.what, c.args, c.span)?;
        let mut joined = atoms[0];
        for b in &atoms[1..] {
            joined = self.concat_two(joined, *b, c.span)?;
        }
        Some(Value::Atom(joined))
    }

    fn concat_two(&mut self, a: Atom, b: Atom, span: Span) -> Option<Atom> {
        let (ta, tb) = (self.atom_type(a), self.atom_type(b));
        if ta.rank() == 0 || ta.rank() != tb.rank() {
            let (fa, fb) = (self.show_type(&ta), self.show_type(&tb));
            self.error(
                Code::Rank,
                span,
                format!("`concat` joins arrays of one rank, found {fa} and {fb}"),
                "put a single row into an array with `[row]`",
            );
            return None;
        }
        self.unify(tb.elem, ta.elem, span, "`concat`")?;
        let mut dims = ta.dims.clone();
        dims[0] = tb.dims[0].clone();
        let b = self.coerce(b, &dims, span, "the rows of `concat`", false)?;
        let first = ta.dims[0].clone();
        let total = first.add(&tb.dims[0]);
        let v = self.build("concat", &[total], &[], span, |e, ix| {
            let n = e.size_value(&first, span);
            let c = e.op(Op::Lt, &[ix[0], n], span);
            e.choice(c, span, &mut |e| Some(Value::Atom(e.index(a, &[ix[0]], span))), &mut |e| {
                let j = e.op(Op::Sub, &[ix[0], n], span);
                Some(Value::Atom(e.index(b, &[j], span)))
            })
        })?;
        v.atoms().and_then(|a| a.first().copied())
    }

    fn constant_int(&self, v: &Value) -> Option<i64> {
        match v {
            Value::Atom(a) => self.known_int(*a)?.as_constant(),
            _ => None,
        }
    }
}
