//! Which trips of a loop do something: what comparisons of its counter say of where these begin and end.

use std::collections::BTreeSet;

use super::super::border::{self, Meeting};
use crate::affine::{Affine, Facts};
use crate::bulk::{Atom, Axis, Exp, Let, Var};
use crate::dim::Dim;
use crate::scalar::Op;

/// Which trips of a loop do something, by a comparison.
#[derive(Clone)]
pub(super) enum Limit {
    /// Those from a place on.
    From(Affine),
    /// Those before a place.
    To(Affine),
    /// As many as a scalar says.
    Counted {
        count: Atom,
        /// Of how many they are the last; they are the first otherwise.
        last_of: Option<Dim>,
        /// Code before the loop that computes the count, by the names that it has inside.
        code: Vec<Let>,
    },
}

impl Limit {
    /// Whether it says where the trips end that do something, not where they begin.
    pub fn is_end(&self) -> bool {
        matches!(self, Limit::To(_) | Limit::Counted { last_of: None, .. })
    }
}

/// Whether trips are certainly left within these limits.
pub(super) fn has_trips(limits: &[Limit], extent: &Dim, facts: &Facts) -> bool {
    let (mut from, mut to) = (Affine::default(), Affine::constant(extent.clone()));
    for limit in limits {
        match limit {
            Limit::From(place) => from = place.clone(),
            Limit::To(place) => to = place.clone(),
            Limit::Counted { .. } => return false,
        }
    }
    let last = Affine::constant(extent.clone()).sub(&to);
    let any = to.sub(&from).sub(&Affine::constant(Dim::constant(1)));
    [from, last, any].iter().all(|f| facts.nonnegative(f))
}

/// What a comparison of polynomials says of the trips that do something. `outside` are the axes around the loop.
pub(super) fn place(facts: &Facts, outside: &BTreeSet<Var>, axis: &Axis, c: &Let) -> Option<Limit> {
    let Exp::Op(op, args) = &c.exp else { return None };
    let Meeting { at, step } = border::meeting(facts, axis.var, outside, args[..].try_into().ok()?)?;
    let after = at.add(&Affine::constant(Dim::constant(1)));
    let limit = match (op, step) {
        (Op::Lt, 1) | (Op::Gt, -1) => Limit::To(at),
        (Op::Le, 1) | (Op::Ge, -1) => Limit::To(after),
        (Op::Ge, 1) | (Op::Le, -1) => Limit::From(at),
        (Op::Gt, 1) | (Op::Lt, -1) => Limit::From(after),
        _ => return None,
    };
    // Computed, it must not wrap either, if there are trips.
    let (Limit::From(place) | Limit::To(place)) = &limit else { return None };
    facts.exact_in(place, Some(&axis.extent)).then_some(limit)
}

/// What a comparison of a loop's counter with a count says of the trips that do something; with one that is no polynomial if those
/// are `left`. The code that computes the count is to be found.
pub(super) fn counted(facts: &Facts, axis: &Axis, c: &Let, left: bool) -> Option<Limit> {
    let (x, count) = match &c.exp {
        Exp::Op(Op::Lt, args) => (args[0], args[1]),
        Exp::Op(Op::Gt, args) => (args[1], args[0]),
        _ => return None,
    };
    count.var()?;
    if left && facts.form(count).is_some() {
        return None;
    }
    let mut form = facts.form(x)?;
    let step = form.axes.remove(&axis.var)?.as_constant()?;
    let rest = form.as_dim()?.clone();
    let (one, last) = (Dim::constant(1), rest.add(&Dim::constant(1)) == axis.extent);
    let last_of = match step {
        1 if rest == Dim::default() => None,
        // k > rest - count, where the counter is not more than `rest`, or nothing wraps.
        -1 if last || facts.exact(&facts.form(x)?) && facts.exact(&Affine::constant(rest.clone())) => {
            Some(rest.add(&one))
        }
        _ => return None,
    };
    Some(Limit::Counted { count, last_of, code: Vec::new() })
}
