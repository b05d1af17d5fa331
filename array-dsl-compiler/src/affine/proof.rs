//! Reads that are not compared with their array's dimensions, and have no reason to be inside at the place where they stand.
//!
//! A pass may leave a read in a form from which its reason cannot be told any more. It is compared again then ([`compare`]): that
//! costs time, and nothing else.

use std::collections::HashSet;

use super::{Checked, Facts, Types};
use crate::bulk::{ArrayId, Axis, Exp, Let, Program, Stm, Var};
use crate::dim::Dim;

/// A walk over the scalar code of a nest or of a tree of loops, in the order of execution.
pub(crate) struct Proof<'a> {
    types: Types<'a>,
    /// What is known at this place.
    pub facts: Facts,
    /// The dimensions of an array: those of the loops around it, if it is a row of them, and those that the indices of a read count.
    dims: &'a dyn Fn(ArrayId) -> (&'a [Dim], &'a [Dim]),
    /// The scalars that are read without a reason, and of which arrays.
    pub unproven: Vec<(Var, ArrayId)>,
}

impl<'a> Proof<'a> {
    /// Of code that comes after statements that have established `checked`.
    pub fn new(
        types: Types<'a>,
        checked: &Checked,
        dims: &'a dyn Fn(ArrayId) -> (&'a [Dim], &'a [Dim]),
    ) -> Self {
        Proof { types, facts: Facts::new(&[], checked), dims, unproven: Vec::new() }
    }

    /// Into a loop. What is known of the scalars around it holds in it.
    pub fn enter(&mut self, axis: &Axis) {
        self.facts.enter(axis);
    }

    /// One statement.
    pub fn binding(&mut self, l: &Let) {
        match &l.exp {
            Exp::Read { array, index, checked: false } => {
                let (around, dims) = (self.dims)(*array);
                if !self.facts.all_inside_row(around, index, dims) {
                    self.unproven.push((l.vars[0], *array));
                }
            }
            Exp::If(c, yes, no) => {
                for (branch, when) in [(yes, true), (no, false)] {
                    if has_unchecked_reads(&branch.block.lets) {
                        let scope = self.facts.scope();
                        self.facts.assume(*c, when);
                        branch.block.lets.iter().for_each(|l| self.binding(l));
                        self.facts.leave(scope);
                    }
                }
            }
            Exp::Scan(s) => {
                let scope = self.facts.scope();
                s.step.block.lets.iter().for_each(|l| self.binding(l));
                self.facts.leave(scope);
            }
            _ => {}
        }
        self.facts.learn(self.types, l);
    }
}

fn has_unchecked_reads(lets: &[Let]) -> bool {
    lets.iter().any(|l| match &l.exp {
        Exp::Read { index, checked, .. } => !checked && !index.is_empty(),
        Exp::If(_, yes, no) => [yes, no].iter().any(|b| has_unchecked_reads(&b.block.lets)),
        Exp::Scan(s) => has_unchecked_reads(&s.step.block.lets),
        _ => false,
    })
}

/// Has the reads compared that have no reason to be inside.
pub(crate) fn compare(p: &mut Program) {
    let mut unproven = Vec::new();
    of_stms(p, &p.stms, Checked::default(), &mut unproven);
    if !unproven.is_empty() {
        let vars: HashSet<Var> = unproven.into_iter().map(|(v, _)| v).collect();
        p.stms.iter_mut().for_each(|s| compare_in(s, &vars));
    }
}

/// The reads of statements that have no reason to be inside.
pub(crate) fn of_stms(p: &Program, stms: &[Stm], mut checked: Checked, out: &mut Vec<(Var, ArrayId)>) {
    let dims = |a: ArrayId| p.array(a).dims.split_at(0);
    for s in stms {
        match s {
            Stm::Nest(n) => {
                let mut proof = Proof::new(Types::from(p), &checked, &dims);
                n.axes.iter().for_each(|x| proof.enter(x));
                n.body.lets.iter().for_each(|l| proof.binding(l));
                out.extend(proof.unproven);
            }
            Stm::Repeat(r) => of_stms(p, &r.body, checked.inside_repeat(r, p), out),
            _ => {}
        }
        checked.statement(s, p);
    }
}

fn compare_in(s: &mut Stm, vars: &HashSet<Var>) {
    match s {
        Stm::Nest(n) => compare_lets(&mut n.body.lets, vars),
        Stm::Repeat(r) => r.body.iter_mut().for_each(|s| compare_in(s, vars)),
        _ => {}
    }
}

fn compare_lets(lets: &mut [Let], vars: &HashSet<Var>) {
    for l in lets {
        match &mut l.exp {
            Exp::Read { checked, .. } => *checked |= vars.contains(&l.vars[0]),
            Exp::If(_, yes, no) => [yes, no].into_iter().for_each(|b| compare_lets(&mut b.block.lets, vars)),
            Exp::Scan(s) => compare_lets(&mut s.step.block.lets, vars),
            _ => {}
        }
    }
}
