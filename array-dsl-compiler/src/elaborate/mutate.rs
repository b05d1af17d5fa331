//! Assignment: a new value for a variable, or for a part of one.
//!
//! ```text
//! x = e            x' = e
//! x op= e          x' = x op e
//! a[i] = e         a' = a with [i] = e
//! a[i] op= e       a' = a with [i] = a[i] op e
//! t.0 = e          t' = (e, t.1)        r.name = e likewise
//! a[lo..hi] = e    a' = a with e in lo..hi
//! ```
//!
//! How the new value is made is said by `store`. A variable keeps its type, sizes included. The value is evaluated before the target's indices, as in Rust.

use proc_macro2::Span;

use super::Elaborator;
use super::effects::{self, negated};
use super::scope::{Role, Slot};
use super::slices::{TO_ASSIGN, Taken, Wanted};
use super::store::{Assignment, Step};
use super::value::Value;
use crate::core::{Atom, Reducer};
use crate::diagnostics::Code;
use crate::syntax::ast::{Binary, Expr, ExprKind, Ident, IndexKind};
use crate::ty::Elem;

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
        let new = self.store(&Assignment { op, what: &what, span }, &old, &steps, v)?;
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
            self.no_variable(&name, e);
            return None;
        };
        let variable = self.scope.variable(slot);
        let shown = effects::shown(&name.name);
        let (message, help) = if self.scope.is_captured(slot) {
            let of = if part { "a part of " } else { "" };
            (
                format!("a closure cannot change {of}`{shown}`, which belongs to the code around it"),
                "a closure's points are independent: write a `for` loop instead, or give the value back as its result"
                    .to_string(),
            )
        } else if !variable.mutable {
            (format!("`{shown}` is not declared as mutable"), format!("declare it with `mut {shown}`"))
        } else if variable.value.atoms().is_none() {
            let help = "bind the other function with `let`".to_string();
            (format!("`{shown}` is a function and cannot be assigned"), help)
        } else {
            return Some(slot);
        };
        self.error(Code::Assignment, name.span, message, help);
        None
    }

    /// Records why a name that is no variable, used as `e`, cannot be assigned to, unless that is said already.
    fn no_variable(&mut self, name: &Ident, e: &Expr) {
        if self.scope.is_poisoned(&name.name) {
            return;
        }
        let (message, help) = if self.is_size(&name.name) {
            (
                format!("`{}` is a size of the arguments and cannot change", name.name),
                format!("copy it: `let mut count = {};`", name.name),
            )
        } else if self.expr(e).is_some() {
            (
                format!("`{}` is no variable and cannot be assigned", name.name),
                format!("declare one: `let mut {} = ..;`", name.name),
            )
        } else {
            return;
        };
        self.error(Code::Assignment, name.span, message, help);
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
                        let ends = self.ends_of_range(lo, hi, target.span)?;
                        out.push(Step::Parts(vec![Taken::Range(ends)]));
                        return Some(());
                    }
                    IndexKind::Parts(parts) => {
                        let parts = self.taken(parts, TO_ASSIGN)?;
                        out.push(Step::Parts(parts));
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
        self.one_index(e, TO_ASSIGN)
    }

    /// The value of an index that is one integer.
    pub(super) fn one_index(&mut self, e: &Expr, wanted: Wanted) -> Option<Atom> {
        let v = self.expr(e)?;
        if let Value::Atom(a) = v {
            self.inference.settle_for_int(self.elem(a));
        }
        let i = match v {
            Value::Atom(a) if self.rank(a) == 0 && self.inference.is_int(self.elem(a)) => a,
            other => {
                let found = self.describe(&other);
                self.error(
                    Code::ElementType,
                    e.span,
                    format!("{} must be one integer, found {found}", wanted.what),
                    wanted.help,
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
}
