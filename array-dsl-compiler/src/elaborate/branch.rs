//! Choices: `if` and `match`, as expressions and as statements.

use proc_macro2::Span;

use super::Elaborator;
use super::effects;
use super::scope::Scope;
use super::value::Value;
use super::writes::{Write, bound_by};
use crate::core::{Atom, Body, Exp, Stm, Type};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::syntax::ast::{Arm, Expr, Pattern};
use crate::ty::{Elem, Name};

/// One branch of a choice, elaborated.
struct Side {
    stms: Vec<Stm>,
    value: Value,
    /// What the names stand for at its end.
    scope: Scope,
    /// What it writes into arrays of a parallel loop around.
    writes: Vec<Write>,
}

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
        let left = self.side(c, true, before.clone(), a);
        let right = self.side(c, false, before, b);
        let (mut left, mut right) = (left?, right?);
        let mut pairs = self.value_pairs(&left.value, &right.value, span)?;
        let changed = self.scope.changed(&left.scope, &right.scope);
        for slot in &changed {
            let (p, q) = (&left.scope.variable(*slot).value, &right.scope.variable(*slot).value);
            pairs.extend(p.atoms().into_iter().flatten().zip(q.atoms().into_iter().flatten()));
        }
        self.writes_in_branch(&left.writes, &mut left.stms, &mut right.stms, false, &mut pairs, span);
        self.writes_in_branch(&right.writes, &mut right.stms, &mut left.stms, true, &mut pairs, span);
        let types = self.common_types(&mut pairs, &mut right.stms, span)?;
        let loc = self.loc(span);
        let vars: Vec<_> = types.into_iter().map(|t| self.new_var("chosen", t)).collect();
        let bound = [bound_by(&left.stms), bound_by(&right.stms)];
        if !vars.is_empty() {
            let (yes, no) = pairs.into_iter().unzip();
            let yes = Body { stms: left.stms, results: yes };
            let no = Body { stms: right.stms, results: no };
            self.push(Stm { vars: vars.clone(), exp: Exp::If(c, yes, no), loc });
        }
        let mut chosen = vars.into_iter().map(Atom::Var);
        let value = left.value.with_atoms(&mut chosen);
        // What both branches assign alike was bound before them.
        self.scope.adopt(&left.scope);
        for slot in changed {
            let new = left.scope.variable(slot).value.with_atoms(&mut chosen);
            self.scope.set(slot, new);
        }
        left.writes.iter_mut().for_each(|w| w.leave_branch(&bound[0], &mut chosen, c, true));
        right.writes.iter_mut().for_each(|w| w.leave_branch(&bound[1], &mut chosen, c, false));
        self.writes.extend(left.writes.into_iter().chain(right.writes));
        Some(value)
    }

    /// Elaborates the branch that is taken where the condition is `when`, and goes back to the scope before it.
    fn side(
        &mut self,
        c: Atom,
        when: bool,
        before: Scope,
        f: &mut dyn FnMut(&mut Self) -> Option<Value>,
    ) -> Option<Side> {
        let mark = self.writes.len();
        self.branches.push(self.branch_where(c, when));
        let body = self.in_body(|e| f(e));
        self.branches.pop();
        let scope = std::mem::replace(&mut self.scope, before);
        let writes = self.writes.split_off(mark);
        body.map(|(stms, value)| Side { stms, value, scope, writes })
    }

    /// The atoms of two values of one structure, in pairs.
    fn value_pairs(&mut self, x: &Value, y: &Value, span: Span) -> Option<Vec<(Atom, Atom)>> {
        let (Some(xs), Some(ys)) = (x.atoms(), y.atoms()) else {
            let help = "choose between their values";
            self.error(Code::Unsupported, span, "an `if` cannot choose between functions", help);
            return None;
        };
        if xs.len() != ys.len() || records(x) != records(y) {
            let (x, y) = (self.describe(x), self.describe(y));
            self.branch_mismatch(span, &x, &y);
            return None;
        }
        Some(xs.into_iter().zip(ys).collect())
    }

    /// Brings the second atom of each pair, of the second branch, to the type of the first: the types of the results.
    fn common_types(
        &mut self,
        pairs: &mut [(Atom, Atom)],
        second: &mut Vec<Stm>,
        span: Span,
    ) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        for (p, q) in pairs {
            let (tp, tq) = (self.atom_type(*p), self.atom_type(*q));
            if tp.rank() != tq.rank() {
                let (x, y) = (self.show_type(&tp), self.show_type(&tq));
                self.branch_mismatch(span, &x, &y);
                return None;
            }
            self.unify(tq.elem, tp.elem, span, "the second branch")?;
            self.bodies.push(std::mem::take(second));
            let coerced = self.coerce(*q, &tp.dims, span, "the branches of an `if`", false);
            *second = self.close_body();
            *q = coerced?;
            types.push(tp);
        }
        Some(types)
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
