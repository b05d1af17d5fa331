//! Long runs of `let`s.
//!
//! Every `let` opens a scope that lasts to the end of its block, and where the scopes are described for a debugger LLVM walks them by
//! recursion: some thousands, each in the one before, use up rustc's stack. So a long run becomes blocks that hand on what is used
//! after them:
//!
//! ```text
//! let v1 = ..; .. let v127 = ..; let v128 = ..;    is    let (v127, v128) = { let v1 = ..; .. (v127, v128) };
//! ```
//!
//! What prints a statement marks where it begins and ends; this takes the marks out.

use std::ops::Range;

use rustc_hash::FxHashMap;

const BEGIN: char = '\u{2}';
const END: char = '\u{3}';

/// Runs of more are divided, into blocks of as many.
const LONG: usize = 128;

/// A statement, with its marks.
pub(super) fn marked(statement: &str) -> String {
    format!("{BEGIN}{statement}{END}")
}

/// Code without marks and long runs.
pub(super) fn divided(text: &str) -> String {
    let mut last = FxHashMap::default();
    for (at, word) in words(text) {
        last.insert(word, at);
    }
    let mut out = String::with_capacity(text.len());
    Runs { text, last }.code(0..text.len(), &mut out);
    out
}

struct Runs<'a> {
    text: &'a str,
    /// Where each variable occurs last.
    last: FxHashMap<&'a str, usize>,
}

impl<'a> Runs<'a> {
    fn code(&self, range: Range<usize>, out: &mut String) {
        let mut at = range.start;
        while let Some(begin) = self.text[at..range.end].find(BEGIN).map(|k| at + k) {
            out.push_str(&self.text[at..begin]);
            let mut run = Vec::new();
            at = begin;
            while self.text[at..range.end].starts_with(BEGIN) {
                let end = self.end(at);
                run.push(at + 1..end);
                at = end + 1;
            }
            if run.len() <= LONG {
                run.into_iter().for_each(|statement| self.code(statement, out));
            } else {
                run.chunks(LONG).for_each(|block| self.block(block, out));
            }
        }
        out.push_str(&self.text[at..range.end]);
    }

    /// Where the statement ends that begins here.
    fn end(&self, begin: usize) -> usize {
        let mut open = 0;
        for (k, c) in self.text[begin..].match_indices([BEGIN, END]) {
            open += if c.starts_with(BEGIN) { 1 } else { -1 };
            if open == 0 {
                return begin + k;
            }
        }
        self.text.len()
    }

    fn block(&self, statements: &[Range<usize>], out: &mut String) {
        let end = statements.last().map_or(0, |s| s.end);
        let bound = statements.iter().flat_map(|s| self.bound(s.clone()));
        let used: String = bound.filter(|v| self.last[v] > end).map(|v| format!("{v}, ")).collect();
        out.push_str(&format!("let ({used}) = {{\n"));
        statements.iter().for_each(|s| self.code(s.clone(), out));
        out.push_str(&format!("({used})\n}};\n"));
    }

    /// The variables that a statement binds: what stands before its `=`.
    fn bound(&self, statement: Range<usize>) -> impl Iterator<Item = &'a str> {
        let text = &self.text[statement];
        words(text.split_once('=').map_or("", |(left, _)| left)).map(|(_, word)| word)
    }
}

/// The variables `v1`, `v23` in a text, and where they stand.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.match_indices('v').filter_map(move |(at, _)| {
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 1 + digits;
        let whole = at.checked_sub(1).is_none_or(|b| !part(text.as_bytes()[b]))
            && text.as_bytes().get(end).is_none_or(|b| !part(*b));
        (digits > 0 && whole).then(|| (at, &text[at..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::{LONG, divided, marked};

    fn run(n: usize) -> String {
        (1..=n).map(|k| marked(&format!("let v{k}: f64 = v{} + 1.0;\n", k - 1))).collect()
    }

    #[test]
    fn short_runs_stay() {
        let text = format!("{}while v0 < 9 {{\n{}}}\n", run(LONG), marked("let v7: f64 = a1;\n"));
        assert_eq!(divided(&text), text.replace(['\u{2}', '\u{3}'], ""));
    }

    #[test]
    fn blocks_hand_on_what_is_used_after_them() {
        let pair =
            marked(&format!("let (v998, v999) = if c {{\n{}(v1, v2)\n}} else {{ (v3, v3) }};\n", run(1)));
        let text = format!("{pair}{}f(v5, v999, v{});\n", run(LONG), LONG);
        let code = divided(&text);
        let (first, second) = code.split_once("};\nlet (").expect("two blocks");
        assert!(
            first.starts_with("let (v999, v5, v127, ) = {\nlet (v998, v999) = if c {\nlet v1: f64"),
            "{first}"
        );
        assert!(first.ends_with("let v127: f64 = v126 + 1.0;\n(v999, v5, v127, )\n"), "{first}");
        assert_eq!(second, "v128, ) = {\nlet v128: f64 = v127 + 1.0;\n(v128, )\n};\nf(v5, v999, v128);\n");
    }
}
