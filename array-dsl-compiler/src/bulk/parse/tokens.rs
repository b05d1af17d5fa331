//! The words and symbols of printed Bulk.

use super::super::print::is_word;

/// A token of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, a number, a keyword.
    Word(String),
    /// `%3`.
    Var(u32),
    /// Punctuation.
    Symbol(&'static str),
}

const SYMBOLS: [&str; 20] =
    ["=>", "==", "<=", "[", "]", "{", "}", "(", ")", ",", ";", ":", "=", "?", "<", ">", "+", "-", "*", "%"];

/// The tokens of a text and their lines.
pub(super) fn tokenize(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.split("//").next().unwrap_or("").trim_start();
        while let Some(first) = rest.chars().next() {
            let token = if is_word(first) {
                let len = word_length(rest);
                let word = rest[..len].to_string();
                rest = &rest[len..];
                Token::Word(word)
            } else {
                let symbol = SYMBOLS.into_iter().find(|s| rest.starts_with(s));
                let symbol = symbol.ok_or_else(|| format!("line {}: unexpected `{first}`", number + 1))?;
                rest = &rest[symbol.len()..];
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                match (symbol, rest[..digits].parse()) {
                    ("%", Ok(id)) => {
                        rest = &rest[digits..];
                        Token::Var(id)
                    }
                    ("%", Err(_)) => return Err(format!("line {}: expected a number after `%`", number + 1)),
                    _ => Token::Symbol(symbol),
                }
            };
            out.push((token, number + 1));
            rest = rest.trim_start();
        }
    }
    Ok(out)
}

/// The length of the word at the start of `text`; the exponent's sign belongs to a number.
fn word_length(text: &str) -> usize {
    let mut end = 0;
    let mut exponent = false;
    for c in text.chars() {
        let sign = exponent && c == '-';
        if !is_word(c) && !sign {
            break;
        }
        end += c.len_utf8();
        let mantissa = text[..end].strip_suffix('e').is_some_and(|m| m.parse::<f64>().is_ok());
        exponent = mantissa && text.starts_with(|c: char| c.is_ascii_digit());
    }
    end
}
