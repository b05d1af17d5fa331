//! Cheap arithmetic moves out of loops that it does not depend on.
//!
//! Most of it the compiler of the generated code would move just as well, but not remainders, `(i + 1) rem n`: these look as
//! if they could fail, and then keep the loop from being vectorized.

use std::collections::BTreeSet;

use super::Cpu;
use crate::bulk::{Atom, Exp, Let, Var};
use crate::loops::{Loop, Node};

impl Cpu<'_> {
    /// The nodes with everything as far outside as it can be.
    pub(super) fn hoisted(&self, nodes: Vec<Node>) -> Vec<Node> {
        let mut out = Vec::new();
        for n in nodes {
            if let Node::Loop(l) = n {
                let (before, body) = self.split(self.hoisted(l.body), l.axis.var);
                out.extend(before);
                out.push(Node::Loop(Loop { body, ..l }));
            } else {
                out.push(n);
            }
        }
        out
    }

    /// What can move out of a loop over `axis`, and what cannot.
    fn split(&self, nodes: Vec<Node>, axis: Var) -> (Vec<Node>, Vec<Node>) {
        let mut inside: BTreeSet<Var> = [axis].into();
        let mut depends = |n: &Node| match n {
            Node::Let(l) => {
                let mut depends = !self.harmless(l);
                l.exp.visit_atoms(&mut |a| depends |= matches!(a, Atom::Var(v) if inside.contains(&v)));
                if depends {
                    inside.extend(&l.vars);
                }
                depends
            }
            Node::Loop(l) => {
                inside.extend(l.folds.iter().map(|f| f.result));
                true
            }
            _ => true,
        };
        nodes.into_iter().partition(|n| !depends(n))
    }

    /// Whether it does not matter that a statement is executed where it is not needed.
    fn harmless(&self, l: &Let) -> bool {
        match &l.exp {
            Exp::Size(_) => true,
            Exp::Op(op, _) => (op.is_cheap() && !op.can_fail()) || self.facts.is_remainder(l.vars[0]),
            _ => false,
        }
    }
}
