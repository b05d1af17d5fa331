//! `einsum!("ij,jk->ik", a, b)`: a sum of products, written with a letter for each dimension.
//!
//! ```text
//! subscripts   term , term , .. -> term        each operand's letters, and the result's
//!              term , term , ..                 the result's are those that occur once, in alphabetical order
//! meaning      result[output] = sum over the other letters of the product of operand[its letters]
//! ```
//!
//! White space in the subscripts means nothing, and a letter that an operand has twice is its diagonal. All that the text
//! alone tells is checked here; ranks and sizes when the operands are known.

use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;

use super::ast::{ExprKind, Subscripts};
use super::parse::Parser;
use crate::diagnostics::{Code, count};

const HELP: &str =
    "write `einsum!(\"ij,jk->ik\", a, b)`: the letters of each operand's dimensions, then the result's";

impl Parser<'_> {
    /// Reads a call of `einsum!`.
    pub(super) fn einsum(&mut self, mac: &syn::Macro, name: Span) -> ExprKind {
        let parts = |input: ParseStream<'_>| {
            let text: syn::LitStr = input.parse()?;
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
            Ok((text, Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated(input)?))
        };
        let (text, operands) = match mac.parse_body_with(parts) {
            Ok(parts) => parts,
            Err(e) => {
                let message = "`einsum!` expects its subscripts in quotes, then the operands";
                let span = if mac.tokens.is_empty() { name } else { e.span() };
                self.unsupported(span, message, HELP);
                return ExprKind::Error;
            }
        };
        let operands: Vec<_> = operands.iter().map(|e| self.expr(e)).collect();
        match self.subscripts(&text.value(), text.span(), operands.len()) {
            Some(subscripts) => ExprKind::Einsum(subscripts, operands),
            None => ExprKind::Error,
        }
    }

    /// Reads the subscripts of so many operands.
    fn subscripts(&mut self, text: &str, span: Span, operands: usize) -> Option<Subscripts> {
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (text, None),
        };
        if text.contains("...") {
            let help = "give each of those dimensions a letter; inside a `map` an operand has fewer of them";
            self.unsupported(span, "`...` is not supported in the subscripts of `einsum!`", help);
            return None;
        }
        let terms = inputs.split(',').map(|t| self.letters(t, span)).collect::<Option<Vec<_>>>()?;
        let all: Vec<char> = terms.concat();
        let output = match output {
            Some(output) => self.letters(output, span)?,
            None => {
                let mut once: Vec<char> =
                    all.iter().copied().filter(|c| all.iter().filter(|d| *d == c).count() == 1).collect();
                once.sort_unstable();
                once
            }
        };
        if terms.len() != operands {
            let terms = count(terms.len(), "operand");
            let message = format!("`einsum!`: the subscripts are those of {terms}, found {operands}");
            self.diagnostics.error(Code::ArgumentCount, span, message, HELP);
            return None;
        }
        for (i, c) in output.iter().enumerate() {
            if !all.contains(c) {
                let message = format!("`einsum!`: no operand has the result's letter `{c}`");
                let help = "its size is unknown; to repeat a result along a new dimension use `replicate`";
                self.diagnostics.error(Code::UnknownName, span, message, help);
                return None;
            }
            if output[..i].contains(c) {
                let message = format!("`einsum!`: the result has the letter `{c}` twice");
                let help = "each dimension of the result needs a letter of its own; for a matrix with a given diagonal \
                            use `build((n, n), |i, j| if i == j { d[i] } else { 0.0 })`";
                self.unsupported(span, message, help);
                return None;
            }
        }
        Some(Subscripts { operands: terms, output, span })
    }

    fn letters(&mut self, term: &str, span: Span) -> Option<Vec<char>> {
        let letters: Vec<char> = term.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(c) = letters.iter().find(|c| !c.is_ascii_alphabetic()) {
            let message = format!("`einsum!`: `{c}` in the subscripts is not a letter from a to z or A to Z");
            self.unsupported(span, message, HELP);
            return None;
        }
        Some(letters)
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{body, errors};

    #[test]
    fn subscripts() {
        for (written, read) in [
            ("einsum!(\"ij,jk->ik\", a, b)", "(einsum ij,jk->ik a b)"),
            ("einsum!(\" i j , j k -> i k \", a, b,)", "(einsum ij,jk->ik a b)"),
            ("einsum!(\"ij,jk\", a, b)", "(einsum ij,jk->ik a b)"),
            ("einsum!(\"ba\", a)", "(einsum ba->ab a)"),
            ("einsum!(\"bAa\", a)", "(einsum bAa->Aab a)"),
            ("einsum!(\"ii\", a)", "(einsum ii-> a)"),
            ("einsum!(\"ii->i\", a)", "(einsum ii->i a)"),
            ("einsum!(\"i,\", x, 2.0)", "(einsum i,->i x 2.0)"),
            ("einsum!(\"\", 2.0)", "(einsum -> 2.0)"),
            ("einsum!(\"ij->\", f(a))", "(einsum ij-> (call f a))"),
            ("einsum! { \"i->\", a }", "(einsum i-> a)"),
            ("einsum!(\"i->i\", a); a", "(einsum i->i a); a"),
            ("einsum!(\"i->i\", a).sum()", "(.sum (einsum i->i a))"),
            ("array_dsl::einsum![\"i->i\", a]", "(einsum i->i a)"),
        ] {
            assert_eq!(body(&format!("fn f() -> f64 {{ {written} }}")), format!("{{ {read} }}"), "{written}");
            assert!(errors(&format!("fn f() -> f64 {{ {written} }}")).is_empty(), "{written}");
        }
    }

    #[test]
    fn wrong_subscripts() {
        for (written, start) in [
            ("einsum!()", "AD0001 `einsum!` expects its subscripts in quotes"),
            ("einsum!(a, b)", "AD0001 `einsum!` expects its subscripts in quotes"),
            ("einsum!(\"i\" a)", "AD0001 `einsum!` expects its subscripts in quotes"),
            ("einsum!(\"...ij->...ji\", a)", "AD0001 `...` is not supported"),
            ("einsum!(\"i1->i\", a)", "AD0001 `einsum!`: `1` in the subscripts is not a letter"),
            ("einsum!(\"ij->i->j\", a)", "AD0001 `einsum!`: `-` in the subscripts is not a letter"),
            ("einsum!(\"ij->i,j\", a)", "AD0001 `einsum!`: `,` in the subscripts is not a letter"),
            ("einsum!(\"i->ii\", a)", "AD0001 `einsum!`: the result has the letter `i` twice"),
            ("einsum!(\"i->j\", a)", "AD0002 `einsum!`: no operand has the result's letter `j`"),
            ("einsum!(\"i,j->ij\", a)", "AD0004 `einsum!`: the subscripts are those of 2 operands, found 1"),
            ("einsum!(\"i->i\")", "AD0004 `einsum!`: the subscripts are those of 1 operand, found 0"),
            ("einsum!(\"i->i\", loop {})", "AD0001 `loop` is not supported"),
        ] {
            let found = errors(&format!("fn f(a: f64) -> f64 {{ {written} }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }
}
