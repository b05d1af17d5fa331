//! Partial derivatives as trees, from the texts of the table.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{Op, TABLE};

/// A partial derivative as a tree over the arguments and the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// A number.
    Number(f64),
    /// The n-th argument.
    Arg(usize),
    /// The function's result.
    Result,
    /// A function of the table.
    Apply(Op, Vec<Partial>),
    /// `powi_slope(a, b)`: `b * powi(a, b - 1)`, zero when the integer `b` is zero.
    PowiSlope,
}

/// The partial derivatives of `op`, one per argument; empty when it is locally constant. Casts between floats
/// have the partial 1.
pub fn partials(op: Op) -> &'static [Partial] {
    static PARSED: OnceLock<FxHashMap<Op, Vec<Partial>>> = OnceLock::new();
    static ONE: [Partial; 1] = [Partial::Number(1.0)];
    if let Op::Cast(e) = op {
        return if e.is_float() { &ONE } else { &[] };
    }
    let parsed = PARSED.get_or_init(|| {
        TABLE.iter().map(|r| (r.op, r.partials.iter().map(|p| parse_partial(p)).collect())).collect()
    });
    parsed.get(&op).map_or(&[], |v| v.as_slice())
}

/// Parses the text of a partial derivative. The table is fixed, so a text that does not parse is a mistake in
/// it; the test below reads every row.
fn parse_partial(text: &str) -> Partial {
    let tokens = tokenize(text);
    let mut p = PartialParser { tokens, at: 0 };
    p.comparison()
}

fn tokenize(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        let mut tok = String::new();
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if c.is_whitespace() {
            chars.next();
            continue;
        } else if word(c) {
            while let Some(&c) = chars.peek().filter(|c| word(**c)) {
                tok.push(c);
                chars.next();
            }
        } else {
            tok.push(c);
            chars.next();
            if chars.peek() == Some(&'=') {
                tok.push('=');
                chars.next();
            }
        }
        out.push(tok);
    }
    out
}

struct PartialParser {
    tokens: Vec<String>,
    at: usize,
}

impl PartialParser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |s| s.as_str())
    }

    fn binary(&mut self, ops: &[(&str, Op)], next: fn(&mut Self) -> Partial) -> Partial {
        let mut left = next(self);
        while let Some(&(_, op)) = ops.iter().find(|(t, _)| *t == self.peek()) {
            self.at += 1;
            let right = next(self);
            left = Partial::Apply(op, vec![left, right]);
        }
        left
    }

    fn comparison(&mut self) -> Partial {
        self.binary(&[("<=", Op::Le), (">=", Op::Ge), ("==", Op::Eq)], Self::sum)
    }

    fn sum(&mut self) -> Partial {
        self.binary(&[("+", Op::Add), ("-", Op::Sub)], Self::product)
    }

    fn product(&mut self) -> Partial {
        self.binary(&[("*", Op::Mul), ("/", Op::Div)], Self::unary)
    }

    fn unary(&mut self) -> Partial {
        if self.peek() == "-" {
            self.at += 1;
            return match self.unary() {
                Partial::Number(x) => Partial::Number(-x),
                p => Partial::Apply(Op::Neg, vec![p]),
            };
        }
        let tok = self.peek().to_string();
        self.at += 1;
        match tok.as_str() {
            "(" => {
                let p = self.comparison();
                self.at += 1;
                p
            }
            "a" => Partial::Arg(0),
            "b" => Partial::Arg(1),
            "c" => Partial::Arg(2),
            "y" => Partial::Result,
            t => match t.parse::<f64>() {
                Ok(x) => Partial::Number(x),
                Err(_) => {
                    self.at += 1;
                    let mut args = vec![self.comparison()];
                    while self.peek() == "," {
                        self.at += 1;
                        args.push(self.comparison());
                    }
                    self.at += 1;
                    match Op::from_name(t) {
                        _ if t == "powi_slope" => Partial::PowiSlope,
                        Some(op) => Partial::Apply(op, args),
                        None => panic!(
                            "a partial derivative in the table calls `{t}`, which is none of its functions"
                        ),
                    }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partial_parses_to_its_end() {
        for r in TABLE {
            for text in r.partials {
                let mut p = PartialParser { tokens: tokenize(text), at: 0 };
                let tree = p.comparison();
                assert_eq!(p.at, p.tokens.len(), "{}: {text} gave {tree:?}", r.name);
                assert_eq!(matches!(tree, Partial::PowiSlope), text.starts_with("powi_slope"), "{}", r.name);
            }
        }
    }
}
