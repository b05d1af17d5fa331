//! Programs as lists of tokens with matching brackets: what mutations work on.

use std::ops::Range;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The tokens of a program as texts; brackets are tokens of their own, and match.
pub type Tokens = Vec<String>;

/// The tokens of a stream. Operators of several characters are one token.
pub fn flat(stream: TokenStream) -> Tokens {
    let mut out = Vec::new();
    append(stream, &mut out);
    out
}

fn append(stream: TokenStream, out: &mut Tokens) {
    let mut joint = String::new();
    for tree in stream {
        match tree {
            TokenTree::Punct(p) => {
                joint.push(p.as_char());
                if p.spacing() == Spacing::Alone {
                    out.push(std::mem::take(&mut joint));
                }
            }
            TokenTree::Group(g) => {
                out.extend(Some(std::mem::take(&mut joint)).filter(|j| !j.is_empty()));
                let (open, close) = match g.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                out.push(open.into());
                append(g.stream(), out);
                out.push(close.into());
            }
            // A quote belongs to the name after it: `'outer`.
            tree => out.push(std::mem::take(&mut joint) + &tree.to_string()),
        }
    }
    out.extend(Some(joint).filter(|j| !j.is_empty()));
}

/// The text of tokens, a statement to a line.
pub fn text(tokens: &[String]) -> String {
    let mut out = String::new();
    for (k, token) in tokens.iter().enumerate() {
        let next = tokens.get(k + 1).map_or("", String::as_str);
        out.push_str(token);
        let glued = matches!(token.as_str(), "(" | "[" | "." | "#" | "!")
            || matches!(next, ")" | "]" | "," | ";" | "." | "(" | "[")
                && !matches!(token.as_str(), "=" | "->" | "in" | "," | ";" | "{");
        match token.as_str() {
            ";" | "{" | "}" => out.push('\n'),
            _ if glued => {}
            _ => out.push(' '),
        }
    }
    out
}

/// Whether a token opens a bracket.
pub fn opens(token: &str) -> bool {
    matches!(token, "(" | "[" | "{")
}

/// Whether a token closes one.
pub fn closes(token: &str) -> bool {
    matches!(token, ")" | "]" | "}")
}

/// The token at a position, with everything up to the end of the bracket that it opens.
pub fn tree(tokens: &[String], at: usize) -> Range<usize> {
    let mut depth = 0usize;
    for (k, token) in tokens.iter().enumerate().skip(at) {
        depth += usize::from(opens(token));
        depth = depth.saturating_sub(usize::from(closes(token)));
        if depth == 0 {
            return at..k + 1;
        }
    }
    at..tokens.len()
}

/// What stands between two commas, semicolons or brackets: an argument, a statement, a whole bracket.
pub fn pieces(tokens: &[String]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut starts = vec![0];
    for (k, token) in tokens.iter().enumerate() {
        let ends = closes(token) || matches!(token.as_str(), "," | ";");
        if ends && let Some(start) = starts.pop() {
            if start < k {
                out.push(start..k);
            }
            if !closes(token) {
                starts.push(k + 1);
            }
        }
        if opens(token) {
            starts.push(k + 1);
        }
        // A block ends a statement.
        if token == "}"
            && tokens.get(k + 1).is_some_and(|t| t != "else")
            && let Some(start) = starts.pop()
        {
            out.push(start..k + 1);
            starts.push(k + 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_same_tokens() {
        let source = "fn f(x: [f64; n], 'a: &T) -> f64 { let y = |a| -a..=1; for i in 0..n { y[i] += 2.0 * x[i][0]; } y }";
        let tokens = flat(source.parse().expect("tokens"));
        assert!(tokens.contains(&"..=".to_string()) && tokens.contains(&"'a".to_string()));
        assert_eq!(flat(text(&tokens).parse().expect("tokens again")), tokens);
    }

    #[test]
    fn pieces_are_what_separators_part() {
        let tokens = flat("f(a, g(b)); { c; d } e".parse().expect("tokens"));
        let found: Vec<String> = pieces(&tokens).into_iter().map(|p| tokens[p].join(" ")).collect();
        assert_eq!(found, ["a", "b", "g ( b )", "f ( a , g ( b ) )", "c", "d", "{ c ; d }"]);
        assert_eq!(tree(&tokens, 1), 1..9);
    }
}
