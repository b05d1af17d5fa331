//! Expressions as terms of [`crate::lifting`].
//!
//! Applications of built-in functions, operators and kernels are applications there; a call of a closure is a `let` of its
//! parameters, since closures are inlined. What is none of these, and knows no name that the term binds, is elaborated for
//! its rank and stands for itself. Element types are of no concern here: all are one.

use std::rc::Rc;

use proc_macro2::Span;

use super::Callee;
use super::Elaborator;
use super::builtins::Part::{Elements, Numbers};
use super::builtins::{Builtin, Part, Ranks, TABLE, find};
use super::effects::mentions;
use super::expr::binary_op;
use super::joint::Planned;
use super::value::{Closure, Function, Value};
use crate::lifting::{Elaboration, Environment, Scheme, Term, Type};
use crate::scalar::Op;
use crate::syntax::ast::{Expr, ExprKind, IndexKind, Pattern, Stmt, Type as Written, TypeKind, Unary};
use crate::ty::{Name, Tree};

/// Closures in closures beyond this are left alone.
const MAX_DEPTH: usize = 16;

fn number() -> Type {
    Type::base("number")
}

fn function(parts: impl DoubleEndedIterator<Item = Type>) -> Option<Type> {
    parts.rev().reduce(|result, parameter| Type::Arrow(Rc::new(parameter), Rc::new(result)))
}

fn of_ranks(ranks: &[usize]) -> Option<Type> {
    function(ranks.iter().map(|r| number().array(*r)))
}

/// Whether the built-in function takes arrays of every rank whole.
pub(super) fn takes_any_rank(name: &str) -> bool {
    find(name).is_some_and(|b| matches!(b.ranks, Ranks::Any(_)))
}

/// The types of the functions that take every rank.
pub(super) fn environment() -> Environment {
    let parts = |parts: &[Part]| {
        function(parts.iter().map(|p| match p {
            Elements(rank) => Type::variable(0).array(*rank),
            Numbers(rank) => number().array(*rank),
        }))
    };
    let scheme = |b: &Builtin| match b.ranks {
        Ranks::Any(p) => Some((Name::from(b.name), Scheme::general(parts(p)?))),
        Ranks::Of(_) | Ranks::Unknown => None,
    };
    TABLE.iter().filter_map(scheme).collect()
}

/// The translation of one expression.
#[derive(Default)]
pub(super) struct Terms {
    /// Where functions over arrays of every rank stand, in the order in which terms number their applications.
    any_rank: Vec<Span>,
    /// The names that the term binds around the current place.
    bound: Vec<Name>,
    depth: usize,
}

impl Terms {
    /// The term of an expression. `None`: it has no term, or its parts have errors of their own.
    pub fn term(&mut self, e: &mut Elaborator<'_>, x: &Expr) -> Option<Term> {
        match &x.kind {
            ExprKind::Path(p) if p.single().is_some_and(|n| self.bound.contains(&n.name)) => {
                p.single().map(|n| Term::Variable(n.name.clone()))
            }
            ExprKind::Unary(op, a) => {
                let symbol = if *op == Unary::Neg { "-" } else { "!" };
                self.call(e, symbol, of_ranks(&[0, 0])?, [&**a])
            }
            ExprKind::Binary(op, a, b, _) => {
                self.call(e, binary_op(*op).1, of_ranks(&[0, 0, 0])?, [&**a, &**b])
            }
            ExprKind::Cast(a, ty) => self.call(e, &format!("as {}", scalar(ty)), of_ranks(&[0, 0])?, [&**a]),
            ExprKind::Call(f, args) => {
                let args: Vec<&Expr> = args.iter().collect();
                match &f.kind {
                    ExprKind::Path(p) if p.single().is_none_or(|n| !self.bound.contains(&n.name)) => {
                        match e.function(p)? {
                            Function::Builtin(name) => self.builtin(e, &name, &args, p.span(), x),
                            Function::Closure(c) => self.closure(e, &c, &args),
                            Function::Kernel(k) => match kernel(&k) {
                                Some(ty) if k.params.len() == args.len() => self.call(e, &k.name, ty, args),
                                _ => self.opaque(e, x),
                            },
                            Function::Derivative(..) | Function::Generic(_) | Function::Given(_) => {
                                self.opaque(e, x)
                            }
                        }
                    }
                    _ => self.opaque(e, x),
                }
            }
            ExprKind::Method(receiver, name, args) => {
                let args: Vec<&Expr> = std::iter::once(&**receiver).chain(args).collect();
                self.builtin(e, &name.name, &args, name.span, x)
            }
            ExprKind::Block(stmts, Some(result)) if self.bound_in(stmts) => self.block(e, stmts, result),
            _ => self.opaque(e, x),
        }
    }

