//! Places in a loop at which something changes, as polynomials over the axes around it, and the code that computes them.

use std::collections::BTreeSet;

use crate::affine::{Affine, Facts};
use crate::bulk::{Atom, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::Node;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Where the counter of a loop meets what it is compared with.
pub(super) struct Meeting {
    /// The counter where both are equal.
    pub at: Affine,
    /// By how much the first of them less the second changes in each trip: one, or minus one.
    pub step: i64,
}

/// Where the two integers of a comparison meet in a loop by this counter, if one comes nearer by one in each trip, and if what they
/// are else is known outside of the loop, that is of these axes.
pub(super) fn meeting(
    facts: &Facts,
    axis: Var,
    outside: &BTreeSet<Var>,
    [a, b]: [Atom; 2],
) -> Option<Meeting> {
    let (a, b) = (facts.form(a)?, facts.form(b)?);
    let mut rest = a.sub(&b);
    let step = rest.axes.remove(&axis)?.as_constant()?;
    let is_known = rest.axes.keys().all(|v| outside.contains(v));
    let can = step.abs() == 1 && is_known && facts.exact(&a) && facts.exact(&b);
    can.then(|| Meeting { at: rest.scale(&Dim::constant(-step)), step })
}

/// Code that computes a border.
pub(super) fn code(b: &Affine, loc: Loc, vars: &mut Vec<Elem>, out: &mut Vec<Node>) -> Atom {
    let mut bind = |exp: Exp| {
        vars.push(Elem::I64);
        let v = Var(vars.len() as u32 - 1);
        out.push(Node::Let(Let { vars: vec![v], exp, loc }));
        Atom::Var(v)
    };
    let size = |d: &Dim, bind: &mut dyn FnMut(Exp) -> Atom| match d.as_constant() {
        Some(c) => Atom::Const(Const::int(Elem::I64, c)),
        None => bind(Exp::Size(d.clone())),
    };
    let mut sum = None;
    for (v, c) in &b.axes {
        let mut term = Atom::Var(*v);
        if c.as_constant() != Some(1) {
            let c = size(c, &mut bind);
            term = bind(Exp::Op(Op::Mul, vec![term, c]));
        }
        sum = Some(match sum {
            Some(s) => bind(Exp::Op(Op::Add, vec![s, term])),
            None => term,
        });
    }
    match (sum, b.rest.as_constant()) {
        (Some(s), Some(0)) => s,
        (Some(s), _) => {
            let rest = size(&b.rest, &mut bind);
            bind(Exp::Op(Op::Add, vec![s, rest]))
        }
        (None, _) => size(&b.rest, &mut bind),
    }
}
