//! Literals: integers that fit their type, floats, booleans.
//!
//! A suffix is one of the element types; `usize` is `i64`, and `1f32` is a float. Without one an integer must
//! fit `i64`. The least integers, whose magnitude fits only below zero, are read together with their sign.

use proc_macro2::Span;

use super::ast::{Expr, ExprKind};
use super::parse::{Parser, text};
use super::types::ELEMENT_TYPES;
use crate::diagnostics::Code;
use crate::ty::Elem;

/// The values an integer type holds.
fn range(elem: Elem) -> (i128, i128) {
    match elem {
        Elem::I32 => (i32::MIN.into(), i32::MAX.into()),
        Elem::U32 => (0, u32::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

impl Parser<'_> {
    /// Reads a literal. `negated`: a minus sign stands before it and is included in the result.
    pub(super) fn literal(&mut self, lit: &syn::Lit, negated: bool) -> Expr {
        let span = lit.span();
        let kind = match lit {
            syn::Lit::Bool(b) => ExprKind::Bool(b.value),
            syn::Lit::Int(i) => match self.suffix(i.suffix(), span) {
                Err(()) => ExprKind::Error,
                Ok(Some(elem)) if elem.is_float() => self.float(i.base10_digits(), Some(elem), span),
                Ok(elem) => self.int(i.base10_digits(), elem, negated, span),
            },
            syn::Lit::Float(f) => match self.suffix(f.suffix(), span) {
                Err(()) => ExprKind::Error,
                Ok(elem) => self.float(f.base10_digits(), elem, span),
            },
            other => {
                let message = format!("the literal `{}` has no meaning in a kernel", text(other));
                self.unsupported(
                    span,
                    message,
                    "kernels compute with numbers and booleans; keep text on the host",
                );
                ExprKind::Error
            }
        };
        Expr { kind, span }
    }

    /// Whether `-lit` must be read as one literal.
    pub(super) fn is_least(lit: &syn::Lit) -> bool {
        let syn::Lit::Int(i) = lit else { return false };
        let elem = if i.suffix().is_empty() { Some(Elem::I64) } else { Elem::from_name(i.suffix()) };
        let Some(elem) = elem.filter(|e| e.is_int() && *e != Elem::U32) else { return false };
        i.base10_digits().parse::<i128>().is_ok_and(|v| -v == range(elem).0)
    }

    fn suffix(&mut self, suffix: &str, span: Span) -> Result<Option<Elem>, ()> {
        if suffix.is_empty() {
            return Ok(None);
        }
        match Elem::from_name(suffix) {
            Some(elem) if elem != Elem::Bool => Ok(Some(elem)),
            _ => {
                let help = format!("the element types are {ELEMENT_TYPES}");
                let message = format!("the suffix `{suffix}` does not name a number type of kernels");
                self.diagnostics.error(Code::ElementType, span, message, help);
                Err(())
            }
        }
    }

    fn int(&mut self, digits: &str, elem: Option<Elem>, negated: bool, span: Span) -> ExprKind {
        let (least, greatest) = range(elem.unwrap_or(Elem::I64));
        let value = digits.parse::<i128>().ok().map(|v| if negated { -v } else { v });
        let value = value.filter(|v| (least..=greatest).contains(v)).and_then(|v| i64::try_from(v).ok());
        if let Some(value) = value {
            return ExprKind::Int(value, elem);
        }
        let name = elem.unwrap_or(Elem::I64).name();
        let message = format!("the integer `{digits}` does not fit `{name}`");
        let help =
            format!("`{name}` holds {least} to {greatest}; write a float, `{digits}.0`, if that is meant");
        self.diagnostics.error(Code::ElementType, span, message, help);
        ExprKind::Error
    }

    /// A float of type `f32` is rounded once, from its decimal digits.
    fn float(&mut self, digits: &str, elem: Option<Elem>, span: Span) -> ExprKind {
        let value = match elem {
            Some(Elem::F32) => digits.parse::<f32>().map(f64::from),
            None | Some(Elem::F64) => digits.parse::<f64>(),
            Some(other) => {
                let message = format!("a literal with a fraction or exponent cannot be of type `{other}`");
                self.diagnostics.error(
                    Code::ElementType,
                    span,
                    message,
                    "use the suffix `f32` or `f64`, or none",
                );
                return ExprKind::Error;
            }
        };
        if let Some(value) = value.ok().filter(|v| v.is_finite()) {
            return ExprKind::Float(value, elem);
        }
        let name = elem.unwrap_or(Elem::F64).name();
        let message = format!("the literal is out of the range of `{name}`");
        self.diagnostics.error(Code::ElementType, span, message, format!("infinity is `{name}::INFINITY`"));
        ExprKind::Error
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{errors, shown};

    #[test]
    fn literals() {
        for (written, read) in [
            ("1_000", "1000"),
            ("0xff", "255"),
            ("3usize", "3i64"),
            ("7u32", "7u32"),
            ("1.", "1.0"),
            ("1e5", "100000.0"),
            ("1f32", "1.0f32"),
            ("0.1f32", "0.10000000149011612f32"),
            ("2.5_f64", "2.5f64"),
            ("true", "true"),
            ("-1", "(neg 1)"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("-2147483648i32", "-2147483648i32"),
        ] {
            assert_eq!(shown(&format!("fn f() -> f64 {{ {written} }}")), format!("f() -> f64 {{ {read} }}"));
        }
    }

    #[test]
    fn refused_literals() {
        for (written, start) in [
            ("9223372036854775808", "AD0005 the integer `9223372036854775808` does not fit `i64`"),
            ("2147483648i32", "AD0005 the integer `2147483648` does not fit `i32`"),
            ("1u8", "AD0005 the suffix `u8`"),
            ("1.5bool", "AD0005 the suffix `bool`"),
            ("1e3i32", "AD0005 a literal with a fraction"),
            ("1e400", "AD0005 the literal is out of the range of `f64`"),
            ("\"text\"", "AD0001 the literal `\"text\"`"),
            ("'c'", "AD0001 the literal `'c'`"),
            ("b\"x\"", "AD0001 the literal `b\"x\"`"),
        ] {
            let found = errors(&format!("fn f() -> f64 {{ {written} }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }
}
