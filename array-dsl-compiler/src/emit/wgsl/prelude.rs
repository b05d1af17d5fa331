//! The functions that WGSL lacks or that drivers get wrong. A shader contains those it uses.
//!
//! Their text is in the files beside this one, a function to a paragraph:
//!
//! | file | functions |
//! |------|-----------|
//! | `bits` | special values and tests by bit pattern, since drivers may assume that NaN and infinity do not occur |
//! | `status` | what can fail: indices and integer division |
//! | `rounding` | rounding, conversion, remainder of floats |
//! | `exponential` | logarithms by fdlibm's `logf`; `exp(r) - 1` by a Taylor polynomial after reduction by `ln 2` in two parts; the hyperbolic functions from it, so that they are accurate near zero and do not overflow |
//! | `trigonometry` | sine, cosine and tangent of every finite number, by the methods of the CPU's: the built-in ones are made for angles of at most pi; inverse functions, by the polynomials of Cephes |
//! | `special` | error function and its complement, by polynomials computed for these intervals; logarithm of the gamma function and its derivatives, by recurrence, asymptotic series and reflection; inverse hyperbolic functions |
//! | `power` | roots and powers; `powf` by fdlibm with `log2` in two parts, without its tables |
//! | `integers64` | what can fail for `i64`; powers with such exponents |
//! | the others with `64` | the same functions for `f64`, by the methods of the CPU's: drivers return garbage for the built-in ones, without an error |

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

static FILES: [&str; 14] = [
    include_str!("prelude/bits.wgsl"),
    include_str!("prelude/status.wgsl"),
    include_str!("prelude/rounding.wgsl"),
    include_str!("prelude/exponential.wgsl"),
    include_str!("prelude/trigonometry.wgsl"),
    include_str!("prelude/power.wgsl"),
    include_str!("prelude/special.wgsl"),
    include_str!("prelude/integers64.wgsl"),
    include_str!("prelude/bits64.wgsl"),
    include_str!("prelude/rounding64.wgsl"),
    include_str!("prelude/exponential64.wgsl"),
    include_str!("prelude/trigonometry64.wgsl"),
    include_str!("prelude/power64.wgsl"),
    include_str!("prelude/special64.wgsl"),
];

/// A function: its name, and its definition with a line break before.
struct Function {
    name: &'static str,
    text: String,
}

/// All functions.
struct Prelude {
    /// In the order of the files.
    functions: Vec<Function>,
    /// Where each is.
    positions: FxHashMap<&'static str, usize>,
}

fn prelude() -> &'static Prelude {
    static PRELUDE: OnceLock<Prelude> = OnceLock::new();
    PRELUDE.get_or_init(|| {
        let functions: Vec<Function> =
            FILES.iter().flat_map(|f| f.split("\n\n")).filter_map(function).collect();
        let positions = functions.iter().enumerate().map(|(at, f)| (f.name, at)).collect();
        Prelude { functions, positions }
    })
}

/// A paragraph as a function, without its comments.
fn function(paragraph: &'static str) -> Option<Function> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let text: String = paragraph.lines().filter(code).flat_map(|line| ["\n", line]).collect();
    let signature = paragraph.lines().find(code)?.strip_prefix("fn ")?;
    Some(Function { name: &signature[..signature.find('(')?], text: text + "\n" })
}

/// The prelude functions that `code` needs, with those that they need, in the order of the files.
pub(super) fn functions_for(code: &str) -> String {
    let Prelude { functions, positions } = prelude();
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    let mut texts = vec![code];
    while let Some(text) = texts.pop() {
        for at in text.match_indices("adsl").filter_map(|(at, _)| positions.get(word(&text[at..]))) {
            if needed.insert(*at) {
                texts.push(&functions[*at].text);
            }
        }
    }
    needed.into_iter().map(|at| functions[at].text.as_str()).collect()
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let end = text.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_');
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paragraph_is_a_function() {
        let paragraphs: usize = FILES.iter().map(|f| f.split("\n\n").count()).sum();
        assert_eq!(prelude().functions.len(), paragraphs);
        for f in &prelude().functions {
            assert!(f.name.starts_with("adsl") && f.text.starts_with("\nfn "), "{}", f.text);
        }
    }

    #[test]
    fn what_a_function_needs_comes_along() {
        let text = functions_for("let v1 = adsl_sinh(v0);");
        for name in ["adsl_sinh", "adsl_exp_m1", "adsl_exp_m1_kernel", "adsl_scale", "adsl_inf"] {
            assert!(text.contains(&format!("fn {name}(")), "{name}");
        }
        assert!(!text.contains("adsl_powf"));
        assert_eq!(functions_for("let v1 = exp(v0);"), "");
    }

    #[test]
    fn the_table_of_scalar_functions_uses_known_names() {
        // These are written out by type.
        let typed = ["adsl_xor", "adsl_not", "adsl_rem_euclid"];
        for row in crate::scalar::TABLE {
            for text in [row.wgsl, row.wgsl64] {
                if let (Some(at), Some(end)) = (text.find("adsl"), text.find("({0}")) {
                    let name = text.get(at..end).unwrap_or_default();
                    assert!(typed.contains(&name) || prelude().positions.contains_key(name), "{text}");
                }
            }
        }
    }
}
