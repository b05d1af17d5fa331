//! How the dimensions of arguments tell the sizes.
//!
//! A dimension that is a size alone tells it, where it stands first. Then what is left: a dimension in which one size is not known
//! yet, and is added a number of times, tells that by division, as `2 * l`, `n + 1` and `n + m` where `m` is known. **A size is never
//! negative**, so not every number is such a dimension; the runtime's `entry` follows the same rule.

use rustc_hash::FxHashMap;

use super::{Dim, SizeAtom};
use crate::ty::Name;

/// A size, and the dimension that tells it: `by * size + rest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The size.
    pub size: Name,
    /// The number of the dimension.
    pub at: usize,
    /// Not zero.
    pub by: i64,
    /// Of sizes told before, and of scalars.
    pub rest: Dim,
}

impl Told {
    /// The size, where the dimension and the rest have these values; `None` if there is none.
    pub fn value(&self, dimension: i64, rest: i64) -> Option<i64> {
        let product = dimension.checked_sub(rest)?;
        let size = product.checked_div(self.by)?;
        (size >= 0 && size.checked_mul(self.by) == Some(product)).then_some(size)
    }

    /// The same of polynomials, where the sizes told before are `known`; `None` if it does not divide.
    pub fn polynomial(&self, dimension: &Dim, known: &FxHashMap<Name, Dim>) -> Option<Dim> {
        let rest = self.rest.substitute(&mut |a| match a {
            SizeAtom::Name(n) => known.get(n).cloned().unwrap_or_else(|| Dim::atom(a.clone())),
            SizeAtom::Scalar(_) => Dim::atom(a.clone()),
        });
        dimension.sub(&rest).over(self.by)
    }
}

/// The sizes that dimensions tell, in an order in which each can be computed.
pub fn told(dims: &[&Dim]) -> Vec<Told> {
    let mut out: Vec<Told> = Vec::new();
    let is_known = |out: &[Told], n: &Name| out.iter().any(|t| t.size == *n);
    for (at, d) in dims.iter().enumerate() {
        if let Some(SizeAtom::Name(n)) = d.as_atom()
            && !is_known(&out, n)
        {
            out.push(Told { size: n.clone(), at, by: 1, rest: Dim::default() });
        }
    }
    while let Some(next) = dims.iter().enumerate().find_map(|(at, d)| {
        let (size, by, rest) = d.only(&|n| !is_known(&out, n))?;
        Some(Told { size, at, by, rest })
    }) {
        out.push(next);
    }
    out
}

impl Dim {
    /// The one name in here that `is_open`, how often it is added, and all the rest, which has no such name.
    fn only(&self, is_open: &dyn Fn(&Name) -> bool) -> Option<(Name, i64, Dim)> {
        let open = |m: &[SizeAtom]| m.iter().any(|a| matches!(a, SizeAtom::Name(n) if is_open(n)));
        let mut with = self.terms.iter().filter(|(m, _)| open(m));
        let (Some((monomial, by)), None, false) = (with.next(), with.next(), self.too_large) else {
            return None;
        };
        let [SizeAtom::Name(size)] = monomial.as_slice() else { return None };
        let rest = self.sub(&Dim::name(size.clone()).scale(*by));
        (!rest.is_too_large()).then(|| (size.clone(), *by, rest))
    }

    /// What this is, divided by an integer; `None` if that is no polynomial.
    pub fn over(&self, by: i64) -> Option<Dim> {
        let exact = |c: i64| c.checked_div(by).filter(|_| c.checked_rem(by) == Some(0));
        let terms = self.terms.iter().map(|(m, c)| Some((m.clone(), exact(*c)?)));
        let (constant, terms) = (exact(self.constant)?, terms.collect::<Option<Vec<_>>>()?);
        (!self.too_large).then_some(Dim { constant, terms, too_large: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(name: &str) -> Dim {
        Dim::name(name)
    }

    fn shown(dims: &[Dim]) -> String {
        let told = told(&dims.iter().collect::<Vec<_>>());
        let each = told.iter().map(|t| format!("{} by {}: {} * {} + {}", t.size, t.at, t.by, t.size, t.rest));
        each.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn whole_dimensions_come_first() {
        let one = Dim::constant(1);
        assert_eq!(
            shown(&[n("n").add(&one), n("m"), n("n"), n("n")]),
            "m by 1: 1 * m + 0; n by 2: 1 * n + 0"
        );
    }

    #[test]
    fn others_tell_what_is_left() {
        let double = n("l").scale(2);
        assert_eq!(shown(&[n("l").add(&n("n")), double]), "l by 1: 2 * l + 0; n by 0: 1 * n + l");
        let scalar = Dim::atom(SizeAtom::Scalar(3));
        assert_eq!(shown(&[scalar.sub(&n("n"))]), "n by 0: -1 * n + %3");
        // Neither is known, or it is not added a number of times.
        assert_eq!(shown(&[n("a").add(&n("b")), n("c").mul(&n("c")), n("d").mul(&scalar)]), "");
    }

    #[test]
    fn not_every_number_is_such_a_dimension() {
        let told = |by: i64| Told { size: "l".into(), at: 0, by, rest: Dim::default() };
        assert_eq!((told(2).value(7, 1), told(2).value(6, 1), told(2).value(0, 2)), (Some(3), None, None));
        assert_eq!((told(-1).value(2, 5), told(-1).value(6, 5)), (Some(3), None));
        assert_eq!((told(1).value(i64::MIN, 1), told(-1).value(i64::MIN, 0)), (None, None));
    }

    #[test]
    fn division_of_polynomials_is_exact() {
        let d = n("n").scale(4).add(&Dim::constant(6));
        assert_eq!(d.over(2).map(|d| d.to_string()), Some("2 * n + 3".into()));
        assert_eq!((d.over(4), d.over(0)), (None, None));
    }
}
