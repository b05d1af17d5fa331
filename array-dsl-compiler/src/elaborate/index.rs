//! Indexing and slices.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::value::Value;
use crate::core::{Atom, CheckKind, Exp};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
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
                let lo = match lo {
                    Some(e) => Some(self.expr(e)?),
                    None => None,
                };
                let hi = match hi {
                    Some(e) => Some(self.expr(e)?),
                    None => None,
                };
                self.slice(a, lo, hi, span)
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
        if self.site.generic.is_some() || self.site.call_span.is_some() {
            return Some(());
        }
        let dims = self.atom_type(a).dims;
        for (i, len) in at.iter().zip(&dims) {
            let Some(i) = self.known_int(*i).filter(|_| self.rank(*i) == 0) else { continue };
            let below = i.as_constant().is_some_and(|i| i < 0);
            let beyond = i.sub(len).as_constant().is_some_and(|d| d >= 0);
            if below || beyond {
                let last = self.show(&len.sub(&Dim::constant(1)));
                let (i, len) = (self.show(&i), self.show(len));
                let help = if below {
                    format!("indices begin at 0; the last one is {last}")
                } else {
                    format!("the last index is {last}")
                };
                let message = format!("the index {i} of {name} is outside: its length is {len}");
                self.error(Code::Index, span, message, help);
                return None;
            }
        }
        Some(())
    }

    /// `a[lo..hi]`.
    pub(super) fn slice(
        &mut self,
        a: Atom,
        lo: Option<Value>,
        hi: Option<Value>,
        span: Span,
    ) -> Option<Value> {
        let ty = self.atom_type(a);
        let Some(len) = ty.dims.first().cloned() else {
            self.error(Code::Rank, span, "a scalar cannot be sliced", "slice an array");
            return None;
        };
        let (start, length) = self.ends_of_slice(&len, &lo, &hi, span)?;
        // That `a[k..]` ends where the array does is said of `k`.
        let is_open = hi.is_none() && length.as_constant().is_none();
        self.check_ends(&len, start, &length, is_open, span)?;
        // A start that is a size is the same at every index.
        let start = start.map(|s| self.known_int(s).map_or(s, |d| self.size_value(&d, span)));
        self.build("slice", &[length], &[], span, |e, ix| {
            let i = match start {
                Some(s) => e.op(Op::Add, &[s, ix[0]], span),
                None => ix[0],
            };
            Some(Value::Atom(e.index(a, &[i], span)))
        })
    }

    /// Where a slice begins, if not at 0, and its length. The start may vary with an enclosing index as long as the length does not.
    fn ends_of_slice(
        &mut self,
        len: &Dim,
        lo: &Option<Value>,
        hi: &Option<Value>,
        span: Span,
    ) -> Option<(Option<Atom>, Dim)> {
        Some(match (lo, hi) {
            (Some(Value::Atom(l)), Some(Value::Atom(h))) if self.rank(*l) + self.rank(*h) == 0 => {
                let (Some(_), Some(_)) = (
                    self.unify(self.elem(*l), Elem::I64, span, "the start of a slice"),
                    self.unify(self.elem(*h), Elem::I64, span, "the end of a slice"),
                ) else {
                    return None;
                };
                let n = match (self.known_offset(*l), self.known_offset(*h)) {
                    (Some(l), Some(h)) if h.sub(&l).atoms().iter().all(|a| !self.is_index_atom(a)) => {
                        h.sub(&l)
                    }
                    _ => {
                        let d = self.op(Op::Sub, &[*h, *l], span);
                        self.dim_of(&Value::Atom(d), span)?
                    }
                };
                (Some(*l), n)
            }
            (None, Some(h)) => (None, self.dim_of(h, span)?),
            (Some(Value::Atom(l)), None) => {
                let from = self.dim_of(&Value::Atom(*l), span)?;
                (Some(*l), len.sub(&from))
            }
            (None, None) => (None, len.clone()),
            _ => {
                self.error(
                    Code::ElementType,
                    span,
                    "the ends of a slice must be integers",
                    "write `a[lo..hi]`",
                );
                return None;
            }
        })
    }

    /// Requires a slice to lie within an array of length `len`, as far as it is the same everywhere.
    fn check_ends(
        &mut self,
        len: &Dim,
        start: Option<Atom>,
        length: &Dim,
        is_open: bool,
        span: Span,
    ) -> Option<()> {
        if !is_open {
            self.check_extent(length, span)?;
        }
        let from = match start {
            Some(s) => self.known_int(s),
            None => Some(Dim::constant(0)),
        };
        if let Some(from) = &from {
            let to = from.add(length);
            if !from.is_nonnegative() {
                self.check_slice(CheckKind::NonNegative(from.clone()), span);
            }
            if is_open && !length.is_nonnegative() {
                self.check(CheckKind::AtLeast(from.clone(), len.clone()), span);
            }
            let slack = len.sub(&to);
            match slack.as_constant() {
                Some(c) if c < 0 && self.branches.is_empty() => {
                    let (to, len) = (self.show(&to), self.show(len));
                    self.error(
                        Code::SizeMismatch,
                        span,
                        format!("this slice ends at {to}, the array has length {len}"),
                        "slices must lie within the array",
                    );
                    return None;
                }
                _ if slack.is_nonnegative() => {}
                _ => self.check_slice(CheckKind::AtLeast(to, len.clone()), span),
            }
        }
        Some(())
    }

    /// Like `known_int`, with the indices of enclosing builds as atoms too, so that `i + 3 - i` is 3.
    pub(super) fn known_offset(&self, a: Atom) -> Option<Dim> {
        if let Some(d) = self.known_int(a) {
            return Some(d);
        }
        let Atom::Var(v) = a else { return None };
        let definition = self.bodies.iter().flatten().find(|s| s.vars == [v]);
        match definition.map(|s| &s.exp) {
            Some(Exp::Op(op @ (Op::Add | Op::Sub | Op::Mul), args)) => {
                let (x, y) = (self.known_offset(args[0])?, self.known_offset(args[1])?);
                Some(match op {
                    Op::Add => x.add(&y),
                    Op::Sub => x.sub(&y),
                    _ => x.mul(&y),
                })
            }
            _ => Some(Dim::atom(crate::dim::SizeAtom::Scalar(v.0))),
        }
    }

    pub(super) fn is_index_atom(&self, a: &crate::dim::SizeAtom) -> bool {
        match a {
            crate::dim::SizeAtom::Scalar(s) => {
                !self.known.values().any(|d| d.as_atom() == Some(&crate::dim::SizeAtom::Scalar(*s)))
            }
            crate::dim::SizeAtom::Name(_) => false,
        }
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
