//! Blocks, statements and what they bind.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::sizes::Declared;
use super::value::Value;
use crate::core::Atom;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::syntax::ast::{ArrayPattern, Expr, ExprKind, Pattern, Stmt};

impl Elaborator<'_> {
    /// `{ stmts; result }`. Without a result the value is `()`.
    pub(super) fn block(&mut self, stmts: &[Stmt], result: Option<&Expr>) -> Option<Value> {
        let mark = self.scope.enter();
        let mut ok = true;
        for s in stmts {
            ok &= match s {
                Stmt::Let { pattern, ty, value } => {
                    let v = self.expr(value).and_then(|v| match ty {
                        _ if v.is_unit() && !matches!(value.kind, ExprKind::Tuple(_)) => {
                            self.no_value(value.span, "there is no value to bind here");
                            None
                        }
                        Some(t) => self.annotate(v, t, "this value", Declared::WithValue),
                        None => Some(v),
                    });
                    let bound = v.and_then(|v| {
                        self.name_value(pattern, &v);
                        self.bind_pattern(pattern, v)
                    });
                    if bound.is_none() {
                        self.poison(pattern);
                    }
                    bound.is_some()
                }
                Stmt::Expr(e) => self.statement(e).is_some(),
            };
        }
        let value = match result {
            Some(e) => self.expr(e),
            None => Some(Value::unit()),
        };
        self.scope.leave(mark);
        value.filter(|_| ok)
    }

    /// An expression for what it assigns.
    pub(super) fn statement(&mut self, e: &Expr) -> Option<()> {
        let v = self.expr(e)?;
        if !v.is_unit() {
            self.error(
                Code::Unsupported,
                e.span,
                "this expression's value is not used, and it changes nothing",
                "bind it with `let`, or remove the semicolon to return it",
            );
            return None;
        }
        Some(())
    }

    /// Records that a value is missing.
    pub(super) fn no_value(&mut self, span: Span, message: &str) {
        self.error(Code::Unsupported, span, message, "end it with an expression without a semicolon");
    }

    /// Gives a freshly computed variable the name that the user binds it to.
    fn name_value(&mut self, pattern: &Pattern, v: &Value) {
        if let (Some(n), Value::Atom(Atom::Var(var))) = (pattern.name(), v) {
            let info = &mut self.vars[var.0 as usize];
            let generated =
                crate::scalar::Op::from_name(&info.name).is_some() || super::is_builtin(&info.name);
            if generated {
                info.name = n.name.clone();
            }
        }
    }

    /// Binds the names of a pattern to nothing: their error is known, uses give no more.
    fn poison(&mut self, pattern: &Pattern) {
        pattern.names().into_iter().for_each(|n| self.scope.poison(n.name.clone()));
    }

    /// Binds the names of a pattern.
    pub(super) fn bind_pattern(&mut self, p: &Pattern, v: Value) -> Option<()> {
        match (p, v) {
            (Pattern::Name(n), v) => {
                self.scope.bind(n.name.clone(), v);
                Some(())
            }
            (Pattern::Mutable(n), v) => {
                self.scope.bind_mutable(n.name.clone(), v);
                Some(())
            }
            (Pattern::Wildcard(_), _) => Some(()),
            (Pattern::Record(p), v) => self.bind_record(p, v),
            (Pattern::Tuple(ps, _), Value::Tuple(vs)) if ps.len() == vs.len() => {
                ps.iter().zip(vs).try_for_each(|(p, v)| self.bind_pattern(p, v))
            }
            (Pattern::Array(p), v) => self.bind_elements(p, v),
            (Pattern::Tuple(ps, span), v) => {
                let found = self.describe(&v);
                self.error(
                    Code::TupleShape,
                    *span,
                    format!("this pattern has {} parts, the value is {found}", ps.len()),
                    "use one name for each part",
                );
                None
            }
        }
    }

    /// Binds the elements of an array, whose size is a number.
    fn bind_elements(&mut self, p: &ArrayPattern, v: Value) -> Option<()> {
        let length = match &v {
            Value::Atom(a) => self.atom_type(*a).dims.first().and_then(Dim::as_constant),
            _ => None,
        };
        let parts = p.parts().count();
        let has = format!("this pattern has {}", count(parts, "element"));
        let (Value::Atom(array), Some(length)) = (&v, length) else {
            let found = self.describe(&v);
            let help = "such a pattern takes an array whose size is a number; index others: `a[0]`, `a[1..]`";
            self.error(Code::TupleShape, p.span, format!("{has}, the value is {found}"), help);
            return None;
        };
        let rest = length - parts as i64;
        if rest < 0 || (rest > 0 && !p.rest) {
            let help = "name each element, or write `..` for those you do not need";
            self.error(Code::TupleShape, p.span, format!("{has}, the array has {length}"), help);
            return None;
        }
        let last = p.last.iter().zip(p.first.len() as i64 + rest..);
        let mut bound = Some(());
        for (part, k) in p.first.iter().zip(0..).chain(last) {
            if matches!(part, Pattern::Wildcard(_)) {
                continue;
            }
            let k = self.int(k);
            let element = Value::Atom(self.index(*array, &[k], part.span()));
            bound = bound.and(self.bind_pattern(part, element));
        }
        bound
    }
}
