//! Mutations. Brackets always match; everything else may happen.

use std::ops::Range;

use super::corpus::Source;
use super::tokens::{Tokens, closes, opens, pieces, text, tree};
use crate::testing::numbers::Rng;

/// Numbers that are of interest.
const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "13",
    "255",
    "256",
    "1000000",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "0.0",
    "1.0",
    "0.5",
    "1e-300",
    "1e308",
    "2.5f32",
];

/// Words that most kernels know.
const WORDS: [&str; 40] = [
    "n",
    "x",
    "y",
    "i",
    "f64",
    "f32",
    "i64",
    "i32",
    "bool",
    "usize",
    "sum",
    "prod",
    "maximum",
    "minimum",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
    "filter",
    "partition",
    "scan",
    "reduce",
    "hist",
    "scatter",
    "gather",
    "transpose",
    "flatten",
    "reverse",
    "rotate",
    "concat",
    "iota",
    "build",
    "map",
    "len",
    "mut",
    "_",
    "true",
    "softmax",
];

const OPERATORS: [&str; 22] = [
    "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>", "..",
    "..=", "+=", "*=",
];

/// What an expression `@` may be put into; `#` is another expression.
const AROUND: [&str; 40] = [
    "( @ )",
    "- ( @ )",
    "( @ ) * ( # )",
    "( @ ) + ( # )",
    "( @ ) / ( # )",
    "( @ ) % ( # )",
    "sum ( @ )",
    "cumsum ( @ )",
    "prod ( @ )",
    "maximum ( @ )",
    "argmax ( @ )",
    "flatten ( @ )",
    "transpose ( @ )",
    "reverse ( @ )",
    "rotate ( @ , # )",
    "sort ( @ )",
    "argsort ( @ )",
    "filter ( | a | a > # , @ )",
    "concat ( @ , # )",
    "build ( n , | i | @ )",
    "build ( # , | j | @ )",
    "build ( ( n , 2 ) , | i , j | @ )",
    "map ( | a | a * a , @ )",
    "if # > 0.0 { @ } else { # }",
    "if # < 2 { @ } else { @ }",
    "( @ ) [ # ]",
    "( @ ) [ # .. ]",
    "( @ ) [ # .. # ]",
    "stop_gradient ( @ )",
    "{ let t = @ ; t * t }",
    "grad ( | q | q * ( @ ) ) ( # )",
    "vjp ( | q | q * ( @ ) ) ( # , # ) . 1",
    "jvp ( | q | q . sin ( ) * ( @ ) ) ( # , # ) . 1",
    "{ let mut s = @ ; for i in 0 .. 3 { s = s * # ; } s }",
    "{ let mut s = @ ; while s < # { s = s + s + 1.0 ; } s }",
    "scan ( add , 0.0 , @ )",
    "reduce ( | a , b | a * b + a + b , 0.0 , @ )",
    "hist ( add , 0.0 , 3 , # , @ )",
    "gather ( @ , # )",
    "build ( n , | i | ( @ ) [ i ] )",
];

/// What a statement `@` may be put into.
const AROUND_STATEMENTS: [&str; 7] = [
    "if # > 0.0 { @ }",
    "if # < 2 { @ } else { @ }",
    "for i in 0 .. n { @ }",
    "for k in 0 .. # { @ }",
    "for k in # .. 3 { @ }",
    "while # < # { @ }",
    "#[checkpoint] for k in 0 .. 3 { @ }",
];

