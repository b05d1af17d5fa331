//! Whether two executions of code can touch the same element of an array.
//!
//! Each of the two is a point of nests and of trips of loops: its axes and the numbers of its trips are unknowns of its own, sizes and
//! the numbers of the trips around both are unknowns that they share. Their indices are polynomials over these; that all components are
//! equal, with what is known of the unknowns, is a system of linear inequalities, in which a product of unknowns is one more. They
//! cannot meet if it has no solution.

use rustc_hash::{FxHashMap, FxHashSet};

use super::inequalities::{Linear, System};
use super::places::Place;
use super::{Affine, Checked, Facts};
use crate::bulk::{ArrayId, Axis, Nest, Program, Var, YieldKind};
use crate::dim::{Dim, Monomial, SizeAtom};

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    First,
    Second,
}

/// A product: of sizes and integers of the host level, and an axis; of one side, if anything in it is.
type Unknown = (Monomial, Option<Var>, Option<Side>);

/// Two executions on their way to one element.
#[derive(Clone)]
pub(crate) struct Meeting<'a> {
    /// The integers of the host level that may be others on the other side: numbers of trips, and what trips compute.
    own: &'a FxHashSet<ArrayId>,
    unknowns: FxHashMap<Unknown, usize>,
    system: System,
}

impl<'a> Meeting<'a> {
    /// Of executions in which `own` may be different, after statements that have established `checked`. What cannot be written down of
    /// them is left out: then less is impossible.
    pub fn new(own: &'a FxHashSet<ArrayId>, checked: &Checked) -> Meeting<'a> {
        let mut m = Meeting { own, unknowns: FxHashMap::default(), system: System::default() };
        for d in checked.sizes().0 {
            for side in [Side::First, Side::Second] {
                m.at_least_zero(side, &Affine::constant(d.clone()));
            }
        }
        m
    }

    fn unknown(&mut self, monomial: &Monomial, axis: Option<Var>, side: Side) -> usize {
        let is_own = |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if self.own.contains(&ArrayId(*s)));
        let side = (axis.is_some() || monomial.iter().any(is_own)).then_some(side);
        let count = self.unknowns.len();
        let number = *self.unknowns.entry((monomial.clone(), axis, side)).or_insert(count);
        // Named sizes are not negative.
        if number == count && axis.is_none() && monomial.iter().all(|a| matches!(a, SizeAtom::Name(_))) {
            self.system.at_least_zero(Linear::unknown(number));
        }
        number
    }

    fn linear(&mut self, side: Side, e: &Affine) -> Option<Linear> {
        let mut sum = Linear::default();
        let axes = e.axes.iter().map(|(v, d)| (Some(*v), d));
        for (axis, d) in axes.chain([(None, &e.rest)]) {
            if d.is_too_large() {
                return None;
            }
            for (monomial, c) in d.terms() {
                let term = match (axis, &monomial[..]) {
                    (None, []) => Linear::constant(1),
                    _ => Linear::unknown(self.unknown(monomial, axis, side)),
                };
                sum = sum.plus(&term, c)?;
            }
        }
        Some(sum)
    }

    /// Says of one side that something is not negative.
    pub fn at_least_zero(&mut self, side: Side, e: &Affine) {
        if let Some(e) = self.linear(side, e) {
            self.system.at_least_zero(e);
        }
    }

    /// Says that one side is a point of these axes.
    pub fn axes(&mut self, side: Side, axes: &[Axis]) {
        for a in axes {
            let axis = Affine::axis(a.var);
            let last = Affine::constant(a.extent.sub(&Dim::constant(1))).sub(&axis);
            self.at_least_zero(side, &axis);
            self.at_least_zero(side, &last);
        }
    }

    /// Says that one side is in a trip of a loop.
    pub fn trip(&mut self, side: Side, index: ArrayId, count: &Dim) {
        let index = Dim::atom(SizeAtom::Scalar(index.0));
        let last = count.sub(&Dim::constant(1)).sub(&index);
        self.at_least_zero(side, &Affine::constant(index));
        self.at_least_zero(side, &Affine::constant(last));
    }

    /// Says that the first side is in an earlier trip of a loop than the second.
    pub fn earlier(&mut self, index: ArrayId) {
        self.less(&Affine::constant(Dim::atom(SizeAtom::Scalar(index.0))));
    }

    /// Says that something is less for the first side than for the second.
    fn less(&mut self, index: &Affine) {
        let (a, b) = (self.linear(Side::First, index), self.linear(Side::Second, index));
        let between = a.zip(b).and_then(|(a, b)| b.plus(&a, -1)?.plus(&Linear::constant(1), -1));
        between.into_iter().for_each(|d| self.system.at_least_zero(d));
    }

    /// Says that both are in the same trip.
    pub fn same(&mut self, index: ArrayId) {
        let index = Affine::constant(Dim::atom(SizeAtom::Scalar(index.0)));
        self.equal(&index, &index);
    }

    fn equal(&mut self, first: &Affine, second: &Affine) {
        let (a, b) = (self.linear(Side::First, first), self.linear(Side::Second, second));
        let difference = a.zip(b).and_then(|(a, b)| a.plus(&b, -1));
        difference.into_iter().for_each(|d| self.system.zero(d));
    }

    /// Whether they certainly touch different elements, by indices of which some components are known.
    pub fn rules_out(mut self, first: &Place, second: &Place) -> bool {
        for (a, b) in first.iter().zip(second) {
            if let (Some(a), Some(b)) = (a, b) {
                self.equal(a, b);
            }
        }
        self.system.has_no_solution()
    }
}

/// Whether no point of a nest reads an element of the array that another point writes.
pub(crate) fn reads_only_own(p: &Program, n: &Nest, array: ArrayId, known: &Checked) -> bool {
    let mut facts = Facts::new(&n.axes, known);
    let reads = facts.reads(p.into(), n);
    let mut written = n.yields.iter().filter_map(|y| match &y.kind {
        YieldKind::Write { into, index, .. } if *into == array => Some(facts.place(index)),
        _ => None,
    });
    let nobody = FxHashSet::default();
    let mut both = Meeting::new(&nobody, known);
    both.axes(Side::First, &n.axes);
    both.axes(Side::Second, &n.axes);
    let is_apart = |first: &Place, second: &Place| {
        n.axes.iter().all(|a| {
            let mut m = both.clone();
            m.less(&Affine::axis(a.var));
            m.rules_out(first, second)
        })
    };
    written.all(|w| {
        let of_array = reads.iter().filter(|r| r.array == array);
        of_array.map(|r| &r.place).all(|r| is_apart(r, &w) && is_apart(&w, r))
    })
}
