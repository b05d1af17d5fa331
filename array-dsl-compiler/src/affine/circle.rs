//! Remainders and quotients by something that is positive at every point of the nest, as the extent of an axis is.
//!
//! A remainder is an integer around a circle, a polynomial modulo its length: `(i + n - 1) rem n` is `i - 1` there,
//! `((i - 1) rem_euclid n + 1) rem n` is `i`, and `(i + 1) rem n` for `i < n` is each place once. With the quotient it makes two
//! indices of a flat one: for `k < n * m`, `k / m` is less than `n`, and `(k / m, k rem m)` is each pair once.

use super::{Affine, Facts};
use crate::bulk::Atom;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// An integer on a circle: congruent to `form` modulo `modulus`, at least `least` and less than `least + modulus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    form: Affine,
    modulus: Dim,
    least: Affine,
}

impl Around {
    /// The integer plus a polynomial.
    fn add(&self, d: &Affine) -> Around {
        Around { form: self.form.add(d), modulus: self.modulus.clone(), least: self.least.add(d) }
    }
}

impl Facts {
    /// The result of an operation as an integer on a circle.
    pub fn circular(&self, op: Op, args: &[Atom]) -> Option<Around> {
        let around = |a: &Atom| if let Atom::Var(v) = a { self.around.get(v) } else { None };
        match (op, args) {
            (Op::Add, [a, b]) => match (around(a), around(b)) {
                (Some(a), _) => Some(a.add(&self.form(*b)?)),
                (_, Some(b)) => Some(b.add(&self.form(*a)?)),
                _ => None,
            },
            (Op::Sub, [a, b]) => Some(around(a)?.add(&self.form(*b)?.scale(&Dim::constant(-1)))),
            (Op::Rem | Op::RemEuclid, [a, m]) => {
                let modulus = self.form(*m)?.as_dim()?.clone();
                if !self.positive_here(&modulus) {
                    return None;
                }
                let (form, least) = match (self.form(*a), around(a)) {
                    (Some(f), _) => (f.clone(), f),
                    (None, Some(a)) if a.modulus == modulus => (a.form.clone(), a.least.clone()),
                    _ => self.form_or_name(*a).map(|f| (f.clone(), f))?,
                };
                // Only an integer that did not wrap around 2^64 is congruent to its polynomial.
                let plain = self.exact(&form) && self.exact(&least);
                let most = Affine::constant(modulus.sub(&Dim::constant(1)));
                let counts = self.nonnegative(&least) || self.nonnegative(&least.sub(&most));
                let form = without_turns(form, &modulus);
                (plain && (op == Op::RemEuclid || counts)).then(|| Around {
                    form,
                    modulus,
                    least: Affine::default(),
                })
            }
            _ => None,
        }
    }

    /// What a remainder of an integer that is no polynomial is less than, if it is certainly not negative.
    pub fn modulus(&self, op: Op, args: &[Atom]) -> Option<Dim> {
        let (Op::Rem | Op::RemEuclid, [a, m]) = (op, args) else { return None };
        let modulus = self.form(*m)?.as_dim()?.clone();
        let counts = |a: Atom| {
            let below = if let Atom::Var(v) = a { self.below.contains_key(&v) } else { false };
            below || self.quotient(a).is_some_and(|(a, m)| self.is_count(a) && self.positive_here(m))
        };
        (self.positive_here(&modulus) && (op == Op::RemEuclid || counts(*a))).then_some(modulus)
    }

    /// The result of a division as a polynomial over a size.
    pub fn fraction(&self, op: Op, args: &[Atom]) -> Option<(Affine, Dim)> {
        match (op, args) {
            (Op::Div, [a, b]) => Some((self.form_or_name(*a)?, self.form(*b)?.as_dim()?.clone())),
            _ => None,
        }
    }

    /// Whether a quotient certainly lies in `0..dim`. Then its divisor is positive, as `dim` is not negative.
    pub fn quotient_inside(&self, i: Atom, dim: &Dim) -> bool {
        let Some((numerator, divisor)) = self.quotient(i) else { return false };
        let top = Affine::constant(dim.mul(divisor).sub(&Dim::constant(1))).sub(numerator);
        self.nonnegative(numerator) && self.nonnegative(&top)
    }

    fn quotient(&self, a: Atom) -> Option<&(Affine, Dim)> {
        let Atom::Var(v) = a else { return None };
        self.quotients.get(&v)
    }

    /// The flat indices whose quotient and remainder both are among the indices, so that these tell what the flat one is.
    pub fn flat(&self, index: &[Atom]) -> Vec<Affine> {
        let remainders: Vec<(&Affine, &Dim)> = index.iter().filter_map(|i| self.remainder(*i)).collect();
        let quotients = index.iter().filter_map(|i| self.quotient(*i));
        quotients
            .filter(|(a, m)| remainders.contains(&(a, m)) && self.nonnegative(a))
            .map(|(a, _)| a.clone())
            .collect()
    }

    /// The polynomial that an integer is modulo something positive, if the integer is not negative and less than that.
    pub fn remainder(&self, a: Atom) -> Option<(&Affine, &Dim)> {
        let Atom::Var(v) = a else { return None };
        self.around.get(&v).filter(|a| a.least == Affine::default()).map(|a| (&a.form, &a.modulus))
    }

    /// The polynomial that a remainder certainly is, because that is not negative and less than the modulus.
    pub fn within_circle(&self, op: Op, args: &[Atom]) -> Option<Affine> {
        let Around { form, modulus, .. } = self.circular(op, args)?;
        let top = Affine::constant(modulus.sub(&Dim::constant(1))).sub(&form);
        (self.nonnegative(&form) && self.nonnegative(&top)).then_some(form)
    }

    /// What a remainder certainly is, if a scalar at hand is that.
    pub fn known_remainder(&self, op: Op, args: &[Atom]) -> Option<Atom> {
        let form = self.within_circle(op, args)?;
        if let Some(c) = form.as_dim().and_then(Dim::as_constant) {
            return Some(Atom::Const(Const::int(Elem::I64, c)));
        }
        self.forms.iter().filter(|(_, f)| **f == form).map(|(v, _)| *v).min().map(Atom::Var)
    }

    /// The polynomial of a remainder that visits each place once: that of one axis as long as the circle.
    pub fn once_around(&self, i: Atom) -> Option<Affine> {
        let (form, modulus) = self.remainder(i)?;
        let mut axes = form.axes.iter();
        let (v, c) = axes.next()?;
        let unit = matches!(c.as_constant(), Some(1 | -1));
        (axes.next().is_none() && unit && self.extents.get(v) == Some(modulus)).then(|| form.clone())
    }
}

/// A polynomial less those multiples of the modulus that are terms of it.
fn without_turns(f: Affine, modulus: &Dim) -> Affine {
    let Some(n) = modulus.as_atom() else { return f };
    let turns = f.rest.terms().find(|(m, _)| matches!(&m[..], [a] if a == n)).map_or(0, |(_, c)| c);
    Affine { rest: f.rest.sub(&modulus.scale(turns)), ..f }
}
