//! The axis that the trips of a parallel loop lie on.
//!
//! A loop over a part of an array's rows runs over all of them, guarded by the loop's bounds, so that the new array is one
//! `build`. A number of trips that may be negative means none; where it would be the length of an array it is bounded by
//! zero first.

use proc_macro2::Span;

use super::Elaborator;
use super::effects::Class;
use super::loops::{Plan, Range};
use super::scope::Slot;
use crate::core::{Atom, Exp, Stm, Type};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// A start this far into an array is skipped by a guard rather than by an offset.
const FEW: i64 = 8;

/// The axis that the trips of a parallel loop lie on.
pub(super) struct Space {
    pub extent: Dim,
    /// The index of the point `k` is `k + shift`.
    pub shift: Shift,
    /// Conditions on `k`: `k >= bound`, `k < bound`.
    pub guards: Vec<(Op, Dim)>,
}

pub(super) enum Shift {
    Constant(i64),
    From(Atom),
}

impl Elaborator<'_> {
    /// The axis for a loop's trips.
    pub(super) fn space(&mut self, plan: &Plan, foreign: bool, range: &Range, span: Span) -> Option<Space> {
        let extent = range.extent.clone()?;
        let ends = (self.known_int(range.lo), self.known_int(range.hi));
        // Over all rows of an array that contains the trips' rows: the new array is a `build`.
        for (_, slot, class) in plan {
            if let Class::Private(offset) = class
                && let Some((lo, hi, all)) = self.rows_within(*slot, *offset, range)
            {
                let mut guards = Vec::new();
                if lo != Dim::default() {
                    guards.push((Op::Ge, lo));
                }
                if hi != all {
                    guards.push((Op::Lt, hi));
                }
                return Some(Space { extent: all, shift: Shift::Constant(-offset), guards });
            }
        }
        let constant = ends.0.as_ref().and_then(Dim::as_constant);
        let shift = constant.map_or(Shift::From(range.lo), Shift::Constant);
        let scalars = plan.iter().all(|(_, slot, class)| {
            let atoms = self.scope.variable(*slot).value.atoms().unwrap_or_default();
            matches!(class, Class::Combined { at: false, .. }) && atoms.iter().all(|a| self.rank(*a) == 0)
        });
        if extent.is_nonnegative() || (scalars && !foreign) {
            return Some(Space { extent, shift, guards: Vec::new() });
        }
        if let (Some(lo), Some(hi)) = (constant, ends.1)
            && (0..=FEW).contains(&lo)
            && hi.is_nonnegative()
        {
            let guards = vec![(Op::Ge, Dim::constant(lo))];
            return Some(Space { extent: hi, shift: Shift::Constant(0), guards });
        }
        Some(Space { extent: self.at_least_zero(&extent, span), shift, guards: Vec::new() })
    }

    /// The first and the last row (exclusive) that a loop's trips have, and how many the array has, where the trips' rows
    /// are certainly among them.
    fn rows_within(&self, slot: Slot, offset: i64, range: &Range) -> Option<(Dim, Dim, Dim)> {
        let offset = Dim::constant(offset);
        let (lo, hi) = (self.known_int(range.lo)?.add(&offset), self.known_int(range.hi)?.add(&offset));
        let all = self.leading(slot)?;
        (lo.is_nonnegative() && all.sub(&hi).is_nonnegative()).then_some((lo, hi, all))
    }

    /// Whether the rows of a loop's trips are certainly rows of the array.
    pub(super) fn contains(&self, slot: Slot, offset: i64, range: &Range) -> bool {
        self.rows_within(slot, offset, range).is_some()
    }

    /// `max(d, 0)` as a size.
    fn at_least_zero(&mut self, d: &Dim, span: Span) -> Dim {
        if let Some(c) = d.as_constant() {
            return Dim::constant(c.max(0));
        }
        let loc = self.loc(span);
        let size = self.new_var("size", Type::scalar(Elem::I64));
        let bounded = self.new_var("trips", Type::scalar(Elem::I64));
        let zero = self.int(0);
        // Sizes are of depth 0, and so is what they are made of.
        self.bodies[0].push(Stm { vars: vec![size], exp: Exp::Size(d.clone()), loc });
        let exp = Exp::Op(Op::Max, vec![Atom::Var(size), zero]);
        self.bodies[0].push(Stm { vars: vec![bounded], exp, loc });
        self.known.insert(size, d.clone());
        let d = Dim::atom(SizeAtom::Scalar(bounded.0));
        self.known.insert(bounded, d.clone());
        d
    }
}
