//! Sizes that the device computes itself.
//!
//! A size in scalar code may depend on an integer that an earlier step has computed, such as the result of `argmax`. The
//! host cannot put it among the uniform words, since it is in the device's memory, so the code reads it there:
//!
//! ```text
//! v = size 2 k + n     becomes     a = k[];  b = 2 * a;  c = size n;  v = b + c
//! ```
//!
//! Dimensions of arrays, extents of axes and numbers of trips are the host's matter. If one of them mentions such an integer, it
//! becomes an atom of sizes when it is computed. The host may still do without the number, as long as a bound of it serves
//! (`bounds` here, the module `extent` of the runtime), and then it is copied to the uniform words on the device. A size with more
//! in it than that number is made in the shader: where it is a dimension, of the words (`Shader::sum`); in scalar code by
//! operations on it, as above.

use std::collections::BTreeSet;

use crate::bulk::{ArrayId, Atom, Exp, Let, Trips, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Home, Node, Program, Repeat, Rounds, Step, no_bands};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Whether one of these integers is an atom of a size, and not all of it.
pub(crate) fn is_composed(dim: &Dim, computed: &[ArrayId]) -> bool {
    let is_computed = |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if computed.contains(&ArrayId(*s)));
    dim.as_atom().is_none() && dim.atoms().iter().any(is_computed)
}

/// The parameters' arrays in order.
pub fn inputs(p: &Program) -> Vec<ArrayId> {
    p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect()
}

/// The scalar parameters that sizes may mention: those of rank 0 and type `i64`, in order. In the atoms of a `Poly` they
/// follow the named sizes.
pub fn size_scalars(p: &Program) -> Vec<ArrayId> {
    let is_size = |a: &ArrayId| {
        let info = &p.arrays[a.0 as usize];
        info.elem == Elem::I64 && info.dims.is_empty()
    };
    inputs(p).into_iter().filter(is_size).collect()
}

/// What the host knows of the integers of rank 0: scalar parameters and the numbers of trips.
pub(crate) fn known_scalars(p: &Program) -> Vec<ArrayId> {
    let mut known = size_scalars(p);
    known.extend(counters(p));
    known
}

/// The numbers of trips.
pub(super) fn counters(p: &Program) -> Vec<ArrayId> {
    let mut all = Vec::new();
    repeats(&p.steps, &mut |r| {
        if let Trips::For(index, _) = &r.trips {
            all.push(*index);
        }
    });
    all
}

/// Calls `f` with every loop of steps, the outer ones first.
fn repeats(steps: &[Step], f: &mut impl FnMut(&Repeat)) {
    for s in steps {
        if let Step::Repeat(r) = s {
            f(r);
            repeats(&r.steps, f);
        }
    }
}

/// The integers that steps compute and that the host has as atoms of sizes.
pub(crate) fn computed(p: &Program) -> Vec<ArrayId> {
    let known = known_scalars(p);
    let mut needed = BTreeSet::new();
    let mut need = |d: &Dim| {
        needed.extend(d.atoms().into_iter().filter_map(|a| match a {
            SizeAtom::Scalar(s) => Some(ArrayId(s)),
            SizeAtom::Name(_) => None,
        }));
    };
    for a in p.arrays.iter().filter(|a| a.home != Home::Nowhere) {
        a.dims.iter().for_each(&mut need);
    }
    host_sizes(&p.steps, &mut need);
    needed.retain(|a| !known.contains(a));
    let mut computed = Vec::new();
    all_bound(p, &p.steps, &needed.into_iter().collect::<Vec<_>>(), &mut computed);
    computed.sort();
    computed.dedup();
    computed
}

/// Rewrites the sizes that only the device knows.
pub fn read_computed(p: &mut Program) {
    let computed = computed(p);
    let known = known_scalars(p).into_iter().chain(computed.iter().copied()).collect();
    let mut rewrite = Rewrite { known, computed, vars: std::mem::take(&mut p.vars) };
    rewrite.steps(&mut p.steps);
    p.vars = rewrite.vars;
}

