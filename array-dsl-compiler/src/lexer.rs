//! How the texts of generated code become tokens: their variables get names that nobody else has, and a lexer reads the text.
//! `proc_macro2` reads a text by itself before it asks rustc, which in macros built without optimization is a fifth of all their
//! time; a macro hands over rustc's own lexer instead.

use std::cell::Cell;

use proc_macro2::TokenStream;

/// The tokens of a text, or what is wrong with it.
pub type Lexer = fn(&str) -> Result<TokenStream, String>;

thread_local! {
    static LEXER: Cell<Lexer> = const { Cell::new(|text| text.parse().map_err(|e: proc_macro2::LexError| e.to_string())) };
}

/// Runs `f` with that lexer.
pub fn with<T>(lexer: Lexer, f: impl FnOnce() -> T) -> T {
    let before = LEXER.replace(lexer);
    let result = f();
    LEXER.set(before);
    result
}

/// The tokens of generated code.
pub(crate) fn tokens(text: &str) -> Result<TokenStream, String> {
    LEXER.get()(&hidden_locals(text))
}

/// The plain words that generated code uses for its variables.
const LOCALS: &[&str] = &[
    "args", "at", "atoms", "base", "block", "c", "count", "end", "given", "gpu", "hi", "i", "lane", "lo",
    "long", "new", "old", "out", "status", "t", "target", "width", "x", "y",
];

/// Puts `__` before the generated code's variables. A pattern `count` would be taken for the user's kernel of
/// that name, which is a unit struct; hygiene does not help, because items are looked up without it.
fn hidden_locals(text: &str) -> String {
    let bytes = text.as_bytes();
    let part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || !b.is_ascii();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        let from = at;
        at += match bytes[at] {
            b'"' => string(&bytes[at..]),
            b if part(&b) => bytes[at..].iter().take_while(|b| part(b)).count(),
            _ => 1,
        };
        let (before, token, after) = (&bytes[..from], &text[from..at], &bytes[at..]);
        // Not paths (`a::b`), fields and methods (`x.b`), lifetimes (`'a`).
        let joined = || {
            after.starts_with(b"::")
                || before.ends_with(b"::")
                || before.ends_with(b".") && !before.ends_with(b"..")
                || before.ends_with(b"'")
        };
        if is_local(token) && !joined() {
            out.push_str(&text[copied..from]);
            out.push_str("__");
            copied = from;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The length of the string literal that a text begins with.
fn string(text: &[u8]) -> usize {
    let mut escaped = true;
    let end = text.iter().position(|b| {
        let ends = *b == b'"' && !escaped;
        escaped = *b == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// One of `LOCALS`, or a letter or such a word with a number: `v12`, `lanes3`.
fn is_local(name: &str) -> bool {
    if !name.as_bytes()[0].is_ascii_lowercase() || name.len() > 9 {
        return false;
    }
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = word.len() < name.len()
        && (word.len() == 1 || ["state", "lanes", "block"].contains(&word))
        && word.chars().all(|c| c.is_ascii_lowercase())
        && !["f32", "f64", "i32", "i64", "u32"].contains(&name);
    numbered || LOCALS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_hidden_and_nothing_else_is() {
        for (text, hidden) in [
            ("let count = v12 + f(x, lanes3);", "let __count = __v12 + f(__x, __lanes3);"),
            ("x.count(); p.0; 0..count; ..at", "__x.count(); p.0; 0..__count; ..__at"),
            ("count::<f64>(at::x, f64::MAX)", "count::<f64>(at::x, f64::MAX)"),
            ("&'at mut [f64]; 1e5f64; 0x1fi64; 2i64", "&'at mut [f64]; 1e5f64; 0x1fi64; 2i64"),
            (r#"f("count \" at", count, "x\\", x)"#, r#"f("count \" at", __count, "x\\", __x)"#),
            ("größe + recount + x_1 + Region0", "größe + recount + x_1 + Region0"),
        ] {
            assert_eq!(hidden_locals(text), hidden);
        }
    }

    #[test]
    fn a_macro_can_bring_its_own_lexer() {
        let inside = with(|_| Err("no lexer".into()), || tokens("a").map(|t| t.to_string()));
        assert_eq!(inside, Err("no lexer".to_string()));
        assert_eq!(tokens("count").map(|t| t.to_string()), Ok("__count".to_string()));
    }
}
