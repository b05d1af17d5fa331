//! Accumulations at places that are kept within a border, `min(i + 1, n - 1)`: at either of two, each where it is the lesser or greater one.
//!
//! ```text
//! accumulate(+) at min(a, b) of v  =  accumulate(+) at a of (if a <= b { v } else { 0 }), and at b of (if a <= b { 0 } else { v })
//! ```
//!
//! The first is at the one that moves along more axes. Into zeros both are gathers, the border of one element or row of sums, and the result
//! is their sum, which is one loop in the end. Else the second accumulates into what the first gives.

use super::{Forms, separate};
use crate::bulk::build::Code;
use crate::bulk::{ArrayId, Atom, Exp, Nest, Program, Reducer, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::Const;

/// A component of an index that is the least or greatest of two integers, polynomials in the end.
pub(super) struct Within {
    component: usize,
    /// What it is where `a <= b`, if that is `true`, or where not; first what moves along more axes.
    sides: [(Atom, bool); 2],
    ends: [Atom; 2],
}

pub(super) fn kept_within(forms: &Forms, n: &Nest, index: &[Atom]) -> Option<Within> {
    index.iter().enumerate().find_map(|(component, i)| {
        let (op, ends) = ends(n, *i)?;
        let [a, b] = ends.map(|a| axes(forms, n, a));
        let mut sides = [(ends[0], op == Op::Min), (ends[1], op == Op::Max)];
        if a? < b? {
            sides.reverse();
        }
        (a? + b? > 0).then_some(Within { component, sides, ends })
    })
}

/// The two integers of which one is the least or greatest.
fn ends(n: &Nest, a: Atom) -> Option<(Op, [Atom; 2])> {
    let v = a.var()?;
    let l = n.body.lets().find(|l| l.vars == [v])?;
    match &l.exp {
        Exp::Op(op @ (Op::Min | Op::Max), args) => Some((*op, [args[0], args[1]])),
        _ => None,
    }
}

/// Along how many axes a polynomial moves, or of two the one that moves along more, as in `min(max(i - 1, 0), n - 1)`.
fn axes(forms: &Forms, n: &Nest, a: Atom) -> Option<usize> {
    if let Some(form) = forms.facts.form(a) {
        return Some(form.axes.len());
    }
    let (_, [a, b]) = ends(n, a)?;
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
        let is_first = code.op(p, Op::Le, &kept.ends);
        let (yes, no) = if when { (value, zero) } else { (zero, value) };
        let value = code.select(p, is_first, yes, no);
        n.body.extend(code.lets);
        let mut index = index.to_vec();
        index[kept.component] = side;
        let kind = YieldKind::Accumulate { reducer: Reducer::Add, into, index, value };
        separate(p, &n, Yield { array, kind })
    });
    let sum = from_zeros.then(|| {
        let axes = p.new_axes(&info.dims);
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(n.loc);
        let [x, y] = [first, second].map(|part| code.read(p, part, &at));
        let kind = YieldKind::Store(code.add(p, x, y));
        Nest { axes, body: code.into(), yields: vec![Yield { array, kind }], loc: n.loc }
    });
    (nests, sum)
}
