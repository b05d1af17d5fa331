//! How the texts of generated code become tokens. `proc_macro2` reads a text by itself before it asks rustc, which in macros built
//! without optimization is a fifth of all their time; a macro hands over rustc's own lexer instead.

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
    LEXER.get()(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_can_bring_its_own_lexer() {
        let inside = with(|_| Err("no lexer".into()), || tokens("a").map(|t| t.to_string()));
        assert_eq!(inside, Err("no lexer".to_string()));
        assert_eq!(tokens("a").map(|t| t.to_string()), Ok("a".to_string()));
    }
}
