//! Assignments and loops.
//!
//! A target of an assignment is a name, a part of one, or for `=` a tuple of targets. A `for` runs over a range with
//! both ends, over its reverse, or over an array, where `.iter()` means nothing and `.enumerate()` numbers the
//! elements. `lo..=hi` is `lo..hi + 1`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ast::{Binary, Checkpoint, Expr, ExprKind, For, Over};
use super::expr::successor;
use super::parse::Parser;
use crate::diagnostics::Code;

impl Parser<'_> {
    /// `left op= right`; no operator: `left = right`.
    pub(super) fn assignment(
        &mut self,
        left: &syn::Expr,
        op: Option<Binary>,
        right: &syn::Expr,
        span: Span,
    ) -> ExprKind {
        let target = self.expr(left);
        let value = self.expr(right);
        if !self.is_target(&target, op.is_none()) {
            return ExprKind::Error;
        }
        ExprKind::Assign(Box::new(target), op, Box::new(value), span)
    }

    /// Whether an expression can be assigned to; if not, the error is recorded.
    fn is_target(&mut self, e: &Expr, tuples: bool) -> bool {
        match &e.kind {
            ExprKind::Path(path) if path.single().is_some() => true,
            ExprKind::Index(array, _) => self.is_target(array, false),
            ExprKind::Field(tuple, _) => self.is_target(tuple, false),
            ExprKind::Tuple(parts) if tuples && !parts.is_empty() => {
                parts.iter().all(|part| self.is_target(part, true))
            }
            ExprKind::Error => false,
            _ => {
                let help = "assign to a variable, `x = ..`, or to a part of one, `a[i] = ..`, `t.0 = ..`";
                self.unsupported(e.span, "this cannot be assigned to", help);
                false
            }
        }
    }

    /// Reads `for pattern in over { .. }`.
    pub(super) fn for_loop(&mut self, e: &syn::ExprForLoop) -> ExprKind {
        self.no_label(e.label.as_ref());
        let over = self.over(&e.expr);
        let pattern = self.pattern(&e.pat, &mut Vec::new());
        self.note_names(&pattern, matches!(over, Some(Over::Array { .. })));
        let body = self.block(&e.body);
        let checkpoint = e.attrs.iter().find(|a| a.path().is_ident("checkpoint"));
        let checkpoint = checkpoint.map(|a| self.checkpoint(a));
        match (over, checkpoint) {
            (Some(over), None) => ExprKind::For(Box::new(For { pattern, over, body, checkpoint: None })),
            (Some(over), Some(Some(c))) => {
                ExprKind::For(Box::new(For { pattern, over, body, checkpoint: Some(c) }))
            }
            _ => ExprKind::Error,
        }
    }

    /// Reads `#[checkpoint]`, `#[checkpoint(every = k)]`, `#[checkpoint(levels = 3)]`.
    fn checkpoint(&mut self, a: &syn::Attribute) -> Option<Checkpoint> {
        let setting = match &a.meta {
            syn::Meta::Path(_) => return Some(Checkpoint::Levels(2)),
            syn::Meta::List(_) => a.parse_args::<syn::ExprAssign>().ok(),
            syn::Meta::NameValue(_) => None,
        };
        let name = |e: &syn::Expr| match e {
            syn::Expr::Path(p) => p.path.get_ident().map(ToString::to_string).unwrap_or_default(),
            _ => String::new(),
        };
        match setting.as_ref().map(|s| (name(&s.left), &*s.right)) {
            Some((name, k)) if name == "every" => Some(Checkpoint::Every(self.expr(k))),
            Some((name, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(l), .. })))
                if name == "levels" && l.base10_parse().is_ok_and(|l: u32| (2..=8).contains(&l)) =>
            {
                l.base10_parse().ok().map(Checkpoint::Levels)
            }
            _ => {
                let help = "write `#[checkpoint]`, `#[checkpoint(every = 100)]` or `#[checkpoint(levels = 3)]`, with 2 to 8 levels";
                self.diagnostics.error(
                    Code::Attribute,
                    a.span(),
                    "this `#[checkpoint]` has no meaning",
                    help,
                );
                None
            }
        }
    }

    /// Reads `while condition { .. }`.
    pub(super) fn while_loop(&mut self, e: &syn::ExprWhile) -> ExprKind {
        self.no_label(e.label.as_ref());
        let condition = self.expr(&e.cond);
        ExprKind::While(Box::new(condition), Box::new(self.block(&e.body)))
    }

    fn no_label(&mut self, label: Option<&syn::Label>) {
        if let Some(label) = label {
            self.unsupported(label.span(), "labels are not supported in kernels", "remove the label");
        }
    }

    fn over(&mut self, e: &syn::Expr) -> Option<Over> {
        match e {
            syn::Expr::Paren(e) => self.over(&e.expr),
            syn::Expr::Group(e) => self.over(&e.expr),
            syn::Expr::Reference(e) if e.mutability.is_none() => self.over(&e.expr),
            syn::Expr::Range(range) => self.range(range, false),
            syn::Expr::MethodCall(call) if call.args.is_empty() => {
                let name = call.method.to_string();
                match (name.as_str(), range_in(&call.receiver)) {
                    ("rev", Some(range)) => self.range(range, true),
                    ("iter" | "into_iter", _) => self.over(&call.receiver),
                    ("enumerate", None) => match self.over(&call.receiver)? {
                        Over::Array { array, numbered: false } => Some(Over::Array { array, numbered: true }),
                        _ => self.not_over(e.span()),
                    },
                    _ => Some(Over::Array { array: self.expr(e), numbered: false }),
                }
            }
            syn::Expr::MethodCall(call) if call.method == "step_by" => self.not_over(call.method.span()),
            _ => Some(Over::Array { array: self.expr(e), numbered: false }),
        }
    }

    fn not_over(&mut self, span: Span) -> Option<Over> {
        let help = "write `for i in lo..hi`, `for i in (lo..hi).rev()`, `for x in xs` or `for (i, x) in xs.iter().enumerate()`; \
                    for steps of 2, `for k in 0..n / 2` and `let i = 2 * k;`";
        self.unsupported(span, "a `for` cannot run over this iterator", help);
        None
    }

    fn range(&mut self, range: &syn::ExprRange, reversed: bool) -> Option<Over> {
        let (Some(lo), Some(hi)) = (&range.start, &range.end) else {
            let help = "write `for i in lo..hi`; for a loop that a condition ends, `while`";
            self.unsupported(range.limits.span(), "the range of a `for` needs both ends", help);
            return None;
        };
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let hi = if matches!(range.limits, syn::RangeLimits::Closed(_)) { successor(hi) } else { hi };
        Some(Over::Range { lo, hi, reversed })
    }
}

