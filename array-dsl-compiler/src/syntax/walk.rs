//! One walk over everything that expressions consist of: [`Visitor`] looks, [`Rewriter`] changes.
//!
//! Who implements one of them says what to do with the leaves: types, the names of records, what patterns bind. Who has a rule for
//! some expressions or for loops overrides that function, and goes on with `walk_..`.
//!
//! **The walk is in the order of the text**, but that a pattern comes after the value that does not see what it binds. A visitor that
//! gives a `scope` finds in it, at every expression, the names that are bound between there and where the walk began.

use super::ast::{Arm, Checkpoint, Expr, ExprKind, For, IndexKind, Over, Part, Path, Pattern, Stmt, Type};
use crate::ty::Name;

macro_rules! walk {
    ($(#[$doc:meta])* $name:ident, $($mutability:ident)?) => {
        $(#[$doc])*
        pub trait $name: Sized {
            /// Where the names in scope are noted.
            fn scope(&mut self) -> Option<&mut Vec<Name>> {
                None
            }

            /// The type in a cast, or of what is bound. Its sizes are not evaluated, so the walk does not look for them.
            fn ty(&mut self, _: &$($mutability)? Type) {}

            /// The name of a record, in a literal or a pattern.
            fn record(&mut self, _: &Path) {}

            /// An expression.
            fn expr(&mut self, e: &$($mutability)? Expr) {
                self.walk_expr(e);
            }

            /// A `for` loop.
            fn for_loop(&mut self, e: &$($mutability)? For) {
                self.walk_for(e);
            }

            /// What is in an expression.
            fn walk_expr(&mut self, e: &$($mutability)? Expr) {
                let outside = self.scope().map(|s| s.len());
                match &$($mutability)? e.kind {
                    ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) | ExprKind::Path(_) | ExprKind::Error => {}
                    ExprKind::Unary(_, a) | ExprKind::Field(a, _) => self.expr(a),
                    ExprKind::Cast(a, ty) => {
                        self.expr(a);
                        self.ty(ty);
                    }
                    ExprKind::Binary(_, a, b, _)
                    | ExprKind::Repeat(a, b)
                    | ExprKind::While(a, b)
                    | ExprKind::Assign(a, _, b, _) => {
                        self.expr(a);
                        self.expr(b);
                    }
                    ExprKind::Call(first, rest) | ExprKind::Method(first, _, rest) => {
                        self.expr(first);
                        self.exprs(rest);
                    }
                    ExprKind::Index(a, index) => {
                        self.expr(a);
                        self.walk_index(index);
                    }
                    ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Einsum(_, es) => self.exprs(es),
                    ExprKind::Record(path, fields, base) => {
                        self.record(path);
                        for (_, e) in fields {
                            self.expr(e);
                        }
                        if let Some(e) = base {
                            self.expr(e);
                        }
                    }
                    ExprKind::Closure(params, body) => {
                        for (pattern, ty) in params {
                            self.walk_binding(pattern, ty);
                        }
                        self.expr(body);
                    }
                    ExprKind::If(c, a, b) => {
                        self.expr(c);
                        self.expr(a);
                        if let Some(b) = b {
                            self.expr(b);
                        }
                    }
                    ExprKind::Match(value, arms) => {
                        self.expr(value);
                        for arm in arms {
                            self.walk_arm(arm);
                        }
                    }
                    ExprKind::For(e) => self.for_loop(e),
                    ExprKind::Block(stmts, result) => {
                        for s in stmts {
                            self.walk_stmt(s);
                        }
                        if let Some(e) = result {
                            self.expr(e);
                        }
                    }
                }
                self.leave(outside);
            }

            /// Some expressions.
            fn exprs(&mut self, es: &$($mutability)? [Expr]) {
                for e in es {
                    self.expr(e);
                }
            }

            /// What is between brackets.
            fn walk_index(&mut self, index: &$($mutability)? IndexKind) {
                match index {
                    IndexKind::At(i) => self.expr(i),
                    IndexKind::Slice(lo, hi) => {
                        for end in [lo, hi].into_iter().flatten() {
                            self.expr(end);
                        }
                    }
                    IndexKind::Multi(es) => self.exprs(es),
                    IndexKind::Parts(parts) => {
                        for part in parts {
                            match part {
                                Part::At(i) => self.expr(i),
                                Part::Range(lo, hi) => {
                                    for end in [lo, hi].into_iter().flatten() {
                                        self.expr(end);
                                    }
                                }
                            }
                        }
                    }
                }
            }

            /// What is in an arm of a `match`; its alternatives are literals.
            fn walk_arm(&mut self, arm: &$($mutability)? Arm) {
                let outside = self.scope().map(|s| s.len());
                self.bound(arm.binding.iter().map(|n| n.name.clone()));
                self.expr(&$($mutability)? arm.body);
                self.leave(outside);
            }

            /// A pattern with its type, if one is written.
            fn walk_binding(&mut self, pattern: &Pattern, ty: &$($mutability)? Option<Type>) {
                self.bind(pattern);
                if let Some(ty) = ty {
                    self.ty(ty);
                }
            }

            /// What is in a statement.
            fn walk_stmt(&mut self, s: &$($mutability)? Stmt) {
                match s {
                    Stmt::Let { pattern, ty, value } => {
                        self.expr(value);
                        self.walk_binding(pattern, ty);
                    }
                    Stmt::Expr(e) => self.expr(e),
                }
            }

            /// What is in a loop.
            fn walk_for(&mut self, e: &$($mutability)? For) {
                self.walk_head(e);
                self.expr(&$($mutability)? e.body);
            }

            /// What comes before a loop's body, which sees the names that are bound here.
            fn walk_head(&mut self, e: &$($mutability)? For) {
                if let Some(Checkpoint::Every(k)) = &$($mutability)? e.checkpoint {
                    self.expr(k);
                }
                match &$($mutability)? e.over {
                    Over::Range { lo, hi, .. } => {
                        self.expr(lo);
                        self.expr(hi);
                    }
                    Over::Array { array, .. } => self.expr(array),
                }
                self.bind(&e.pattern);
            }

            /// A pattern, whose names are in scope from here on.
            fn bind(&mut self, pattern: &Pattern) {
                match pattern {
                    Pattern::Name(name) | Pattern::Mutable(name) => self.bound([name.name.clone()]),
                    Pattern::Wildcard(_) => {}
                    Pattern::Tuple(parts, _) => parts.iter().for_each(|p| self.bind(p)),
                    Pattern::Array(array) => array.parts().for_each(|p| self.bind(p)),
                    Pattern::Record(r) => {
                        self.record(&r.path);
                        r.fields.iter().for_each(|(_, p)| self.bind(p));
                    }
                }
            }

            /// Names that are in scope from here on.
            fn bound(&mut self, names: impl IntoIterator<Item = Name>) {
                if let Some(scope) = self.scope() {
                    scope.extend(names);
                }
            }

            /// Ends the scope of the names that are bound since there were so many.
            fn leave(&mut self, outside: Option<usize>) {
                if let (Some(scope), Some(outside)) = (self.scope(), outside) {
                    scope.truncate(outside);
                }
            }
        }
    };
}

walk! {
    /// Looks at what expressions consist of.
    Visitor,
}

walk! {
    /// Changes what expressions consist of.
    Rewriter, mut
}

/// Calls `f` with an expression and those within it, each with the names that are bound in between, beside those in `scope`. Where it
/// gives false what is inside is left out.
pub fn each(e: &Expr, scope: Vec<Name>, f: impl FnMut(&Expr, &[Name]) -> bool) {
    struct Each<F> {
        scope: Vec<Name>,
        f: F,
    }

    impl<F: FnMut(&Expr, &[Name]) -> bool> Visitor for Each<F> {
        fn scope(&mut self) -> Option<&mut Vec<Name>> {
            Some(&mut self.scope)
        }

        fn expr(&mut self, e: &Expr) {
            if (self.f)(e, &self.scope) {
                self.walk_expr(e);
            }
        }
    }

    Each { scope, f }.expr(e);
}
