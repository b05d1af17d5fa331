//! Dimensions: polynomials with integer coefficients over size atoms, in normal form, so that equality of
//! dimensions is `==` (`n + m` is `m + n`).

mod told;

use std::fmt;

pub use self::told::{Told, told};
use crate::ty::Name;

/// What a dimension is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SizeAtom {
    /// A size named in the kernel's signature; never negative.
    Name(Name),
    /// An integer known before the loops run: in Core a variable of depth 0, in Bulk and Loops an array of
    /// rank 0. May be negative.
    Scalar(u32),
}

/// A monomial: atoms in order, repeated for powers. Empty: the constant term.
pub type Monomial = Vec<SizeAtom>;

/// A dimension, or any integer known to be a polynomial over size atoms. Zero has no terms.
///
/// A coefficient that does not fit makes it **too large**, and everything computed with it: then nothing is known of it, and no
/// array can have it. `elaborate` refuses such sizes where the user wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim {
    constant: i64,
    /// The other terms, in order, none with coefficient zero. Nearly all of what is computed with are constants, which
    /// take no memory.
    terms: Vec<(Monomial, i64)>,
    too_large: bool,
}

const NO_ATOMS: &Monomial = &Monomial::new();

impl Dim {
    /// A constant.
    pub fn constant(c: i64) -> Dim {
        Dim { constant: c, ..Dim::default() }
    }

    /// A named size.
    pub fn name(name: impl Into<Name>) -> Dim {
        Dim::atom(SizeAtom::Name(name.into()))
    }

    /// One atom.
    pub fn atom(atom: SizeAtom) -> Dim {
        Dim { terms: vec![(vec![atom], 1)], ..Dim::default() }
    }

    /// Adds `c * k * m`.
    fn add_term(&mut self, m: Monomial, c: i64, k: i64) {
        let Some(c) = c.checked_mul(k) else {
            self.too_large = true;
            return;
        };
        if m.is_empty() {
            let sum = self.constant.checked_add(c);
            self.too_large |= sum.is_none();
            self.constant = sum.unwrap_or(0);
            return;
        }
        match self.terms.binary_search_by(|(n, _)| n.cmp(&m)) {
            Ok(at) => match self.terms[at].1.checked_add(c) {
                Some(0) => _ = self.terms.remove(at),
                Some(sum) => self.terms[at].1 = sum,
                None => {
                    self.too_large = true;
                    self.terms.remove(at);
                }
            },
            Err(_) if c == 0 => {}
            Err(at) => self.terms.insert(at, (m, c)),
        }
    }

