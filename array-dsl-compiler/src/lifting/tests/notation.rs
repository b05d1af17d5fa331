//! A short notation for terms: `(f a b)` is an application, `\x y. e` a function, `[a b]` an array, `map`, `rep` and `let`
//! as in the thesis.

use std::rc::Rc;

use super::super::*;

/// The term of a text.
pub fn term(text: &str) -> Term {
    let spaced =
        ["(", ")", "[", "]", "\\", "."].iter().fold(text.to_string(), |t, c| t.replace(c, &format!(" {c} ")));
    let tokens: Vec<String> = spaced.split_whitespace().map(str::to_string).collect();
    let mut at = 0;
    let e = sequence(&tokens, &mut at);
    assert_eq!(at, tokens.len(), "{text}");
    e
}

/// A function of several arguments.
pub fn lambda(parameters: &[&str], body: Term) -> Term {
    parameters.iter().rev().fold(body, |body, p| Term::Lambda(Name::from(*p), None, Rc::new(body)))
}

fn sequence(tokens: &[String], at: &mut usize) -> Term {
    match tokens[*at].as_str() {
        "\\" => {
            let dot = *at + tokens[*at..].iter().position(|t| t == ".").expect("a dot");
            let names: Vec<&str> = tokens[*at + 1..dot].iter().map(String::as_str).collect();
            *at = dot + 1;
            return lambda(&names, sequence(tokens, at));
        }
        "let" => {
            let name = Name::from(tokens[*at + 1].as_str());
            *at += 3;
            let value = atom(tokens, at);
            assert_eq!(tokens[*at], "in");
            *at += 1;
            return Term::Let(name, Rc::new(value), Rc::new(sequence(tokens, at)));
        }
        "map" => {
            *at += 1;
            let (f, a) = (atom(tokens, at), atom(tokens, at));
            let mapped = f.mapped(a);
            return arguments(mapped, tokens, at);
        }
        "rep" => {
            *at += 1;
            return atom(tokens, at).rep();
        }
        _ => {}
    }
    let f = atom(tokens, at);
    arguments(f, tokens, at)
}

fn arguments(mut f: Term, tokens: &[String], at: &mut usize) -> Term {
    while *at < tokens.len() && !matches!(tokens[*at].as_str(), ")" | "]" | "in") {
        f = match tokens[*at].as_str() {
            "\\" => f.apply([sequence(tokens, at)]),
            _ => f.apply([atom(tokens, at)]),
        };
    }
    f
}

fn atom(tokens: &[String], at: &mut usize) -> Term {
    *at += 1;
    match tokens[*at - 1].as_str() {
        "(" => {
            let e = sequence(tokens, at);
            assert_eq!(tokens[*at], ")");
            *at += 1;
            e
        }
        "[" => {
            let mut es = Vec::new();
            while tokens[*at] != "]" {
                es.push(atom(tokens, at));
            }
            *at += 1;
            Term::Array(es)
        }
        number if number.starts_with(|c: char| c.is_ascii_digit()) => {
            Term::Literal(Name::from(number), Type::base("int"))
        }
        flag @ ("true" | "false") => Term::Literal(Name::from(flag), Type::base("bool")),
        name => Term::variable(name),
    }
}

/// The names of the examples.
pub fn environment() -> Environment {
    let int = || Type::base("int");
    let bool = || Type::base("bool");
    let a = || Type::variable(0);
    let b = || Type::variable(1);
    let binary = || Type::function([int(), int(), int()]);
    let unary = || Type::function([int(), int()]);
    let compare = || Type::function([int(), int(), bool()]);
    let types = [
        ("sqrt", unary()),
        ("cos", unary()),
        ("f", unary()),
        ("+", binary()),
        ("-", binary()),
        ("*", binary()),
        ("==", compare()),
        ("!=", compare()),
        ("eq", Type::function([bool(), bool(), bool()])),
        ("||", Type::function([bool(), bool(), bool()])),
        ("sum", Type::function([int().array(1), int()])),
        ("mean", Type::function([int().array(1), int()])),
        ("minimum", Type::function([int().array(1), int()])),
        ("and", Type::function([bool().array(1), bool()])),
        ("length", Type::function([a().array(1), int()])),
        ("indices", Type::function([a().array(1), int().array(1)])),
        ("reverse", Type::function([a().array(1), a().array(1)])),
        ("transpose", Type::function([a().array(2), a().array(2)])),
        ("flatten", Type::function([a().array(2), a().array(1)])),
        ("id", Type::function([a(), a()])),
        ("pipe", Type::function([a(), Type::function([a(), b()]), b()])),
        ("on", Type::function([Type::function([int(), int()]), int(), int()])),
        ("flexmap", Type::function([Type::function([a(), b()]), a().array(1), b().array(1)])),
        ("reduce", Type::function([Type::function([a(), a(), a()]), a(), a().array(1), a()])),
        ("bidd", Type::function([a().array(1), bool().array(2)])),
        ("dist2", Type::function([int().array(1), int().array(1), int()])),
        ("s", int()),
        ("xs", int().array(1)),
        ("ys", int().array(1)),
        ("xss", int().array(2)),
        ("yss", int().array(2)),
        ("xsss", int().array(3)),
    ];
    types.into_iter().map(|(name, t)| (Name::from(name), Scheme::general(t))).collect()
}
