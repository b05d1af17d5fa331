//! Partial derivatives of scalar functions as code, from the table's texts.

use crate::bulk::build::Code;
use crate::bulk::{Atom, Program};
use crate::scalar::{Op, Partial};
use crate::ty::{Const, Elem};

/// What a cotangent or tangent `d` is multiplied to by one partial derivative of `op`: `d * partial`, simplified where
/// the partial is a constant. For singular functions a `d` that is exactly zero gives exactly zero, by `Scale`: not by a
/// choice, whose derivative by `d` would be lost where `d` is zero.
pub(super) fn scaled(
    p: &mut Program,
    code: &mut Code,
    d: Atom,
    partial: &Partial,
    args: &[Atom],
    result: Atom,
    op: Op,
) -> Option<Atom> {
    match partial {
        Partial::Number(x) if *x == 0.0 => None,
        Partial::Number(x) if *x == 1.0 => Some(d),
        Partial::Number(x) if *x == -1.0 => Some(code.op(p, Op::Neg, &[d])),
        // A partial that is zero or one by a condition chooses instead of multiplying.
        Partial::Apply(Op::Select, parts) if is_indicator(&parts[1], &parts[2]) => {
            let elem = p.elem(d);
            let c = value(p, code, &parts[0], args, result, elem);
            let zero = Atom::Const(Const::of(elem, 0));
            let first = parts[1] == Partial::Number(1.0);
            Some(if first { code.select(p, c, d, zero) } else { code.select(p, c, zero, d) })
        }
        _ => {
            let elem = p.elem(d);
            let slope = value(p, code, partial, args, result, elem);
            let singular = op.row().is_some_and(|r| r.singular);
            Some(match (op, partial) {
                // `scale(a, b)` does not depend on `b` where `a` is zero.
                (Op::Scale, Partial::Arg(0)) => code.op(p, Op::Scale, &[slope, d]),
                _ if singular => code.op(p, Op::Scale, &[d, slope]),
                _ => code.mul(p, d, slope),
            })
        }
    }
}

fn is_indicator(a: &Partial, b: &Partial) -> bool {
    let (zero, one) = (Partial::Number(0.0), Partial::Number(1.0));
    (*a == one && *b == zero) || (*a == zero && *b == one)
}

/// Code for a partial; numbers have the type `elem`.
fn value(
    p: &mut Program,
    code: &mut Code,
    partial: &Partial,
    args: &[Atom],
    result: Atom,
    elem: Elem,
) -> Atom {
    match partial {
        Partial::Number(x) => Atom::Const(Const::float(elem, *x)),
        Partial::Arg(i) => args[*i],
        Partial::Result => result,
        Partial::Apply(op, parts) => {
            let vs: Vec<Atom> = parts.iter().map(|q| value(p, code, q, args, result, elem)).collect();
            // The condition of a select on a truth value argument is that argument itself.
            code.op(p, *op, &vs)
        }
        Partial::PowiSlope => {
            let (a, b) = (args[0], args[1]);
            let int = p.elem(b);
            let (zero, one) = (Atom::Const(Const::of(int, 0)), Atom::Const(Const::of(int, 1)));
            let less = code.op(p, Op::Sub, &[b, one]);
            let power = code.op(p, Op::Powi, &[a, less]);
            let factor = code.op(p, Op::Cast(elem), &[b]);
            let slope = code.mul(p, factor, power);
            let none = code.op(p, Op::Eq, &[b, zero]);
            code.select(p, none, Atom::Const(Const::of(elem, 0)), slope)
        }
    }
}
