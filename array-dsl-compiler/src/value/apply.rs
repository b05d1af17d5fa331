//! Every scalar function, evaluated as Rust evaluates it.

use super::{Fault, Scalar};
use crate::scalar::{Meaning, Op};
use crate::ty::{Elem, Loc};

/// `op` of `args`. Fails on integer division by zero, and on arguments that the table does not allow.
pub fn apply(op: Op, args: &[Scalar]) -> Result<Scalar, Fault> {
    use Scalar::*;
    let zero_divisor = matches!(args, [_, I32(0)] | [_, I64(0)] | [_, U32(0)]);
    if op.can_fail() && zero_divisor {
        return Err(Fault::DivisionByZero { loc: Loc::default() });
    }
    let meaning = op.row().map_or(Meaning::Own, |row| row.meaning);
    let result = match (op, args) {
        (Op::Cast(to), &[a]) => cast(a, to),
        (Op::Select, &[Bool(c), a, b]) if a.elem() == b.elem() => Some(if c { a } else { b }),
        (Op::Powi, &[F32(a), n]) => n.as_i64().map(|n| F32(powi_f32(a, n))),
        (Op::Powi, &[F64(a), n]) => n.as_i64().map(|n| F64(powi_f64(a, n))),
        (_, &[F32(a)]) => match meaning {
            Meaning::Unary(f, _) => Some(F32(f(a))),
            Meaning::Test(f, _) => Some(Bool(f(a))),
            Meaning::Binary(..) | Meaning::Own => unary_f32(op, a),
        },
        (_, &[F64(a)]) => match meaning {
            Meaning::Unary(_, f) => Some(F64(f(a))),
            Meaning::Test(_, f) => Some(Bool(f(a))),
            Meaning::Binary(..) | Meaning::Own => unary_f64(op, a),
        },
        (_, &[I32(a)]) => signed_i32(op, a),
        (_, &[I64(a)]) => signed_i64(op, a),
        (_, &[U32(a)]) => unsigned(op, a),
        (Op::Not, &[Bool(a)]) => Some(Bool(!a)),
        (_, &[F32(a), F32(b)]) => match meaning {
            Meaning::Binary(f, _) => Some(F32(f(a, b))),
            Meaning::Unary(..) | Meaning::Test(..) | Meaning::Own => binary_f32(op, a, b),
        },
        (_, &[F64(a), F64(b)]) => match meaning {
            Meaning::Binary(_, f) => Some(F64(f(a, b))),
            Meaning::Unary(..) | Meaning::Test(..) | Meaning::Own => binary_f64(op, a, b),
        },
        (_, &[I32(a), I32(b)]) => binary_i32(op, a, b),
        (_, &[I64(a), I64(b)]) => binary_i64(op, a, b),
        (_, &[U32(a), U32(b)]) => binary_u32(op, a, b),
        (_, &[Bool(a), Bool(b)]) => truth(op, a, b).map(Bool),
        _ => None,
    };
    result.ok_or_else(|| {
        let types: Vec<&str> = args.iter().map(|a| a.elem().name()).collect();
        Fault::internal(format!("`{}` does not take ({})", op.name(), types.join(", ")))
    })
}

/// The functions of floats that other types have as well, once for each type.
macro_rules! float {
    ($t:ident, $Variant:ident, $unary:ident, $binary:ident, $powi:ident) => {
        fn $unary(op: Op, a: $t) -> Option<Scalar> {
            Some(Scalar::$Variant(match op {
                Op::Neg => -a,
                Op::Abs => a.abs(),
                Op::Signum0 => {
                    if a == 0.0 {
                        0.0
                    } else {
                        a.signum()
                    }
                }
                _ => return None,
            }))
        }

        fn $binary(op: Op, a: $t, b: $t) -> Option<Scalar> {
            Some(Scalar::$Variant(match op {
                Op::Add => a + b,
                Op::Sub => a - b,
                Op::Mul => a * b,
                Op::Div => a / b,
                Op::Rem => a % b,
                Op::RemEuclid => a.rem_euclid(b),
                Op::Min => a.min(b),
                Op::Max => a.max(b),
                op => return compare(op, &a, &b).map(Scalar::Bool),
            }))
        }

        /// By squaring, for exponents that `powi` of the standard library does not take.
        fn $powi(a: $t, n: i64) -> $t {
            let (mut power, mut square, mut rest) = (1.0, a, n.unsigned_abs());
            while rest > 0 {
                if rest % 2 == 1 {
                    power *= square;
                }
                square *= square;
                rest /= 2;
            }
            if n < 0 { 1.0 / power } else { power }
        }
    };
}

