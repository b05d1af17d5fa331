//! The smallest part of a mutant that still shows a kind of finding: pieces are taken out as long as it does.

use super::tokens::{Tokens, closes, flat, opens, pieces, text, tree};

/// Tries so many programs at most.
const TRIES: usize = 1500;

/// Takes out of a program what `shows` does not need.
pub fn minimize(source: &str, mut shows: impl FnMut(&str) -> bool) -> String {
    let Ok(stream) = source.parse() else { return source.into() };
    let mut tokens: Tokens = flat(stream);
    let mut tries = 0;
    let mut smaller = |candidate: &Tokens| {
        tries += 1;
        let text = text(candidate);
        tries <= TRIES && syn::parse_file(&text).is_ok() && shows(&text)
    };
    loop {
        let before = tokens.len();
        // Whole items, statements and arguments with what follows them, then single trees, then brackets without what is in them.
        let mut at = 0;
        while at < tokens.len() {
            let mut ranges: Vec<_> = pieces(&tokens).into_iter().filter(|p| p.start == at).collect();
            ranges.sort_by_key(|r| std::cmp::Reverse(r.len()));
            if !closes(&tokens[at]) {
                ranges.push(tree(&tokens, at));
                // A token with the next: an operator and its operand, a method and its arguments.
                let next = tree(&tokens, at).end;
                if tokens.get(next).is_some_and(|t| !closes(t)) {
                    let after = tree(&tokens, next).end;
                    ranges.push(at..after);
                    if tokens.get(after).is_some_and(|t| !closes(t)) {
                        ranges.push(at..tree(&tokens, after).end);
                    }
                }
            }
            let mut taken = false;
            for range in ranges {
                let mut candidates = Vec::new();
                let separated = tokens.get(range.end).is_some_and(|t| matches!(t.as_str(), "," | ";"));
                if separated {
                    candidates.push([&tokens[..range.start], &tokens[range.end + 1..]].concat());
                }
                if opens(&tokens[range.start]) && range.len() > 2 {
                    let inner = &tokens[range.start + 1..range.end - 1];
                    candidates.push([&tokens[..range.start], inner, &tokens[range.end..]].concat());
                }
                candidates.push([&tokens[..range.start], &tokens[range.end..]].concat());
                if range.len() > 1 {
                    candidates
                        .push([&tokens[..range.start], &["1.0".to_string()], &tokens[range.end..]].concat());
                }
                if let Some(found) = candidates.into_iter().find(|c| c.len() < tokens.len() && smaller(c)) {
                    tokens = found;
                    taken = true;
                    break;
                }
            }
            if !taken {
                at += 1;
            }
        }
        if tokens.len() == before {
            return text(&tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let source = "fn g(a: f64) -> f64 { a } fn f(x: [f64; n], k: i64) -> f64 { let y = sum(x); if k > 0 { bad(y * 2.0, k) } else { 0.0 } }";
        let small = minimize(source, |s| s.contains("bad") && s.contains("fn f"));
        let tokens = small.split_whitespace().count();
        assert!(tokens < 8 && small.contains("bad") && !small.contains("fn g"), "{small}");
    }
}