/// Those of the integers that a step computes.
pub(crate) fn bound(p: &Program, step: &Step, scalars: &[ArrayId]) -> Vec<ArrayId> {
    let mut made = Vec::new();
    match step {
        Step::Tree(t) => visit_arrays(&t.body, &mut |a, access| {
            if access != Access::Read {
                made.push(a);
            }
        }),
        Step::Contract(c) => made.push(c.result),
        Step::Fill { array, .. } | Step::Copy { array, .. } | Step::Move { array, .. } => made.push(*array),
        Step::Repeat(r) => made.extend(r.carried.iter().map(|c| c.arrays.result)),
        Step::Sort(s) => made.push(s.result),
        Step::Call(c) => made.extend(&c.results),
        Step::Bands(_) => no_bands(),
        Step::Check(..) => {}
    }
    // What is a view of an integer is bound with it.
    let is_bound = |a: &ArrayId| {
        let mut a = *a;
        loop {
            match p.arrays.get(a.0 as usize).map(|info| &info.home) {
                _ if made.contains(&a) => return true,
                Some(Home::View(of)) => a = *of,
                _ => return false,
            }
        }
    };
    scalars.iter().copied().filter(is_bound).collect()
}

fn all_bound(p: &Program, steps: &[Step], scalars: &[ArrayId], out: &mut Vec<ArrayId>) {
    for step in steps {
        if let Step::Repeat(r) = step {
            all_bound(p, &r.steps, scalars, out);
        }
        out.extend(bound(p, step, scalars));
    }
}

/// Calls `f` with the sizes that the host needs for the steps.
fn host_sizes(steps: &[Step], f: &mut impl FnMut(&Dim)) {
    for step in steps {
        match step {
            Step::Tree(t) => {
                t.axes.iter().for_each(|a| f(&a.extent));
                extents(&t.body, f);
            }
            Step::Contract(c) => c.sizes().for_each(&mut *f),
            Step::Check(c, _) => c.dims().into_iter().for_each(&mut *f),
            Step::Repeat(r) => {
                if let Trips::For(_, count) = &r.trips {
                    f(count);
                }
                host_sizes(&r.steps, f);
            }
            Step::Bands(_) => no_bands(),
            Step::Fill { .. } | Step::Copy { .. } | Step::Move { .. } | Step::Sort(_) | Step::Call(_) => {}
        }
    }
}

fn extents(nodes: &[Node], f: &mut impl FnMut(&Dim)) {
    for node in nodes {
        match node {
            Node::Loop(l) => {
                f(&l.axis.extent);
                extents(&l.body, f);
            }
            Node::Recurrence(r) => {
                if let Rounds::For(a, _) = &r.rounds {
                    f(&a.extent);
                }
                extents(&r.body, f);
            }
            Node::Let(_)
            | Node::Scan(_)
            | Node::Store { .. }
            | Node::Accumulate { .. }
            | Node::Write { .. } => {}
        }
    }
}

struct Rewrite {
    /// The integers that are atoms of sizes.
    known: Vec<ArrayId>,
    /// Those of them that the device computes.
    computed: Vec<ArrayId>,
    /// The types of all scalars.
    vars: Vec<Elem>,
}

impl Rewrite {
    fn steps(&mut self, steps: &mut [Step]) {
        for step in steps {
            match step {
                Step::Tree(tree) => self.nodes(&mut tree.body),
                Step::Repeat(r) => self.steps(&mut r.steps),
                _ => {}
            }
        }
    }

    fn nodes(&mut self, nodes: &mut Vec<Node>) {
        for node in std::mem::take(nodes) {
            match node {
                Node::Let(l) => {
                    let mut lets = vec![l];
                    self.lets(&mut lets);
                    nodes.extend(lets.into_iter().map(Node::Let));
                }
                Node::Scan(mut s) => {
                    self.lets(&mut s.step.block.lets);
                    nodes.push(Node::Scan(s));
                }
                Node::Loop(mut l) => {
                    self.nodes(&mut l.body);
                    nodes.push(Node::Loop(l));
                }
                Node::Recurrence(mut r) => {
                    self.nodes(&mut r.body);
                    nodes.push(Node::Recurrence(r));
                }
                node @ (Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. }) => {
                    nodes.push(node)
                }
            }
        }
    }

    fn lets(&mut self, lets: &mut Vec<Let>) {
        for mut l in std::mem::take(lets) {
            if let Exp::If(_, yes, no) = &mut l.exp {
                self.lets(&mut yes.block.lets);
                self.lets(&mut no.block.lets);
            }
            match &l.exp {
                Exp::Size(dim) if self.is_computed(dim) || is_composed(dim, &self.computed) => {
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
