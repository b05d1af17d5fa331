//! Sizes that the device computes itself.
//!
//! A size in scalar code may depend on an integer that an earlier step has computed, such as the result of `argmax`. The
//! host cannot put it among the uniform words, since it is in the device's memory, so the code reads it there:
//!
//! ```text
//! v = size 2 k + n     becomes     a = k[];  b = 2 * a;  c = size n;  v = b + c
//! ```
//!
//! Dimensions of arrays and extents of loops must still be known to the host.

use super::host::size_scalars;
use crate::bulk::{ArrayId, Atom, Exp, Let, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{Node, Program, Step};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Rewrites the sizes that only the device knows.
pub(super) fn read_computed(p: &mut Program) {
    let known = size_scalars(p);
    let mut rewrite = Rewrite { known, vars: std::mem::take(&mut p.vars) };
    for step in &mut p.steps {
        if let Step::Tree(tree) = step {
            rewrite.nodes(&mut tree.body);
        }
    }
    p.vars = rewrite.vars;
}

struct Rewrite {
    /// What the host knows.
    known: Vec<ArrayId>,
    /// The types of all scalars.
    vars: Vec<Elem>,
}

impl Rewrite {
    fn nodes(&mut self, nodes: &mut Vec<Node>) {
        for node in std::mem::take(nodes) {
            match node {
                Node::Let(l) => {
                    let mut lets = vec![l];
                    self.lets(&mut lets);
                    nodes.extend(lets.into_iter().map(Node::Let));
                }
                Node::Loop(mut l) => {
                    self.nodes(&mut l.body);
                    nodes.push(Node::Loop(l));
                }
                node => nodes.push(node),
            }
        }
    }

    fn lets(&mut self, lets: &mut Vec<Let>) {
        for mut l in std::mem::take(lets) {
            if let Exp::If(_, yes, no) = &mut l.exp {
                self.lets(&mut yes.block.lets);
                self.lets(&mut no.block.lets);
            }
            if let Exp::Scan(s) = &mut l.exp {
                self.lets(&mut s.step.block.lets);
            }
            match &l.exp {
                Exp::Size(dim) if self.is_computed(dim) => {
                    let sum = self.sum(dim, l.loc, lets);
                    let zero = Atom::Const(Const::int(Elem::I64, 0));
                    lets.push(Let { exp: Exp::Op(Op::Add, vec![sum, zero]), ..l });
                }
                _ => lets.push(l),
            }
        }
    }

    fn is_computed(&self, dim: &Dim) -> bool {
        dim.atoms().into_iter().any(|a| matches!(a, SizeAtom::Scalar(s) if !self.known.contains(&ArrayId(s))))
    }

    /// The polynomial's value.
    fn sum(&mut self, dim: &Dim, loc: Loc, lets: &mut Vec<Let>) -> Atom {
        let mut sum = None;
        for (monomial, coefficient) in dim.terms() {
            let mut term = Atom::Const(Const::int(Elem::I64, coefficient));
            for atom in monomial {
                let exp = match atom {
                    SizeAtom::Scalar(s) if !self.known.contains(&ArrayId(*s)) => {
                        Exp::Read { array: ArrayId(*s), index: Vec::new(), checked: false }
                    }
                    known => Exp::Size(Dim::atom(known.clone())),
                };
                let factor = self.bind(exp, loc, lets);
                term = self.bind(Exp::Op(Op::Mul, vec![term, factor]), loc, lets);
            }
            sum = Some(match sum {
                None => term,
                Some(s) => self.bind(Exp::Op(Op::Add, vec![s, term]), loc, lets),
            });
        }
        sum.unwrap_or(Atom::Const(Const::int(Elem::I64, 0)))
    }

    fn bind(&mut self, exp: Exp, loc: Loc, lets: &mut Vec<Let>) -> Atom {
        self.vars.push(Elem::I64);
        let v = Var(self.vars.len() as u32 - 1);
        lets.push(Let { vars: vec![v], exp, loc });
        Atom::Var(v)
    }
}
