//! Functions that do not parse. rustc has parsed them before the attribute sees them, and has said what is wrong, at the place where it
//! is: here nothing is said again. What stands for the kernel is all that its signature tells.
//!
//! Of one mistake rustc does not know what is meant: `a[i, j]`.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

use super::Kernel;
use crate::diagnostics::{Code, Diagnostics};

/// The function with an empty body, if it is the body that does not parse, and what is known of the mistake.
pub(super) fn without_body(
    attr: &TokenStream,
    item: &TokenStream,
    diagnostics: &mut Diagnostics,
) -> Option<Kernel> {
    let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let Some(TokenTree::Group(body)) = tokens.pop().filter(is_block) else { return None };
    let mut empty = Group::new(Delimiter::Brace, TokenStream::new());
    empty.set_span(body.span());
    tokens.push(TokenTree::Group(empty));
    let function = syn::parse2::<syn::ItemFn>(tokens.into_iter().collect()).ok()?;
    for span in several_indices(body.stream()) {
        let help = "write `a[[i, j]]` or `a[i][j]`, and `a[s![i, lo..hi]]` where there are ranges";
        diagnostics.error(Code::Unsupported, span, "an index is one expression in Rust", help);
    }
    Some(Kernel::read(attr, function, diagnostics))
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace)
}

/// Where something is indexed by several expressions, `a[i, j]`.
fn several_indices(tokens: TokenStream) -> Vec<Span> {
    let mut found = Vec::new();
    let mut before = None;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            found.extend(several_indices(group.stream()));
            let has_comma = |g: &Group| {
                g.stream().into_iter().any(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ','))
            };
            if group.delimiter() == Delimiter::Bracket
                && before.as_ref().is_some_and(is_indexed)
                && has_comma(group)
            {
                found.push(group.span());
            }
        }
        before = Some(token);
    }
    found
}

/// Whether brackets after this token hold an index.
fn is_indexed(before: &TokenTree) -> bool {
    match before {
        // A keyword that an array may follow.
        TokenTree::Ident(name) => {
            !["return", "in", "as", "mut", "else", "match", "if"].iter().any(|k| name == k)
        }
        TokenTree::Group(g) => matches!(g.delimiter(), Delimiter::Parenthesis | Delimiter::Bracket),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{several_indices, without_body};
    use crate::diagnostics::Diagnostics;
    use proc_macro2::TokenStream;

    fn indices(body: &str) -> usize {
        several_indices(body.parse().expect("it lexes")).len()
    }

    #[test]
    fn indices_are_told_from_arrays() {
        assert_eq!(indices("a[i, j] + f(x)[i, j] * b[0][1, c[2, 3]]"), 4);
        assert_eq!(indices("let x = [a, b]; a[[i, j]] + sum([1, 2]); for i in [1, 2] {} vec![a, b]"), 0);
    }

    #[test]
    fn the_signature_of_what_does_not_parse_is_read() {
        let item: TokenStream = "pub fn f(x: [u8; n]) -> f64 { a[i, j] }".parse().expect("it lexes");
        let mut d = Diagnostics::default();
        let kernel = without_body(&TokenStream::new(), &item, &mut d).expect("a kernel");
        assert_eq!(kernel.name(), "f");
        let codes: Vec<String> = d.list().iter().map(|e| e.text()[..8].to_string()).collect();
        assert_eq!(codes, ["[AD0001]", "[AD0005]"]);
        let other: TokenStream = "fn f(x: [f64; n] -> f64 { x }".parse().unwrap_or_default();
        assert!(without_body(&TokenStream::new(), &other, &mut d).is_none());
    }
}
