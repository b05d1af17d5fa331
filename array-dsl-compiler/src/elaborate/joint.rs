//! Rank lifting decided for an expression as a whole.
//!
//! `rank` decides each application by the ranks of its arguments. Where a function takes arrays of every rank (`len`,
//! `reverse`), it takes its argument whole, though it could be mapped as well. The solver of [`crate::lifting`] is asked only
//! if the local decisions ended in an error of ranks or replicated an argument, and the expression has such a function inside
//! of another application. **That is exact**:
//!
//! * To take the argument whole costs nothing. To map instead costs a map more and can only raise the rank of the result.
//! * A higher rank makes a later application cheaper only if that one replicates its argument, and not only because of a map
//!   of the same call: maps of one call are as many as its argument with the most dimensions above its parameter needs.
//! * So without such a replication the local decisions are the only minimum.
//!
//! If the solver's only answer maps such functions, these maps are followed and everything else is decided locally again. If
//! there are several answers, that is an error with all of them. What a `let` names is decided there, without a look at
//! its uses; a closure that is called is part of the expression.

use proc_macro2::Span;

use super::Elaborator;
use super::terms::{self, Terms};
use super::value::{Function, Value};
use crate::core;
use crate::diagnostics::{Code, count};
use crate::lifting::{self, Elaboration, Error};
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::walk::each;
use crate::ty::Name;

/// Deeper expressions are refused, those of called closures and kernels included.
const MAX_NESTING: usize = 400;

/// Deeper statements are refused; what one expression adds is less than the rest.
const MAX_BODIES: usize = core::MAX_DEPTH - 40;

/// What was decided for the application of a function over arrays of every rank.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    /// Where the function is written.
    at: (usize, usize),
    /// Over how many outer dimensions of each argument it is mapped.
    mapped: Vec<usize>,
}

/// What the solver says about an expression.
enum Answer {
    Follow(Vec<Planned>),
    Ambiguous(usize, Vec<String>),
}

/// What expressions around the current place have to know.
#[derive(Default)]
pub(super) struct Joint {
    /// The current place is part of an expression that is decided as a whole.
    inside: bool,
    /// Errors of ranks and replications so far.
    pub doubts: usize,
    /// What the solver has decided.
    plan: Vec<Planned>,
}

