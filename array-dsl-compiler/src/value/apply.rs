//! Every scalar function, evaluated as Rust evaluates it.

use super::{Fault, Scalar};
use crate::scalar::{Binary, Floats, Meaning, Op, Power, Relation, Test, Types, Unary};
use crate::ty::{Elem, Loc};

/// `op` of `args`. Fails on integer division by zero, and on arguments that the table does not allow.
pub fn apply(op: Op, args: &[Scalar]) -> Result<Scalar, Fault> {
    let zero_divisor = matches!(args, [_, Scalar::I32(0)] | [_, Scalar::I64(0)] | [_, Scalar::U32(0)]);
    if op.can_fail() && zero_divisor {
        return Err(Fault::DivisionByZero { loc: Loc::default() });
    }
    let result = match (op, op.row().map(|row| &row.meaning), args) {
        (Op::Cast(to), _, &[a]) => cast(a, to),
        (_, Some(Meaning::Unary(types)), &[a]) => unary(types, a),
        (_, Some(Meaning::Binary(types)), &[a, b]) => binary(types, a, b),
        (_, Some(Meaning::Test(types)), &[a]) => test(types, a).map(Scalar::Bool),
        (_, Some(Meaning::Relation(types)), &[a, b]) => relation(types, a, b).map(Scalar::Bool),
        (_, Some(Meaning::Power(floats)), &[a, n]) => n.as_i64().and_then(|n| power(floats, a, n)),
        (_, Some(Meaning::Choice), &[Scalar::Bool(c), a, b]) if a.elem() == b.elem() => {
            Some(if c { a } else { b })
        }
        _ => None,
    };
    result.ok_or_else(|| {
        let types: Vec<&str> = args.iter().map(|a| a.elem().name()).collect();
        Fault::internal(format!("`{}` does not take ({})", op.name(), types.join(", ")))
    })
}

fn unary(f: &Types<Unary>, a: Scalar) -> Option<Scalar> {
    use Scalar::*;
    Some(match a {
        F32(a) => F32((f.floats()?.f32)(a)),
        F64(a) => F64((f.floats()?.f64)(a)),
        I32(a) => I32((f.ints()?.i32)(a)),
        I64(a) => I64((f.ints()?.i64)(a)),
        U32(a) => U32((f.ints()?.u32)(a)),
        Bool(a) => Bool(f.bools()?(a)),
    })
}

/// Of integers, `b` is not zero where that would fail.
fn binary(f: &Types<Binary>, a: Scalar, b: Scalar) -> Option<Scalar> {
    use Scalar::*;
    Some(match (a, b) {
        (F32(a), F32(b)) => F32((f.floats()?.f32)(a, b)),
        (F64(a), F64(b)) => F64((f.floats()?.f64)(a, b)),
        (I32(a), I32(b)) => I32((f.ints()?.i32)(a, b)),
        (I64(a), I64(b)) => I64((f.ints()?.i64)(a, b)),
        (U32(a), U32(b)) => U32((f.ints()?.u32)(a, b)),
        (Bool(a), Bool(b)) => Bool(f.bools()?(a, b)),
        _ => return None,
    })
}

fn test(f: &Types<Test>, a: Scalar) -> Option<bool> {
    use Scalar::*;
    Some(match a {
        F32(a) => (f.floats()?.f32)(a),
        F64(a) => (f.floats()?.f64)(a),
        I32(a) => (f.ints()?.i32)(a),
        I64(a) => (f.ints()?.i64)(a),
        U32(a) => (f.ints()?.u32)(a),
        Bool(a) => f.bools()?(a),
    })
}

fn relation(f: &Types<Relation>, a: Scalar, b: Scalar) -> Option<bool> {
    use Scalar::*;
    Some(match (a, b) {
        (F32(a), F32(b)) => (f.floats()?.f32)(a, b),
        (F64(a), F64(b)) => (f.floats()?.f64)(a, b),
        (I32(a), I32(b)) => (f.ints()?.i32)(a, b),
        (I64(a), I64(b)) => (f.ints()?.i64)(a, b),
        (U32(a), U32(b)) => (f.ints()?.u32)(a, b),
        (Bool(a), Bool(b)) => f.bools()?(a, b),
        _ => return None,
    })
}

fn power(f: &Floats<Power>, a: Scalar, n: i64) -> Option<Scalar> {
    match a {
        Scalar::F32(a) => Some(Scalar::F32((f.f32)(a, n))),
        Scalar::F64(a) => Some(Scalar::F64((f.f64)(a, n))),
        Scalar::I32(_) | Scalar::I64(_) | Scalar::U32(_) | Scalar::Bool(_) => None,
    }
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
                Elem::C32 | Elem::C64 | Elem::Infer(_) => return None,
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