float!(f32, F32, unary_f32, binary_f32, powi_f32);
float!(f64, F64, unary_f64, binary_f64, powi_f64);

/// The functions of two integers; `b` is not zero where that would fail.
macro_rules! integer {
    ($t:ident, $Variant:ident, $binary:ident) => {
        fn $binary(op: Op, a: $t, b: $t) -> Option<Scalar> {
            Some(Scalar::$Variant(match op {
                Op::Add => a.wrapping_add(b),
                Op::Sub => a.wrapping_sub(b),
                Op::Mul => a.wrapping_mul(b),
                Op::Div => a.wrapping_div(b),
                Op::Rem => a.wrapping_rem(b),
                Op::RemEuclid => a.wrapping_rem_euclid(b),
                Op::Min => a.min(b),
                Op::Max => a.max(b),
                Op::And => a & b,
                Op::Or => a | b,
                Op::Xor => a ^ b,
                Op::Shl => a.wrapping_shl(b as u32),
                Op::Shr => a.wrapping_shr(b as u32),
                op => return compare(op, &a, &b).map(Scalar::Bool),
            }))
        }
    };
}

integer!(i32, I32, binary_i32);
integer!(i64, I64, binary_i64);
integer!(u32, U32, binary_u32);

/// The functions of one signed integer.
macro_rules! signed {
    ($t:ident, $Variant:ident, $unary:ident) => {
        fn $unary(op: Op, a: $t) -> Option<Scalar> {
            Some(Scalar::$Variant(match op {
                Op::Neg => a.wrapping_neg(),
                Op::Abs => a.wrapping_abs(),
                Op::Signum0 => a.signum(),
                Op::Not => !a,
                _ => return None,
            }))
        }
    };
}

signed!(i32, I32, signed_i32);
signed!(i64, I64, signed_i64);

fn unsigned(op: Op, a: u32) -> Option<Scalar> {
    Some(Scalar::U32(match op {
        Op::Neg => a.wrapping_neg(),
        Op::Abs => a,
        Op::Signum0 => a.min(1),
        Op::Not => !a,
        _ => return None,
    }))
}

fn truth(op: Op, a: bool, b: bool) -> Option<bool> {
    Some(match op {
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor | Op::Ne => a != b,
        Op::Eq => a == b,
        _ => return None,
    })
}

fn compare<T: PartialOrd>(op: Op, a: &T, b: &T) -> Option<bool> {
    Some(match op {
        Op::Eq => a == b,
        Op::Ne => a != b,
        Op::Lt => a < b,
        Op::Le => a <= b,
        Op::Gt => a > b,
        Op::Ge => a >= b,
        _ => return None,
    })
}

