//! The form of a matrix of derivatives: which entries its products can have.

use crate::bulk::build::Code;
use crate::bulk::{Atom, Block, Branch, Program, Var};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// Which entries of products of matrices of one form can be other than 0, and other than 1.
pub(super) struct Form {
    nonzero: Vec<Vec<bool>>,
    one: Vec<Vec<bool>>,
}

impl Form {
    pub fn new(matrix: &[Vec<Option<Atom>>]) -> Form {
        let d = matrix.len();
        let zero = |a: &Option<Atom>| match a {
            None => true,
            Some(Atom::Const(c)) => c.is_zero(),
            Some(Atom::Var(_)) => false,
        };
        let mut nonzero: Vec<Vec<bool>> =
            (0..d).map(|i| (0..d).map(|j| i == j || !zero(&matrix[i][j])).collect()).collect();
        for m in 0..d {
            for i in 0..d {
                for j in 0..d {
                    nonzero[i][j] |= nonzero[i][m] && nonzero[m][j];
                }
            }
        }
        // A one on the diagonal stays if no other way leads back.
        let one = (0..d)
            .map(|i| {
                let alone = (0..d).all(|m| m == i || !(nonzero[i][m] && nonzero[m][i]));
                let is_one = matches!(matrix[i][i], Some(Atom::Const(c)) if c.is_one());
                (0..d).map(|j| i == j && alone && is_one).collect()
            })
            .collect();
        Form { nonzero, one }
    }

    /// The entries that are states of the scan, in order.
    pub fn carried(&self) -> Vec<(usize, usize)> {
        let d = self.nonzero.len();
        let all = (0..d).flat_map(|i| (0..d).map(move |j| (i, j)));
        all.filter(|(i, j)| self.nonzero[*i][*j] && !self.one[*i][*j]).collect()
    }

    /// An entry of the map `(b, C)` that `vars` hold, first `b`, then what is carried of `C`; `None` for 0.
    fn entry(&self, vars: &[Var], i: usize, j: usize, elem: Elem) -> Option<Atom> {
        if !self.nonzero[i][j] {
            return None;
        }
        if self.one[i][j] {
            return Some(Atom::Const(Const::of(elem, 1)));
        }
        let at = self.carried().iter().position(|e| *e == (i, j))?;
        Some(Atom::Var(vars[self.nonzero.len() + at]))
    }

    /// `C x + b` for a map `(b, C)`.
    pub fn applied(
        &self,
        p: &mut Program,
        code: &mut Code,
        elems: &[Elem],
        map: &[Var],
        x: &[Atom],
    ) -> Vec<Atom> {
        let mut out = Vec::new();
        for (i, e) in elems.iter().enumerate() {
            let terms = x.iter().enumerate().filter_map(|(j, x)| Some((self.entry(map, i, j, *e)?, *x)));
            out.push(sum_of_products(p, code, Atom::Var(map[i]), terms));
        }
        out
    }

    /// The map that applies `left` and then `right`.
    pub fn composed(
        &self,
        p: &mut Program,
        mut code: Code,
        elems: &[Elem],
        left: &[Var],
        right: &[Var],
    ) -> Branch {
        let b: Vec<Atom> = left[..elems.len()].iter().map(|v| Atom::Var(*v)).collect();
        let mut results = self.applied(p, &mut code, elems, right, &b);
        for (i, j) in self.carried() {
            let terms = (0..elems.len())
                .filter_map(|m| self.entry(right, i, m, elems[i]).zip(self.entry(left, m, j, elems[m])));
            results.push(sum_of_products(p, &mut code, zero(elems[i]), terms));
        }
        Branch { block: Block { lets: code.lets }, results }
    }
}

/// `sum + x0 * y0 + x1 * y1 + ..`, of the type of `sum`; a state may depend on one of the other float type.
pub(super) fn sum_of_products(
    p: &mut Program,
    code: &mut Code,
    sum: Atom,
    terms: impl Iterator<Item = (Atom, Atom)>,
) -> Atom {
    let elem = p.elem(sum);
    let cast = |p: &mut Program, code: &mut Code, x: Atom| match p.elem(x) == elem {
        true => x,
        false => code.op(p, Op::Cast(elem), &[x]),
    };
    terms.fold(sum, |sum, (x, y)| {
        let (x, y) = (cast(p, code, x), cast(p, code, y));
        let term = code.mul(p, x, y);
        code.add(p, sum, term)
    })
}

pub(super) fn zero(elem: Elem) -> Atom {
    Atom::Const(Const::of(elem, 0))
}
