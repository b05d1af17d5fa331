//! What a scalar function of known arguments is.

use super::{Available, Simple};
use crate::affine::Facts;
use crate::bulk::build::{decided, folded};
use crate::bulk::{Atom, Exp, Program};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A function of these arguments, or what it is without one.
pub(super) fn operation(
    p: &Program,
    op: Op,
    args: &[Atom],
    facts: &mut Facts,
    available: &Available,
) -> Simple {
    if let Some(c) = folded(op, args) {
        return Simple::Atom(Atom::Const(c));
    }
    let kept = Simple::Exp(Exp::Op(op, args.to_vec()));
    let constant = |i: usize| match args.get(i) {
        Some(Atom::Const(c)) => Some(*c),
        _ => None,
    };
    let zero = |i: usize| constant(i).is_some_and(Const::is_zero);
    let one = |i: usize| constant(i).is_some_and(Const::is_one);
    let elem = p.elem(args[0]);
    let same = args.len() == 2 && args[0] == args[1];
    let definition = |a: Atom| a.var().and_then(|v| available.definitions.get(&v)).map(|e| &**e);
    match op {
        // `x + 0.0` is not `x` for `x = -0.0`; the difference is accepted.
        Op::Add if zero(0) => Simple::Atom(args[1]),
        Op::Add | Op::Sub if zero(1) => Simple::Atom(args[0]),
        Op::Rem | Op::RemEuclid if elem == Elem::I64 => match facts.known_remainder(op, args) {
            Some(a) => Simple::Atom(a),
            None => kept,
        },
        // One form of the two, so that equal ones are shared.
        Op::Sub
            if elem == Elem::I64
                && constant(1).is_some_and(|c| -i64::MAX <= c.as_i64() && c.as_i64() < 0) =>
        {
            let c = constant(1).map_or(0, Const::as_i64);
            Simple::Exp(Exp::Op(Op::Add, vec![args[0], Atom::Const(Const::int(elem, -c))]))
        }
        // What cancels, cancels though integers wrap.
        Op::Add | Op::Sub if elem == Elem::I64 => {
            let subtracted = || match definition(args[1]) {
                Some(Exp::Op(Op::Sub, of)) if op == Op::Add && of[1] == args[0] => Some(of[0]),
                _ => None,
            };
            let added = || match definition(args[0]) {
                Some(Exp::Op(Op::Add, of)) if op == Op::Sub && of[0] == args[1] => Some(of[1]),
                Some(Exp::Op(Op::Add, of)) if op == Op::Sub && of[1] == args[1] => Some(of[0]),
                _ => None,
            };
            let cancelled = facts.axis_or_constant(op, args).or_else(subtracted).or_else(added);
            cancelled.map_or(kept, Simple::Atom)
        }
        Op::Sub if same && elem.is_int() => Simple::Atom(Atom::Const(Const::of(elem, 0))),
        Op::Scale if zero(0) => Simple::Atom(args[0]),
        Op::Scale if constant(0).is_some() && !one(0) => Simple::Exp(Exp::Op(Op::Mul, args.to_vec())),
        Op::Mul | Op::Scale if one(0) => Simple::Atom(args[1]),
        // As derivatives of squares have them.
        Op::Powi if one(1) => Simple::Atom(args[0]),
        Op::Mul | Op::Scale | Op::Div if one(1) => Simple::Atom(args[0]),
        Op::Mul if elem.is_int() && (zero(0) || zero(1)) => Simple::Atom(Atom::Const(Const::of(elem, 0))),
        Op::Mul if elem.is_float() && constant(0).is_some_and(|c| c.as_f64() == -1.0) => {
            Simple::Exp(Exp::Op(Op::Neg, vec![args[1]]))
        }
        // Whose slope `max(a, c)` has.
        Op::Eq if elem.is_float() => match definition(args[1]) {
            Some(Exp::Op(which @ (Op::Min | Op::Max), of))
                if of[0] == args[0] && matches!(of[1], Atom::Const(c) if !c.as_f64().is_nan()) =>
            {
                let compare = if *which == Op::Max { Op::Ge } else { Op::Le };
                Simple::Exp(Exp::Op(compare, of.clone()))
            }
            _ => kept,
        },
        Op::Neg => match definition(args[0]) {
            Some(Exp::Op(Op::Neg, inner)) => Simple::Atom(inner[0]),
            _ => kept,
        },
        Op::And | Op::Or if elem == Elem::Bool => connective(op, args).map_or(kept, Simple::Atom),
        Op::Select => match available.known(args[0]) {
            Some(when) => Simple::Atom(if when { args[1] } else { args[2] }),
            None if args[1] == args[2] => Simple::Atom(args[1]),
            None if is_where_not(definition(args[1]), args[0], args[2]) => Simple::Atom(args[1]),
            // `c && x` and `c || x` of values at hand.
            None if p.elem(args[1]) == Elem::Bool && constant(2).is_some_and(|c| !c.as_bool()) => {
                operation(p, Op::And, &[args[0], args[1]], facts, available)
            }
            None if p.elem(args[1]) == Elem::Bool && constant(1).is_some_and(Const::as_bool) => {
                operation(p, Op::Or, &[args[0], args[2]], facts, available)
            }
            None => kept,
        },
        Op::Cast(e) if e == elem => Simple::Atom(args[0]),
        Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne if elem == Elem::I64 => {
            match facts.decide(op, args[0], args[1]) {
                Some(b) => Simple::Atom(Atom::Const(Const::bool(b))),
                None => comparison_of_choice(op, args, facts, available).unwrap_or(kept),
            }
        }
        _ => kept,
    }
}

/// Whether an expression is a value wherever a condition does not hold.
fn is_where_not(e: Option<&Exp>, condition: Atom, value: Atom) -> bool {
    matches!(e, Some(Exp::If(c, _, no)) if *c == condition && no.results == [value])
}

/// What `a && b` or `a || b` is if that takes no operation: one of the two that is constant gives itself or the other one.
fn connective(op: Op, args: &[Atom]) -> Option<Atom> {
    decided(op, args).or_else(|| (args[0] == args[1]).then_some(args[0]))
}

/// What a comparison of `if c { a } else { b }` is if it is certain for both: `c` itself, say, where `b` is the -1 at which nothing is
/// written, and is asked whether it is an index.
fn comparison_of_choice(op: Op, args: &[Atom], facts: &mut Facts, available: &Available) -> Option<Simple> {
    for (i, choice) in args.iter().enumerate() {
        let Some(Exp::Op(Op::Select, parts)) =
            choice.var().and_then(|v| available.definitions.get(&v)).map(|e| &**e)
        else {
            continue;
        };
        let [c, a, b] = parts[..] else { continue };
        let mut side = |when: bool, of: Atom| {
            let scope = facts.scope();
            facts.assume(c, when);
            let (x, y) = if i == 0 { (of, args[1]) } else { (args[0], of) };
            let decided = facts.decide(op, x, y);
            facts.leave(scope);
            decided
        };
        return match (side(true, a)?, side(false, b)?) {
            (true, false) => Some(Simple::Atom(c)),
            (false, true) => Some(Simple::Exp(Exp::Op(Op::Not, vec![c]))),
            (same, _) => Some(Simple::Atom(Atom::Const(Const::bool(same)))),
        };
    }
    None
}
