//! Additions to elements to which nothing was added before, as writes.
//!
//! ```text
//! before   s = repeat i < n with s = 0 { s' = nest [k < m] { .. } accumulate(+) s at [i, k] of v;  => s' }
//! after    s = repeat i < n with s = 0 { s' = nest [k < m] { .. } write s at [i, k] of v;  => s' }
//! ```
//!
//! Each trip has a row of its own, each of its points an element, and nothing else changes the state. It need not be zero at first then,
//! and what a way back keeps of the same numbers for later is the same state (`alike`).

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::bulk::{ArrayId, Atom, Carried, Program, Reducer, Repeat, Stm, Yield, YieldKind};

/// Makes writes of them.
pub(super) fn first(seq: &mut Sequence, _: &mut Program) {
    let mut zeros: FxHashSet<ArrayId> = FxHashSet::default();
    for s in &mut seq.stms {
        match s {
            Stm::Nest(n) => {
                if let [Yield { array, kind: YieldKind::Store(Atom::Const(c)) }] = &n.yields[..]
                    && c.elem.is_float()
                    && c.is_zero()
                {
                    zeros.insert(*array);
                }
            }
            Stm::Repeat(r) => {
                for c in r.carried.clone().into_iter().filter(|c| zeros.contains(&c.start)) {
                    written(r, &c);
                }
            }
            _ => {}
        }
    }
}

/// Makes a write of what adds to a state that begins as zeros, if that is all that is done to it and each element is added to once.
fn written(r: &mut Repeat, c: &Carried) {
    let trips = r.trips.clone();
    for s in &mut r.body {
        let Stm::Nest(n) = s else { continue };
        let [Yield { array, kind }] = &mut n.yields[..] else { continue };
        let YieldKind::Accumulate { reducer: Reducer::Add, into, index, value } = kind else { continue };
        let Some((Atom::Var(row), places)) = index.split_first() else { continue };
        let is_row = n.body.lets().any(|l| l.vars == [*row] && trips.goes_through(&l.exp));
        let axes: FxHashSet<&Atom> = places.iter().collect();
        let are_apart = n.axes.iter().all(|a| axes.contains(&Atom::Var(a.var)));
        if (*array, *into) == (c.next, c.state) && is_row && are_apart {
            let (into, index, value) = (*into, index.clone(), *value);
            *kind = YieldKind::Write { into, index, value, contested: false };
            return;
        }
    }
}