    /// Whether a coefficient did not fit.
    pub fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// The terms in normal order: monomial and coefficient.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = (&Monomial, i64)> {
        let constant = (self.constant != 0).then_some((NO_ATOMS, self.constant));
        constant.into_iter().chain(self.terms.iter().map(|(m, c)| (m, *c)))
    }

    /// The one term this is, if it is one.
    fn as_term(&self) -> Option<(&Monomial, i64)> {
        match &self.terms[..] {
            _ if self.too_large => None,
            [] if self.constant != 0 => Some((NO_ATOMS, self.constant)),
            [(m, c)] if self.constant == 0 => Some((m, *c)),
            _ => None,
        }
    }

    /// `self + other`.
    pub fn add(&self, other: &Dim) -> Dim {
        self.plus(other, 1)
    }

    /// `self - other`.
    pub fn sub(&self, other: &Dim) -> Dim {
        self.plus(other, -1)
    }

    /// `self + k * other`.
    fn plus(&self, other: &Dim, k: i64) -> Dim {
        let mut d = self.clone();
        d.too_large |= other.too_large;
        d.add_term(Monomial::new(), other.constant, k);
        for (m, c) in &other.terms {
            d.add_term(m.clone(), *c, k);
        }
        d
    }

    /// `self * other`.
    pub fn mul(&self, other: &Dim) -> Dim {
        let mut d = Dim { too_large: self.too_large || other.too_large, ..Dim::default() };
        for (m, c) in self.terms() {
            for (n, k) in other.terms() {
                let mut mn: Monomial = m.iter().chain(n).cloned().collect();
                mn.sort();
                d.add_term(mn, c, k);
            }
        }
        d
    }

    /// `k * self`.
    pub fn scale(&self, k: i64) -> Dim {
        self.mul(&Dim::constant(k))
    }

    /// The product of several dimensions; one for none.
    pub fn product<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Dim {
        dims.into_iter().fold(Dim::constant(1), |a, b| a.mul(b))
    }

    /// The constant this is, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        (self.terms.is_empty() && !self.too_large).then_some(self.constant)
    }

    /// The single atom this is, if it is one.
    pub fn as_atom(&self) -> Option<&SizeAtom> {
        match self.as_term()? {
            (m, 1) if m.len() == 1 => m.first(),
            _ => None,
        }
    }

    /// A product of atoms, which are in order.
    pub fn monomial(m: Monomial) -> Dim {
        let mut d = Dim::default();
        d.add_term(m, 1, 1);
        d
    }

    /// The product of atoms this is, if it is one.
    pub fn as_monomial(&self) -> Option<&Monomial> {
        self.as_term().filter(|(_, c)| *c == 1).map(|(m, _)| m)
    }

    /// Whether every term has all these atoms: then this is zero if one of them is.
    pub fn has_factor(&self, atoms: &Monomial) -> bool {
        let has = |m: &Monomial| {
            let mut rest = m.clone();
            atoms.iter().all(|a| rest.iter().position(|b| b == a).map(|i| rest.remove(i)).is_some())
        };
        !self.too_large && self.terms().all(|(m, _)| has(m))
    }

    /// Every atom that occurs, once.
    pub fn atoms(&self) -> Vec<SizeAtom> {
        let mut out: Vec<SizeAtom> = self.terms.iter().flat_map(|(m, _)| m).cloned().collect();
        out.sort();
        out.dedup();
        out
    }

    /// Whether this is never negative for any sizes: no negative coefficient and only named atoms.
    pub fn is_nonnegative(&self) -> bool {
        !self.too_large && self.uncertain().is_none()
    }

    /// The last term that is negative for some sizes, or may be any number, and its sign.
    pub fn uncertain(&self) -> Option<(&Monomial, i64)> {
        let named = |m: &Monomial| m.iter().all(|a| matches!(a, SizeAtom::Name(_)));
        self.terms().rev().find(|(m, c)| *c < 0 || !named(m)).map(|(m, c)| (m, c.signum()))
    }

    /// The coefficient of a product of atoms, which are in order.
    pub fn coefficient(&self, m: &Monomial) -> i64 {
        self.terms().find(|(n, _)| *n == m).map_or(0, |(_, c)| c)
    }

    /// Replaces atoms by dimensions.
    pub fn substitute(&self, f: &mut impl FnMut(&SizeAtom) -> Dim) -> Dim {
        let mut d = Dim { too_large: self.too_large, constant: self.constant, ..Dim::default() };
        for (m, c) in &self.terms {
            let mut p = Dim::constant(*c);
            for a in m {
                p = p.mul(&f(a));
            }
            d = d.add(&p);
        }
        d
    }

    /// The value, given the atoms' values; `None` on overflow.
    pub fn eval(&self, f: &mut impl FnMut(&SizeAtom) -> i64) -> Option<i64> {
        if self.too_large {
            return None;
        }
        let mut sum = 0i64;
        for (m, c) in self.terms() {
            let mut p = c;
            for a in m {
                p = p.checked_mul(f(a))?;
            }
            sum = sum.checked_add(p)?;
        }
        Some(sum)
    }

    /// As [`Dim::show`], with the sizes that the user has not named: of a parameter `x: [f64; _]` that is `#x.0`, shown as `x.len()`;
    /// and those that a record has for itself (`record::Place`): `#first.n`, shown as `first.n`.
    pub fn show_to_user(&self, scalar: &dyn Fn(u32) -> String) -> String {
        let named = self.substitute(&mut |a| match a {
            SizeAtom::Name(n) => match n.strip_prefix('#') {
                Some(rest) => match rest.rsplit_once('.') {
                    Some((array, axis)) if axis.parse::<usize>().is_ok() => {
                        Dim::name(format!("{array}.len()"))
                    }
                    _ => Dim::name(rest),
                },
                None => Dim::atom(a.clone()),
            },
            SizeAtom::Scalar(_) => Dim::atom(a.clone()),
        });
        // Of a constant of the surrounding code the user's own name.
        named.show(&|s| scalar(s).trim_end_matches('#').to_string())
    }

    /// The text with scalar atoms printed by `scalar`.
    pub fn show(&self, scalar: &dyn Fn(u32) -> String) -> String {
        if self.too_large {
            return "a number beyond 64 bits".into();
        }
        if self.terms.is_empty() && self.constant == 0 {
            return "0".into();
        }
        let mut out = String::new();
        // Constants last: `n + 1` reads better than `1 + n`.
        let constant = (self.constant != 0).then_some((NO_ATOMS, self.constant));
        let ordered = self.terms.iter().map(|(m, c)| (m, *c)).chain(constant);
        for (i, (m, c)) in ordered.enumerate() {
            let sign = if c < 0 { "-" } else { "+" };
            match (i, c < 0) {
                (0, true) => out.push('-'),
                (0, false) => {}
                _ => out.push_str(&format!(" {sign} ")),
            }
            let mut factors: Vec<String> = Vec::new();
            if c.unsigned_abs() != 1 || m.is_empty() {
                factors.push(c.unsigned_abs().to_string());
            }
            for a in m {
                factors.push(match a {
                    SizeAtom::Name(n) => n.to_string(),
                    SizeAtom::Scalar(s) => scalar(*s),
                });
            }
            out.push_str(&factors.join(" * "));
        }
        out
    }
}

