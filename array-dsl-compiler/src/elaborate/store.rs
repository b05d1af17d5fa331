//! A value with a part of it replaced: what an assignment gives.
//!
//! ```text
//! t with .k replaced        the tuple (or record) of the old parts and the new one
//! (t, u) with s replaced    each part with its s replaced by the part of the new value
//! a with [i] replaced       update a[i]
//! a with lo..hi replaced    build(len a, |k| if lo <= k && k < hi { new[k - lo] } else { a[k] })
//! a with s![lo..hi, p] ..   the same, each of the rows `a[k]` with [p] replaced by `new[k - lo]`
//! ```

use proc_macro2::Span;

use super::Elaborator;
use super::expr::binary_op;
use super::slices::{Taken, one_element};
use super::value::Value;
use crate::core::{Atom, Exp};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::syntax::ast::{Binary, Member};

/// One step from a variable to the part that is assigned.
pub(super) enum Step {
    /// Leading indices.
    At(Vec<Atom>),
    /// `lo..hi`, `s![.., j]`.
    Parts(Vec<Taken>),
    /// `.0`, `.name`.
    Field(Member),
}

/// An assignment, as far as it is the same for all parts of a value.
pub(super) struct Assignment<'a> {
    /// `op=`.
    pub op: Option<Binary>,
    /// What is assigned to, for messages.
    pub what: &'a str,
    pub span: Span,
}

