//! Cheap arithmetic moves out of loops that it does not depend on.
//!
//! Most of it the compiler of the generated code would move just as well, but not remainders, `(i + 1) rem n`: these look as
//! if they could fail, and then keep the loop from being vectorized.

use std::collections::BTreeSet;

use super::Cpu;
use crate::affine::Facts;
use crate::bulk::{Atom, Exp, Let, Var};
use crate::loops::{Loop, Node, Recurrence};

impl Cpu<'_> {
    /// The nodes with everything as far outside as it can be; `facts` are those of the place where they stand.
    pub(super) fn hoisted(&self, nodes: Vec<Node>, facts: &mut Facts) -> Vec<Node> {
        let mut out = Vec::new();
        for n in nodes {
            if let Node::Recurrence(r) = n {
                let scope = facts.scope();
                self.enter(&r.rounds, facts);
                let bound = r.bound();
                let body = self.hoisted(r.body, facts);
                let (before, body) = split(body, bound, facts);
                facts.leave(scope);
                self.learn(&before, facts);
                out.extend(before);
                out.push(Node::Recurrence(Recurrence { body, ..r }));
            } else if let Node::Loop(l) = n {
                let scope = facts.scope();
                l.axes().for_each(|a| facts.enter(a));
                facts.within(&l.axis, l.range.from, l.range.to);
                let body = self.hoisted(l.body, facts);
                let (before, body) = split(body, [l.axis.var].into(), facts);
                facts.leave(scope);
                self.learn(&before, facts);
                out.extend(before);
                out.push(Node::Loop(Loop { body, ..l }));
            } else {
                self.learn(std::slice::from_ref(&n), facts);
                out.push(n);
            }
        }
        out
    }
}

/// What can move out of a loop that binds these for each trip, and what cannot.
fn split(nodes: Vec<Node>, mut inside: BTreeSet<Var>, facts: &Facts) -> (Vec<Node>, Vec<Node>) {
    let mut depends = |n: &Node| match n {
        Node::Let(l) => {
            let mut depends = !harmless(l, facts);
            l.exp.visit_atoms(&mut |a| depends |= matches!(a, Atom::Var(v) if inside.contains(&v)));
            if depends {
                inside.extend(&l.vars);
            }
            depends
        }
        n => {
            inside.extend(n.binds());
            true
        }
    };
    nodes.into_iter().partition(|n| !depends(n))
}

/// Whether it does not matter that a statement is executed where it is not needed. A remainder by the extent of an axis that it
/// moves along does not: where it can be computed the axis has points.
fn harmless(l: &Let, facts: &Facts) -> bool {
    match &l.exp {
        Exp::Size(_) => true,
        Exp::Op(op, _) => {
            (op.is_cheap() && !op.can_fail()) || facts.once_around(Atom::Var(l.vars[0])).is_some()
        }
        _ => false,
    }
}
