//! Choices: `if` and `match`, as expressions and as statements.

use proc_macro2::Span;

use super::Elaborator;
use super::effects;
use super::value::Value;
use super::writes::bound_by;
use crate::core::{Atom, Body, Exp, Stm};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::syntax::ast::{Arm, Expr, Pattern};
use crate::ty::{Elem, Name};

impl Elaborator<'_> {
    /// `if`; without `else` a statement.
    pub(super) fn if_expr(&mut self, c: &Expr, a: &Expr, b: Option<&Expr>, span: Span) -> Option<Value> {
        let cond = self.expr(c)?;
        let Value::Atom(cond) = cond else {
            self.error(
                Code::ElementType,
                c.span,
                "the condition of an `if` must be a bool",
                "compare something",
            );
            return None;
        };
        self.unify(self.elem(cond), Elem::Bool, c.span, "the condition of an `if`")?;
        if self.rank(cond) > 0 {
            self.no_lifted_assignment(&[Some(a), b], span)?;
        }
        // A condition of higher rank lifts the whole choice.
        self.lift("`if`", &[0], &[cond], c.span, &mut |e, c| {
            e.choice(c[0], span, &mut |e| e.branch(a, b.is_none(), span), &mut |e| match b {
                Some(b) => e.expr(b),
                None => Some(Value::unit()),
            })
        })
    }

    /// The branch of an `if`; `alone`: there is no other.
    fn branch(&mut self, a: &Expr, alone: bool, span: Span) -> Option<Value> {
        let v = self.expr(a)?;
        if alone && !v.is_unit() {
            self.error(
                Code::Unsupported,
                span,
                "`if` without `else` has no value",
                "add an `else` with the value for the other case",
            );
            return None;
        }
        Some(v)
    }

    /// Refuses assignments under a condition that is an array.
    fn no_lifted_assignment(&mut self, branches: &[Option<&Expr>], span: Span) -> Option<()> {
        let nothing = Pattern::Wildcard(span);
        let names = branches.iter().flatten().flat_map(|e| effects::assigned(e, &nothing)).next();
        if let Some(name) = names {
            self.error(
                Code::Assignment,
                span,
                format!("`{}` is assigned under a condition that is an array", effects::shown(&name)),
                "decide element by element in a `for`, or make one condition with `any` or `all`",
            );
            return None;
        }
        Some(())
    }

    /// A lazy choice between two values of one type. What the branches assign is chosen with them.
    pub(super) fn choice(
        &mut self,
        c: Atom,
        span: Span,
        a: &mut dyn FnMut(&mut Self) -> Option<Value>,
        b: &mut dyn FnMut(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let before = self.scope.clone();
        let mark = self.writes.len();
        self.branches.push(self.branch_where(c, true));
        let x = self.in_body(|e| a(e));
        self.branches.pop();
        let left = std::mem::replace(&mut self.scope, before.clone());
        let mut left_writes = self.writes.split_off(mark);
        self.branches.push(self.branch_where(c, false));
        let y = self.in_body(|e| b(e));
        self.branches.pop();
        let right = std::mem::replace(&mut self.scope, before);
        let mut right_writes = self.writes.split_off(mark);
        let ((mut xs, x), (mut ys, y)) = (x?, y?);
        let (Some(xr), Some(yr)) = (x.atoms(), y.atoms()) else {
            self.error(
                Code::Unsupported,
                span,
                "an `if` cannot choose between functions",
                "choose between their values",
            );
            return None;
        };
        if xr.len() != yr.len() || records(&x) != records(&y) {
            let (tx, ty) = (self.describe(&x), self.describe(&y));
            self.branch_mismatch(span, &tx, &ty);
            return None;
        }
        let mut pairs: Vec<(Atom, Atom)> = xr.into_iter().zip(yr).collect();
        let changed = self.scope.changed(&left, &right);
        for slot in &changed {
            let (p, q) = (&left.variable(*slot).value, &right.variable(*slot).value);
            pairs.extend(p.atoms().into_iter().flatten().zip(q.atoms().into_iter().flatten()));
        }
        self.writes_in_branch(&left_writes, &mut xs, &mut ys, false, &mut pairs, span);
        self.writes_in_branch(&right_writes, &mut ys, &mut xs, true, &mut pairs, span);
        let mut types = Vec::new();
        let mut results = (Vec::new(), Vec::new());
        for (p, q) in pairs {
            let (tp, tq) = (self.atom_type(p), self.atom_type(q));
            if tp.rank() != tq.rank() {
                let (tx, ty) = (self.show_type(&tp), self.show_type(&tq));
                self.branch_mismatch(span, &tx, &ty);
                return None;
            }
            self.unify(tq.elem, tp.elem, span, "the second branch")?;
            self.bodies.push(std::mem::take(&mut ys));
            let q = self.coerce(q, &tp.dims, span, "the branches of an `if`", false);
            ys = self.close_body();
            results.0.push(p);
            results.1.push(q?);
            types.push(tp);
        }
        let loc = self.loc(span);
        let vars: Vec<_> = types.into_iter().map(|t| self.new_var("chosen", t)).collect();
        let bound = [bound_by(&xs), bound_by(&ys)];
        if !vars.is_empty() {
            let exp =
                Exp::If(c, Body { stms: xs, results: results.0 }, Body { stms: ys, results: results.1 });
            self.push(Stm { vars: vars.clone(), exp, loc });
        }
        let mut chosen = vars.into_iter().map(Atom::Var);
        let value = x.with_atoms(&mut chosen);
        // What both branches assign alike was bound before them.
        self.scope.adopt(&left);
        for slot in changed {
            let new = left.variable(slot).value.with_atoms(&mut chosen);
            self.scope.set(slot, new);
        }
        for (writes, bound, yes) in
            [(&mut left_writes, &bound[0], true), (&mut right_writes, &bound[1], false)]
        {
            for w in writes.iter_mut() {
                w.leave_branch(bound, &mut chosen, c, yes);
            }
        }
        self.writes.extend(left_writes.into_iter().chain(right_writes));
        Some(value)
    }

    fn branch_mismatch(&mut self, span: Span, a: &str, b: &str) {
        self.error(
            Code::ResultType,
            span,
            format!("the branches have different types: {a} and {b}"),
            "both branches of an `if` or `match` must give the same type",
        );
    }

    /// `match`: its arms as a chain of choices.
    pub(super) fn match_expr(&mut self, subject: &Expr, arms: &[Arm], span: Span) -> Option<Value> {
        let v = self.expr(subject)?;
        let Value::Atom(subject) = v else {
            self.error(Code::ElementType, span, "`match` works on integers and bools", "use `if`");
            return None;
        };
        if self.rank(subject) > 0 {
            let bodies: Vec<Option<&Expr>> = arms.iter().map(|a| Some(&a.body)).collect();
            self.no_lifted_assignment(&bodies, span)?;
        }
        self.lift("`match`", &[0], &[subject], span, &mut |e, c| e.match_arms(c[0], arms, span))
    }

    fn match_arms(&mut self, subject: Atom, arms: &[Arm], span: Span) -> Option<Value> {
        let Some((arm, rest)) = arms.split_first() else {
            self.error(
                Code::Unsupported,
                span,
                "this `match` does not cover every value",
                "end it with `_ => ...`",
            );
            return None;
        };
        let covers_bool = self.elem(subject) == Elem::Bool && rest.is_empty();
        if arm.alternatives.is_empty() || covers_bool {
            let mark = self.scope.enter();
            if let Some(n) = &arm.binding {
                self.scope.bind(n.name.clone(), Value::Atom(subject));
            }
            let v = self.expr(&arm.body);
            self.scope.leave(mark);
            return v;
        }
        let mut cond: Option<Atom> = None;
        for alt in &arm.alternatives {
            let v = self.expr(alt)?;
            let Value::Atom(c) = self.apply_scalar(Op::Eq, &[Value::Atom(subject), v], alt.span)? else {
                return None;
            };
            cond = Some(match cond {
                Some(d) => self.op(Op::Or, &[d, c], alt.span),
                None => c,
            });
        }
        let cond = cond?;
        self.choice(cond, span, &mut |e| e.expr(&arm.body), &mut |e| e.match_arms(subject, rest, span))
    }
}

/// The records in a value, from left to right.
fn records(v: &Value) -> Vec<Name> {
    match v {
        Value::Atom(_) | Value::Function(_) => Vec::new(),
        Value::Tuple(vs) => vs.iter().flat_map(records).collect(),
        Value::Record(r, vs) => std::iter::once(r.id.clone()).chain(vs.iter().flat_map(records)).collect(),
    }
}
