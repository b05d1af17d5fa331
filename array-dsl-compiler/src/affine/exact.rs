//! Integers wrap, polynomials do not: which of the program's integers are the polynomials that they are computed as.

use super::{Affine, Facts};
use crate::bulk::ArrayId;
use crate::dim::{Dim, Monomial, SizeAtom};

/// More than any constant in an index.
const SMALL: u64 = 1 << 32;

impl Facts {
    /// Whether the program's integer is this polynomial and not just congruent to it: integers wrap, so that `k + 1 < n`
    /// says nothing of `k` if `k` may be any number. Axes and named sizes are counts of things in memory, and their
    /// products of two are taken not to wrap; another integer is exact alone, or less a constant if it is not negative, or if the
    /// polynomial is certainly not much less than zero and at most some integer that there is.
    pub fn exact(&self, f: &Affine) -> bool {
        self.exact_in(f, None)
    }

    /// The same of a polynomial that matters only where a loop of this extent has trips.
    pub fn exact_in(&self, f: &Affine, extent: Option<&Dim>) -> bool {
        let extents = f.axes.keys().filter_map(|v| self.extents.get(v));
        let along: Vec<&Dim> = extents.chain(extent).collect();
        self.cannot_wrap(f, &along) || !computed(&f.rest).is_empty() && self.within_a_size(f)
    }

    fn within_a_size(&self, f: &Affine) -> bool {
        let large = Affine::constant(Dim::constant(1 << 62));
        let mut atoms: Vec<SizeAtom> = self.sizes.iter().chain([&f.rest]).flat_map(Dim::atoms).collect();
        atoms.sort();
        atoms.dedup();
        // Not far below zero is far from the least integer.
        let least = Affine::constant(Dim::constant(1 << 32));
        self.nonnegative(&f.add(&least))
            && (self.nonnegative(&large.sub(f))
                || atoms.into_iter().any(|n| self.nonnegative(&Affine::constant(Dim::atom(n)).sub(f))))
    }

    fn cannot_wrap(&self, f: &Affine, along: &[&Dim]) -> bool {
        let is_count = |a: &SizeAtom| match a {
            SizeAtom::Name(_) => true,
            SizeAtom::Scalar(s) => self.trips.contains(&ArrayId(*s)) || self.at_most_a_count(a, along),
        };
        if let (Some(c), true) = (offset_of_scalar(&f.rest), f.axes.is_empty())
            && !f.rest.atoms().iter().all(is_count)
        {
            let atom = f.rest.sub(&Dim::constant(c));
            return c == 0 || (c < 0 && c.unsigned_abs() < SMALL && self.sizes.contains(&atom));
        }
        let counts = |d: &Dim, degree: usize| {
            d.terms().all(|(m, c)| m.iter().all(is_count) && m.len() <= degree && c.unsigned_abs() < SMALL)
        };
        counts(&f.rest, 2) && f.axes.values().all(|c| counts(c, 1))
    }

    /// Whether a computed number, so many of which there are, is at most what counts of things in memory are.
    fn at_most_a_count(&self, a: &SizeAtom, along: &[&Dim]) -> bool {
        let number = Dim::atom(a.clone());
        let is_small = |(m, c): (&Monomial, i64)| {
            m.iter().all(|a| matches!(a, SizeAtom::Name(_))) && m.len() <= 1 && c.unsigned_abs() < SMALL
        };
        along.contains(&&number)
            && self.sizes.iter().chain(self.facts_along(along)).any(|d| d.add(&number).terms().all(is_small))
    }
}

/// The scalars in a polynomial that are no sizes of the signature.
fn computed(d: &Dim) -> Vec<SizeAtom> {
    d.atoms().into_iter().filter(|a| matches!(a, SizeAtom::Scalar(_))).collect()
}

/// `c` if this is one scalar plus `c`.
fn offset_of_scalar(d: &Dim) -> Option<i64> {
    let c = d.terms().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| c);
    let atom = d.sub(&Dim::constant(c));
    matches!(atom.as_atom(), Some(SizeAtom::Scalar(_))).then_some(c)
}
