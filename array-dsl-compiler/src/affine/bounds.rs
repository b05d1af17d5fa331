//! What an integer is certainly within, because it is one of two: the polynomials over sizes that `min` and `max` keep it between, and the
//! dimension that either side of a choice is a position in.
//!
//! ```text
//! at most    min(a, b)   what bounds a, and what bounds b
//!            max(a, b)   what bounds both
//! at least   the same the other way round
//! ```

use super::{Affine, Facts};
use crate::bulk::Atom;
use crate::dim::Dim;
use crate::scalar::Op;

/// More bounds of one integer than these tell nothing new.
const MOST: usize = 4;

/// Of one integer.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub at_least: Vec<Dim>,
    pub at_most: Vec<Dim>,
}

impl Facts {
    /// A dimension that one of two integers is certainly a position in: the first where a condition holds, and else the second.
    pub(super) fn of_either(&mut self, c: Atom, sides: [Atom; 2]) -> Option<Dim> {
        let mut under = |when: bool, found: &dyn Fn(&Facts) -> Option<Dim>| {
            let scope = self.scope();
            self.assume(c, when);
            let found = found(self);
            self.leave(scope);
            found
        };
        let [a, b] = sides;
        let first = under(true, &|f| f.position(a));
        let second = under(false, &|f| f.position(b));
        if first == second {
            return first;
        }
        let is_there = |f: &Facts, side: Atom, d: &Option<Dim>| d.clone().filter(|d| f.inside(side, d));
        under(false, &|f| is_there(f, b, &first)).or_else(|| under(true, &|f| is_there(f, a, &second)))
    }

    /// What an integer is certainly between.
    pub(super) fn bounds(&self, a: Atom) -> Bounds {
        if let Some(form) = self.form(a).filter(|f| self.exact(f)) {
            let itself: Vec<Dim> = form.as_dim().cloned().into_iter().collect();
            return Bounds { at_least: itself.clone(), at_most: itself };
        }
        if let Some(d) = self.position(a) {
            let last = d.sub(&Dim::constant(1));
            return Bounds { at_least: vec![Dim::default()], at_most: vec![last] };
        }
        let definition = a.var().and_then(|v| self.definitions.get(&v));
        let Some((op @ (Op::Min | Op::Max), a, b)) = definition else { return Bounds::default() };
        let (a, b) = (self.bounds(*a), self.bounds(*b));
        match op {
            Op::Min => Bounds {
                at_least: self.of_both(&a.at_least, &b.at_least, &|bound, other| other.sub(bound)),
                at_most: either(a.at_most, b.at_most),
            },
            _ => Bounds {
                at_least: either(a.at_least, b.at_least),
                at_most: self.of_both(&a.at_most, &b.at_most, &|bound, other| bound.sub(other)),
            },
        }
    }

    /// The bounds of one side beyond which the other side is not either. `room` is how much farther one of the two is.
    fn of_both(&self, a: &[Dim], b: &[Dim], room: &dyn Fn(&Dim, &Dim) -> Dim) -> Vec<Dim> {
        let holds = |bound: &Dim, others: &[Dim]| {
            others.iter().any(|o| self.nonnegative(&Affine::constant(room(bound, o))))
        };
        let of_a = a.iter().filter(|x| holds(x, b));
        let of_b = b.iter().filter(|x| holds(x, a));
        of_a.chain(of_b).take(MOST).cloned().collect()
    }
}

/// What bounds one of two.
fn either(mut a: Vec<Dim>, b: Vec<Dim>) -> Vec<Dim> {
    a.extend(b);
    a.truncate(MOST);
    a
}