    fn call<'x>(
        &mut self,
        e: &mut Elaborator<'_>,
        name: &str,
        ty: Type,
        args: impl IntoIterator<Item = &'x Expr>,
    ) -> Option<Term> {
        let args = args.into_iter().map(|a| self.term(e, a)).collect::<Option<Vec<Term>>>()?;
        Some(Term::Literal(Name::from(name), ty).apply(args))
    }

    fn builtin(
        &mut self,
        e: &mut Elaborator<'_>,
        name: &Name,
        args: &[&Expr],
        span: Span,
        x: &Expr,
    ) -> Option<Term> {
        let ty = match find(name).map(|b| b.ranks) {
            Some(Ranks::Any(parts)) if parts.len() == args.len() + 1 => {
                self.any_rank.push(span);
                let args = args.iter().map(|a| self.term(e, a)).collect::<Option<Vec<Term>>>()?;
                return Some(Term::Variable(name.clone()).apply(args));
            }
            Some(Ranks::Of(ranks)) => of_ranks(ranks),
            Some(Ranks::Any(_) | Ranks::Unknown) => None,
            None => Op::from_name(name).and_then(|op| of_ranks(&vec![0; op.arity() + 1])),
        };
        match ty {
            Some(ty) => self.call(e, name, ty, args.iter().copied()),
            None => self.opaque(e, x),
        }
    }

    /// The parameters are names for the arguments.
    fn closure(&mut self, e: &mut Elaborator<'_>, c: &Closure, args: &[&Expr]) -> Option<Term> {
        if c.params.len() != args.len() || self.depth >= MAX_DEPTH {
            return None;
        }
        let plain =
            |(p, ty): &(Pattern, Option<Written>)| p.name().map(|n| n.name.clone()).filter(|_| ty.is_none());
        let names = c.params.iter().map(plain).collect::<Option<Vec<Name>>>()?;
        // A parameter is not to hide a name in an argument that comes after it.
        let hides = |(i, n): (usize, &Name)| args[i + 1..].iter().any(|a| mentions(a, n));
        if names.iter().any(|n| self.bound.contains(n)) || names.iter().enumerate().any(hides) {
            return None;
        }
        let values = args.iter().map(|a| self.term(e, a)).collect::<Option<Vec<Term>>>()?;
        let around = std::mem::replace(&mut self.bound, names.clone());
        let scope = std::mem::replace(&mut e.scope, c.scope.clone());
        self.depth += 1;
        let body = self.term(e, &c.body);
        self.depth -= 1;
        e.scope = scope;
        self.bound = around;
        let named = names.into_iter().zip(values).rev();
        Some(named.fold(body?, |body, (n, v)| Term::Let(n, Rc::new(v), Rc::new(body))))
    }

    /// Whether the statements of a block only name values.
    fn bound_in(&self, stmts: &[Stmt]) -> bool {
        self.depth > 0
            && stmts.iter().all(|s| matches!(s, Stmt::Let { pattern: Pattern::Name(_), ty: None, .. }))
    }

    fn block(&mut self, e: &mut Elaborator<'_>, stmts: &[Stmt], result: &Expr) -> Option<Term> {
        let (known, mut values) = (self.bound.len(), Vec::new());
        let mut named = |terms: &mut Terms| {
            for s in stmts {
                let Stmt::Let { pattern, value, .. } = s else { return None };
                let value = terms.term(e, value)?;
                let name = pattern.name()?.name.clone();
                terms.bound.push(name.clone());
                values.push((name, value));
            }
            terms.term(e, result)
        };
        let body = named(self);
        self.bound.truncate(known);
        let values = values.into_iter().rev();
        Some(values.fold(body?, |body, (n, v)| Term::Let(n, Rc::new(v), Rc::new(body))))
    }

    /// An expression that stands for itself.
    fn opaque(&mut self, e: &mut Elaborator<'_>, x: &Expr) -> Option<Term> {
        if self.bound.iter().any(|n| mentions(x, n)) {
            return None;
        }
        let (saved, declined, doubts) = (e.save(), e.declined, e.joint.doubts);
        let errors = e.diagnostics.list().len();
        let value = e.separately(|e| e.evaluate(x));
        let sure = e.diagnostics.list().len() == errors && e.joint.doubts == doubts;
        let rank = match value {
            Some(Value::Atom(a)) if sure => Some(e.rank(a)),
            _ => None,
        };
        e.restore(saved);
        (e.declined, e.joint.doubts) = (declined, doubts);
        Some(Term::Literal(Name::from(text(x)), number().array(rank?)))
    }

    /// What an elaboration decides for the functions over arrays of every rank. `None`: one of them gets replications, or
    /// is written once and decided twice.
    pub fn plan(&self, e: &Elaboration) -> Option<Vec<Planned>> {
        let mut decided = Vec::new();
        e.calls(&mut |name, arguments| {
            if takes_any_rank(name) {
                decided.push(arguments.to_vec());
            }
        });
        if decided.len() != self.any_rank.len() {
            return None;
        }
        let mut plan: Vec<Planned> = Vec::new();
        for (span, arguments) in self.any_rank.iter().zip(decided) {
            if arguments.iter().any(|a| a.replicated > 0) {
                return None;
            }
            let planned = Planned::new(*span, arguments.iter().map(|a| a.mapped).collect());
            match plan.iter().find(|p| p.same_place(&planned)) {
                Some(p) if *p != planned => return None,
                Some(_) => {}
                None => plan.push(planned),
            }
        }
        Some(plan)
    }
}

