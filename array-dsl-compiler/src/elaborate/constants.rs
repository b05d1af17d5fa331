//! Constants by their Rust paths.

use std::f64::consts;

use crate::ty::{Const, Elem};

/// Those of both float types, of which `f32` has the nearest number.
const FLOATS: [(&str, f64); 22] = [
    ("INFINITY", f64::INFINITY),
    ("NEG_INFINITY", f64::NEG_INFINITY),
    ("NAN", f64::NAN),
    ("PI", consts::PI),
    ("TAU", consts::TAU),
    ("E", consts::E),
    ("LN_2", consts::LN_2),
    ("LN_10", consts::LN_10),
    ("SQRT_2", consts::SQRT_2),
    ("FRAC_1_SQRT_2", consts::FRAC_1_SQRT_2),
    ("FRAC_PI_2", consts::FRAC_PI_2),
    ("FRAC_PI_3", consts::FRAC_PI_3),
    ("FRAC_PI_4", consts::FRAC_PI_4),
    ("FRAC_PI_6", consts::FRAC_PI_6),
    ("FRAC_PI_8", consts::FRAC_PI_8),
    ("FRAC_1_PI", consts::FRAC_1_PI),
    ("FRAC_2_PI", consts::FRAC_2_PI),
    ("FRAC_2_SQRT_PI", consts::FRAC_2_SQRT_PI),
    ("LOG2_E", consts::LOG2_E),
    ("LOG2_10", consts::LOG2_10),
    ("LOG10_E", consts::LOG10_E),
    ("LOG10_2", consts::LOG10_2),
];

/// Those that each float type has its own of: of `f32`, and of `f64`.
const FLOAT_LIMITS: [(&str, f32, f64); 4] = [
    ("EPSILON", f32::EPSILON, f64::EPSILON),
    ("MAX", f32::MAX, f64::MAX),
    ("MIN", f32::MIN, f64::MIN),
    ("MIN_POSITIVE", f32::MIN_POSITIVE, f64::MIN_POSITIVE),
];

/// The constant of a path such as `f64::INFINITY` or `std::f64::consts::PI`.
pub(super) fn constant(path: &str) -> Option<Const> {
    let path = path.trim_start_matches("::");
    let path = path.strip_prefix("std::").or_else(|| path.strip_prefix("core::")).unwrap_or(path);
    let (ty, rest) = path.split_once("::")?;
    let (ty, name) = (Elem::from_name(ty)?, rest.strip_prefix("consts::").unwrap_or(rest));
    if ty.is_float() {
        float(ty, name).map(|x| Const::float(ty, x))
    } else {
        limit(ty, name).map(|i| Const::int(ty, i))
    }
}

fn float(ty: Elem, name: &str) -> Option<f64> {
    let shared = FLOATS.iter().find(|(n, _)| *n == name).map(|(_, x)| *x);
    shared.or_else(|| {
        let (_, single, double) = FLOAT_LIMITS.iter().find(|(n, ..)| *n == name)?;
        Some(if ty == Elem::F32 { f64::from(*single) } else { *double })
    })
}

/// The least and the greatest number of an integer type.
fn limit(ty: Elem, name: &str) -> Option<i64> {
    let (least, greatest) = match ty {
        Elem::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Elem::U32 => (0, i64::from(u32::MAX)),
        Elem::I64 => (i64::MIN, i64::MAX),
        _ => return None,
    };
    match name {
        "MIN" => Some(least),
        "MAX" => Some(greatest),
        _ => None,
    }
}
