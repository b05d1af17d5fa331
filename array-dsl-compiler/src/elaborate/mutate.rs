//! Assignment: a new value for a variable, or for a part of one.
//!
//! ```text
//! x = e            x' = e
//! x op= e          x' = x op e
//! a[i] = e         a' = a with [i] = e
//! a[i] op= e       a' = a with [i] = a[i] op e
//! t.0 = e          t' = (e, t.1)        r.name = e likewise
//! a[lo..hi] = e    a' = build(len a, |k| if lo <= k && k < hi { e[k - lo] } else { a[k] })
//! ```
//!
//! A variable keeps its type, sizes included. The value is evaluated before the target's indices, as in Rust.

use proc_macro2::Span;

use super::Elaborator;
use super::effects::{self, negated};
use super::expr::binary_op;
use super::scope::{Role, Slot};
use super::value::Value;
use crate::core::{Atom, Exp, Reducer};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::syntax::ast::{Binary, Expr, ExprKind, IndexKind, Member};
use crate::ty::Elem;

/// One step from a variable to the part that is assigned.
enum Step {
    /// Leading indices.
    At(Vec<Atom>),
    /// `lo..hi`.
    Slice(Option<Value>, Option<Value>),
    /// `.0`, `.name`.
    Field(Member),
}

impl Elaborator<'_> {
    /// `target op= value`.
    pub(super) fn assign(
        &mut self,
        target: &Expr,
        op: Option<Binary>,
        value: &Expr,
        span: Span,
    ) -> Option<Value> {
        if let ExprKind::Tuple(_) = target.kind {
            let v = self.expr(value)?;
            self.assign_tuple(target, v, span)?;
            return Some(Value::unit());
        }
        let slot = self.assignable(target)?;
        match self.scope.variable(slot).role {
            Role::Plain => {}
            Role::Combined(r, start) => {
                if let Some(u) = effects::update(target, op, value)
                    && u.reducer == r
                    && self.scope.variable(slot).value.atoms() == Some(vec![start])
                {
                    return self.first_update(
                        slot,
                        r,
                        if u.negated { negated(u.value) } else { u.value },
                        span,
                    );
                }
            }
            Role::Scattered(reducer) => {
                return self.scattered_assignment(slot, reducer, target, op, value, span);
            }
        }
        let v = self.expr(value)?;
        self.assign_value(slot, target, op, v, span)?;
        Some(Value::unit())
    }

    /// The first `v = v op e` of a trip that began with the neutral element: `v = e`.
    fn first_update(&mut self, slot: Slot, r: Reducer, e: Expr, span: Span) -> Option<Value> {
        let v = self.expr(&e)?;
        let old = self.scope.variable(slot).value.clone();
        let alike = match (&v, &old) {
            (Value::Atom(v), Value::Atom(old)) => self.rank(*v) == self.rank(*old),
            _ => false,
        };
        // What is no number of its own is combined, which says so.
        let v = match r.op() {
            Some(op) if !alike => {
                self.apply_operator(op, &format!("`{}`", r.name()), &[old.clone(), v], span)?
            }
            _ => v,
        };
        let new = self.fit(&old, v, "this", span)?;
        self.scope.set(slot, new);
        Some(Value::unit())
    }

    fn assign_tuple(&mut self, target: &Expr, v: Value, span: Span) -> Option<()> {
        match (&target.kind, v) {
            (ExprKind::Tuple(parts), Value::Tuple(vs)) if parts.len() == vs.len() => {
                parts.iter().zip(vs).try_for_each(|(p, v)| self.assign_tuple(p, v, span))
            }
            (ExprKind::Tuple(parts), v) => {
                let found = self.describe(&v);
                self.error(
                    Code::TupleShape,
                    target.span,
                    format!("{} parts are assigned, the value is {found}", parts.len()),
                    "use one target for each part",
                );
                None
            }
            (_, v) => {
                let slot = self.assignable(target)?;
                self.assign_value(slot, target, None, v, span)
            }
        }
    }

    fn assign_value(
        &mut self,
        slot: Slot,
        target: &Expr,
        op: Option<Binary>,
        v: Value,
        span: Span,
    ) -> Option<()> {
        let mut steps = Vec::new();
        self.steps(target, &mut steps)?;
        let old = self.scope.variable(slot).value.clone();
        let name = effects::root(target).map_or("", |n| effects::shown(n));
        let what = if steps.is_empty() { format!("`{name}`") } else { format!("this part of `{name}`") };
        let new = self.store(&old, &steps, op, v, &what, span)?;
        self.scope.set(slot, new);
        Some(())
    }

    /// The variable that a target is a part of, if it can be assigned to.
    fn assignable(&mut self, target: &Expr) -> Option<Slot> {
        let (mut e, mut part) = (target, false);
        let name = loop {
            match &e.kind {
                ExprKind::Path(p) => break p.single()?.clone(),
                ExprKind::Index(a, _) | ExprKind::Field(a, _) => (e, part) = (a, true),
                _ => return None,
            }
        };
        let Some(slot) = self.scope.slot(&name.name) else {
            if !self.scope.is_poisoned(&name.name) {
                if self.is_size(&name.name) {
                    self.error(
                        Code::Assignment,
                        name.span,
                        format!("`{}` is a size of the arguments and cannot change", name.name),
                        format!("copy it: `let mut count = {};`", name.name),
                    );
                } else if self.expr(e).is_some() {
                    self.error(
                        Code::Assignment,
                        name.span,
                        format!("`{}` is no variable and cannot be assigned", name.name),
                        format!("declare one: `let mut {} = ..;`", name.name),
                    );
                }
            }
            return None;
        };
        let variable = self.scope.variable(slot);
        let shown = effects::shown(&name.name);
        let of = if part { "a part of " } else { "" };
        if self.scope.is_captured(slot) {
            self.error(
                Code::Assignment,
                name.span,
                format!("a closure cannot change {of}`{shown}`, which belongs to the code around it"),
                "a closure's points are independent: write a `for` loop instead, or give the value back as its result",
            );
            return None;
        }
        if !variable.mutable {
            self.error(
                Code::Assignment,
                name.span,
                format!("`{shown}` is not declared as mutable"),
                format!("declare it with `mut {shown}`"),
            );
            return None;
        }
        if variable.value.atoms().is_none() {
            self.error(
                Code::Assignment,
                name.span,
                format!("`{shown}` is a function and cannot be assigned"),
                "bind the other function with `let`",
            );
            return None;
        }
        Some(slot)
    }

    /// The steps to the part that is assigned.
    fn steps(&mut self, target: &Expr, out: &mut Vec<Step>) -> Option<()> {
        match &target.kind {
            ExprKind::Index(a, kind) => {
                self.steps(a, out)?;
                let at = match kind {
                    IndexKind::At(i) => vec![self.place(i)?],
                    IndexKind::Multi(is) => is.iter().map(|i| self.place(i)).collect::<Option<_>>()?,
                    IndexKind::Slice(lo, hi) => {
                        let mut end = |e: &Option<Box<Expr>>| match e {
                            Some(e) => Some(Some(self.expr(e)?)),
                            None => Some(None),
                        };
                        let (lo, hi) = (end(lo)?, end(hi)?);
                        out.push(Step::Slice(lo, hi));
                        return Some(());
                    }
                };
                match out.last_mut() {
                    Some(Step::At(before)) => before.extend(at),
                    _ => out.push(Step::At(at)),
                }
            }
            ExprKind::Field(a, i) => {
                self.steps(a, out)?;
                // A part of an element of an array of tuples is an element of a part.
                let before = out.iter().rposition(|s| matches!(s, Step::Field(_))).map_or(0, |i| i + 1);
                out.insert(before, Step::Field(i.clone()));
            }
            _ => {}
        }
        Some(())
    }

    /// The value of an index to assign at.
    pub(super) fn place(&mut self, e: &Expr) -> Option<Atom> {
        let v = self.expr(e)?;
        let i = match v {
            Value::Atom(a) if self.rank(a) == 0 && self.inference.is_int(self.elem(a)) => a,
            other => {
                let found = self.describe(&other);
                self.error(
                    Code::ElementType,
                    e.span,
                    format!("an index to assign at must be one integer, found {found}"),
                    "convert a number with `as usize`; for many places at once use `scatter`",
                );
                return None;
            }
        };
        let elem = self.elem(i);
        if elem != Elem::I32 && elem != Elem::U32 {
            self.unify(elem, Elem::I64, e.span, "an index")?;
        }
        Some(self.cast(i, Elem::I64, e.span))
    }

    /// `old` with the part that the steps lead to replaced.
    fn store(
        &mut self,
        old: &Value,
        steps: &[Step],
        op: Option<Binary>,
        v: Value,
        what: &str,
        span: Span,
    ) -> Option<Value> {
        let Some((step, rest)) = steps.split_first() else {
            let new = match op {
                Some(op) => {
                    let (op, symbol) = binary_op(op);
                    self.apply_operator(op, &format!("`{symbol}=`"), &[old.clone(), v], span)?
                }
                None => v,
            };
            return self.fit(old, new, what, span);
        };
        match (step, old) {
            (Step::Field(member), old) => {
                let at = self.part_of(old, member, span)?;
                let mut new = old.clone();
                if let Value::Tuple(vs) | Value::Record(_, vs) = &mut new {
                    vs[at] = self.store(&vs[at].clone(), rest, op, v, what, span)?;
                }
                Some(new)
            }
            (_, Value::Record(r, olds)) => match v {
                Value::Record(s, vs) if s.id == r.id && op.is_none() => {
                    let parts = olds.iter().zip(vs).map(|(o, v)| self.store(o, steps, op, v, what, span));
                    Some(Value::Record(s, parts.collect::<Option<_>>()?))
                }
                other => {
                    let found = self.describe(&other);
                    let message = format!("{what} is a record `{}`, the value is {found}", r.name);
                    self.error(Code::Fields, span, message, "assign a record, or one field");
                    None
                }
            },
            (_, Value::Tuple(olds)) => match v {
                Value::Tuple(vs) if vs.len() == olds.len() && op.is_none() => {
                    let parts = olds.iter().zip(vs).map(|(o, v)| self.store(o, steps, op, v, what, span));
                    Some(Value::Tuple(parts.collect::<Option<_>>()?))
                }
                other => {
                    let found = self.describe(&other);
                    self.error(
                        Code::TupleShape,
                        span,
                        format!("{what} is a tuple of {}, the value is {found}", olds.len()),
                        "assign a tuple, or one part with `.0`",
                    );
                    None
                }
            },
            (Step::At(at), Value::Atom(a)) => {
                let ty = self.atom_type(*a);
                if ty.rank() < at.len() {
                    // Records that there are too many.
                    let at: Vec<Value> = at.iter().map(|i| Value::Atom(*i)).collect();
                    return self.index_at(*a, &at, span);
                }
                let Atom::Var(array) = *a else { return None };
                let cell = Value::Atom(self.index(*a, at, span));
                let Value::Atom(new) = self.store(&cell, rest, op, v, what, span)? else { return None };
                let name = self.vars[array.0 as usize].name.clone();
                Some(Value::Atom(self.emit(&name, ty, Exp::Update(array, at.clone(), new), span)))
            }
            (Step::Slice(lo, hi), Value::Atom(a)) => {
                if !rest.is_empty() {
                    self.error(
                        Code::Unsupported,
                        span,
                        "a part of a slice cannot be assigned",
                        "assign to `a[lo + i]`, or the whole slice",
                    );
                    return None;
                }
                let cell = self.slice(*a, lo.clone(), hi.clone(), span)?;
                let Value::Atom(new) = self.store(&cell, rest, op, v, what, span)? else { return None };
                self.splice(*a, lo.as_ref(), new, span)
            }
            (_, Value::Function(_)) => None,
        }
    }

    /// `a` with the elements from `lo` replaced by those of `new`.
    fn splice(&mut self, a: Atom, lo: Option<&Value>, new: Atom, span: Span) -> Option<Value> {
        let length = self.atom_type(new).dims[0].clone();
        let extent = self.atom_type(a).dims[0].clone();
        let lo = match lo {
            Some(Value::Atom(lo)) => *lo,
            _ => self.int(0),
        };
        self.build("splice", &[extent], &[], span, |e, ix| {
            let length = e.size_value(&length, span);
            let k = e.op(Op::Sub, &[ix[0], lo], span);
            let zero = e.int(0);
            let from = e.op(Op::Ge, &[k, zero], span);
            let to = e.op(Op::Lt, &[k, length], span);
            let inside = e.op(Op::And, &[from, to], span);
            e.choice(inside, span, &mut |e| Some(Value::Atom(e.index(new, &[k], span))), &mut |e| {
                Some(Value::Atom(e.index(a, ix, span)))
            })
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
                let (have, want) = (self.atom_type(n), self.atom_type(*o));
                self.unify(have.elem, want.elem, span, &format!("the assignment to {what}"))?;
                for (h, w) in have.dims.iter().zip(&want.dims) {
                    if h.sub(w).as_constant().is_some_and(|c| c != 0) {
                        let (h, w) = (self.show(h), self.show(w));
                        self.error(
                            Code::Assignment,
                            span,
                            format!("an assignment keeps the size of {what}: expected {w}, found {h}"),
                            "bind the other array with a new `let`; in a loop, make the array as long as it will get \
                             and count how much of it is in use",
                        );
                        return None;
                    }
                }
                let n = self.coerce(n, &want.dims, span, &format!("the assignment to {what}"), false)?;
                Some(Value::Atom(n))
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
}