impl Elaborator<'_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Option<Value> {
        self.not_too_deep(e.span)?;
        self.nesting += 1;
        let value = self.expression(e);
        self.nesting -= 1;
        value
    }

    /// Refuses what is nested too deeply for the passes, which all walk it.
    pub(super) fn not_too_deep(&mut self, span: Span) -> Option<()> {
        if self.nesting < MAX_NESTING && self.bodies.len() + self.points.len() < MAX_BODIES {
            return Some(());
        }
        self.error(
            Code::Limit,
            span,
            "this is nested too deeply, the closures and kernels that are called included",
            "bind parts with `let` before; choose one of many values by an index into an array of them",
        );
        None
    }

    fn expression(&mut self, e: &Expr) -> Option<Value> {
        let application = matches!(
            e.kind,
            ExprKind::Call(..)
                | ExprKind::Method(..)
                | ExprKind::Binary(..)
                | ExprKind::Unary(..)
                | ExprKind::Cast(..)
        );
        let code_of_the_user = self.site.call_span.is_none();
        if !application {
            return self.separately(|s| s.evaluate(e));
        }
        if self.joint.inside || !code_of_the_user {
            return self.evaluate(e);
        }
        if self.nested_in_application(e) { self.planned_jointly(e) } else { self.jointly(|s| s.evaluate(e)) }
    }

    /// Elaborates what is not decided together with the expression around it.
    pub(super) fn separately<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.joint.inside, false);
        let result = f(self);
        self.joint.inside = around;
        result
    }

    fn jointly<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.joint.inside = true;
        let result = f(self);
        self.joint.inside = false;
        result
    }

    /// Elaborates an expression with local decisions; if these are in doubt, with the solver's.
    fn planned_jointly(&mut self, e: &Expr) -> Option<Value> {
        let (saved, declined) = (self.save(), self.declined);
        let before = self.joint.doubts;
        let value = self.jointly(|s| s.evaluate(e));
        if self.joint.doubts == before {
            return value;
        }
        self.restore(saved);
        (self.declined, self.joint.doubts) = (declined, before);
        match self.ask_solver(e) {
            None => self.jointly(|s| s.evaluate(e)),
            Some(Answer::Follow(plan)) => {
                let outer = self.joint.plan.len();
                self.joint.plan.extend(plan);
                let value = self.jointly(|s| s.evaluate(e));
                self.joint.plan.truncate(outer);
                value
            }
            Some(Answer::Ambiguous(cost, elaborations)) => {
                let inserted = count(cost, "inserted call");
                let list: Vec<String> = elaborations.iter().map(|e| format!("\n  `{e}`")).collect();
                self.error(
                    Code::Ambiguous,
                    e.span,
                    format!(
                        "the ranks here fit in {} ways, with {inserted} each:{}",
                        elaborations.len(),
                        list.concat()
                    ),
                    "write the one that is meant; for `_` write how many copies",
                );
                None
            }
        }
    }

    /// Whether a function over arrays of every rank is applied within an argument of another function.
    fn nested_in_application(&self, e: &Expr) -> bool {
        let applied = |e: &Expr| match &e.kind {
            ExprKind::Call(f, _) => match &f.kind {
                ExprKind::Path(p) => match self.function(p) {
                    Some(Function::Builtin(name)) => terms::takes_any_rank(&name),
                    Some(Function::Closure(c)) => any_within(&c.body, &mut may_take_any_rank),
                    _ => false,
                },
                _ => false,
            },
            ExprKind::Method(_, name, _) => terms::takes_any_rank(&name.name),
            _ => false,
        };
        let (outermost, mut seen) = (usize::from(applied(e)), 0);
        any_within(e, &mut |part| {
            seen += usize::from(applied(part));
            seen > outermost
        })
    }

    fn ask_solver(&mut self, e: &Expr) -> Option<Answer> {
        let mut terms = Terms::default();
        let term = terms.term(self, e)?;
        match lifting::lift(&term, &terms::environment()) {
            Ok(lifted) => {
                let plan = terms.plan(&lifted.elaboration)?;
                plan.iter().any(|p| p.mapped.iter().any(|m| *m > 0)).then_some(Answer::Follow(plan))
            }
            Err(Error::Ambiguous { cost, elaborations }) => {
                Some(Answer::Ambiguous(cost, Elaboration::differences(&elaborations)))
            }
            Err(_) => None,
        }
    }

    /// What was decided for the built-in function that is written there.
    pub(super) fn planned(&mut self, span: Span, args: &[Value]) -> Option<Vec<usize>> {
        // Library code is read once and for all: of its places a later macro may not even ask.
        if self.joint.plan.is_empty() || self.site.call_span.is_some() {
            return None;
        }
        let at = place(span);
        let planned = self.joint.plan.iter().find(|p| p.at == at && p.mapped.len() == args.len())?;
        planned.mapped.iter().any(|m| *m > 0).then(|| planned.mapped.clone())
    }

    /// Calls a built-in function, mapped as decided.
    pub(super) fn apply_mapped(
        &mut self,
        name: &Name,
        mapped: &[usize],
        args: &[Value],
        span: Span,
    ) -> Option<Value> {
        let what = format!("`{name}`");
        let atoms = self.plain_atoms(&what, args, span)?;
        let expected: Vec<usize> =
            atoms.iter().zip(mapped).map(|(a, m)| self.rank(*a).saturating_sub(*m)).collect();
        let plan = std::mem::take(&mut self.joint.plan);
        let result = self.lift(&what, &expected, &atoms, span, &mut |e, cells| {
            let cells: Vec<Value> = cells.iter().map(|c| Value::Atom(*c)).collect();
            e.apply_builtin(name, &cells, span)
        });
        self.joint.plan = plan;
        result
    }
}

impl Planned {
    /// A decision for the function that is written there.
    pub fn new(span: Span, mapped: Vec<usize>) -> Planned {
        Planned { at: place(span), mapped }
    }

    /// Whether both are about one place.
    pub fn same_place(&self, other: &Planned) -> bool {
        self.at == other.at
    }
}

fn place(span: Span) -> (usize, usize) {
    let start = span.start();
    (start.line, start.column)
}

/// Whether a function of such a name is called there.
fn may_take_any_rank(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Call(f, _) => {
            matches!(&f.kind, ExprKind::Path(p) if p.single().is_some_and(|n| terms::takes_any_rank(&n.name)))
        }
        ExprKind::Method(_, name, _) => terms::takes_any_rank(&name.name),
        _ => false,
    }
}

