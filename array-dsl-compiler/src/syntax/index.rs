//! What stands between the brackets of `a[..]`.
//!
//! ```text
//! a[i]   a[[i, j]]                   an index for each of the first dimensions
//! a[lo..hi]                          elements of the first dimension
//! a[s![i, .., lo..hi]]               an index or a range for each of the first dimensions, as ndarray writes it;
//! a[[i, .., lo..hi]]                 the same
//! a.slice(s![i, .., lo..hi])         the same
//! a[s![-1, 1..-1]]                   literals with a sign count from the end
//! ```

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

use super::ast::{Expr, ExprKind, IndexKind, Part, Unary};
use super::expr::successor;
use super::parse::Parser;

impl Parser<'_> {
    /// Reads what is between brackets.
    pub(super) fn index(&mut self, e: &syn::Expr) -> IndexKind {
        match e {
            syn::Expr::Paren(e) => self.index(&e.expr),
            syn::Expr::Group(e) => self.index(&e.expr),
            syn::Expr::Range(range) => {
                let (lo, hi) = self.ends(range);
                IndexKind::Slice(lo, hi)
            }
            syn::Expr::Array(e) if !e.elems.is_empty() => self.parts(e.elems.iter()),
            syn::Expr::Macro(e) if is_slice(&e.mac) => self.slice_macro(&e.mac),
            syn::Expr::Array(_) | syn::Expr::Tuple(_) => self.no_index(
                e.span(),
                "an index is an integer for each dimension",
                "write `a[[i, j]]` or `a[i][j]`",
            ),
            other => IndexKind::At(Box::new(self.expr(other))),
        }
    }

    /// The index that `.slice(s![..])` is.
    pub(super) fn slice_method(&mut self, e: &syn::ExprMethodCall) -> Option<IndexKind> {
        match e.args.first() {
            Some(syn::Expr::Macro(m)) if e.args.len() == 1 && e.method == "slice" && is_slice(&m.mac) => {
                Some(self.slice_macro(&m.mac))
            }
            _ => None,
        }
    }

    fn slice_macro(&mut self, mac: &syn::Macro) -> IndexKind {
        let help = "write an index or a range for each dimension: `a[s![i, .., lo..hi]]`";
        match mac.parse_body_with(Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated) {
            Ok(parts) if !parts.is_empty() => self.parts(parts.iter()),
            Ok(_) => self.no_index(mac.path.span(), "`s![]` has no index", help),
            Err(e) if mac.tokens.to_string().contains(';') => {
                let help = "slice without it, then take every k-th element by `step_by(k)`";
                self.no_index(e.span(), "a step is not supported in `s![..]`", help)
            }
            Err(e) => self.no_index(e.span(), format!("`s![..]` cannot be read: {e}"), help),
        }
    }

    fn parts<'e>(&mut self, es: impl Iterator<Item = &'e syn::Expr>) -> IndexKind {
        let mut parts: Vec<Part> = es.map(|e| self.part_of_index(e)).collect();
        // Only with these brackets constants count from the end.
        if parts.iter().flat_map(Part::exprs).any(is_below_zero) {
            return IndexKind::Parts(parts);
        }
        if !parts.iter().any(|p| matches!(p, Part::Range(..))) {
            let at = |p| if let Part::At(i) = p { Some(i) } else { None };
            return IndexKind::Multi(parts.into_iter().filter_map(at).collect());
        }
        match parts.as_mut_slice() {
            [Part::Range(lo, hi)] => IndexKind::Slice(lo.take(), hi.take()),
            _ => IndexKind::Parts(parts),
        }
    }

    fn part_of_index(&mut self, e: &syn::Expr) -> Part {
        match e {
            syn::Expr::Group(e) => self.part_of_index(&e.expr),
            syn::Expr::Range(range) => {
                let (lo, hi) = self.ends(range);
                Part::Range(lo, hi)
            }
            e => Part::At(self.expr(e)),
        }
    }

    fn ends(&mut self, range: &syn::ExprRange) -> (Option<Box<Expr>>, Option<Box<Expr>>) {
        let lo = range.start.as_ref().map(|e| Box::new(self.expr(e)));
        let hi = range.end.as_ref().map(|e| {
            let hi = self.expr(e);
            let is_closed = matches!(range.limits, syn::RangeLimits::Closed(_));
            if is_closed && is_below_zero(&hi) {
                let help = "leave the end out, `1..`, or write the one after it, `1..-1`";
                self.unsupported(hi.span, "a last element that is counted from the end", help);
            }
            Box::new(if is_closed { successor(hi) } else { hi })
        });
        (lo, hi)
    }

    fn no_index(&mut self, span: Span, message: impl Into<String>, help: &str) -> IndexKind {
        self.unsupported(span, message, help);
        IndexKind::At(Box::new(Expr { kind: ExprKind::Error, span }))
    }
}

/// Whether a macro is ndarray's `s!`.
fn is_slice(mac: &syn::Macro) -> bool {
    mac.path.segments.last().is_some_and(|last| last.ident == "s")
}

/// Whether an index or an end of a range is a literal with a sign.
fn is_below_zero(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Unary(Unary::Neg, k) if matches!(k.kind, ExprKind::Int(..)))
}
