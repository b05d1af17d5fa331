//! Code that does nothing where a condition is false.

use crate::bulk::build::{Renaming, decided, folded, renamed};
use crate::bulk::{Atom, Branch, Exp, Let, Reducer, Scan, Var};
use crate::loops::{Node, Rounds};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// Code in which a condition is false. Each step is none if it does something, or may fail.
pub(super) struct Idle<'a> {
    vars: &'a [Elem],
    /// What scalars are then.
    pub names: Renaming,
    /// The condition.
    holds: Var,
}

impl<'a> Idle<'a> {
    /// What scalars are in code in which a condition is false, if it does nothing then.
    pub fn without(vars: &'a [Elem], body: &[Node], holds: Var) -> Option<Idle<'a>> {
        let names = [(holds, Atom::Const(Const::bool(false)))].into_iter().collect();
        let mut idle = Idle { vars, names, holds };
        idle.nodes(body)?;
        Some(idle)
    }

    fn nodes(&mut self, nodes: &[Node]) -> Option<()> {
        nodes.iter().try_for_each(|n| self.node(n))
    }

    fn node(&mut self, n: &Node) -> Option<()> {
        let is = |idle: bool| idle.then_some(());
        match n {
            Node::Let(l) => self.binding(l),
            Node::Scan(s) => self.scan(s),
            Node::Loop(l) => {
                is(!l.is_ordered())?;
                self.nodes(&l.body)?;
                for f in &l.folds {
                    let value = renamed(&self.names, f.value);
                    if is_neutral(f.reducer, value) {
                        self.names.insert(f.result, value);
                    }
                }
                Some(())
            }
            Node::Recurrence(r) => match r.rounds {
                Rounds::For(..) => self.nodes(&r.body),
                Rounds::While(_) => None,
            },
            Node::Store { .. } => None,
            Node::Accumulate { reducer, index, value, .. } => {
                is(self.is_nowhere(index) || is_neutral(*reducer, renamed(&self.names, *value)))
            }
            Node::Write { index, .. } => is(self.is_nowhere(index)),
        }
    }

    fn is_nowhere(&self, index: &[Atom]) -> bool {
        let is_negative = |a: &Atom| matches!(renamed(&self.names, *a), Atom::Const(c) if c.as_i64() < 0);
        index.iter().any(is_negative)
    }

    /// A scan whose states stay as they are.
    fn scan(&mut self, s: &Scan) -> Option<()> {
        s.step.block.lets.iter().try_for_each(|l| self.binding(l))?;
        let is_same = |(left, result): (&Var, &Atom)| renamed(&self.names, *result) == Atom::Var(*left);
        s.left.iter().zip(&s.step.results).all(is_same).then_some(())
    }

    fn binding(&mut self, l: &Let) -> Option<()> {
        if l.vars == [self.holds] {
            return Some(());
        }
        let exp = l.exp.renamed(&self.names);
        match &exp {
            Exp::If(Atom::Const(c), yes, no) => {
                let Branch { block, results } = if c.as_bool() { yes } else { no };
                block.lets.iter().try_for_each(|l| self.binding(l))?;
                let results: Vec<Atom> = results.iter().map(|a| renamed(&self.names, *a)).collect();
                self.names.extend(l.vars.iter().copied().zip(results));
                return Some(());
            }
            Exp::Op(op, args) => {
                let zero = |a: &Atom| matches!(a, Atom::Const(c) if c.is_zero());
                let known = match (op, &args[..]) {
                    (Op::Scale, [a, _]) if zero(a) => Some(*a),
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

/// Whether combining a value in changes nothing.
pub(super) fn is_neutral(r: Reducer, a: Atom) -> bool {
    matches!(a, Atom::Const(c) if r.op().is_some() && c == r.neutral(c.elem))
}
