//! What is certain of polynomials, from the axes' extents, from checks made before, and from enclosing conditions: that one is not
//! negative, and what follows of it, whether an index is inside and what a comparison is.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::{Affine, Facts};
use crate::bulk::{Atom, Var};
use crate::dim::Dim;
use crate::scalar::Op;

impl Facts {
    /// Whether `d > 0` is certain, in whatever loops a read with that size may end up.
    fn positive(&self, d: &Dim) -> bool {
        self.nonnegative(&Affine::constant(d.sub(&Dim::constant(1))))
    }

    /// Whether `d > 0` is certain at the points of the nest: there no extent is zero, and neither is a factor of one.
    pub fn positive_here(&self, d: &Dim) -> bool {
        let divides = |e: &Dim| d.is_nonnegative() && d.as_monomial().is_some_and(|m| e.has_factor(m));
        // Of `0 <= i < n * m` follows that neither is zero.
        let above = || {
            let bounds = self.here.iter().filter(|f| f.axes.keys().any(|v| !self.extents.contains_key(v)));
            let products = bounds.flat_map(|f| f.rest.terms().map(|(m, _)| Dim::monomial(m.clone())));
            let mut products = products.filter(|p| divides(p));
            products.any(|p| self.positive(&p))
        };
        self.positive(d) || self.extents.values().any(|e| e == d || divides(e)) || above()
    }

    /// Whether `e >= 0` is certain.
    pub fn nonnegative(&self, e: &Affine) -> bool {
        // Only a condition says anything of a name, so those in which other names are, or as many times, need not be subtracted: there are
        // hundreds of pairs of conditions, and hardly any that are left.
        self.bounded(e)
            || self.here.iter().any(|f| {
                if self.names_in(e).eq(self.names_in(f)) {
                    return self.bounded(&e.sub(f));
                }
                let rest = e.sub(f);
                let mut others = self.here.iter().filter(|g| self.names_in(&rest).eq(self.names_in(g)));
                others.any(|g| self.bounded(&rest.sub(g)))
            })
    }