/// The mutant of a source with this number.
pub fn mutate(source: &Source, sources: &[Source], number: u64) -> String {
    let mut rng = Rng::new(source.hash ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // Most mutations leave no Rust, which the compiler never sees.
    for _ in 0..30 {
        let mut tokens = source.tokens.clone();
        for _ in 0..1 + rng.below(3) * rng.below(2) {
            if tokens.is_empty() {
                break;
            }
            let key = rng.bits();
            mutation(&mut tokens, donor(sources, key), &mut rng);
        }
        let text = text(&tokens);
        if tokens != source.tokens && tokens.len() < 1000 && syn::parse_file(&text).is_ok() {
            return text;
        }
    }
    text(&source.tokens)
}

/// Another source. Which one it is changes for few numbers when a source is added.
fn donor(sources: &[Source], key: u64) -> &[String] {
    let rank = |s: &&Source| (s.hash ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7;
    sources.iter().min_by_key(rank).map_or(&[], |s| &s.tokens)
}

/// A token that does not close a bracket; rarely one of the other items or of the signature.
fn place(tokens: &[String], rng: &mut Rng) -> usize {
    let last = tokens.iter().rposition(|t| t == "fn").unwrap_or(0);
    let body = (last..tokens.len()).find(|k| tokens[*k] == "{").unwrap_or(last);
    let from = match rng.below(20) {
        0 => 0,
        1..4 => last,
        _ => body + 1,
    };
    (0..20)
        .map(|_| from + rng.below(tokens.len().saturating_sub(from + 1)))
        .find(|k| tokens.get(*k).is_some_and(|t| !closes(t)))
        .unwrap_or(0)
}

/// So many tokens with their brackets, as far as the bracket around them goes on.
fn some(tokens: &[String], rng: &mut Rng) -> Range<usize> {
    let start = place(tokens, rng);
    let mut end = tree(tokens, start).end;
    for _ in 0..rng.below(4) {
        if tokens.get(end).is_some_and(|t| !closes(t)) {
            end = tree(tokens, end).end;
        }
    }
    start..end
}

/// A piece of the last item's body.
fn piece(tokens: &[String], rng: &mut Rng) -> Option<Range<usize>> {
    let last = tokens.iter().rposition(|t| t == "fn").unwrap_or(0);
    let mut all = pieces(tokens);
    if rng.chance(90) {
        let body = (last..tokens.len()).find(|k| tokens[*k] == "{").unwrap_or(last);
        all.retain(|p| p.start > body);
    }
    rng.pick(&all)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// A token of the same kind.
fn similar(token: &str, own: &[String], donor: &[String], rng: &mut Rng) -> String {
    let kind = |t: &str| (is_word(t), is_number(t), opens(t) || closes(t));
    let fixed: &[&str] = if is_word(token) {
        &WORDS
    } else if is_number(token) {
        &NUMBERS
    } else {
        &OPERATORS
    };
    let alike = |list: &[String]| -> Vec<String> {
        list.iter().filter(|t| kind(t) == kind(token)).cloned().collect()
    };
    let found = match rng.below(10) {
        0..6 => rng.pick(&alike(own)),
        6 => rng.pick(&alike(donor)),
        _ => None,
    };
    found.or_else(|| rng.pick(fixed).map(String::from)).unwrap_or_default()
}

/// An expression: a piece of either program, a name or a number.
fn expression(own: &[String], donor: &[String], rng: &mut Rng) -> Tokens {
    let from = if rng.chance(70) { own } else { donor };
    let short = |p: &Range<usize>| p.len() < 12;
    let found = match rng.below(4) {
        0 => piece(from, rng).filter(short).map(|p| from[p].to_vec()),
        1 => rng.pick(&NUMBERS).map(|n| vec![n.to_string()]),
        _ => {
            let words: Vec<&String> = own.iter().filter(|t| is_word(t)).collect();
            rng.pick(&words).map(|w| vec![w.clone()])
        }
    };
    found.unwrap_or_else(|| vec!["1".into()])
}

/// A pattern with the tokens in the places of `@`.
fn put_into(pattern: &str, inner: &[String], own: &[String], donor: &[String], rng: &mut Rng) -> Tokens {
    let mut out = Vec::new();
    for token in pattern.split(' ') {
        match token {
            "@" => out.extend_from_slice(inner),
            "#" => out.extend(expression(own, donor, rng)),
            "#[checkpoint]" => out.extend(["#", "[", "checkpoint", "]"].map(String::from)),
            token => out.push(token.into()),
        }
    }
    out
}

fn mutation(tokens: &mut Tokens, donor: &[String], rng: &mut Rng) {
    let own = tokens.clone();
    match rng.below(20) {
        // Deleted, doubled.
        0 | 1 => drop(tokens.drain(some(&own, rng))),
        2 => {
            let range = some(&own, rng);
            tokens.splice(range.end..range.end, own[range].to_vec());
        }
        // Swapped.
        3 => {
            let (a, b) = (tree(&own, place(&own, rng)), tree(&own, place(&own, rng)));
            let (a, b) = if a.start <= b.start { (a, b) } else { (b, a) };
            if a.end <= b.start {
                tokens.splice(b.clone(), own[a.clone()].to_vec());
                tokens.splice(a, own[b].to_vec());
            }
        }
        // Replaced.
        4..9 => {
            let at = place(&own, rng);
            if !opens(&own[at]) {
                tokens[at] = similar(&own[at], &own, donor, rng);
            }
        }
        // Spliced.
        9 => {
            let (to, from) = (some(&own, rng), some(donor, rng));
            tokens.splice(to, donor[from].to_vec());
        }
        10 | 11 => {
            let from = if rng.chance(50) { &own } else { donor };
            if let (Some(to), Some(piece)) = (piece(&own, rng), piece(from, rng)) {
                let text = from[piece].to_vec();
                tokens.splice(to, text);
            }
        }
        // A statement more, or less.
        12 | 13 => {
            let from = if rng.chance(50) { &own } else { donor };
            if let (Some(to), Some(piece)) = (statement(&own, rng), statement(from, rng)) {
                let text = [&from[piece], &[";".to_string()]].concat();
                tokens.splice(to.start..to.start, text);
            }
        }
        14 => {
            if let Some(piece) = statement(&own, rng) {
                tokens.drain(piece.start..(piece.end + 1).min(own.len()));
            }
        }
        // Put into something.
        15 => {
            if let (Some(piece), Some(pattern)) = (statement(&own, rng), rng.pick(&AROUND_STATEMENTS)) {
                let inner = [&own[piece.clone()], &[";".to_string()]].concat();
                let text = put_into(pattern, &inner, &own, donor, rng);
                tokens.splice(piece.start..(piece.end + 1).min(own.len()), text);
            }
        }
        _ => {
            let place = if rng.chance(50) { piece(&own, rng) } else { Some(some(&own, rng)) };
            if let (Some(piece), Some(pattern)) = (place, rng.pick(&AROUND)) {
                let text = put_into(pattern, &own[piece.clone()], &own, donor, rng);
                tokens.splice(piece, text);
            }
        }
    }
}

/// A piece that a semicolon follows.
fn statement(tokens: &[String], rng: &mut Rng) -> Option<Range<usize>> {
    let all: Vec<Range<usize>> =
        pieces(tokens).into_iter().filter(|p| tokens.get(p.end).is_some_and(|t| t == ";")).collect();
    rng.pick(&all).or_else(|| piece(tokens, rng))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::mutants::corpus;

    #[test]
    fn mutants_are_functions_of_their_numbers_and_rust() {
        let sources =
            corpus(Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")).expect("files");
        assert!(sources.len() > 800, "{} sources", sources.len());
        let (mut new, mut rust) = (0, 0);
        for (k, source) in sources.iter().step_by(9).enumerate() {
            let mutant = mutate(source, &sources, k as u64);
            assert_eq!(mutant, mutate(source, &sources, k as u64));
            new += usize::from(mutant != text(&source.tokens));
            rust += usize::from(syn::parse_file(&mutant).is_ok());
        }
        let all = sources.len().div_ceil(9);
        assert!(10 * new > 9 * all && 10 * rust > 9 * all, "{new} new ones, {rust} of Rust of {all}");
    }
}