/// Rust's `as`: floats saturate, integers wrap. To `bool`: whether it is not zero.
fn cast(a: Scalar, to: Elem) -> Option<Scalar> {
    macro_rules! convert {
        ($x:expr) => {
            match to {
                Elem::F32 => Scalar::F32($x as f32),
                Elem::F64 => Scalar::F64($x as f64),
                Elem::I32 => Scalar::I32($x as i32),
                Elem::I64 => Scalar::I64($x as i64),
                Elem::U32 => Scalar::U32($x as u32),
                Elem::Bool => Scalar::Bool(a.as_f64() != 0.0),
                Elem::Infer(_) => return None,
            }
        };
    }
    Some(match a {
        Scalar::F32(x) => convert!(x),
        Scalar::F64(x) => convert!(x),
        Scalar::I32(x) => convert!(x),
        Scalar::I64(x) => convert!(x),
        Scalar::U32(x) => convert!(x),
        Scalar::Bool(x) => convert!(u8::from(x)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{Class, TABLE};
    use Scalar::*;

    #[test]
    fn every_row_evaluates_for_every_type_of_its_class() {
        for row in TABLE {
            for elem in Elem::ALL {
                let one = Scalar::from(crate::ty::Const::of(elem, 1));
                let args = match row.op {
                    Op::Select => vec![Bool(true), one, one],
                    Op::Powi => vec![one, I32(1)],
                    _ => vec![one; row.arity],
                };
                let elems: Vec<Elem> = args.iter().map(|a| a.elem()).collect();
                match apply(row.op, &args) {
                    Ok(y) => assert_eq!(y.elem(), row.op.result(&elems), "{}", row.name),
                    Err(fault) => assert!(!row.class.contains(elem), "{fault}"),
                }
                assert!(row.class.contains(elem) || apply(row.op, &args).is_err(), "{} of {elem}", row.name);
            }
        }
        assert!(Class::Any.contains(Elem::Bool));
    }

    #[test]
    fn integers_wrap_and_division_by_zero_is_a_fault() {
        assert_eq!(apply(Op::Add, &[I32(i32::MAX), I32(1)]), Ok(I32(i32::MIN)));
        assert_eq!(apply(Op::Div, &[I64(i64::MIN), I64(-1)]), Ok(I64(i64::MIN)));
        assert_eq!(apply(Op::RemEuclid, &[I64(-7), I64(3)]), Ok(I64(2)));
        assert_eq!(apply(Op::Shl, &[U32(1), U32(33)]), Ok(U32(2)));
        for op in [Op::Div, Op::Rem, Op::RemEuclid] {
            assert_eq!(apply(op, &[U32(1), U32(0)]), Err(Fault::DivisionByZero { loc: Loc(0) }));
        }
        assert_eq!(apply(Op::Div, &[F64(1.0), F64(0.0)]), Ok(F64(f64::INFINITY)));
    }

    #[test]
    fn floats_at_their_edges() {
        let is_nan = |x| apply(Op::IsNan, &[x]) == Ok(Bool(true));
        assert_eq!(apply(Op::Signum0, &[F64(-0.0)]), Ok(F64(0.0)));
        assert!(apply(Op::Signum0, &[F64(f64::NAN)]).is_ok_and(is_nan));
        assert_eq!(apply(Op::Min, &[F32(f32::NAN), F32(2.0)]), Ok(F32(2.0)));
        assert_eq!(apply(Op::Sigmoid, &[F64(-1000.0)]), Ok(F64(0.0)));
        assert_eq!(apply(Op::Round, &[F64(-2.5)]), Ok(F64(-3.0)));
        assert_eq!(apply(Op::Powi, &[F64(-2.0), I64(3)]), Ok(F64(-8.0)));
        assert_eq!(apply(Op::Powi, &[F64(2.0), U32(2)]), Ok(F64(4.0)));
        assert_eq!(apply(Op::Powi, &[F64(-1.0), I64(i64::MAX)]), Ok(F64(-1.0)));
        assert_eq!(apply(Op::Powi, &[F32(2.0), I32(-2)]), Ok(F32(0.25)));
    }

    #[test]
    fn casts_saturate_and_wrap() {
        assert_eq!(apply(Op::Cast(Elem::I32), &[F64(1e300)]), Ok(I32(i32::MAX)));
        assert_eq!(apply(Op::Cast(Elem::U32), &[I64(-1)]), Ok(U32(u32::MAX)));
        assert_eq!(apply(Op::Cast(Elem::F32), &[I64(16_777_217)]), Ok(F32(16_777_216.0)));
        assert_eq!(apply(Op::Cast(Elem::I64), &[Bool(true)]), Ok(I64(1)));
        assert_eq!(apply(Op::Cast(Elem::Bool), &[F32(f32::NAN)]), Ok(Bool(true)));
    }
}