    /// The names in a polynomial, each with its factor.
    fn names_in<'a>(&'a self, e: &'a Affine) -> impl Iterator<Item = (&'a Var, &'a Dim)> {
        e.axes.iter().filter(|(v, _)| !self.extents.contains_key(v))
    }

    /// Whether the least value of `e` over the axes' ranges is at least zero. The axes of `e` are not empty: what is computed
    /// from them stays within their loops. It may take several facts of numbers that the program computes: `trips - 1 - trip < n`
    /// follows from `trips <= n` and `trip >= 0`.
    fn bounded(&self, e: &Affine) -> bool {
        let mut least = e.rest.clone();
        for (v, c) in &e.axes {
            let Some(extent) = self.extents.get(v) else { return false };
            if c.is_nonnegative() {
                continue;
            }
            if !c.scale(-1).is_nonnegative() {
                return false;
            }
            least = least.add(&c.mul(&extent.sub(&Dim::constant(1))));
        }
        let not_empty = e.axes.keys().filter_map(|v| self.extents.get(v)).map(|n| n.sub(&Dim::constant(1)));
        let not_empty: Vec<Dim> = not_empty.collect();
        let facts: Vec<&Dim> = self.sizes.iter().chain(&not_empty).collect();
        follows(&least, &facts, 3)
    }

    /// Whether a read at `index` of an array of dimensions `dims` is certainly inside. A check that was made only where
    /// some dimensions are positive counts if the index moves along axes of these: then the read stays within their loops. It
    /// counts as well where enclosing conditions say that they are.
    pub fn all_inside(&mut self, index: &[Atom], dims: &[Dim]) -> bool {
        self.all_inside_row(&[], index, dims)
    }

    /// The same of a row that exists once for each point of loops with these extents: an index into it moves along them as well.
    pub fn all_inside_row(&mut self, around: &[Dim], index: &[Atom], dims: &[Dim]) -> bool {
        let forms: Vec<Affine> = index.iter().filter_map(|i| self.form(*i)).collect();
        self.under_guards(around, &forms, |f| index.iter().zip(dims).all(|(i, d)| f.inside(*i, d)))
    }

    /// The same of an index that is polynomials.
    pub fn places_inside(&mut self, places: &[Affine], dims: &[Dim]) -> bool {
        self.under_guards(&[], places, |f| places.iter().zip(dims).all(|(p, d)| f.form_inside(p, d)))
    }

    /// Whether something holds, with what is known where the axes of these polynomials have points.
    fn under_guards(&mut self, around: &[Dim], forms: &[Affine], holds: impl Fn(&Facts) -> bool) -> bool {
        if holds(self) {
            return true;
        }
        let axes = forms.iter().flat_map(|f| f.axes.keys());
        let along: Vec<&Dim> = axes.filter_map(|v| self.extents.get(v)).chain(around).collect();
        let more: Vec<Dim> = self.facts_along(&along).cloned().collect();
        if more.is_empty() {
            return false;
        }
        let scope = self.scope();
        self.sizes.extend(more);
        let found = holds(self);
        self.leave(scope);
        found
    }

    /// The polynomials that are at least zero in loops with these extents, which have points there.
    pub(super) fn facts_along<'a>(&'a self, extents: &'a [&Dim]) -> impl Iterator<Item = &'a Dim> {
        let holds = |g: &Dim| extents.contains(&g) || self.positive(g);
        self.guarded.iter().filter(move |(_, guards)| guards.iter().all(holds)).map(|(d, _)| d)
    }

    /// Whether `index` tells the values of all `axes`, so that different points have different indices: each component
    /// tells the one axis in it that the others have not told, or several that it counts like digits.
    pub fn tells_all(&self, index: &[Atom], axes: &FxHashSet<Var>) -> bool {
        let mut forms: Vec<Affine> =
            index.iter().filter_map(|i| self.form(*i).or_else(|| self.once_around(*i))).collect();
        forms.extend(self.flat(index));
        let mut told: FxHashSet<Var> = FxHashSet::default();
        while !axes.iter().all(|a| told.contains(a)) {
            let new = forms.iter().position(|f| self.digits(f, &told));
            let Some(i) = new else { return false };
            told.extend(forms.remove(i).axes.into_keys());
        }
        true
    }

    /// Whether `f` has axes that are not told, and tells them: one alone, or `.. + a * |b| * |c| + b * |c| + c`.
    fn digits(&self, f: &Affine, told: &FxHashSet<Var>) -> bool {
        let mut rest: Vec<(&Var, &Dim)> = f.axes.iter().filter(|(v, _)| !told.contains(v)).collect();
        if rest.len() < 2 {
            return rest.len() == 1;
        }
        let mut weight = Dim::constant(1);
        while !rest.is_empty() {
            let Some(i) = rest.iter().position(|(_, c)| **c == weight) else { return false };
            let Some(extent) = self.extents.get(rest.remove(i).0) else { return false };
            weight = weight.mul(extent);
        }
        true
    }

    /// Whether `index` certainly lies in `0..dim`.
    pub fn inside(&self, index: Atom, dim: &Dim) -> bool {
        let below = if let Atom::Var(v) = index { self.below.get(&v) } else { None };
        let modulus = self.remainder(index).map(|(_, modulus)| modulus);
        if below.into_iter().chain(modulus).any(|n| dim.sub(n).is_nonnegative()) {
            return true;
        }
        if self.quotient_inside(index, dim) || self.kept_inside(index, dim) {
            return true;
        }
        let form = self.form_or_name(index);
        let named = if self.names.is_empty() { None } else { self.named(index, 6) };
        if form.iter().chain(&named).any(|f| self.form_inside(f, dim)) {
            return true;
        }
        let is_less = |v: Var| self.less.iter().any(|(i, d)| *i == v && d == dim);
        matches!(index, Atom::Var(v) if is_less(v)) && form.iter().chain(&named).any(|f| self.is_count(f))
    }

    /// The same of a polynomial.
    fn form_inside(&self, f: &Affine, dim: &Dim) -> bool {
        let last = Affine::constant(dim.sub(&Dim::constant(1)));
        self.nonnegative(f) && self.nonnegative(&last.sub(f))
    }

    /// Whether an index that is kept within borders, the least or greatest of others, is inside.
    fn kept_inside(&self, index: Atom, dim: &Dim) -> bool {
        let mut axes = BTreeSet::new();
        self.visit_parts(index, &mut |f| axes.extend(f.axes.keys().copied()));
        // What moves along an axis stays within its loop, which has points then: `n - 1` is not negative where `n` of them are.
        let extents: Vec<&Dim> = axes.iter().filter_map(|v| self.extents.get(v)).collect();
        let less_points = |f: &Affine, n: &Dim| f.sub(&Affine::constant(n.sub(&Dim::constant(1))));
        let is_count =
            |f: &Affine| self.nonnegative(f) || extents.iter().any(|n| self.nonnegative(&less_points(f, n)));
        self.form(index).is_none() && self.ends_inside(index, dim, &is_count) == [true; 2]
    }

    /// Shows the polynomials that an integer is the least or greatest of.
    fn visit_parts(&self, a: Atom, see: &mut dyn FnMut(&Affine)) {
        if let Some(form) = self.form(a) {
            see(&form);
        } else if let Some((Op::Min | Op::Max, a, b)) = a.var().and_then(|v| self.definitions.get(&v)) {
            [a, b].into_iter().for_each(|a| self.visit_parts(*a, see));
        }
    }

    /// Whether an index is not negative, and whether it is below the end. Of the lesser of two only one must be below it, of the greater
    /// one only one must not be negative.
    fn ends_inside(&self, index: Atom, dim: &Dim, is_count: &dyn Fn(&Affine) -> bool) -> [bool; 2] {
        if let Some(form) = self.form(index).filter(|f| self.exact(f)) {
            let last = Affine::constant(dim.sub(&Dim::constant(1)));
            return [is_count(&form), is_count(&last.sub(&form))];
        }
        match index.var().and_then(|v| self.definitions.get(&v)) {
            Some((op @ (Op::Min | Op::Max), a, b)) => {
                let ([a_begins, a_ends], [b_begins, b_ends]) =
                    (self.ends_inside(*a, dim, is_count), self.ends_inside(*b, dim, is_count));
                match op {
                    Op::Min => [a_begins && b_begins, a_ends || b_ends],
                    _ => [a_begins || b_begins, a_ends && b_ends],
                }
            }
            _ => [false, false],
        }
    }

    /// Whether the program's integer is not negative: the polynomial is not, and the integer is that, or at most another one that
    /// there is.
    pub fn is_count(&self, f: &Affine) -> bool {
        let no_names = f.axes.keys().all(|v| self.extents.contains_key(v));
        let parts = f.axes.keys().map(|v| Affine::axis(*v));
        let mut parts = parts.chain(f.rest.atoms().into_iter().map(|a| Affine::constant(Dim::atom(a))));
        self.nonnegative(f) && (no_names && self.exact(f) || parts.any(|a| self.nonnegative(&a.sub(f))))
    }

    /// The value of a comparison of integers, if it is certain.
    pub fn decide(&self, op: Op, a: Atom, b: Atom) -> Option<bool> {
        let (a, b) = (self.form(a)?, self.form(b)?);
        let d = b.sub(&a);
        if d != Affine::default() && !(self.exact(&a) && self.exact(&b)) {
            return None;
        }
        let one = Affine::constant(Dim::constant(1));
        let le = |d: &Affine| self.nonnegative(d);
        let (lt_ab, le_ab) = (le(&d.sub(&one)), le(&d));
        let neg = d.scale(&Dim::constant(-1));
        let (lt_ba, le_ba) = (le(&neg.sub(&one)), le(&neg));
        match op {
            Op::Lt if lt_ab => Some(true),
            Op::Lt if le_ba => Some(false),
            Op::Le if le_ab => Some(true),
            Op::Le if lt_ba => Some(false),
            Op::Gt if lt_ba => Some(true),
            Op::Gt if le_ab => Some(false),
            Op::Ge if le_ba => Some(true),
            Op::Ge if lt_ab => Some(false),
            Op::Eq if le_ab && le_ba => Some(true),
            Op::Eq if lt_ab || lt_ba => Some(false),
            Op::Ne if le_ab && le_ba => Some(false),
            Op::Ne if lt_ab || lt_ba => Some(true),
            _ => None,
        }
    }
}

/// Whether a polynomial is at least zero because it is the sum of at most so many polynomials that are, and one that is for all
/// sizes. A term that may be negative must come from a fact in which it has that sign, wherever that stands in the sum: first, say.
fn follows(d: &Dim, facts: &[&Dim], most: usize) -> bool {
    let Some((term, sign)) = d.uncertain() else { return d.is_nonnegative() };
    let has = |s: &&&Dim| s.coefficient(term).signum() == sign;
    most > 0 && facts.iter().filter(has).any(|s| follows(&d.sub(s), facts, most - 1))
}
