//! Constants by their Rust paths.

use crate::ty::{Const, Elem};

/// The constant of a path such as `f64::INFINITY` or `std::f64::consts::PI`.
pub(super) fn constant(path: &str) -> Option<Const> {
    let path = path.trim_start_matches("::");
    let path = path.strip_prefix("std::").or_else(|| path.strip_prefix("core::")).unwrap_or(path);
    let (ty, rest) = path.split_once("::")?;
    let (ty, name) = (Elem::from_name(ty)?, rest.strip_prefix("consts::").unwrap_or(rest));
    use std::f64::consts as c;
    if ty.is_float() {
        let single = ty == Elem::F32;
        let value = match name {
            "INFINITY" => f64::INFINITY,
            "NEG_INFINITY" => f64::NEG_INFINITY,
            "NAN" => f64::NAN,
            "EPSILON" => {
                if single {
                    f64::from(f32::EPSILON)
                } else {
                    f64::EPSILON
                }
            }
            "MAX" => {
                if single {
                    f64::from(f32::MAX)
                } else {
                    f64::MAX
                }
            }
            "MIN" => {
                if single {
                    f64::from(f32::MIN)
                } else {
                    f64::MIN
                }
            }
            "MIN_POSITIVE" => {
                if single {
                    f64::from(f32::MIN_POSITIVE)
                } else {
                    f64::MIN_POSITIVE
                }
            }
            "PI" => c::PI,
            "TAU" => c::TAU,
            "E" => c::E,
            "LN_2" => c::LN_2,
            "LN_10" => c::LN_10,
            "SQRT_2" => c::SQRT_2,
            "FRAC_1_SQRT_2" => c::FRAC_1_SQRT_2,
            "FRAC_PI_2" => c::FRAC_PI_2,
            "FRAC_PI_3" => c::FRAC_PI_3,
            "FRAC_PI_4" => c::FRAC_PI_4,
            "FRAC_PI_6" => c::FRAC_PI_6,
            "FRAC_PI_8" => c::FRAC_PI_8,
            "FRAC_1_PI" => c::FRAC_1_PI,
            "FRAC_2_PI" => c::FRAC_2_PI,
            "LOG2_E" => c::LOG2_E,
            "LOG2_10" => c::LOG2_10,
            "LOG10_E" => c::LOG10_E,
            "LOG10_2" => c::LOG10_2,
            "FRAC_2_SQRT_PI" => c::FRAC_2_SQRT_PI,
            _ => return None,
        };
        return Some(Const::float(ty, value));
    }
    let value = match (ty, name) {
        (Elem::I32, "MAX") => i64::from(i32::MAX),
        (Elem::I32, "MIN") => i64::from(i32::MIN),
        (Elem::U32, "MAX") => i64::from(u32::MAX),
        (Elem::U32, "MIN") => 0,
        (_, "MAX") => i64::MAX,
        (_, "MIN") => i64::MIN,
        _ => return None,
    };
    Some(Const::int(ty, value))
}
