//! Scalar code where a condition is false.

use super::build::{Renaming, decided, folded, renamed};
use super::{Atom, Branch, Exp, Let, Reducer, Var};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// What scalars are in code in which a condition is false, which is followed step by step. A step is none if it may fail.
pub struct Idle<'a> {
    vars: &'a [Elem],
    names: Renaming,
    /// The condition.
    holds: Var,
    /// Whether zero times anything is nothing: of what may be infinite or no number as well.
    annuls: bool,
}

impl<'a> Idle<'a> {
    /// Before code in which this is false; `vars` are the types of all scalars.
    pub fn new(vars: &'a [Elem], holds: Var, annuls: bool) -> Idle<'a> {
        let names = [(holds, Atom::Const(Const::bool(false)))].into_iter().collect();
        Idle { vars, names, holds, annuls }
    }

    /// What a scalar is there.
    pub fn at(&self, a: Atom) -> Atom {
        renamed(&self.names, a)
    }

    /// A scalar is the same as another one there.
    pub fn learn(&mut self, v: Var, a: Atom) {
        self.names.insert(v, a);
    }

    /// Whether combining a scalar in changes nothing there.
    pub fn is_neutral(&self, r: Reducer, a: Atom) -> bool {
        matches!(self.at(a), Atom::Const(c) if r.op().is_some() && c == r.neutral(c.elem))
    }

    /// Past a statement.
    pub fn binding(&mut self, l: &Let) -> Option<()> {
        if l.vars == [self.holds] {
            return Some(());
        }
        let exp = l.exp.renamed(&self.names);
        match &exp {
            Exp::If(Atom::Const(c), yes, no) => {
                let Branch { block, results } = if c.as_bool() { yes } else { no };
                block.lets.iter().try_for_each(|l| self.binding(l))?;
                let results: Vec<Atom> = results.iter().map(|a| self.at(*a)).collect();
                self.names.extend(l.vars.iter().copied().zip(results));
                return Some(());
            }
            Exp::Op(op, args) => {
                let zero = |a: &Atom| matches!(a, Atom::Const(c) if c.is_zero());
                let known = match (op, &args[..]) {
                    (Op::Scale, [a, _]) if zero(a) => Some(*a),
                    (Op::Mul, [a, b]) if self.annuls && (zero(a) || zero(b)) => {
                        Some(if zero(a) { *a } else { *b })
                    }
                    (Op::Div, [a, _]) if self.annuls && zero(a) => Some(*a),
                    (Op::Neg, [a]) if self.annuls && zero(a) => {
                        Some(Atom::Const(Const::of(self.vars[l.vars[0].0 as usize], 0)))
                    }
                    (Op::Add, [a, b]) if zero(a) => Some(*b),
                    (Op::Add | Op::Sub, [a, b]) if zero(b) => Some(*a),
                    _ => decided(*op, args).or_else(|| folded(*op, args).map(Atom::Const)),
                };
                if let Some(a) = known {
                    self.names.insert(l.vars[0], a);
                    return Some(());
                }
            }
            _ => {}
        }
        let l = Let { vars: l.vars.clone(), exp, loc: l.loc };
        (!l.may_fail(self.vars)).then_some(())
    }
}
