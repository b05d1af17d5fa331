//! The sizes that a program speaks of, and the integers that they are made of. These are uses of an array that no read shows.

use std::collections::HashSet;

use super::{ArrayId, Block, Exp, Program, Stm, Trips};
use crate::dim::{Dim, SizeAtom};

/// The arrays of rank 0 in a size.
pub fn scalars(d: &Dim) -> impl Iterator<Item = ArrayId> {
    d.atoms().into_iter().filter_map(|a| match a {
        SizeAtom::Scalar(s) => Some(ArrayId(s)),
        SizeAtom::Name(_) => None,
    })
}

impl Exp {
    /// Calls `f` with every size in the expression, branches and steps included.
    pub fn visit_sizes(&self, f: &mut impl FnMut(&Dim)) {
        match self {
            Exp::Size(d) => f(d),
            Exp::If(_, x, y) => [x, y].into_iter().for_each(|b| b.block.visit_sizes(f)),
            Exp::Scan(s) => s.step.block.visit_sizes(f),
            Exp::Op(..) | Exp::Read { .. } | Exp::StopGradient(_) => {}
        }
    }
}

impl Block {
    /// Calls `f` with every size in the code.
    pub fn visit_sizes(&self, f: &mut impl FnMut(&Dim)) {
        self.lets.iter().for_each(|l| l.exp.visit_sizes(f));
    }
}

impl Stm {
    /// Calls `f` with every size of the statement, those of a loop's body included; not with the dimensions of its arrays.
    pub fn visit_sizes(&self, f: &mut impl FnMut(&Dim)) {
        match self {
            Stm::Nest(n) => {
                n.axes.iter().for_each(|a| f(&a.extent));
                n.body.visit_sizes(f);
            }
            Stm::Check(c, _) => c.dims().into_iter().for_each(f),
            Stm::Contract(c) => c.extents.iter().for_each(f),
            Stm::Repeat(r) => {
                if let Trips::For(_, count) = &r.trips {
                    f(count);
                }
                r.body.iter().for_each(|s| s.visit_sizes(f));
            }
            Stm::Reshape { .. } | Stm::Sort(_) | Stm::Custom(_) => {}
        }
    }
}

impl Program {
    /// The arrays that some size mentions.
    pub fn size_scalars(&self) -> HashSet<ArrayId> {
        let mut out: HashSet<ArrayId> = self.arrays.iter().flat_map(|a| &a.dims).flat_map(scalars).collect();
        self.stms.iter().for_each(|s| s.visit_sizes(&mut |d| out.extend(scalars(d))));
        out
    }
}
