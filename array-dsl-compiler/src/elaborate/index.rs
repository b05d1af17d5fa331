//! Indexing.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::slices::{TO_READ, Taken, one_element};
use super::value::Value;
use crate::core::Atom;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::syntax::ast::{Expr, ExprKind, IndexKind};
use crate::ty::Elem;

impl Elaborator<'_> {
    /// `a[..]` of an array or of each part of an array of tuples; messages call it by `name`.
    pub(super) fn index_expr(&mut self, v: Value, name: &str, kind: &IndexKind, span: Span) -> Option<Value> {
        match (v, kind) {
            (Value::Tuple(vs), _) => Some(Value::Tuple(
                vs.into_iter().map(|v| self.index_expr(v, name, kind, span)).collect::<Option<_>>()?,
            )),
            (Value::Record(r, vs), _) => Some(Value::Record(
                r,
                vs.into_iter().map(|v| self.index_expr(v, name, kind, span)).collect::<Option<_>>()?,
            )),
            (Value::Function(_), _) => {
                self.error(Code::NotAFunction, span, "a function cannot be indexed", "call it");
                None
            }
            (Value::Atom(a), IndexKind::At(i)) => {
                let i = self.expr(i)?;
                self.index_at(a, name, &[i], span)
            }
            (Value::Atom(a), IndexKind::Multi(is)) => {
                let is = is.iter().map(|i| self.expr(i)).collect::<Option<Vec<_>>>()?;
                self.index_at(a, name, &is, span)
            }
            (Value::Atom(a), IndexKind::Slice(lo, hi)) => {
                let ends = self.ends_of_range(lo, hi, span)?;
                self.slices(a, name, &[Taken::Range(ends)], span)
            }
            (Value::Atom(a), IndexKind::Parts(parts)) => {
                let parts = self.taken(parts, TO_READ)?;
                let parts = self.counted_from_start(a, parts, span);
                if let Some(at) = one_element(&parts) {
                    let at: Vec<Value> = at.into_iter().map(Value::Atom).collect();
                    return self.index_at(a, name, &at, span);
                }
                self.slices(a, name, &parts, span)
            }
        }
    }

    /// `a[i]..[j]` with integer indices; indices that are arrays lift (a gather).
    pub(super) fn index_at(&mut self, a: Atom, name: &str, at: &[Value], span: Span) -> Option<Value> {
        let rank = self.rank(a);
        if rank < at.len() {
            let found = self.show_type(&self.atom_type(a));
            let (indices, help) = (
                if at.len() == 1 { "1 index".into() } else { format!("{} indices", at.len()) },
                "give at most one index for each dimension",
            );
            let message = match rank {
                0 => format!("{name} is a scalar, {found}, and cannot be indexed"),
                r => format!("{indices} for {name}: {found}, which has {}", count(r, "dimension")),
            };
            self.error(Code::Rank, span, message, help);
            return None;
        }
        let at = self.plain_atoms("an index", at, span)?;
        for i in &at {
            let elem = self.elem(*i);
            self.inference.settle_for_int(elem);
            if !self.inference.is_int(elem) {
                let found = self.inference.describe(elem);
                self.error(
                    Code::ElementType,
                    span,
                    format!("an index of {name} must be an integer, found {found}"),
                    "convert it with `as usize`",
                );
                return None;
            }
            if elem != Elem::I32 && elem != Elem::U32 {
                self.unify(elem, Elem::I64, span, "an index")?;
            }
        }
        self.may_be_inside(a, name, &at, span)?;
        let expected = vec![0; at.len()];
        self.lift("indexing", &expected, &at, span, &mut |e, at| {
            let at: Vec<Atom> = at.iter().map(|i| e.cast(*i, Elem::I64, span)).collect();
            Some(Value::Atom(e.index(a, &at, span)))
        })
    }

    /// Records an error for an index that is outside whatever the arguments are: `x[-1]`, `x[n]`. In a generic kernel a branch for
    /// other sizes may read there.
    pub(super) fn may_be_inside(&mut self, a: Atom, name: &str, at: &[Atom], span: Span) -> Option<()> {
        let dims = self.atom_type(a).dims;
        at.iter().zip(&dims).try_for_each(|(i, len)| self.may_be_below(len, name, *i, span))
    }

    /// The same of one dimension, which is so long.
    pub(super) fn may_be_below(&mut self, len: &Dim, name: &str, i: Atom, span: Span) -> Option<()> {
        if self.site.generic.is_some() || self.site.call_span.is_some() {
            return Some(());
        }
        let Some(i) = self.known_int(i).filter(|_| self.rank(i) == 0) else { return Some(()) };
        let below = i.as_constant().is_some_and(|i| i < 0);
        let beyond = i.sub(len).as_constant().is_some_and(|d| d >= 0);
        if !below && !beyond {
            return Some(());
        }
        let last = self.show(&len.sub(&Dim::constant(1)));
        let (i, len) = (self.show(&i), self.show(len));
        let help = if below {
            format!("indices begin at 0; the last one is {last}")
        } else {
            format!("the last index is {last}")
        };
        let message = format!("the index {i} of {name} is outside: its length is {len}");
        self.error(Code::Index, span, message, help);
        None
    }
}

/// What messages call an array that is indexed: as it is written, where it has a name.
pub(super) fn indexed(e: &Expr) -> String {
    fn written(e: &Expr) -> Option<String> {
        match &e.kind {
            ExprKind::Path(path) => Some(path.text()),
            ExprKind::Field(base, member) => Some(format!("{}.{member}", written(base)?)),
            ExprKind::Index(base, IndexKind::At(i)) => {
                let i = match &i.kind {
                    ExprKind::Int(i, _) => i.to_string(),
                    _ => written(i).unwrap_or_else(|| "..".into()),
                };
                Some(format!("{}[{i}]", written(base)?))
            }
            ExprKind::Index(base, _) => Some(format!("{}[..]", written(base)?)),
            _ => None,
        }
    }
    written(e).map_or_else(|| "this".into(), |text| format!("`{text}`"))
}