/// The type of a kernel of arrays and scalars with one result.
fn kernel(k: &Callee) -> Option<Type> {
    let mut ranks = Vec::new();
    for p in &k.params {
        let Tree::Leaf(v) = &p.vars else { return None };
        ranks.push(k.ty(*v).rank());
    }
    let (Tree::Leaf(_), [result]) = (&k.result, k.result_types.as_slice()) else { return None };
    ranks.push(result.rank());
    of_ranks(&ranks)
}

fn scalar(ty: &Written) -> &'static str {
    match &ty.kind {
        TypeKind::Scalar(e) => e.name(),
        _ => "_",
    }
}

/// The expression in short.
fn text(x: &Expr) -> String {
    match &x.kind {
        ExprKind::Int(i, _) => i.to_string(),
        ExprKind::Float(f, _) => format!("{f:?}"),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Path(p) => p.text(),
        ExprKind::Field(a, member) => format!("{}.{member}", text(a)),
        ExprKind::Index(a, IndexKind::At(i)) => format!("{}[{}]", text(a), text(i)),
        ExprKind::Call(f, args) => {
            format!("{}({})", text(f), args.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Method(a, name, args) => {
            let args = args.iter().map(text).collect::<Vec<_>>().join(", ");
            format!("{}.{}({args})", text(a), name.name)
        }
        ExprKind::Tuple(parts) => format!("({})", parts.iter().map(text).collect::<Vec<_>>().join(", ")),
        ExprKind::Array(parts) => format!("[{}]", parts.iter().map(text).collect::<Vec<_>>().join(", ")),
        _ => "..".into(),
    }
}
