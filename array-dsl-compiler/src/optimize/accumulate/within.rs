//! Accumulations at one of two places: such as are kept within a border, `min(i + 1, n - 1)`, or go around the end by a choice,
//! `if i == 0 { n - 1 } else { i - 1 }`.
//!
//! ```text
//! accumulate(+) at (if c { a } else { b }) of v  =  accumulate(+) at a of (if c { v } else { 0 }), and at b of (if c { 0 } else { v })
//! accumulate(+) at min(a, b) of v                =  the same with c = a <= b
//! ```
//!
//! The first is at the one that moves along more axes. Into zeros both are gathers, the border of one element or row of sums, and the result
//! is their sum, which is one loop in the end. Else the second accumulates into what the first gives.

use super::{Forms, separate, sum};
use crate::bulk::build::Code;
use crate::bulk::{ArrayId, Atom, Exp, Nest, Program, Reducer, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::Const;

/// A component of an index that is one of two integers, polynomials in the end.
pub(super) struct Within {
    component: usize,
    /// What it is where the condition holds, if that is `true`, or where not; first what moves along more axes.
    sides: [(Atom, bool); 2],
    condition: Condition,
}

/// Of two integers, when it is the first.
#[derive(Clone, Copy)]
enum Condition {
    /// Where the first is at most the second, or where it is not.
    AtMost([Atom; 2], bool),
    /// Where this is true.
    Chosen(Atom),
}

pub(super) fn kept_within(forms: &Forms, n: &Nest, index: &[Atom]) -> Option<Within> {
    index.iter().enumerate().find_map(|(component, i)| {
        let (condition, of_two) = of_two(n, *i)?;
        let [a, b] = of_two.map(|a| axes(forms, n, a));
        let is_first = !matches!(condition, Condition::AtMost(_, false));
        let mut sides = [(of_two[0], is_first), (of_two[1], !is_first)];
        if a? < b? {
            sides.reverse();
        }
        (a? + b? > 0).then_some(Within { component, sides, condition })
    })
}

/// The two integers of which it is one.
fn of_two(n: &Nest, a: Atom) -> Option<(Condition, [Atom; 2])> {
    let v = a.var()?;
    let l = n.body.lets().find(|l| l.vars == [v])?;
    let Exp::Op(op, args) = &l.exp else { return None };
    match (op, &args[..]) {
        (Op::Min | Op::Max, [a, b]) => Some((Condition::AtMost([*a, *b], *op == Op::Min), [*a, *b])),
        (Op::Select, [c, a, b]) => Some((Condition::Chosen(*c), [*a, *b])),
        _ => None,
    }
}

/// Along how many axes a polynomial moves, or of two the one that moves along more, as in `min(max(i - 1, 0), n - 1)`.
fn axes(forms: &Forms, n: &Nest, a: Atom) -> Option<usize> {
    if let Some(form) = forms.facts.form(a) {
        return Some(form.axes.len());
    }
    let (_, [a, b]) = of_two(n, a)?;
    Some(axes(forms, n, a)?.max(axes(forms, n, b)?))
}

/// The accumulations at either side: if they start from zeros, each alone, and `array` is their sum.
#[allow(clippy::too_many_arguments, reason = "the parts of one accumulation")]
pub(super) fn either(
    p: &mut Program,
    n: &Nest,
    kept: &Within,
    array: ArrayId,
    into: ArrayId,
    index: &[Atom],
    value: Atom,
    from_zeros: bool,
) -> ([Nest; 2], Option<Nest>) {
    let info = p.array(array).clone();
    let mut part = || p.new_array(info.name.clone(), info.elem, info.dims.clone());
    let first = part();
    let (start, second) = if from_zeros { (into, part()) } else { (first, array) };
    let zero = Atom::Const(Const::of(info.elem, 0));
    let steps = [(into, first, kept.sides[0]), (start, second, kept.sides[1])];
    let nests = steps.map(|(into, array, (side, when))| {
        let mut n = n.clone();
        let mut code = Code::new(n.loc);
        let is_first = match kept.condition {
            Condition::AtMost(of_two, _) => code.op(p, Op::Le, &of_two),
            Condition::Chosen(c) => c,
        };
        let (yes, no) = if when { (value, zero) } else { (zero, value) };
        let value = code.select(p, is_first, yes, no);
        n.body.extend(code.lets);
        let mut index = index.to_vec();
        index[kept.component] = side;
        let kind = YieldKind::Accumulate { reducer: Reducer::Add, into, index, value };
        separate(p, &n, Yield { array, kind })
    });
    (nests, from_zeros.then(|| sum(p, array, [first, second], n.loc)))
}
