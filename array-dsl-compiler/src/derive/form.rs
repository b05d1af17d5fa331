//! The form of a matrix of derivatives: which entries its products can have.

use crate::bulk::{Atom, Var};
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

    /// An entry, where the carried ones are `vars` after the first `d`; `None` for 0.
    pub fn entry(&self, vars: &[Var], d: usize, i: usize, j: usize, elem: Elem) -> Option<Atom> {
        if !self.nonzero[i][j] {
            return None;
        }
        if self.one[i][j] {
            return Some(Atom::Const(Const::of(elem, 1)));
        }
        let at = self.carried().iter().position(|e| *e == (i, j))?;
        Some(Atom::Var(vars[d + at]))
    }
}