impl Elaborator<'_> {
    /// `old` with the part that the steps lead to replaced.
    pub(super) fn store(
        &mut self,
        a: &Assignment<'_>,
        old: &Value,
        steps: &[Step],
        v: Value,
    ) -> Option<Value> {
        let Some((step, rest)) = steps.split_first() else { return self.replaced(a, old, v) };
        match (step, old) {
            (Step::Field(member), old) => {
                let at = self.part_of(old, member, a.span)?;
                let mut new = old.clone();
                if let Value::Tuple(vs) | Value::Record(_, vs) = &mut new {
                    vs[at] = self.store(a, &vs[at].clone(), rest, v)?;
                }
                Some(new)
            }
            (_, Value::Record(r, olds)) => match v {
                Value::Record(s, vs) if s.id == r.id && a.op.is_none() => {
                    Some(Value::Record(s, self.store_parts(a, olds, steps, vs)?))
                }
                other => {
                    let found = self.describe(&other);
                    let message = format!("{} is a record `{}`, the value is {found}", a.what, r.name);
                    self.error(Code::Fields, a.span, message, "assign a record, or one field");
                    None
                }
            },
            (_, Value::Tuple(olds)) => match v {
                Value::Tuple(vs) if vs.len() == olds.len() && a.op.is_none() => {
                    Some(Value::Tuple(self.store_parts(a, olds, steps, vs)?))
                }
                other => {
                    let found = self.describe(&other);
                    let message = format!("{} is a tuple of {}, the value is {found}", a.what, olds.len());
                    self.error(Code::TupleShape, a.span, message, "assign a tuple, or one part with `.0`");
                    None
                }
            },
            (Step::At(at), Value::Atom(array)) => self.store_element(a, *array, at, rest, v),
            (Step::Parts(parts), Value::Atom(array)) => self.store_slice(a, *array, parts, rest, v),
            (_, Value::Function(_)) => None,
        }
    }

    /// The new value in place of a whole old one.
    fn replaced(&mut self, a: &Assignment<'_>, old: &Value, v: Value) -> Option<Value> {
        let new = match a.op {
            Some(op) => {
                let (op, symbol) = binary_op(op);
                self.apply_operator(op, &format!("`{symbol}=`"), &[old.clone(), v], a.span)?
            }
            None => v,
        };
        self.fit(old, new, a.what, a.span)
    }

    fn store_parts(
        &mut self,
        a: &Assignment<'_>,
        olds: &[Value],
        steps: &[Step],
        vs: Vec<Value>,
    ) -> Option<Vec<Value>> {
        olds.iter().zip(vs).map(|(old, v)| self.store(a, old, steps, v)).collect()
    }

    fn store_element(
        &mut self,
        a: &Assignment<'_>,
        array: Atom,
        at: &[Atom],
        rest: &[Step],
        v: Value,
    ) -> Option<Value> {
        let ty = self.atom_type(array);
        if ty.rank() < at.len() {
            // Records that there are too many.
            let at: Vec<Value> = at.iter().map(|i| Value::Atom(*i)).collect();
            return self.index_at(array, "the array", &at, a.span);
        }
        self.may_be_inside(array, a.what.trim_start_matches("this part of "), at, a.span)?;
        let Atom::Var(var) = array else { return None };
        let cell = Value::Atom(self.index(array, at, a.span));
        let Value::Atom(new) = self.store(a, &cell, rest, v)? else { return None };
        let name = self.vars[var.0 as usize].name.clone();
        Some(Value::Atom(self.emit(&name, ty, Exp::Update(var, at.to_vec(), new), a.span)))
    }

    fn store_slice(
        &mut self,
        a: &Assignment<'_>,
        array: Atom,
        parts: &[Taken],
        rest: &[Step],
        v: Value,
    ) -> Option<Value> {
        let parts = &self.counted_from_start(array, parts.to_vec(), a.span);
        if let Some(at) = one_element(parts) {
            return self.store_element(a, array, &at, rest, v);
        }
        if !rest.is_empty() {
            let help = "assign to `a[lo + i]`, or the whole slice";
            self.error(Code::Unsupported, a.span, "a part of a slice cannot be assigned", help);
            return None;
        }
        let cell = self.slices(array, a.what.trim_start_matches("this part of "), parts, a.span)?;
        let Value::Atom(new) = self.store(a, &cell, rest, v)? else { return None };
        self.splice(array, parts, new, a.span)
    }

    /// `a` with the parts of it replaced by the elements of `new`.
    fn splice(&mut self, a: Atom, parts: &[Taken], new: Atom, span: Span) -> Option<Value> {
        let ty = self.atom_type(a);
        let first: Vec<Atom> =
            parts.iter().map_while(|p| if let Taken::At(i) = p { Some(*i) } else { None }).collect();
        if !first.is_empty() {
            let Atom::Var(var) = a else { return None };
            let row = self.index(a, &first, span);
            let Value::Atom(row) = self.splice(row, &parts[first.len()..], new, span)? else { return None };
            return Some(Value::Atom(self.emit("splice", ty, Exp::Update(var, first, row), span)));
        }
        let is_all = |p: &Taken| matches!(p, Taken::Range((None, None)));
        let [Taken::Range((lo, _)), rest @ ..] = parts else { return Some(Value::Atom(new)) };
        if parts.iter().all(is_all) {
            return Some(Value::Atom(new));
        }
        let lo = if let Some(Value::Atom(lo)) = lo { *lo } else { self.int(0) };
        let length = self.atom_type(new).dims[0].clone();
        self.build("splice", &[ty.dims[0].clone()], &[], span, |e, ix| {
            let length = e.size_value(&length, span);
            let k = e.op(Op::Sub, &[ix[0], lo], span);
            let zero = e.int(0);
            let from = e.op(Op::Ge, &[k, zero], span);
            let to = e.op(Op::Lt, &[k, length], span);
            let inside = e.op(Op::And, &[from, to], span);
            let old = |e: &mut Self| e.index(a, ix, span);
            e.choice(
                inside,
                span,
                &mut |e| {
                    let (old, new) = (old(e), e.index(new, &[k], span));
                    e.splice(old, rest, new, span)
                },
                &mut |e| Some(Value::Atom(old(e))),
            )
        })
    }

    /// A value under the type of the one it replaces.
    pub(super) fn fit(&mut self, old: &Value, new: Value, what: &str, span: Span) -> Option<Value> {
        match (old, new) {
            (Value::Tuple(os), Value::Tuple(ns)) if os.len() == ns.len() => {
                let parts = os.iter().zip(ns).map(|(o, n)| self.fit(o, n, what, span));
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            (Value::Record(r, os), Value::Record(s, ns)) if r.id == s.id => {
                let parts = os.iter().zip(ns).map(|(o, n)| self.fit(o, n, what, span));
                Some(Value::Record(s, parts.collect::<Option<_>>()?))
            }
            (Value::Atom(o), Value::Atom(n)) if self.rank(*o) == self.rank(n) => {
                self.fit_atom(*o, n, what, span).map(Value::Atom)
            }
            (o, n) => {
                let (expected, found) = (self.describe(o), self.describe(&n));
                let help = match (o, &n) {
                    (Value::Atom(o), Value::Atom(n)) if self.rank(*n) < self.rank(*o) => {
                        "repeat the value with `[value; n]`"
                    }
                    _ => "bind the other value with a new `let`",
                };
                self.error(
                    Code::Assignment,
                    span,
                    format!("an assignment keeps the type of {what}: expected {expected}, found {found}"),
                    help,
                );
                None
            }
        }
    }

    fn fit_atom(&mut self, old: Atom, new: Atom, what: &str, span: Span) -> Option<Atom> {
        let (have, want) = (self.atom_type(new), self.atom_type(old));
        let assignment = format!("the assignment to {what}");
        self.unify(have.elem, want.elem, span, &assignment)?;
        for (h, w) in have.dims.iter().zip(&want.dims) {
            if h.sub(w).as_constant().is_some_and(|c| c != 0) {
                let message = format!(
                    "an assignment keeps the size of {what}: expected {}, found {}",
                    self.show(w),
                    self.show(h)
                );
                let help = "bind the other array with a new `let`; in a loop, make the array as long as it will get and count \
                            how much of it is in use";
                self.error(Code::Assignment, span, message, help);
                return None;
            }
        }
        self.coerce(new, &want.dims, span, &assignment, false)
    }
}
