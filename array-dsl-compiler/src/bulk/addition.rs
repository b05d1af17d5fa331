//! Writes that add to what was at their place.

use super::{Atom, Body, Exp, Var, YieldKind};
use crate::scalar::Op;

/// `write into x at [i] of x[i] + term`, or of `x[i] - term`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addition {
    /// What was at the place.
    pub old: Var,
    /// What is added.
    pub term: Atom,
    /// Whether it is subtracted.
    pub is_negated: bool,
}

impl YieldKind {
    /// The addition that a write of a nest with this body is, if nothing else needs what was at its place.
    pub fn addition(&self, body: &Body) -> Option<Addition> {
        let YieldKind::Write { into, index, value: Atom::Var(value), .. } = self else { return None };
        let made = |v| body.lets().find(|l| l.vars[..] == [v]).map(|l| &l.exp);
        let old = |a: &Atom| {
            let v = a.var()?;
            let is_old =
                matches!(made(v)?, Exp::Read { array, index: at, .. } if array == into && at == index);
            is_old.then_some(v)
        };
        let Exp::Op(op @ (Op::Add | Op::Sub), args) = made(*value)? else { return None };
        let (old, term) = match (old(&args[0]), op) {
            (Some(old), _) => (old, args[1]),
            (None, Op::Add) => (old(&args[1])?, args[0]),
            (None, _) => return None,
        };
        let mut uses = 0;
        body.visit_atoms(&mut |a| uses += usize::from(a == Atom::Var(old)));
        (uses == 1).then_some(Addition { old, term, is_negated: *op == Op::Sub })
    }
}
