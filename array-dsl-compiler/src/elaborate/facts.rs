//! What the tables say of a built-in function, as text for its page in the reference: how it is called, its ranks, its element types, its
//! meaning where that is a text, and its derivative where that is a formula.
//!
//! The rest of a page is written by hand, in `array-dsl/src/reference`, one file a function: a row without one is a crate that does not
//! compile (`kernel/renamed.rs`).

use super::builtins::{Builtin, Part, Ranks, find};
use super::complex;
use super::names::usage;
use crate::scalar::{Gives, Op, Row};

/// The facts of a built-in function, as a list in Markdown.
pub fn facts(name: &str) -> String {
    let mut lines = vec![format!("Call: `{}`", usage(name))];
    match (find(name), Op::from_name(name).and_then(Op::row)) {
        (Some(builtin), _) => array_function(builtin, &mut lines),
        (None, Some(row)) => scalar_function(row, &mut lines),
        (None, None) => {}
    }
    lines.iter().map(|line| format!("* {line}\n")).collect()
}

fn array_function(b: &Builtin, lines: &mut Vec<String>) {
    if *b.arity.end() == usize::MAX {
        lines.push(format!("Arguments: {} or more", b.arity.start()));
    }
    match b.ranks {
        Ranks::Unknown => {}
        Ranks::Of(ranks) => lines.push(arrow("Ranks", ranks, |rank| rank.to_string())),
        Ranks::Any(parts) => lines.push(arrow("Ranks", parts, |part| match part {
            Part::Elements(rank) => format!("{rank} or more"),
            Part::Numbers(rank) => rank.to_string(),
        })),
    }
    if let Some(text) = b.text() {
        lines.push(format!("Written in the language: `{text}`"));
    }
}

/// What is taken and, last, what is given.
fn arrow<T>(title: &str, parts: &[T], text: impl Fn(&T) -> String) -> String {
    let mut all: Vec<String> = parts.iter().map(text).collect();
    let result = all.pop().unwrap_or_default();
    format!("{title}: {} to {result}", all.join(", "))
}

fn scalar_function(row: &Row, lines: &mut Vec<String>) {
    let gives = match row.gives {
        Gives::Same => "",
        Gives::Bool => "; gives a `bool`",
    };
    let complex = if complex::applies(row.op) { ", or a complex number" } else { "" };
    lines.push(format!("Takes: {}{complex}{gives}", row.class.describe()));
    let partials: Vec<String> = row.partials.iter().map(|text| readable(text)).collect();
    lines.push(match partials.as_slice() {
        [] => "Derivative: 0".into(),
        [only] => format!("Derivative, of the result `r`: `{only}`"),
        several => {
            let by = |(k, text): (usize, &String)| format!("by `{}` `{text}`", ARGUMENTS[k]);
            let listed: Vec<String> = several.iter().enumerate().map(by).collect();
            format!("Derivative, of the result `r`: {}", listed.join(", "))
        }
    });
    if row.singular {
        lines.push(
            "Where the derivative is not finite, a cotangent or tangent of exactly 0 contributes 0".into(),
        );
    }
    if !row.op.has_vectors() {
        lines.push("On the CPU it is computed for one element after the other".into());
    }
}

/// What usages call the arguments of scalar functions.
const ARGUMENTS: [&str; 3] = ["x", "y", "z"];

/// A partial derivative with the names of the usage: the table's arguments are `a`, `b`, `c`, its result is `y`.
fn readable(partial: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    for piece in partial.split_inclusive(|c| !is_word(c)) {
        let word = piece.trim_end_matches(|c| !is_word(c));
        let name = match word {
            "a" => ARGUMENTS[0],
            "b" => ARGUMENTS[1],
            "c" => ARGUMENTS[2],
            "y" => "r",
            word => word,
        };
        out.push_str(name);
        out.push_str(&piece[word.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::elaborate::builtins;

    #[test]
    fn facts_are_those_of_the_tables() {
        assert_eq!(
            facts("dot"),
            "* Call: `dot(a, b)`\n* Ranks: 1, 1 to 0\n* Written in the language: `sum(a * b)`\n"
        );
        assert_eq!(facts("rotate"), "* Call: `rotate(a, k)`\n* Ranks: 1 or more, 0 to 1 or more\n");
        assert_eq!(
            facts("hypot"),
            "* Call: `hypot(x, y)`\n* Takes: a float (f32 or f64)\n\
             * Derivative, of the result `r`: by `x` `x / r`, by `y` `y / r`\n\
             * Where the derivative is not finite, a cotangent or tangent of exactly 0 contributes 0\n"
        );
        assert!(facts("map").contains("Arguments: 2 or more"));
        assert!(facts("is_nan").contains("gives a `bool`"));
    }

    /// What the pages of functions of arrays answer.
    const ANSWERS: [&str; 3] = ["**Empty**", "**Cost**", "**Derivative**"];

    /// Functions that are scalar ones though their meaning is a text in the language.
    const OF_NUMBERS: [&str; 9] = [
        "clamp",
        "copysign",
        "fract",
        "is_infinite",
        "log",
        "mul_add",
        "sin_cos",
        "to_degrees",
        "to_radians",
    ];

    /// Whether a text names a function, as a word of its own.
    fn names(text: &str, name: &str) -> bool {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    }

    /// What is missing of a function's page.
    fn missing(name: &str, page: &str, overview: &str) -> Vec<&'static str> {
        let (text, example) = page.split_once("```\n").unwrap_or((page, ""));
        let of_arrays = find(name).is_some() && !OF_NUMBERS.contains(&name);
        let answers = ANSWERS.iter().filter(|answer| of_arrays && !text.contains(**answer)).copied();
        let rules = [
            ("its call at the beginning", text.starts_with(&format!("`{name}("))),
            ("an example that calls it", example.contains("#[kernel]") && names(example, name)),
            ("an assertion", example.contains("assert")),
            ("a line of the overview", overview.contains(&format!("[`{name}`]"))),
        ];
        rules.iter().filter(|(_, holds)| !holds).map(|(rule, _)| *rule).chain(answers).collect()
    }

    #[test]
    fn every_function_has_a_page() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../array-dsl/src");
        let overview = fs::read_to_string(source.join("reference.rs")).expect("the overview");
        let entries = fs::read_dir(source.join("reference")).expect("the pages");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let pages: BTreeMap<String, String> = files
            .map(|path| {
                let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
                (name, fs::read_to_string(path).expect("a page"))
            })
            .collect();
        let known: BTreeSet<&str> = builtins().collect();
        assert_eq!(pages.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        for (name, page) in &pages {
            assert_eq!(missing(name, page, &overview), [""; 0], "array-dsl/src/reference/{name}.md");
        }
        assert!(missing("sum", &pages["dot"], "").len() > 2);
    }
}
