//! Slices: parts of arrays that are arrays.
//!
//! ```text
//! a[lo..hi]                  build(hi - lo, |i| a[lo + i])
//! a[s![p, lo..hi, .., q]]    build((hi - lo, n), |i, j| a[[p, lo + i, j, q]])
//! a[s![-1, 1..-1]]           a[s![m - 1, 1..n - 1]]
//! ```
//!
//! A slice lies within the array, which is checked before anything is read if its ends are the same everywhere, and at each element
//! else. Of a range in an assignment see `store`.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::value::Value;
use crate::core::{Atom, CheckKind, Exp};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::syntax::ast::{Expr, Part};
use crate::ty::Elem;

/// The ends of `lo..hi`, as far as they are written.
pub(super) type Ends = (Option<Value>, Option<Value>);

/// What is taken along one dimension.
#[derive(Clone)]
pub(super) enum Taken {
    /// One element.
    At(Atom),
    /// Those of a range.
    Range(Ends),
}

/// What messages say of an index that is no integer.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub what: &'static str,
    pub help: &'static str,
}

/// An index beside ranges, to read at.
pub(super) const TO_READ: Wanted = Wanted {
    what: "an index beside a range",
    help: "convert a number with `as usize`; for many at once index the array by an array, `a[ks]`",
};

/// An index to assign at.
pub(super) const TO_ASSIGN: Wanted = Wanted {
    what: "an index to assign at",
    help: "convert a number with `as usize`; for many places at once use `scatter`",
};

impl Elaborator<'_> {
    /// The ends of a range.
    pub(super) fn ends(&mut self, lo: &Option<Box<Expr>>, hi: &Option<Box<Expr>>) -> Option<Ends> {
        let mut end = |e: &Option<Box<Expr>>| match e {
            Some(e) => Some(Some(self.expr(e)?)),
            None => Some(None),
        };
        Some((end(lo)?, end(hi)?))
    }

    /// The ends of a range as Rust has it, which does not count from the end of the array.
    pub(super) fn ends_of_range(
        &mut self,
        lo: &Option<Box<Expr>>,
        hi: &Option<Box<Expr>>,
        span: Span,
    ) -> Option<Ends> {
        let ends = self.ends(lo, hi)?;
        if [&ends.0, &ends.1].into_iter().flatten().any(|e| below_zero(e).is_some()) {
            let help = "write `a[s![1..-1]]`, as ndarray does, or `a[1..n - 1]`";
            self.error(Code::SizeMismatch, span, "the end of a range is negative", help);
            return None;
        }
        Some(ends)
    }

    /// What `s![..]` counts from the end of an array, by constants below zero, counted from its start.
    pub(super) fn counted_from_start(&mut self, a: Atom, mut parts: Vec<Taken>, span: Span) -> Vec<Taken> {
        let dims = self.atom_type(a).dims;
        for (len, part) in dims.iter().zip(&mut parts) {
            let mut counted = |c: i64| self.size_value(&len.add(&Dim::constant(c)), span);
            match part {
                Taken::At(i) => {
                    if let Some(c) = below_zero(&Value::Atom(*i)) {
                        *i = counted(c);
                    }
                }
                Taken::Range((lo, hi)) => {
                    for end in [lo, hi].into_iter().flatten() {
                        if let Some(c) = below_zero(end) {
                            *end = Value::Atom(counted(c));
                        }
                    }
                }
            }
        }
        parts
    }

    /// What is between the brackets of `s![..]`.
    pub(super) fn taken(&mut self, parts: &[Part], wanted: Wanted) -> Option<Vec<Taken>> {
        let taken = parts.iter().map(|p| match p {
            Part::At(i) => self.one_index(i, wanted).map(Taken::At),
            Part::Range(lo, hi) => self.ends(lo, hi).map(Taken::Range),
        });
        taken.collect()
    }

    /// `a[s![..]]`; messages call the array by `name`.
    pub(super) fn slices(&mut self, a: Atom, name: &str, parts: &[Taken], span: Span) -> Option<Value> {
        let ty = self.atom_type(a);
        if ty.rank() < parts.len() {
            let message = match ty.rank() {
                0 => "a scalar cannot be sliced".into(),
                rank => {
                    let (found, has) = (self.show_type(&ty), count(rank, "dimension"));
                    format!("{} indices and ranges for {name}: {found}, which has {has}", parts.len())
                }
            };
            self.error(Code::Rank, span, message, "give at most one index or range for each dimension");
            return None;
        }
        // By dimension: one element, or where its elements begin.
        let mut places = Vec::with_capacity(parts.len());
        let mut extents = Vec::new();
        for (len, part) in ty.dims.iter().zip(parts) {
            places.push(match part {
                Taken::At(i) => {
                    self.may_be_below(len, name, *i, span)?;
                    Some(*i)
                }
                Taken::Range(ends) => {
                    let (start, length) = self.range_within(len, ends, span)?;
                    extents.push(length);
                    start
                }
            });
        }
        self.build("slice", &extents, &[], span, |e, ix| {
            let mut own = ix.iter();
            let mut index = Vec::with_capacity(parts.len());
            for (part, place) in parts.iter().zip(&places) {
                index.push(match (part, place) {
                    (Taken::At(i), _) => *i,
                    (Taken::Range(_), None) => *own.next()?,
                    (Taken::Range(_), Some(start)) => e.op(Op::Add, &[*start, *own.next()?], span),
                });
            }
            Some(Value::Atom(e.index(a, &index, span)))
        })
    }

    /// Where a slice of a dimension of length `len` begins, if not at 0, and its length, checked to lie within.
    fn range_within(&mut self, len: &Dim, ends: &Ends, span: Span) -> Option<(Option<Atom>, Dim)> {
        let (start, length) = self.start_and_length(len, ends, span)?;
        // That `a[k..]` ends where the array does is said of `k`.
        let is_open = ends.1.is_none() && length.as_constant().is_none();
        self.check_ends(len, start, &length, is_open, span)?;
        // A start that is a size is the same at every index.
        Some((start.map(|s| self.known_int(s).map_or(s, |d| self.size_value(&d, span))), length))
    }

    /// Where a slice begins, if not at 0, and its length. The start may vary with an enclosing index as long as the length does not.
    fn start_and_length(&mut self, len: &Dim, (lo, hi): &Ends, span: Span) -> Option<(Option<Atom>, Dim)> {
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
            _ => Some(Dim::atom(SizeAtom::Scalar(v.0))),
        }
    }

    /// Whether an atom of a size is the index of an enclosing build, or made of one.
    pub(super) fn is_index_atom(&self, a: &SizeAtom) -> bool {
        match a {
            SizeAtom::Scalar(s) => !self.known.values().any(|d| d.as_atom() == Some(&SizeAtom::Scalar(*s))),
            SizeAtom::Name(_) => false,
        }
    }
}

/// The index of the one element that is taken, if no range is.
pub(super) fn one_element(parts: &[Taken]) -> Option<Vec<Atom>> {
    parts.iter().map(|p| if let Taken::At(i) = p { Some(*i) } else { None }).collect()
}

/// The number that an index or an end is, if it is a constant below zero.
fn below_zero(v: &Value) -> Option<i64> {
    match v {
        Value::Atom(Atom::Const(c)) if !c.elem.is_float() && c.as_i64() < 0 => Some(c.as_i64()),
        _ => None,
    }
}