/// The range that an expression is, behind parentheses.
fn range_in(e: &syn::Expr) -> Option<&syn::ExprRange> {
    match e {
        syn::Expr::Paren(e) => range_in(&e.expr),
        syn::Expr::Group(e) => range_in(&e.expr),
        syn::Expr::Range(range) => Some(range),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{body, errors};

    #[test]
    fn forms() {
        for (written, read) in [
            ("let mut x = 1; x = 2; x", "let mut x = 1; (= x 2); x"),
            ("a[i][j] += v; x", "(add= a[i][j] v); x"),
            ("a[[i, j]] %= -v", "(rem= a[[i, j]] (neg v))"),
            ("a[i..j] = v; (a, (b, t.0)) = c;", "(= a[i..j] v); (= (tuple a (tuple b t.0)) c);"),
            ("for i in 0..n { x <<= i }", "for i in 0..n { (shl= x i) }"),
            ("for i in 0..=n {} x", "for i in 0..(add n 1) {  }; x"),
            ("for mut i in (1..n).rev() { i |= 1; }", "for mut i in 1..n reversed { (bitor= i 1); }"),
            ("for x in &xs { y = x; } y", "for x in xs { (= y x); }; y"),
            ("for (i, x) in xs.iter().enumerate() {}", "for (i, x) in xs numbered {  }"),
            ("for x in a.reverse() {}", "for x in (.reverse a) {  }"),
            ("#[checkpoint] for x in xs {}", "checkpoint levels 2 for x in xs {  }"),
            (
                "#[checkpoint(every = k + 1)] for x in xs {} x",
                "checkpoint every (add k 1) for x in xs {  }; x",
            ),
            ("#[checkpoint(levels = 3)] for i in 0..n {}", "checkpoint levels 3 for i in 0..n {  }"),
            ("while x > 1 { x = x / 2; }", "while (gt x 1) { (= x (div x 2)); }"),
        ] {
            assert_eq!(body(&format!("fn f() -> f64 {{ {written} }}")), format!("{{ {read} }}"));
        }
    }

    #[test]
    fn refused_forms() {
        for (written, start) in [
            ("f(x) = 1;", "AD0001 this cannot be assigned to"),
            ("m::x = 1;", "AD0001 this cannot be assigned to"),
            ("(a, b) += c;", "AD0001 this cannot be assigned to"),
            ("_ = c;", "AD0001 `_` is not an expression"),
            ("'a: for i in 0..n {}", "AD0001 labels"),
            ("'a: while c {}", "AD0001 labels"),
            ("for i in 0.. {}", "AD0001 the range of a `for` needs both ends"),
            ("for i in (0..n).step_by(2) {}", "AD0001 a `for` cannot run over this iterator"),
            ("for i in (0..n).enumerate() {}", "AD0001 a range can stand only in"),
            ("#[checkpoint(levels = 9)] for i in 0..n {}", "AD0016 this `#[checkpoint]` has no meaning"),
            ("#[checkpoint(10)] for i in 0..n {}", "AD0016 this `#[checkpoint]` has no meaning"),
            ("#[checkpoint] let b = 1;", "AD0016 `#[checkpoint]` stands on a `for`"),
            ("while let 1 = x {}", "AD0001 `let` in a condition"),
        ] {
            let found = errors(&format!("fn f(a: f64) -> f64 {{ {written} a }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }
}
