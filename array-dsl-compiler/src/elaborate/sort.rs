//! `argsort`, `sort` and `sort_by_key`.
//!
//! ```text
//! argsort(xs)          the positions of the elements in ascending order: one expression of Core
//! sort(xs)             xs[argsort(xs)[i]]     for all i
//! sort_by_key(ks, xs)  xs[argsort(ks)[i]]     for all i, of each part of a tuple
//! ```
//!
//! Equal elements keep their order; every NaN comes last. Positions are integers, so the derivative is that of the gather: each
//! element's goes to where it came from.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::Value;
use crate::core::{Atom, Exp, Type};
use crate::diagnostics::Code;
use crate::ty::Elem;

impl Elaborator<'_> {
    /// `argsort(xs)`, of each row of an array of higher rank.
    pub(super) fn argsort(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let atoms = self.plain_atoms("`argsort`", args, span)?;
        self.lift("`argsort`", &[1], &atoms, span, &mut |e, cells| {
            Some(Value::Atom(e.positions(cells[0], span)?))
        })
    }

    /// `sort(xs)`, of each row of an array of higher rank.
    pub(super) fn sort(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let atoms = self.plain_atoms("`sort`", args, span)?;
        self.lift("`sort`", &[1], &atoms, span, &mut |e, cells| {
            let at = e.positions(cells[0], span)?;
            e.gathered(at, &Value::Atom(cells[0]), span)
        })
    }

    /// `sort_by_key(keys, xs)`: the leading axis of `xs` in the order of the keys.
    pub(super) fn sort_by_key(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let what = "`sort_by_key`";
        let keys = self.plain_atoms(what, &args[..1], span)?[0];
        let parts = self.parts(what, &args[1], span)?;
        if self.rank(keys) <= 1 {
            return self.sorted_rows(what, keys, &args[1], span);
        }
        // Rows of keys sort rows of values.
        let atoms = [&[keys], &parts[..]].concat();
        self.lift(what, &vec![1; atoms.len()], &atoms, span, &mut |e, cells| {
            let xs = args[1].with_atoms(&mut cells[1..].iter().copied());
            e.sorted_rows(what, cells[0], &xs, span)
        })
    }

    fn sorted_rows(&mut self, what: &str, keys: Atom, xs: &Value, span: Span) -> Option<Value> {
        let extent = self.atom_type(keys).dims.first().cloned();
        let mut aligned = Vec::new();
        for a in xs.atoms()? {
            let mut dims = self.atom_type(a).dims;
            let (Some(outer), Some(extent)) = (dims.first_mut(), &extent) else {
                let (k, x) = (self.show_type(&self.atom_type(keys)), self.describe(xs));
                self.error(
                    Code::Rank,
                    span,
                    format!("{what} expects a vector of keys and arrays of that length, found {k} and {x}"),
                    "write `sort_by_key(keys, xs)`, or `sort_by_key(keys, (xs, ys))` for several arrays",
                );
                return None;
            };
            *outer = extent.clone();
            aligned.push(self.coerce(a, &dims, span, "the arrays of `sort_by_key`", false)?);
        }
        let at = self.positions(keys, span)?;
        self.gathered(at, &xs.with_atoms(&mut aligned.into_iter()), span)
    }

    /// The arrays of a value; an error if there is a function inside.
    pub(super) fn parts(&mut self, what: &str, xs: &Value, span: Span) -> Option<Vec<Atom>> {
        let parts = xs.atoms().filter(|parts| !parts.is_empty());
        if parts.is_none() {
            let found = self.describe(xs);
            self.error(
                Code::TupleShape,
                span,
                format!("{what} expects an array or a tuple of arrays, found {found}"),
                "give it the arrays that belong together as one tuple: `(xs, ys)`",
            );
        }
        parts
    }

    /// The positions of a vector's elements in order.
    pub(super) fn positions(&mut self, xs: Atom, span: Span) -> Option<Atom> {
        let Atom::Var(v) = xs else { return None };
        if self.inference.is_complex(self.elem(xs)) {
            let help = "sort by a number made of them: `sort_by_key(map(|z| z.norm(), zs), zs)`";
            self.error(Code::ElementType, span, "complex numbers have no order", help);
            return None;
        }
        let ty = Type { elem: Elem::I64, dims: self.atom_type(xs).dims };
        Some(self.emit("order", ty, Exp::Argsort(v), span))
    }

    /// The elements or rows at positions.
    pub(super) fn gathered(&mut self, at: Atom, xs: &Value, span: Span) -> Option<Value> {
        let extents = self.atom_type(at).dims;
        self.build("sorted", &extents, &[], span, |e, ix| {
            let p = e.index(at, ix, span);
            let atoms: Vec<Atom> = xs.atoms()?.into_iter().map(|a| e.index(a, &[p], span)).collect();
            Some(xs.with_atoms(&mut atoms.into_iter()))
        })
    }
}
