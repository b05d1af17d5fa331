//! Which of the kernel's `i64` scalars fit 32 bits whatever the data.
//!
//! Every scalar gets an interval that holds its values. Extents and sizes are within 2^30 (the runtime refuses what is not,
//! see `Word::Size`), so the usual arithmetic of indices fits: `i + 1`, `n - 1 - i`, `i - j`, `2 i + 1`, `(i + k) % n`. A scalar
//! whose interval fits is computed as `i32`, and so is what it is computed from; all others are `i64`. Scalars are bound before they
//! are used, and what goes from trip to trip may be anything, so one pass is enough.

use super::sizes::counters;
use crate::bulk::{ArrayId, Atom, Exp, Let, Reducer, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{ArrayInfo, Node, Program, Rounds, Step};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// The greatest extent, and the greatest size by magnitude.
pub(crate) const MOST: i64 = 1 << 30;

/// The integers from `.0` to `.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval(i64, i64);

impl Interval {
    const ALL: Interval = Interval(i64::MIN, i64::MAX);

    /// Whether all of them are of type `i32`.
    pub(super) fn fits(self) -> bool {
        self.0 >= i32::MIN.into() && self.1 <= i32::MAX.into()
    }

    fn or(self, other: Interval) -> Interval {
        Interval(self.0.min(other.0), self.1.max(other.1))
    }

    /// Whether all of them are 0 or 1.
    pub(super) fn is_flag(self) -> bool {
        self.0 >= 0 && self.1 <= 1
    }

    /// The greatest magnitude.
    fn magnitude(self) -> i64 {
        self.0.saturating_neg().max(self.1)
    }

    /// From the ends; anything if one of them overflows.
    fn between(ends: [Option<i64>; 2]) -> Interval {
        if let [Some(low), Some(high)] = ends { Interval(low, high) } else { Interval::ALL }
    }
}

/// By scalar of a lowered program, whether it is an `i64` that fits 32 bits.
pub(crate) fn narrow(p: &Program) -> Vec<bool> {
    intervals(p, &counters(p)).into_iter().map(Interval::fits).collect()
}

/// The intervals of all scalars of a program; those that are no integers have all. `counters` are the numbers of trips.
pub(super) fn intervals(p: &Program, counters: &[ArrayId]) -> Vec<Interval> {
    let mut found =
        Found { vars: &p.vars, arrays: &p.arrays, counters, known: vec![Interval::ALL; p.vars.len()] };
    found.steps(&p.steps);
    found.known
}

struct Found<'p> {
    vars: &'p [Elem],
    arrays: &'p [ArrayInfo],
    counters: &'p [ArrayId],
    known: Vec<Interval>,
}

impl Found<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Tree(tree) => {
                    tree.axes.iter().for_each(|a| self.axis(a.var, &a.extent));
                    self.nodes(&tree.body);
                }
                Step::Repeat(r) => self.steps(&r.steps),
                _ => {}
            }
        }
    }

    fn axis(&mut self, v: Var, extent: &Dim) {
        let most = extent.as_constant().unwrap_or(MOST).clamp(1, MOST);
        self.set(v, Interval(0, most - 1));
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Let(l) => self.bind(l),
                Node::Scan(s) => s.step.block.lets.iter().for_each(|l| self.bind(l)),
                Node::Loop(l) => {
                    self.axis(l.axis.var, &l.axis.extent);
                    self.nodes(&l.body);
                    for f in &l.folds {
                        let value = self.of(f.value);
                        let neutral = |elem| value.or(constant(f.reducer.neutral(elem)));
                        let result = match f.reducer {
                            Reducer::ArgMin | Reducer::ArgMax => {
                                self.known[l.axis.var.0 as usize].or(Interval(0, 0))
                            }
                            Reducer::Min | Reducer::Max | Reducer::Last => {
                                neutral(self.vars[f.result.0 as usize])
                            }
                            _ => Interval::ALL,
                        };
                        self.set(f.result, result);
                    }
                }
                // Its states may become anything.
                Node::Recurrence(r) => {
                    if let Rounds::For(a, _) = &r.rounds {
                        self.axis(a.var, &a.extent);
                    }
                    for s in &r.states {
                        self.set(s.state, Interval::ALL);
                        self.set(s.result, Interval::ALL);
                    }
                    self.nodes(&r.body);
                }
                Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
            }
        }
    }

    fn bind(&mut self, l: &Let) {
        match &l.exp {
            Exp::If(_, yes, no) => {
                yes.block.lets.iter().chain(&no.block.lets).for_each(|l| self.bind(l));
                for ((v, a), b) in l.vars.iter().zip(&yes.results).zip(&no.results) {
                    let either = self.of(*a).or(self.of(*b));
                    self.set(*v, either);
                }
            }
            Exp::Size(dim) => self.set(l.vars[0], self.size(dim)),
            Exp::Op(op, args) => {
                let result = self.apply(*op, args);
                self.set(l.vars[0], result);
            }
            Exp::Read { array, .. } if self.counters.contains(array) => {
                self.set(l.vars[0], Interval(0, MOST - 1));
            }
            Exp::Read { .. } | Exp::Inside { .. } | Exp::StopGradient(_) => {}
        }
    }

    /// The values of a size. One that is a product may be too long to be a size of anything, but is still a number.
    fn size(&self, dim: &Dim) -> Interval {
        match (dim.as_constant(), dim.as_atom()) {
            (Some(c), _) => Interval(c, c),
            (None, Some(SizeAtom::Name(_))) => Interval(0, MOST),
            (None, Some(SizeAtom::Scalar(s))) if self.arrays[*s as usize].most.is_some() => Interval(0, MOST),
            (None, _) if is_word(dim) => Interval(-MOST, MOST),
            (None, _) => Interval::ALL,
        }
    }

    fn set(&mut self, v: Var, interval: Interval) {
        if self.vars[v.0 as usize] == Elem::I64 {
            self.known[v.0 as usize] = interval;
        }
    }

    fn of(&self, a: Atom) -> Interval {
        match a {
            Atom::Var(v) => self.known[v.0 as usize],
            Atom::Const(c) => constant(c),
        }
    }

    fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }

    fn apply(&self, op: Op, args: &[Atom]) -> Interval {
        let of = |k: usize| args.get(k).map_or(Interval::ALL, |a| self.of(*a));
        let (a, b) = (of(0), of(1));
        match op {
            Op::Add => Interval::between([a.0.checked_add(b.0), a.1.checked_add(b.1)]),
            Op::Sub => Interval::between([a.0.checked_sub(b.1), a.1.checked_sub(b.0)]),
            Op::Mul => {
                let products =
                    [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.checked_mul(y));
                let all: Option<Vec<i64>> = products.into_iter().collect();
                let ends = all.map_or([None, None], |p| [p.iter().min().copied(), p.iter().max().copied()]);
                Interval::between(ends)
            }
            Op::Neg => Interval::between([a.1.checked_neg(), a.0.checked_neg()]),
            Op::Abs if a.0 > i64::MIN => Interval(0, a.magnitude()),
            Op::Min => Interval(a.0.min(b.0), a.1.min(b.1)),
            Op::Max => Interval(a.0.max(b.0), a.1.max(b.1)),
            Op::Select => b.or(of(2)),
            Op::Signum0 => Interval(-1, 1),
            // Division by zero yields zero, and the quotient is never longer.
            Op::Div => Interval(a.0.min(-a.magnitude()), a.magnitude()),
            Op::Rem => {
                let most = a.magnitude().min((b.magnitude() - 1).max(0));
                if a.0 >= 0 { Interval(0, most) } else { Interval(-most, most) }
            }
            Op::RemEuclid => Interval(0, (b.magnitude() - 1).max(0)),
            Op::And if a.0 >= 0 || b.0 >= 0 => {
                let most = [a, b].into_iter().filter(|i| i.0 >= 0).map(|i| i.1).min();
                Interval(0, most.unwrap_or(i64::MAX))
            }
            Op::Shr => a.or(Interval(0, 0)),
            Op::Cast(Elem::I64) => match args.first().map(|a| self.elem(*a)) {
                Some(Elem::I32) => Interval(i32::MIN.into(), i32::MAX.into()),
                Some(Elem::U32) => Interval(0, u32::MAX.into()),
                Some(Elem::Bool) => Interval(0, 1),
                Some(Elem::I64) => a,
                _ => Interval::ALL,
            },
            _ => Interval::ALL,
        }
    }
}

