//! Constants of printed Core; `minus`: a minus sign stands before the word.

use crate::ty::{Const, Elem};

/// `true`, `false`, `inf_f64`, `nan_f64`, `nan_7ff8000000000001_f64`.
pub(super) fn word_constant(word: &str, minus: bool) -> Option<Const> {
    match word {
        "true" | "false" if !minus => return Some(Const::bool(word == "true")),
        _ => {}
    }
    let (value, elem) = word.rsplit_once('_')?;
    let elem = Elem::from_printed(elem).filter(|e| e.is_differentiable())?;
    let value = match value.split_once('_') {
        None if value == "inf" => {
            if minus {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        None if value == "nan" && !minus => f64::NAN,
        Some(("nan", bits)) if !minus => f64::from_bits(u64::from_str_radix(bits, 16).ok()?),
        _ => return None,
    };
    Some(Const::float(elem, value))
}

/// `12`, `12i32`, `1.5e-3f64`: without a suffix an `i64`.
pub(super) fn number(word: &str, minus: bool) -> Option<Const> {
    let mut numeric = Elem::ALL.into_iter().chain([Elem::C32, Elem::C64]).filter(|e| *e != Elem::Bool);
    let typed = numeric.find_map(|e| Some((word.strip_suffix(e.name())?, e)));
    let (digits, elem) = typed.unwrap_or((word, Elem::I64));
    let sign = if minus { "-" } else { "" };
    match elem {
        // Through `f32`, so that digits which name an `f32` exactly give that very number.
        Elem::F32 | Elem::C32 => {
            Some(Const::float(elem, f64::from(format!("{sign}{digits}").parse::<f32>().ok()?)))
        }
        Elem::F64 | Elem::C64 => Some(Const::float(elem, format!("{sign}{digits}").parse().ok()?)),
        elem => {
            let value: i64 = format!("{sign}{digits}").parse().ok()?;
            Some(Const::int(elem, value)).filter(|c| c.as_i64() == value)
        }
    }
}
