//! References. They mean nothing in kernels and leave no trace, but `*e` is only for what Rust has a reference to: what a closure
//! or a `for` over an array is given, what `&e` is bound to, and parameters whose type begins with `&`. Elsewhere a star is a slip,
//! most often for a power: `x ** 2` is `x * (*2)`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ast::{Expr, ExprKind, Pattern};
use super::parse::Parser;

const POWERS: &str = "powers are `x.powi(2)` and `x.powf(0.5)`";

impl Parser<'_> {
    /// Reads `*e`.
    pub(super) fn dereference(&mut self, e: &syn::ExprUnary, span: Span) -> Expr {
        if self.is_reference(&e.expr) {
            return self.expr(&e.expr);
        }
        let help = format!("leave the `*` out; {POWERS}");
        self.unsupported(span, "`*` goes from a reference to its value, and this is no reference", help);
        Expr { kind: ExprKind::Error, span }
    }

    /// Refuses `a ** b`, also where `b` is a reference.
    pub(super) fn is_power(&mut self, e: &syn::ExprBinary) -> bool {
        let (syn::BinOp::Mul(first), syn::Expr::Unary(right)) = (&e.op, &*e.right) else { return false };
        let syn::UnOp::Deref(second) = &right.op else { return false };
        let (end, start) = (first.span().end(), second.span().start());
        if end != start || first.span().start() == start {
            return false;
        }
        let help = format!("{POWERS}; for a product with what a reference points to write `a * *b`");
        self.unsupported(first.span(), "there is no operator `**`", help);
        true
    }

    /// Whether an expression is a reference, or a part of one.
    fn is_reference(&self, e: &syn::Expr) -> bool {
        match e {
            syn::Expr::Paren(e) => self.is_reference(&e.expr),
            syn::Expr::Group(e) => self.is_reference(&e.expr),
            syn::Expr::Reference(_) => true,
            syn::Expr::Unary(e) => matches!(e.op, syn::UnOp::Deref(_)) && self.is_reference(&e.expr),
            syn::Expr::Field(e) => self.is_reference(&e.base),
            syn::Expr::Index(e) => self.is_reference(&e.expr),
            syn::Expr::Path(p) => {
                let name = p.path.get_ident().map(|i| super::parse::ident(i).name);
                let found = self.names.iter().rev().find(|(known, _)| Some(known) == name.as_ref());
                found.is_some_and(|(_, reference)| *reference)
            }
            _ => false,
        }
    }

    /// Notes what a pattern binds, and whether these are references.
    pub(super) fn note_names(&mut self, pattern: &Pattern, references: bool) {
        self.names.extend(pattern.names().into_iter().map(|n| (n.name.clone(), references)));
    }
}

/// Whether the value of a `let` is a reference.
pub(super) fn refers(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Paren(e) => refers(&e.expr),
        syn::Expr::Group(e) => refers(&e.expr),
        syn::Expr::Reference(_) => true,
        _ => false,
    }
}

/// Whether a parameter's type begins with `&`.
pub(super) fn is_reference_type(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Paren(t) => is_reference_type(&t.elem),
        syn::Type::Group(t) => is_reference_type(&t.elem),
        ty => matches!(ty, syn::Type::Reference(_)),
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{body, errors};

    #[test]
    fn what_refers_is_dereferenced() {
        for (written, read) in [
            ("map(|a| *a, x)", "(call map |a| a x)"),
            ("map(|(a, b)| *a * *b, x)", "(call map |(a, b)| (mul a b) x)"),
            ("map(|a| **a.0, x)", "(call map |a| a.0 x)"),
            ("let y = &x; *y + *(y)", "let y = x; (add y y)"),
            ("*p + *&x", "(add p x)"),
            ("let a = x - -x; --a", "let a = (sub x (neg x)); (neg (neg a))"),
            ("&&x & &y", "(bitand x y)"),
        ] {
            let source = format!("fn f(x: f64, p: &f64, y: f64) -> f64 {{ {written} }}");
            assert_eq!(body(&source), format!("{{ {read} }}"));
            assert!(errors(&source).is_empty(), "{written}");
        }
        let source =
            "fn f(x: [f64; n]) -> f64 { let mut s = 0.0; for (i, a) in x.iter().enumerate() { s += *a; } s }";
        assert!(errors(source).is_empty());
    }

    #[test]
    fn stars_elsewhere_are_refused() {
        for (written, start) in [
            ("x ** 2.0", "AD0001 there is no operator `**` | powers are `x.powi(2)` and `x.powf(0.5)`"),
            ("x **2", "AD0001 there is no operator `**`"),
            ("map(|a| x ** a, y)", "AD0001 there is no operator `**`"),
            ("x * *2.0", "AD0001 `*` goes from a reference to its value, and this is no reference | leave"),
            ("*x", "AD0001 `*` goes"),
            ("{ let z = x; *z }", "AD0001 `*` goes"),
            ("map(|x| { let x = x + 1.0; *x }, y)", "AD0001 `*` goes"),
            ("{ map(|a| *a, y); *a }", "AD0001 `*` goes"),
            ("{ let mut s = 0; for i in 0..n { s += *i; } s }", "AD0001 `*` goes"),
            ("*(x + 1.0)", "AD0001 `*` goes"),
            ("{ let mut s = x; *s += 1.0; s }", "AD0001 `*` goes"),
        ] {
            let found = errors(&format!("fn f(x: f64, y: [f64; n]) -> f64 {{ {written} }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }
}
