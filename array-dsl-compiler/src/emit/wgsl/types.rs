//! How element types and constants look in WGSL.
//!
//! | kernel        | WGSL value     | in a buffer |
//! |---------------|----------------|-------------|
//! | `f32`, `f64`  | `f32`, `f64`   | the same    |
//! | `i32`, `u32`  | `i32`, `u32`   | the same    |
//! | `i64`         | `i64` or `i32` | `i64`       |
//! | `bool`        | `bool`         | `u32`, 0 or 1 |
//!
//! Indices are `i64` in kernels. Those scalars whose values are known to fit 32 bits (`narrow`) are computed as `i32`, which every
//! device has. Numbers of 64 bits are for devices that have them; a shader says what it needs.

use crate::scalar::Row;
use crate::ty::{Const, Elem};

/// A WGSL scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    F32,
    F64,
    I32,
    I64,
    U32,
    Bool,
}

impl Kind {
    /// The type of the elements of arrays; the error names the construct.
    pub(super) fn of(elem: Elem) -> Result<Kind, String> {
        match elem {
            Elem::F32 => Ok(Kind::F32),
            Elem::F64 => Ok(Kind::F64),
            Elem::I32 => Ok(Kind::I32),
            Elem::I64 => Ok(Kind::I64),
            Elem::U32 => Ok(Kind::U32),
            Elem::Bool => Ok(Kind::Bool),
            Elem::C32 | Elem::C64 | Elem::Infer(_) => Err("the kernel has a number without a type".into()),
        }
    }

