//! Integers around a circle. A remainder by the extent of an axis, which is positive at every point of the nest, is a
//! polynomial modulo that extent: `(i + n - 1) rem n` is `i - 1` there, `((i - 1) rem_euclid n + 1) rem n` is `i`, and
//! `(i + 1) rem n` for `i < n` is each place once.

use super::affine::{Affine, Facts};
use crate::bulk::Atom;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// An integer on a circle: congruent to `form` modulo `modulus`, at least `least` and less than `least + modulus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Around {
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
                // Where a point of an axis is, its extent is positive.
                if !self.extents.values().any(|e| *e == modulus) {
                    return None;
                }
                let (form, least) = match (self.form(*a), around(a)) {
                    (Some(f), _) => (f.clone(), f),
                    (None, Some(a)) if a.modulus == modulus => (a.form.clone(), a.least.clone()),
                    _ => return None,
                };
                // Only an integer that did not wrap around 2^64 is congruent to its polynomial.
                let plain = self.exact(&form) && self.exact(&least);
                let form = without_turns(form, &modulus);
                (plain && (op == Op::RemEuclid || self.nonnegative(&least))).then(|| Around {
                    form,
                    modulus,
                    least: Affine::default(),
                })
            }
            _ => None,
        }
    }

    /// The polynomial that an integer is modulo the extent of an axis, if the integer is not negative and less than that
    /// extent.
    pub fn remainder(&self, a: Atom) -> Option<(&Affine, &Dim)> {
        let Atom::Var(v) = a else { return None };
        self.around.get(&v).filter(|a| a.least == Affine::default()).map(|a| (&a.form, &a.modulus))
    }

    /// What a remainder certainly is, if a scalar at hand is that.
    pub fn known_remainder(&self, op: Op, args: &[Atom]) -> Option<Atom> {
        let Around { form, modulus, .. } = self.circular(op, args)?;
        let top = Affine::constant(modulus.sub(&Dim::constant(1))).sub(&form);
        if !self.nonnegative(&form) || !self.nonnegative(&top) {
            return None;
        }
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
