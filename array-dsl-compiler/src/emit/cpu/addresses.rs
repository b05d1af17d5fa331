//! Integers that are computed again in each loop over lanes instead of being kept for it: of `i + 1` where `i` counts the lanes it can
//! be seen that neighboring lanes read neighboring elements, of an element of an array it cannot, and the reads would be gathered.

use std::collections::BTreeSet;

use crate::bulk::{Exp, Let, Var};
use crate::loops::Node;
use crate::ty::Elem;

/// Such integers, in the order in which they are computed.
#[derive(Default)]
pub(super) struct Addresses {
    lets: Vec<Let>,
    /// What differs from lane to lane and is none.
    others: BTreeSet<Var>,
}

impl Addresses {
    /// Goes past a node. `vars` are the types of all scalars.
    pub fn learn(&mut self, n: &Node, vars: &[Elem]) {
        let Node::Let(l) = n else {
            self.others.extend(n.binds());
            return;
        };
        let is_simple = match &l.exp {
            Exp::Op(op, _) => op.is_cheap() && !op.can_fail(),
            Exp::Size(_) => true,
            Exp::Read { .. } | Exp::Inside { .. } | Exp::If(..) | Exp::StopGradient(_) => false,
        };
        let mut is_known = true;
        l.exp.visit_atoms(&mut |a| is_known &= a.var().is_none_or(|v| !self.others.contains(&v)));
        if is_simple && is_known && vars[l.vars[0].0 as usize] == Elem::I64 {
            self.lets.push(l.clone());
        } else {
            self.others.extend(&l.vars);
        }
    }

    /// Says that a scalar is another one in each lane.
    pub fn differs(&mut self, v: Var) {
        self.others.insert(v);
    }

    /// Whether a scalar is one.
    pub fn contains(&self, v: Var) -> bool {
        self.lets.iter().any(|l| l.vars.contains(&v))
    }

    /// The code of those that are used, and of what they need.
    pub fn of(&self, used: &BTreeSet<Var>) -> Vec<Node> {
        let mut needed = used.clone();
        let mut code = Vec::new();
        for l in self.lets.iter().rev() {
            if l.vars.iter().any(|v| needed.contains(v)) {
                code.push(Node::Let(l.clone()));
                l.exp.visit_atoms(&mut |a| needed.extend(a.var()));
            }
        }
        code.reverse();
        code
    }
}
