//! Elaborations in the notation of kernels.

use std::fmt;

use super::elaboration::{Elaboration, lifted};
use crate::ty::Name;

impl fmt::Display for Elaboration {
    /// As one would write it in a kernel; the sizes of replications are left to the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.source().fresh_names().take(MOST_NAMES).collect();
        f.write_str(&Printer { names }.show(self))
    }
}

/// Prints elaborations. Parameters of the closures that it makes have names that the term does not mention.
struct Printer {
    names: Vec<Name>,
}

/// More nested maps over more arguments than are printed with names of their own.
const MOST_NAMES: usize = 40;

/// An argument of a call: its text, and how many of the innermost dimensions of the frame it has.
#[derive(Clone)]
struct Argument {
    text: String,
    carried: usize,
}

impl Printer {
    fn show(&self, e: &Elaboration) -> String {
        match e {
            Elaboration::Variable(x) => x.to_string(),
            Elaboration::Literal(text, _) => text.to_string(),
            Elaboration::Lambda(..) => {
                let (mut names, mut body) = (Vec::new(), e);
                while let Elaboration::Lambda(x, _, inner) = body {
                    names.push(x.to_string());
                    body = inner;
                }
                format!("|{}| {}", names.join(", "), self.show(body))
            }
            Elaboration::Apply { .. } | Elaboration::Map(..) => self.call(e),
            Elaboration::Rep(e) => format!("replicate(_, {})", self.show(e)),
            Elaboration::Array(es) => {
                let parts: Vec<String> = es.iter().map(|e| self.show(e)).collect();
                format!("[{}]", parts.join(", "))
            }
            Elaboration::Let(x, value, body) => {
                format!("{{ let {x} = {}; {} }}", self.show(value), self.show(body))
            }
        }
    }

    /// A call with all its arguments: the dimensions of the frame are those of nested maps over the arguments that have
    /// them, which are the innermost of the frame for each argument.
    fn call(&self, e: &Elaboration) -> String {
        let (head, arguments) = e.spine();
        let frame = arguments.iter().map(|(_, maps, _)| maps).sum();
        let shown = arguments.iter().zip(lifted(&arguments)).map(|((argument, ..), lifted)| {
            let text = self.show(argument);
            let text = (0..lifted.replicated).fold(text, |t, _| format!("replicate(_, {t})"));
            Argument { text, carried: lifted.mapped }
        });
        let shown: Vec<Argument> = shown.collect();
        let function = match head {
            Elaboration::Variable(x) | Elaboration::Literal(x, _) => x.to_string(),
            head => format!("({})", self.show(head)),
        };
        self.nest(&function, &shown, frame, 0)
    }

    fn nest(&self, function: &str, arguments: &[Argument], frame: usize, depth: usize) -> String {
        let texts: Vec<&str> = arguments.iter().map(|a| a.text.as_str()).collect();
        if frame == 0 {
            return applied(function, &texts);
        }
        let over: Vec<usize> = (0..arguments.len()).filter(|i| arguments[*i].carried >= frame).collect();
        if over.is_empty() {
            // The dimension is that of a function which is an array itself.
            return self.nest(function, arguments, frame - 1, depth);
        }
        let arrays: Vec<&str> = over.iter().map(|i| texts[*i]).collect();
        let closure =
            function.strip_prefix('(').and_then(|f| f.strip_suffix(')')).filter(|f| f.starts_with('|'));
        if frame == 1
            && over.len() == arguments.len()
            && let Some(function) = closure.or(Some(function).filter(|f| is_name(f)))
        {
            return format!("map({function}, {})", arrays.join(", "));
        }
        let mut inner = arguments.to_vec();
        let mut names = Vec::new();
        for i in over.iter().copied() {
            let name = &self.names[(depth + names.len()) % self.names.len()];
            inner[i] = Argument { text: name.to_string(), carried: frame - 1 };
            names.push(name.to_string());
        }
        let body = self.nest(function, &inner, frame - 1, depth + names.len());
        format!("map(|{}| {body}, {})", names.join(", "), arrays.join(", "))
    }
}

fn is_name(function: &str) -> bool {
    function.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':')
}

/// Whether a text is that of an operator with its operands.
fn is_operation(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ' ' && depth == 0
    })
}

/// A function or an operator on arguments.
fn applied(function: &str, arguments: &[&str]) -> String {
    match arguments {
        [a, b] if !is_name(function) && !function.starts_with('(') => {
            format!("{} {function} {}", operand(a), operand(b))
        }
        [a] if matches!(function, "-" | "!") => format!("{function}{}", operand(a)),
        [a] if function.starts_with("as ") => format!("{} {function}", operand(a)),
        _ => format!("{function}({})", arguments.join(", ")),
    }
}

/// In parentheses unless it is one thing.
fn operand(text: &str) -> String {
    if is_operation(text) { format!("({text})") } else { text.into() }
}