/// Whether something in the expression is so.
fn any_within(e: &Expr, holds: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    each(e, Vec::new(), |e, _| {
        found = found || holds(e);
        !found
    });
    found
}

#[cfg(test)]
mod tests {
    use crate::testing::kernels::{compile, kernel};
    use crate::testing::meaning::run;
    use crate::ty::Elem;
    use crate::value::Value;

    /// A kernel over arrays of several ranks.
    fn source(result: &str, body: &str) -> String {
        format!(
            "fn scale(v: [f64; n], s: f64) -> [f64; n] {{ v * s }}
             fn f(x: [f64; n], y: [f64; n], w: [i64; n], a: [[f64; m]; n], c: [[[f64; k]; m]; n]) -> {result} {{ {body} }}"
        )
    }

    /// The message for a body.
    fn message(body: &str) -> String {
        compile(&source("f64", body)).err().map(|e| e.join("\n")).unwrap_or_default()
    }

    /// What a body gives for some numbers.
    fn result(result: &str, body: &str) -> Vec<Value> {
        let numbers = |shape: &[usize]| {
            let data: Vec<f64> = (0..shape.iter().product()).map(|i| i as f64 * 0.5 - 3.0).collect();
            Value::from_f64(Elem::F64, shape.to_vec(), &data).unwrap()
        };
        let w = Value::from_i64(Elem::I64, vec![2], &[3, -1]).unwrap();
        let args = [numbers(&[2]), numbers(&[2]), w, numbers(&[2, 3]), numbers(&[2, 3, 4])];
        run(&kernel(&source(result, body)), &args).unwrap()
    }

    #[test]
    fn several_elaborations_are_an_error_that_lists_them() {
        let found = message("sum(len(a)) as f64");
        assert_eq!(
            found,
            "[AD0024] the ranks here fit in 2 ways, with 1 inserted call each:\n  \
             `sum(replicate(_, len(a))) as f64`\n  `sum(map(len, a)) as f64`\n\
             help: write the one that is meant; for `_` write how many copies"
        );
        // Also where the local decision would have been to copy the length.
        let found = message("dot(w, a.len()) as f64");
        let lines = ["  `dot(w, replicate(_, len(a))) as f64`", "  `dot(w, map(len, a)) as f64`"];
        assert!(lines.iter().all(|l| found.contains(l)), "{found}");
        // What all elaborations do alike is not written out.
        let found = message("sum(x * dot(w, a.len()) as f64)");
        assert!(found.contains("`sum(x * (dot(w, map(len, a)) as f64))`"), "{found}");
    }

    #[test]
    fn each_elaboration_can_be_written() {
        let maps = "sum(map(len, a)) as f64";
        assert_eq!(message(maps), "");
        assert_eq!(result("f64", maps)[0].data()[0].to_string(), "6.0");
        assert_eq!(result("f64", "sum(replicate(2, len(a))) as f64")[0].data()[0].to_string(), "4.0");
    }

    #[test]
    fn the_only_minimum_is_followed() {
        // Two copies of one number cost more than to map once.
        let short = "{ let f = |l| dot(w, l) + dot(w * w, l); f(a.len()) }";
        let long = "{ let f = |l| dot(w, l) + dot(w * w, l); f(map(len, a)) }";
        assert_eq!(result("i64", short), result("i64", long));
        let short = "{ let f = |l| { let k = l * 2; dot(w, k) + dot(w, l) - dot(k, w) }; f(len(a)) }";
        let long = "{ let f = |l| { let k = l * 2; dot(w, k) + dot(w, l) - dot(k, w) }; f(map(len, a)) }";
        assert_eq!(result("i64", short), result("i64", long));
    }

    #[test]
    fn nothing_else_changes() {
        // No copies: the array is taken whole.
        assert_eq!(result("[[f64; m]; n]", "reverse(a) + a"), result("[[f64; m]; n]", "reverse(a) + a[..]"));
        assert_eq!(message("sum(x) / x.len() as f64"), "");
        assert_eq!(message("dot(x, x.len() as f64)"), "");
        assert_eq!(message("sum(scale(reverse(x), len(a) as f64))"), "");
        assert_eq!(message("sum(map(|r| sum(r) / r.len() as f64, a))"), "");
        // Nothing takes an array of every rank inside of another call.
        assert!(message("matvec(x, a)").starts_with("[AD0006]"));
        assert!(message("concat(a, x)[0][0]").starts_with("[AD0006]"));
        assert!(message("sum(len(x)) as f64").starts_with("[AD0006]"));
    }
}
