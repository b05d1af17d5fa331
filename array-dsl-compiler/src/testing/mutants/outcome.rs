//! What becomes of a mutant.

/// Something wrong with the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it has in common with others: see [`kind`].
    pub kind: String,
    /// All there is to say.
    pub message: String,
}

impl Finding {
    /// A finding of a stage; its kind is what the message says but for names and numbers.
    pub fn new(stage: &str, message: impl Into<String>) -> Finding {
        let message = message.into();
        Finding { kind: format!("{stage}: {}", kind(&message)), message }
    }
}

/// What became of a mutant.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Whether the compiler took it.
    pub is_accepted: bool,
    /// Runs of the interpreters that were compared, and of these such that fail.
    pub runs: (usize, usize),
    /// Comparisons with differences, and the dot-product identity.
    pub derivatives: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A message without its numbers and names, so that the same defect gives the same text.
pub fn kind(message: &str) -> String {
    let mut out = String::new();
    let mut in_name = false;
    for c in message.chars().take_while(|c| *c != '\n') {
        match c {
            '`' => {
                in_name = !in_name;
                out.push('`');
            }
            _ if in_name => {}
            c if c.is_ascii_digit() || c == '.' && out.ends_with('0') => {
                if !out.ends_with('0') {
                    out.push('0');
                }
            }
            c => out.push(c),
        }
        if out.len() > 140 {
            break;
        }
    }
    for noise in ["-0", "inf", "NaN", "true", "false"] {
        out = out.replace(noise, "0");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn kinds_have_neither_names_nor_numbers() {
        let (a, b) =
            ("loops of `x`: 1.5 against -2 at [0, 1]\nmore", "loops of `other`: inf against 0.25 at [7, 10]");
        assert_eq!(kind(a), kind(b));
        assert_ne!(kind(a), kind("loops of `x`: 1.5 against `y`"));
    }
}