fn constant(c: Const) -> Interval {
    if c.elem == Elem::I64 { Interval(c.as_i64(), c.as_i64()) } else { Interval::ALL }
}

/// Whether a size in scalar code is passed as one word: it has no products.
pub(super) fn is_word(dim: &Dim) -> bool {
    dim.terms().all(|(monomial, _)| monomial.len() <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::Loc;

    /// The interval of an expression over an axis `i` of `n` points and a number `x` that is read.
    fn of(op: Op, args: &[Atom]) -> Interval {
        let vars = [Elem::I64; 2];
        let mut found = Found { vars: &vars, arrays: &[], counters: &[], known: vec![Interval::ALL; 2] };
        found.axis(Var(0), &Dim::name("n"));
        found.apply(op, args)
    }

    fn int(value: i64) -> Atom {
        Atom::Const(Const::int(Elem::I64, value))
    }

    #[test]
    fn arithmetic_of_indices_fits() {
        let (i, x) = (Atom::Var(Var(0)), Atom::Var(Var(1)));
        for (op, args) in [
            (Op::Add, [i, int(1)]),
            (Op::Sub, [i, i]),
            (Op::Add, [i, i]),
            (Op::Mul, [int(2), i]),
            (Op::Rem, [x, int(7)]),
            (Op::Rem, [i, x]),
            (Op::RemEuclid, [x, int(1000)]),
            (Op::Div, [i, x]),
            (Op::Min, [int(0), i]),
            (Op::And, [x, int(255)]),
            (Op::Shr, [i, int(3)]),
        ] {
            assert!(of(op, &args).fits(), "{op:?} {args:?}: {:?}", of(op, &args));
        }
        for (op, args) in [
            (Op::Add, [x, int(1)]),
            (Op::Mul, [i, i]),
            (Op::Mul, [int(3), i]),
            (Op::Shl, [i, int(1)]),
            (Op::Min, [x, i]),
            (Op::Rem, [x, x]),
        ] {
            assert!(!of(op, &args).fits(), "{op:?} {args:?}: {:?}", of(op, &args));
        }
        assert_eq!(of(Op::Sub, &[int(i64::MIN), int(1)]), Interval::ALL);
    }

    #[test]
    fn sizes_fit_unless_they_are_products() {
        let vars = [Elem::I64];
        let mut found = Found { vars: &vars, arrays: &[], counters: &[], known: vec![Interval::ALL] };
        let n = Dim::name("n");
        for (dim, fits) in
            [(n.clone(), true), (n.scale(2), true), (n.mul(&n), false), (Dim::constant(1 << 40), false)]
        {
            found.bind(&Let { vars: vec![Var(0)], exp: Exp::Size(dim), loc: Loc::default() });
            assert_eq!(found.known[0].fits(), fits);
        }
    }
}