    /// The WGSL spelling of values.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::U32 => "u32",
            Kind::Bool => "bool",
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }

    pub(super) fn is_int(self) -> bool {
        matches!(self, Kind::I32 | Kind::I64 | Kind::U32)
    }

    /// The number of 32-bit words that a value takes.
    pub(super) fn words(self) -> usize {
        if matches!(self, Kind::F64 | Kind::I64) { 2 } else { 1 }
    }

    /// The WGSL spelling of elements of a buffer that is not atomic.
    pub(super) fn stored(self) -> &'static str {
        if self == Kind::Bool { "u32" } else { self.name() }
    }

    /// The WGSL spelling of elements of an atomic buffer, without the `atomic`.
    pub(super) fn atomic(self) -> &'static str {
        match self {
            Kind::I32 | Kind::I64 => self.name(),
            Kind::F64 => "u64",
            Kind::F32 | Kind::U32 | Kind::Bool => "u32",
        }
    }

    /// A value of this type from the element `text` of a plain buffer.
    pub(super) fn load(self, text: &str) -> String {
        if self == Kind::Bool { format!("({text} != 0u)") } else { text.to_string() }
    }

    /// The element of a plain buffer for the value `text`.
    pub(super) fn store(self, text: &str) -> String {
        if self == Kind::Bool { format!("u32({text})") } else { text.to_string() }
    }

    /// A value of this type from the element `text` of an atomic buffer, loaded.
    pub(super) fn load_atomic(self, text: &str) -> String {
        if self.is_float() { format!("bitcast<{}>({text})", self.name()) } else { self.load(text) }
    }

    /// The element of an atomic buffer for the value `text`.
    pub(super) fn store_atomic(self, text: &str) -> String {
        if self.is_float() { format!("bitcast<{}>({text})", self.atomic()) } else { self.store(text) }
    }

    /// The bits of zero of a float, and the text of those of the magnitude of the one with the bits `text`.
    pub(super) fn zero_bits(self) -> &'static str {
        if self == Kind::F64 { "0lu" } else { "0u" }
    }

    pub(super) fn magnitude(self, text: &str) -> String {
        if self == Kind::F64 {
            format!("({text} & 0x7ffffffffffffffflu)")
        } else {
            format!("({text} & 0x7fffffffu)")
        }
    }

    /// A value of this type from as many `u32` words as it takes, the low one first.
    pub(super) fn of_words(self, words: &[String]) -> String {
        match (self, words) {
            (Kind::F64, [low, high]) => format!("bitcast<f64>(adsl64_bits({low}, {high}))"),
            (Kind::I64, [low, high]) => format!("bitcast<i64>(adsl64_bits({low}, {high}))"),
            (Kind::F32, [word, ..]) => format!("bitcast<f32>({word})"),
            (Kind::I32, [word, ..]) => format!("bitcast<i32>({word})"),
            (Kind::Bool, [word, ..]) => format!("({word} != 0u)"),
            (_, words) => words.concat(),
        }
    }

    /// The `u32` words of the value `text`, which is a name.
    pub(super) fn to_words(self, text: &str) -> Vec<String> {
        match self {
            Kind::F32 | Kind::I32 => vec![format!("bitcast<u32>({text})")],
            Kind::U32 => vec![text.to_string()],
            Kind::Bool => vec![format!("u32({text})")],
            Kind::F64 | Kind::I64 => {
                let bits = format!("bitcast<u64>({text})");
                vec![format!("u32({bits} & 0xfffffffflu)"), format!("u32({bits} >> 32u)")]
            }
        }
    }

    /// The text of a function of numbers of this type.
    pub(super) fn function(self, row: &Row) -> &'static str {
        if self == Kind::F64 { row.wgsl64 } else { row.wgsl }
    }

    /// The zero of this type.
    pub(super) fn zero(self) -> &'static str {
        match self {
            Kind::F32 => "0.0f",
            Kind::F64 => "0.0lf",
            Kind::I32 => "0i",
            Kind::I64 => "0li",
            Kind::U32 => "0u",
            Kind::Bool => "false",
        }
    }

    /// The text of a constant of this type. Infinities and NaN come out of prelude functions: as literals they are not
    /// WGSL, and some implementations refuse every constant expression that evaluates to one.
    pub(super) fn literal(self, c: Const) -> String {
        match self {
            Kind::Bool => c.as_bool().to_string(),
            Kind::U32 => format!("{}u", c.as_i64() as u32),
            Kind::I32 => int(c.as_i64().clamp(i32::MIN.into(), i32::MAX.into()) as i32),
            Kind::I64 => long(c.as_i64()),
            Kind::F32 => float(c.as_f64() as f32),
            Kind::F64 => double(c.as_f64()),
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

/// The text of an integer of type `i64`.
fn long(value: i64) -> String {
    match value {
        i64::MIN => "adsl64_least()".into(),
        v if v < 0 => format!("({v}li)"),
        v => format!("{v}li"),
    }
}

/// The text of an `f32`.
fn float(x: f32) -> String {
    let bits = format!("bitcast<f32>({:#010x}u)", x.to_bits());
    real(x.into(), "adsl", x == 0.0 || x.is_normal(), format!("{x:?}f"), bits)
}

/// The text of an `f64`.
fn double(x: f64) -> String {
    let bits = format!("bitcast<f64>({:#018x}lu)", x.to_bits());
    real(x, "adsl64", x == 0.0 || x.is_normal(), format!("{x:?}lf"), bits)
}

/// The shortest text that reads back as the same number: its digits, or its bits where literals may not have them.
fn real(x: f64, prelude: &str, is_normal: bool, digits: String, bits: String) -> String {
    if x.is_nan() {
        format!("{prelude}_nan()")
    } else if x.is_infinite() {
        if x > 0.0 { format!("{prelude}_inf()") } else { format!("(-{prelude}_inf())") }
    } else if x == 0.0 && x.is_sign_negative() {
        // As a literal it is a constant expression, which is free to lose the sign.
        format!("{prelude}_negative_zero()")
    } else if !is_normal {
        bits
    } else if x < 0.0 {
        format!("({digits})")
    } else {
        digits
    }
}

/// The bits that an element of a buffer holds for a constant.
pub(super) fn bits(c: Const) -> Result<u64, String> {
    Ok(match Kind::of(c.elem)? {
        Kind::Bool => u64::from(c.as_bool()),
        Kind::U32 | Kind::I32 => u64::from(c.as_i64() as u32),
        Kind::I64 => c.as_i64() as u64,
        Kind::F32 => u64::from((c.as_f64() as f32).to_bits()),
        Kind::F64 => c.as_f64().to_bits(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back_as_the_same_number() {
        let digits = |text: &str, suffix: &str| {
            let text = text.trim_matches(['(', ')']);
            text.strip_suffix(suffix).map(str::to_string).unwrap_or_default()
        };
        for x in [0.1f32, 1.0, 1e-7, -2.5, f32::MAX, f32::MIN_POSITIVE, 16777217.0, 1.0 / 3.0] {
            assert_eq!(digits(&float(x), "f").parse::<f32>().map(f32::to_bits), Ok(x.to_bits()), "{x}");
        }
        for x in [0.1f64, 1.0, 1e-300, -2.5, f64::MAX, f64::MIN_POSITIVE, 1.0 / 3.0] {
            assert_eq!(digits(&double(x), "lf").parse::<f64>().map(f64::to_bits), Ok(x.to_bits()), "{x}");
        }
        assert_eq!(float(1e-45), "bitcast<f32>(0x00000001u)");
        assert_eq!(double(5e-324), "bitcast<f64>(0x0000000000000001lu)");
    }

    #[test]
    fn the_neutral_elements_of_extrema_are_those_of_the_type() {
        assert_eq!(Kind::I32.literal(Const::int(Elem::I64, i64::MAX)), "2147483647i");
        assert_eq!(Kind::I64.literal(Const::int(Elem::I64, i64::MIN)), "adsl64_least()");
        assert_eq!(Kind::I64.literal(Const::int(Elem::I64, -3)), "(-3li)");
        assert_eq!(Kind::U32.literal(Const::int(Elem::U32, -1)), "4294967295u");
    }
}
