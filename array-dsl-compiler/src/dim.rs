//! Dimensions: polynomials with integer coefficients over size atoms, in normal form, so that equality of
//! dimensions is `==` (`n + m` is `m + n`).

use std::collections::BTreeMap;
use std::fmt;

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim(BTreeMap<Monomial, i64>);

impl Dim {
    /// A constant.
    pub fn constant(c: i64) -> Dim {
        let mut d = Dim::default();
        d.add_term(Vec::new(), c);
        d
    }

    /// A named size.
    pub fn name(name: impl Into<Name>) -> Dim {
        Dim::atom(SizeAtom::Name(name.into()))
    }

    /// One atom.
    pub fn atom(atom: SizeAtom) -> Dim {
        let mut d = Dim::default();
        d.add_term(vec![atom], 1);
        d
    }

    fn add_term(&mut self, m: Monomial, c: i64) {
        let e = self.0.entry(m.clone()).or_insert(0);
        *e = e.wrapping_add(c);
        if *e == 0 {
            self.0.remove(&m);
        }
    }

    /// The terms in normal order: monomial and coefficient.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i64)> {
        self.0.iter().map(|(m, &c)| (m, c))
    }

    /// `self + other`.
    pub fn add(&self, other: &Dim) -> Dim {
        let mut d = self.clone();
        for (m, &c) in &other.0 {
            d.add_term(m.clone(), c);
        }
        d
    }

    /// `self - other`.
    pub fn sub(&self, other: &Dim) -> Dim {
        self.add(&other.scale(-1))
    }

    /// `self * other`.
    pub fn mul(&self, other: &Dim) -> Dim {
        let mut d = Dim::default();
        for (m, &c) in &self.0 {
            for (n, &k) in &other.0 {
                let mut mn: Monomial = m.iter().chain(n).cloned().collect();
                mn.sort();
                d.add_term(mn, c.wrapping_mul(k));
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
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The single atom this is, if it is one.
    pub fn as_atom(&self) -> Option<&SizeAtom> {
        let (m, c) = self.terms().next()?;
        (self.0.len() == 1 && c == 1 && m.len() == 1).then(|| &m[0])
    }

    /// A product of atoms, which are in order.
    pub fn monomial(m: Monomial) -> Dim {
        let mut d = Dim::default();
        d.add_term(m, 1);
        d
    }

    /// The product of atoms this is, if it is one.
    pub fn as_monomial(&self) -> Option<&Monomial> {
        let (m, c) = self.terms().next()?;
        (self.0.len() == 1 && c == 1).then_some(m)
    }

    /// Whether every term has all these atoms: then this is zero if one of them is.
    pub fn has_factor(&self, atoms: &Monomial) -> bool {
        let has = |m: &Monomial| {
            let mut rest = m.clone();
            atoms.iter().all(|a| rest.iter().position(|b| b == a).map(|i| rest.remove(i)).is_some())
        };
        self.0.keys().all(has)
    }

    /// Every atom that occurs, once.
    pub fn atoms(&self) -> Vec<SizeAtom> {
        let mut out: Vec<SizeAtom> = self.0.keys().flatten().cloned().collect();
        out.sort();
        out.dedup();
        out
    }

    /// Whether this is never negative for any sizes: no negative coefficient and only named atoms.
    pub fn is_nonnegative(&self) -> bool {
        self.terms().all(|(m, c)| c >= 0 && m.iter().all(|a| matches!(a, SizeAtom::Name(_))))
    }

    /// Replaces atoms by dimensions.
    pub fn substitute(&self, f: &mut impl FnMut(&SizeAtom) -> Dim) -> Dim {
        let mut d = Dim::default();
        for (m, c) in self.terms() {
            let mut p = Dim::constant(c);
            for a in m {
                p = p.mul(&f(a));
            }
            d = d.add(&p);
        }
        d
    }

    /// The value, given the atoms' values; `None` on overflow.
    pub fn eval(&self, f: &mut impl FnMut(&SizeAtom) -> i64) -> Option<i64> {
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

    /// The text with scalar atoms printed by `scalar`.
    pub fn show(&self, scalar: &dyn Fn(u32) -> String) -> String {
        if self.0.is_empty() {
            return "0".into();
        }
        let mut out = String::new();
        // Constants last: `n + 1` reads better than `1 + n`.
        let ordered =
            self.terms().filter(|(m, _)| !m.is_empty()).chain(self.terms().filter(|(m, _)| m.is_empty()));
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
}
