//! Which stores set every element of an array.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::bulk::{ArrayId, Atom, Axis};
use crate::dim::Dim;

/// The stores to arrays so far: at which constants, none where an axis runs along the whole dimension.
#[derive(Default)]
pub struct Covers(FxHashMap<ArrayId, BTreeSet<Vec<Option<i64>>>>);

impl Covers {
    /// A store to an array of these dimensions, within these axes; whether that sets the last elements that were not set.
    pub fn store(&mut self, a: ArrayId, dims: &[Dim], index: &[Atom], axes: &[&Axis]) -> bool {
        let one = Dim::constant(1);
        // A loop around that has no trip sets nothing.
        let has_trips = |x: &&Axis| index.contains(&Atom::Var(x.var)) || x.extent == one;
        let is_again = |k: usize| matches!(index[k], Atom::Var(_)) && index[..k].contains(&index[k]);
        if dims.len() != index.len() || !axes.iter().all(has_trips) || (0..index.len()).any(is_again) {
            return false;
        }
        let (mut at, mut parts) = (Vec::new(), 1i64);
        for (i, d) in index.iter().zip(dims) {
            match (i, d.as_constant()) {
                (Atom::Var(v), _) if axes.iter().any(|x| x.var == *v && x.extent == *d) => at.push(None),
                (Atom::Const(c), Some(n)) if (0..n).contains(&c.as_i64()) => {
                    at.push(Some(c.as_i64()));
                    parts = parts.saturating_mul(n);
                }
                _ => return false,
            }
        }
        let before = self.0.entry(a).or_default();
        before.retain(|b| b.iter().zip(&at).all(|(x, y)| x.is_some() == y.is_some()));
        before.insert(at);
        i64::try_from(before.len()) == Ok(parts)
    }
}