impl From<i64> for Dim {
    fn from(c: i64) -> Dim {
        Dim::constant(c)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&|s| format!("%{s}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_normal_form() {
        let (n, m) = (Dim::name("n"), Dim::name("m"));
        assert_eq!(n.add(&m), m.add(&n));
        assert_eq!(n.mul(&m.add(&Dim::constant(1))), m.mul(&n).add(&n));
        assert_eq!(n.sub(&n), Dim::constant(0));
        assert_eq!(n.sub(&Dim::constant(1)).to_string(), "n - 1");
        assert_eq!(n.mul(&m).scale(-2).to_string(), "-2 * m * n");
    }

    #[test]
    fn unnamed_sizes_are_lengths() {
        let (x, parts, n) = (Dim::name("#x.0"), Dim::name("#net.w.1"), Dim::name("n"));
        assert_eq!(Dim::name("#first.n").show_to_user(&|_| String::new()), "first.n");
        let d = n.mul(&x).add(&parts).add(&Dim::atom(SizeAtom::Scalar(7))).sub(&Dim::constant(1));
        let scalar = |s: u32| format!("k{s}");
        assert_eq!(d.show_to_user(&scalar), "n * x.len() + net.w.len() + k7 - 1");
        assert_eq!(d.show(&scalar), "#net.w.1 + #x.0 * n + k7 - 1");
        assert_eq!(Dim::constant(3).show_to_user(&scalar), "3");
    }

    #[test]
    fn what_does_not_fit_is_nothing() {
        let (n, half) = (Dim::name("n"), Dim::constant(1 << 32));
        for large in [
            half.mul(&half),
            n.mul(&half).mul(&half),
            Dim::constant(i64::MAX).add(&Dim::constant(1)),
            Dim::constant(0).sub(&Dim::constant(i64::MIN)),
            Dim::constant(i64::MIN).scale(-1).sub(&Dim::constant(i64::MIN)),
        ] {
            for d in [
                large.clone(),
                large.sub(&large),
                large.mul(&Dim::default()),
                n.substitute(&mut |_| large.clone()),
            ] {
                assert!(d.is_too_large(), "{large:?}: {d:?}");
                assert_eq!((d.as_constant(), d.as_atom(), d.as_monomial()), (None, None, None));
                assert_eq!(
                    (d.is_nonnegative(), d.has_factor(&Vec::new()), d.eval(&mut |_| 1)),
                    (false, false, None)
                );
            }
        }
        assert_eq!(Dim::constant(i64::MIN).add(&Dim::constant(i64::MAX)).as_constant(), Some(-1));
        assert_eq!(Dim::constant(i64::MAX).scale(-1).sub(&Dim::constant(1)).as_constant(), Some(i64::MIN));
    }
}
