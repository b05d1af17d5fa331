//! How element types and constants look in WGSL.
//!
//! | kernel        | WGSL value | in a buffer |
//! |---------------|------------|-------------|
//! | `f32`         | `f32`      | `f32`       |
//! | `i32`, `i64`  | `i32`      | `i32`       |
//! | `u32`         | `u32`      | `u32`       |
//! | `bool`        | `bool`     | `u32`, 0 or 1 |
//!
//! `i64` carries indices and sizes, which the host refuses above 31 bits. A literal has to fit too, except
//! that `i64::MIN` and `i64::MAX`, which mean "the least" and "the greatest", become those of `i32`.
//! `f64` is refused.

use crate::ty::{Const, Elem};

/// A WGSL scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    F32,
    I32,
    U32,
    Bool,
}

impl Kind {
    /// The type that stands for an element type; the error names the construct.
    pub(super) fn of(elem: Elem) -> Result<Kind, String> {
        match elem {
            Elem::F32 => Ok(Kind::F32),
            Elem::I32 | Elem::I64 => Ok(Kind::I32),
            Elem::U32 => Ok(Kind::U32),
            Elem::Bool => Ok(Kind::Bool),
            Elem::F64 => Err("the kernel computes with f64 numbers".into()),
            Elem::Infer(_) => Err("the kernel has a number without a type".into()),
        }
    }

    /// The WGSL spelling of values.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::I32 => "i32",
            Kind::U32 => "u32",
            Kind::Bool => "bool",
        }
    }

    /// The WGSL spelling of elements of a buffer that is not atomic.
    pub(super) fn stored(self) -> &'static str {
        if self == Kind::Bool { "u32" } else { self.name() }
    }

    /// The WGSL spelling of elements of an atomic buffer.
    pub(super) fn atomic(self) -> &'static str {
        if self == Kind::I32 { "atomic<i32>" } else { "atomic<u32>" }
    }

    /// A value of this type from the element `text` of a plain buffer.
    pub(super) fn load(self, text: &str) -> String {
        if self == Kind::Bool { format!("({text} != 0u)") } else { text.to_string() }
    }

    /// The element of a plain buffer for the value `text`.
    pub(super) fn store(self, text: &str) -> String {
        if self == Kind::Bool { format!("u32({text})") } else { text.to_string() }
    }

    /// A value of this type from the `u32` bits `text`.
    pub(super) fn of_bits(self, text: &str) -> String {
        match self {
            Kind::F32 => format!("bitcast<f32>({text})"),
            Kind::I32 => format!("bitcast<i32>({text})"),
            Kind::U32 => text.to_string(),
            Kind::Bool => format!("({text} != 0u)"),
        }
    }

    /// The `u32` bits of the value `text`.
    pub(super) fn to_bits(self, text: &str) -> String {
        match self {
            Kind::F32 | Kind::I32 => format!("bitcast<u32>({text})"),
            Kind::U32 => text.to_string(),
            Kind::Bool => format!("u32({text})"),
        }
    }

    /// The zero of this type.
    pub(super) fn zero(self) -> &'static str {
        match self {
            Kind::F32 => "0.0f",
            Kind::I32 => "0i",
            Kind::U32 => "0u",
            Kind::Bool => "false",
        }
    }
}

/// The text of an integer of type `i32`. The least one has no literal of its own: its sign is an operator.
pub(super) fn int(value: i32) -> String {
    match value {
        i32::MIN => "i32(-2147483648)".into(),
        v if v < 0 => format!("({v}i)"),
        v => format!("{v}i"),
    }
}

/// The text of a constant. Infinities and NaN come out of prelude functions: as literals they are not WGSL,
/// and some implementations refuse every constant expression that evaluates to one.
pub(super) fn literal(c: Const) -> Result<String, String> {
    Ok(match Kind::of(c.elem)? {
        Kind::Bool => c.as_bool().to_string(),
        Kind::U32 => format!("{}u", c.as_i64() as u32),
        Kind::I32 => int(narrow(c)?),
        Kind::F32 => float(c.as_f64() as f32),
    })
}

/// The shortest text that reads back as the same `f32`.
fn float(x: f32) -> String {
    if x.is_nan() {
        "adsl_nan()".into()
    } else if x.is_infinite() {
        if x > 0.0 { "adsl_inf()".into() } else { "(-adsl_inf())".into() }
    } else if x == 0.0 && x.is_sign_negative() {
        // `-0.0f` is a constant expression, which is free to lose the sign.
        "adsl_negative_zero()".into()
    } else if x != 0.0 && !x.is_normal() {
        format!("bitcast<f32>({:#010x}u)", x.to_bits())
    } else if x < 0.0 {
        format!("({x:?}f)")
    } else {
        format!("{x:?}f")
    }
}

/// An integer constant as `i32`; see the header.
fn narrow(c: Const) -> Result<i32, String> {
    match c.as_i64() {
        i64::MAX => Ok(i32::MAX),
        i64::MIN => Ok(i32::MIN),
        v => i32::try_from(v).map_err(|_| format!("the integer constant {v} needs more than 32 bits")),
    }
}

/// The bits that an element of a buffer holds for a constant.
pub(super) fn bits(c: Const) -> Result<u32, String> {
    Ok(match Kind::of(c.elem)? {
        Kind::Bool => u32::from(c.as_bool()),
        Kind::U32 => c.as_i64() as u32,
        Kind::I32 => narrow(c)? as u32,
        Kind::F32 => (c.as_f64() as f32).to_bits(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back_as_the_same_number() {
        for x in [0.1f32, 1.0, 1e-7, -2.5, f32::MAX, f32::MIN_POSITIVE, 16777217.0, 1.0 / 3.0] {
            let text = float(x);
            let digits = text.trim_matches(['(', ')']).trim_end_matches('f');
            assert_eq!(digits.parse::<f32>().map(f32::to_bits), Ok(x.to_bits()), "{text}");
        }
        assert_eq!(float(1e-45), "bitcast<f32>(0x00000001u)");
    }

    #[test]
    fn integers_must_fit() {
        assert_eq!(literal(Const::int(Elem::I64, i64::MAX)).as_deref(), Ok("2147483647i"));
        assert_eq!(literal(Const::int(Elem::I64, -3)).as_deref(), Ok("(-3i)"));
        assert!(literal(Const::int(Elem::I64, 1 << 40)).is_err_and(|e| e.contains("1099511627776")));
        assert_eq!(literal(Const::int(Elem::U32, -1)).as_deref(), Ok("4294967295u"));
    }
}
