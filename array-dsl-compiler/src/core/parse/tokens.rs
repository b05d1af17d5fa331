//! The words and symbols of printed Core.

use super::super::print::is_word;

/// A token of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A keyword, a function, a type, a plain name.
    Word(String),
    /// A name or text in quotes.
    Quoted(String),
    /// `x.3`, `"a b".3`.
    Var(String, u32),
    /// What starts with a digit.
    Number(String),
    /// Punctuation.
    Symbol(&'static str),
}

const SYMBOLS: [&str; 20] =
    ["=>", "->", "==", "<=", "[", "]", "{", "}", "(", ")", ",", ";", ":", "=", "<", "+", "-", "*", "@", "?"];

/// The tokens of a text and their lines.
pub(super) fn tokenize(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() && !rest.starts_with("//") {
            let (token, after) = token(rest).map_err(|m| format!("line {}: {m}", number + 1))?;
            out.push((token, number + 1));
            rest = after.trim_start();
        }
    }
    Ok(out)
}

/// The first token of a text that is not empty, and what follows it.
fn token(text: &str) -> Result<(Token, &str), String> {
    if let Some(inside) = text.strip_prefix('"') {
        let (name, rest) = quoted(inside)?;
        let Some(number) = rest.strip_prefix('.') else { return Ok((Token::Quoted(name), rest)) };
        let (id, rest) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
        return Ok((Token::Var(name, variable_number(id)?), rest));
    }
    if text.starts_with(is_word) {
        let (word, rest) = text.split_at(word_length(text));
        let token = match word.rsplit_once('.') {
            _ if word.starts_with('#') => Token::Word(word.into()),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => Token::Number(word.into()),
            Some((name, id)) => Token::Var(name.into(), variable_number(id)?),
            None => Token::Word(word.into()),
        };
        return Ok((token, rest));
    }
    match SYMBOLS.into_iter().find_map(|s| Some((s, text.strip_prefix(s)?))) {
        Some((symbol, rest)) => Ok((Token::Symbol(symbol), rest)),
        None => Err(format!("unexpected `{}`", text.chars().next().unwrap_or_default())),
    }
}

fn variable_number(digits: &str) -> Result<u32, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain
        .then(|| digits.parse().ok())
        .flatten()
        .ok_or_else(|| format!("expected a variable's number after the dot, found `{digits}`"))
}

/// The length of the word at the start of `text`; the exponent's sign belongs to a number.
fn word_length(text: &str) -> usize {
    let number = text.starts_with(|c: char| c.is_ascii_digit());
    let mut exponent = false;
    for (at, c) in text.char_indices() {
        let inside = is_word(c) || (c == '-' && exponent);
        if !inside {
            return at;
        }
        exponent = number && c == 'e';
    }
    text.len()
}

/// The text before the closing quote, with Rust's escapes undone, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let unfinished = || "a quote is not closed".to_string();
    let mut out = String::new();
    let mut rest = text;
    loop {
        let c = rest.chars().next().ok_or_else(unfinished)?;
        rest = &rest[c.len_utf8()..];
        let escape = match c {
            '"' => return Ok((out, rest)),
            '\\' => rest.chars().next().ok_or_else(unfinished)?,
            c => {
                out.push(c);
                continue;
            }
        };
        rest = &rest[escape.len_utf8()..];
        out.push(match escape {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            '\\' | '"' | '\'' => escape,
            'u' => {
                let (code, after) =
                    rest.strip_prefix('{').and_then(|r| r.split_once('}')).ok_or_else(unfinished)?;
                rest = after;
                let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                code.ok_or("`\\u{...}` is no character")?
            }
            other => return Err(format!("unknown escape `\\{other}`")),
        });
    }
}
