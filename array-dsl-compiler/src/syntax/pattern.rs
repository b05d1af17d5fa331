//! Patterns: what parameters, `let` and closures bind, and the literal patterns of `match`.
//!
//! A binding pattern is a name, `mut` and a name, `_`, or a tuple, an array or a record of these; `&` before one means nothing. An arm of a `match` is
//! one or more integer or boolean literals, or catches everything, with or without a name.

use syn::spanned::Spanned;

use super::ast::{ArrayPattern, Expr, Ident, Pattern, RecordPattern};
use super::parse::{Parser, ident, path, text};
use crate::ty::Name;

/// Whether a name is written as constants are.
pub(super) fn is_screaming(name: &str) -> bool {
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}

impl Parser<'_> {
    /// Reads a binding pattern. `bound` holds the names that the same list of patterns has bound already.
    pub(super) fn pattern(&mut self, pat: &syn::Pat, bound: &mut Vec<Name>) -> Pattern {
        let span = pat.span();
        match pat {
            syn::Pat::Paren(p) => return self.pattern(&p.pat, bound),
            syn::Pat::Reference(p) => return self.pattern(&p.pat, bound),
            syn::Pat::Wild(_) => {}
            syn::Pat::Ident(p) => {
                if let Some((at, _)) = &p.subpat {
                    let help = "bind the whole value, then take it apart with a second `let`";
                    self.unsupported(at.span, "`@` patterns are not supported in kernels", help);
                }
                let name = ident(&p.ident);
                if bound.contains(&name.name) {
                    let message = format!("the name `{}` is bound twice here", name.name);
                    self.unsupported(name.span, message, "give one of them another name");
                }
                bound.push(name.name.clone());
                return if p.mutability.is_some() { Pattern::Mutable(name) } else { Pattern::Name(name) };
            }
            syn::Pat::Tuple(p) => {
                return Pattern::Tuple(p.elems.iter().map(|p| self.pattern(p, bound)).collect(), span);
            }
            syn::Pat::Type(p) => {
                self.unsupported(p.colon_token.span, "a type inside a pattern", "annotate the whole pattern");
                return self.pattern(&p.pat, bound);
            }
            syn::Pat::Rest(_) => self.unsupported(
                span,
                "`..` in a pattern is not supported in kernels",
                "name every component, with `_` for those you do not need",
            ),
            syn::Pat::Slice(p) => return self.array_pattern(p, bound),
            syn::Pat::Struct(p) => return self.record_pattern(p, bound),
            syn::Pat::TupleStruct(_) => self.unsupported(
                span,
                "patterns of tuple structs are not supported in kernels",
                "use a tuple, and a tuple pattern `(a, b)`, or a record with named fields",
            ),
            _ => self.unsupported(
                span,
                format!("the pattern `{}` cannot be used here", text(pat)),
                "a pattern is a name, `_`, or a tuple of patterns `(a, b)`",
            ),
        }
        Pattern::Wildcard(span)
    }

    /// Reads `[a, b, .., c]`.
    fn array_pattern(&mut self, p: &syn::PatSlice, bound: &mut Vec<Name>) -> Pattern {
        let mut pattern = ArrayPattern { first: Vec::new(), rest: false, last: Vec::new(), span: p.span() };
        for part in &p.elems {
            if matches!(part, syn::Pat::Rest(_)) && !pattern.rest {
                pattern.rest = true;
                continue;
            }
            let part = self.pattern(part, bound);
            if pattern.rest { &mut pattern.last } else { &mut pattern.first }.push(part);
        }
        Pattern::Array(pattern)
    }

    /// Reads `Name { a, b: pattern, .. }`.
    fn record_pattern(&mut self, p: &syn::PatStruct, bound: &mut Vec<Name>) -> Pattern {
        if p.qself.is_some() || p.path.segments.iter().any(|s| !s.arguments.is_none()) {
            let help = "write the plain name of the record";
            self.unsupported(p.path.span(), "type arguments in patterns are not supported in kernels", help);
        }
        let mut fields = Vec::new();
        for f in &p.fields {
            let syn::Member::Named(name) = &f.member else {
                let help = "name the field";
                self.unsupported(f.member.span(), "the fields of a record have names", help);
                continue;
            };
            fields.push((ident(name), self.pattern(&f.pat, bound)));
        }
        Pattern::Record(RecordPattern { path: path(&p.path), fields, rest: p.rest.is_some(), span: p.span() })
    }

    /// Reads the pattern of a `match` arm: its literals (none: it matches everything) and the name it binds.
    pub(super) fn arm_pattern(&mut self, pat: &syn::Pat) -> (Vec<Expr>, Option<Ident>) {
        match pat {
            syn::Pat::Paren(p) => self.arm_pattern(&p.pat),
            syn::Pat::Reference(p) => self.arm_pattern(&p.pat),
            syn::Pat::Wild(_) => (Vec::new(), None),
            syn::Pat::Guard(p) => {
                let help = "put an `if` into the arm's value, or before the `match`";
                self.unsupported(p.if_token.span, "guards are not supported in kernels", help);
                self.arm_pattern(&p.pat)
            }
            syn::Pat::Ident(p)
                if p.mutability.is_none() && p.subpat.is_none() && !is_screaming(&p.ident.to_string()) =>
            {
                (Vec::new(), Some(ident(&p.ident)))
            }
            syn::Pat::Or(p) => (p.cases.iter().map(|p| self.literal_pattern(p)).collect(), None),
            _ => (vec![self.literal_pattern(pat)], None),
        }
    }

    fn literal_pattern(&mut self, pat: &syn::Pat) -> Expr {
        let span = pat.span();
        let help = "an arm is integers or booleans, `1 | 2`, or `_`, or a name; use `if` for anything else";
        match pat {
            syn::Pat::Paren(p) => return self.literal_pattern(&p.pat),
            syn::Pat::Lit(p) if matches!(p.lit, syn::Lit::Int(_) | syn::Lit::Bool(_)) => {
                return self.literal(&p.lit, false);
            }
            syn::Pat::Range(_) => self.unsupported(
                span,
                "range patterns are not supported in kernels",
                "list the integers, `1 | 2 | 3`, or compare with `if`",
            ),
            syn::Pat::Tuple(_) => {
                self.unsupported(span, "`match` in kernels is on one integer or boolean", help)
            }
            syn::Pat::Ident(p) if is_screaming(&p.ident.to_string()) => {
                let message = format!("the constant `{}` cannot be used as a pattern in a kernel", p.ident);
                self.unsupported(span, message, "write its value, or compare with `if`");
            }
            _ => self.unsupported(
                span,
                format!("the pattern `{}` is not supported in kernels", text(pat)),
                help,
            ),
        }
        Expr { kind: super::ast::ExprKind::Error, span }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{errors, shown};

    #[test]
    fn binding_patterns() {
        let source = "fn f((mut a, _): (f64, f64)) -> f64 { let (b, (c, &mut d)) = g; let r#in: _ = map(|mut x| x, b); a }";
        let read =
            "f((mut a, _): (f64, f64)) -> f64 { let (b, (c, d)) = g; let in: _ = (call map |mut x| x b); a }";
        assert_eq!(shown(source), read);
        let source = "fn f([a, _]: [f64; 2]) -> f64 { let [b, mut c, .., [d, ..]] = g; a }";
        assert_eq!(shown(source), "f([a, _]: [f64; 2]) -> f64 { let [b, mut c, .., [d, ..]] = g; a }");
        let source = "fn f(p: m::P) -> f64 { let m::P { a, mut b, c: (d, _), .. } = p; let Q {} = q; a }";
        let read = "f(p: m::P) -> f64 { let m::P { a: a, b: mut b, c: (d, _), .. } = p; let Q { } = q; a }";
        assert_eq!(shown(source), read);
    }

    #[test]
    fn refused_bindings() {
        for (binding, start) in [
            ("x @ y", "AD0001 `@` patterns"),
            ("(x, ..)", "AD0001 `..` in a pattern"),
            ("[x, .., y, ..]", "AD0001 `..` in a pattern"),
            ("[x, y @ ..]", "AD0001 `@` patterns"),
            ("P(x)", "AD0001 patterns of tuple structs"),
            ("P { x, y: x }", "AD0001 the name `x` is bound twice"),
            ("(x, x)", "AD0001 the name `x` is bound twice"),
        ] {
            let found = errors(&format!("fn f(a: f64) -> f64 {{ let {binding} = a; a }}"));
            assert_eq!(found.len(), 1, "{binding}: {found:?}");
            assert!(found[0].starts_with(start), "{binding}: {found:?}");
        }
    }

    #[test]
    fn arms() {
        let source =
            "fn f(k: i64) -> f64 { match k { 0 => 1.0, -1 | 2u32 => 2.0, (true) => 3.0, other => 4.0 } }";
        let read = "f(k: i64) -> f64 { match k { 0 => 1.0, -1 | 2u32 => 2.0, true => 3.0, other => 4.0 } }";
        assert_eq!(shown(source), read);
        assert_eq!(
            shown("fn f(k: bool) -> i64 { match k { _ => { 1 } } }"),
            "f(k: bool) -> i64 { match k { _ => { 1 } } }"
        );
    }

    #[test]
    fn refused_arms() {
        for (arm, start) in [
            ("1..=3", "AD0001 range patterns"),
            ("n if n > 1", "AD0001 guards"),
            ("(0, 1)", "AD0001 `match` in kernels is on one integer"),
            ("LIMIT", "AD0001 the constant `LIMIT`"),
            ("i64::MAX", "AD0001 the pattern `i64::MAX`"),
            ("1.5", "AD0001 the pattern `1.5`"),
            ("1 | _", "AD0001 the pattern `_`"),
            ("n @ 1", "AD0001 the pattern `n @ 1`"),
        ] {
            let found = errors(&format!("fn f(a: i64) -> f64 {{ match a {{ {arm} => 1.0, _ => 2.0 }} }}"));
            assert_eq!(found.len(), 1, "{arm}: {found:?}");
            assert!(found[0].starts_with(start), "{arm}: {found:?}");
        }
    }
}
