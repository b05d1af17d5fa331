//! How many indices `lo..hi` has: `hi - lo`, where that cannot wrap. The ends are any integers, so elsewhere it is made of
//! `max(hi, lo)`, and a difference that is negative all the same does not fit. That is an error of the running program where it can be
//! checked before the loops; else the loop is as long as it can be, and ends with an index outside or never, as in Rust.
//!
//! Sizes, indices and what is made of them are small: an array of 2^40 elements fits no memory. What comes from numbers of the
//! user may be large.

use proc_macro2::Span;

use super::Elaborator;
use super::steps::is_small;
use crate::core::{Atom, CheckKind, Exp, Type, Var};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

impl Elaborator<'_> {
    /// The end of a range with as many indices as `lo..hi` has, so that it minus `lo` does not wrap.
    pub(super) fn end_of_range(&mut self, lo: Atom, hi: Atom, span: Span) -> Atom {
        let from_zero = matches!(lo, Atom::Const(c) if c.raw() == 0);
        if from_zero || self.cannot_wrap(&[lo, hi]) || self.is_window(lo, hi) {
            return hi;
        }
        let end = self.op(Op::Max, &[hi, lo], span);
        if self.cannot_wrap(&[lo]) || self.is_inside(lo, hi) {
            return end;
        }
        let mut trips = self.op(Op::Sub, &[end, lo], span);
        if self.bodies.len() == 1 && self.branches.iter().all(|b| b.sizes().is_some()) {
            if let Atom::Var(v) = trips {
                // A size of its own, of which the check is.
                let d = Dim::atom(SizeAtom::Scalar(v.0));
                self.known.insert(v, d.clone());
                self.check(CheckKind::NonNegative(d), span);
            }
        } else {
            let (zero, most) = (self.int(0), self.int(i64::MAX));
            let wrapped = self.op(Op::Lt, &[trips, zero], span);
            let exp = Exp::Op(Op::Select, vec![wrapped, most, trips]);
            trips = self.emit("trips", Type::scalar(Elem::I64), exp, span);
        }
        self.op(Op::Add, &[lo, trips], span)
    }

    /// Whether the ends are as far from each other everywhere.
    fn is_window(&mut self, lo: Atom, hi: Atom) -> bool {
        match (self.size_of(lo), self.size_of(hi)) {
            (Some(l), Some(h)) => h.sub(&l).is_nonnegative(),
            _ => false,
        }
    }

    /// Whether a range begins at no less and ends at no more than something small, as `max(0, a)..min(n, b)` does for any `a` and `b`.
    fn is_inside(&self, lo: Atom, hi: Atom) -> bool {
        let is_one_small = |a: Atom, which: Op| match a {
            Atom::Var(v) => match self.definition(v).map(|s| &s.exp) {
                Some(Exp::Op(op, args)) if *op == which => args.iter().any(|a| self.cannot_wrap(&[*a])),
                _ => self.cannot_wrap(&[a]),
            },
            Atom::Const(_) => self.cannot_wrap(&[a]),
        };
        is_one_small(lo, Op::Max) && is_one_small(hi, Op::Min)
    }

    /// Whether integers are small.
    fn cannot_wrap(&self, atoms: &[Atom]) -> bool {
        let mut seen: Vec<Var> = Vec::new();
        let mut open = atoms.to_vec();
        while let Some(a) = open.pop() {
            match a {
                Atom::Const(c) if is_small(&Dim::constant(c.raw() as i64)) => {}
                Atom::Const(_) => return false,
                Atom::Var(v) if seen.contains(&v) => {}
                // A longer story is not followed to its end.
                Atom::Var(_) if seen.len() == 64 => return false,
                Atom::Var(v) => {
                    seen.push(v);
                    match self.made_of(v) {
                        Some(parts) => open.extend(parts),
                        None => return false,
                    }
                }
            }
        }
        true
    }

    /// What must be small for an integer to be small; `None`: it may be large.
    fn made_of(&self, v: Var) -> Option<Vec<Atom>> {
        if self.is_extent(v) {
            return Some(Vec::new());
        }
        if let Some(d) = self.known.get(&v).filter(|d| d.as_atom() != Some(&SizeAtom::Scalar(v.0))) {
            let scalar = |a| if let SizeAtom::Scalar(s) = a { Some(Atom::Var(Var(s))) } else { None };
            let parts = d.atoms().into_iter().filter_map(scalar).collect();
            return is_small(&d.substitute(&mut |_| Dim::constant(1))).then_some(parts);
        }
        match self.definition(v).map(|s| &s.exp) {
            Some(Exp::Size(_)) => Some(Vec::new()),
            Some(Exp::Op(Op::Cast(_), args)) => {
                let narrow = matches!(self.elem(*args.first()?), Elem::I32 | Elem::U32 | Elem::Bool);
                narrow.then(Vec::new)
            }
            Some(Exp::Op(Op::Rem | Op::RemEuclid | Op::Select, args)) => Some(args[1..].to_vec()),
            Some(Exp::Op(
                Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::Neg | Op::Abs,
                args,
            )) => Some(args.clone()),
            Some(_) => None,
            None => self.is_index(Atom::Var(v)).then(Vec::new),
        }
    }

    /// Whether an integer is the index of an axis: those are bound by no statement, as are parameters and the states of loops.
    pub(super) fn is_index(&self, a: Atom) -> bool {
        let Atom::Var(v) = a else { return false };
        let bound = || self.in_sight().any(|s| s.vars.contains(&v));
        self.elem(a) == Elem::I64 && !self.params.contains(&v) && !self.states.contains(&v) && !bound()
    }

    /// Whether an integer is in a dimension of some array, which was checked.
    fn is_extent(&self, v: Var) -> bool {
        let atom = SizeAtom::Scalar(v.0);
        self.vars.iter().flat_map(|i| &i.ty.dims).any(|d| d.atoms().contains(&atom))
    }
}
