//! What needs nothing of the trips before, before the loop.
//!
//! **Early** is a small product of what is there before the loop, at places that the trip tells. It pays where nests of the loop read it
//! and nothing else uses it. Nothing is early of a loop that checks sizes, on which its reads may rely.
//!
//! Cost: the products of all trips are kept until the loop has ended.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Rows, Trip, reads};
use crate::affine::Checked;
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Nest, Program, Repeat, Stm, Trips, Yield, YieldKind};
use crate::dim::Dim;
use crate::optimize::independent::nests;
use crate::ty::Elem;

/// The nests for all trips and the loop without them, if there are any.
pub(super) fn early(
    p: &mut Program,
    r: &Repeat,
    (index, count): (ArrayId, &Dim),
    known: &Checked,
) -> Option<Vec<Stm>> {
    let body = Trip::of(p, r, index, known);
    if body.are_points() || r.body.iter().any(|s| matches!(s, Stm::Check(..))) {
        return None;
    }
    let at: FxHashSet<usize> = (0..r.body.len()).filter(|at| body.is_early(*at, count)).collect();
    let (early, mut rest): (Vec<_>, Vec<_>) =
        r.body.iter().cloned().enumerate().partition(|(k, _)| at.contains(k));
    if early.is_empty() || rest.is_empty() {
        return None;
    }
    let trip = p.new_array("trip", Elem::I64, Vec::new());
    let mut arrays = FxHashMap::from_iter([(index, trip)]);
    let early: Vec<Stm> = early.into_iter().map(|(_, s)| s).collect();
    let copies = p.copy_stms(&early, &mut arrays);
    let alone =
        Repeat { trips: Trips::For(trip, count.clone()), carried: Vec::new(), body: copies, loc: r.loc };
    let mut out = nests(p, &alone, known)?;
    arrays.remove(&index);
    for (_, s) in &mut rest {
        if let Stm::Nest(n) = s
            && arrays.keys().any(|a| reads(n, *a))
        {
            Rows::redirect(p, n, index, &arrays);
        }
    }
    let body = rest.into_iter().map(|(_, s)| s).collect();
    out.push(Stm::Repeat(Repeat { body, ..r.clone() }));
    Some(out)
}

impl Trip<'_> {
    fn is_early(&self, at: usize, count: &Dim) -> bool {
        let Stm::Nest(n) = &self.r.body[at] else { return false };
        let uses_trip = n.inputs().iter().any(|a| self.arrays.contains(a));
        let is_only_read = |a: ArrayId| {
            let changes = |y: &Yield| match &y.kind {
                YieldKind::Write { into, .. } | YieldKind::Accumulate { into, .. } => *into == a,
                YieldKind::Store(_) | YieldKind::Reduce { .. } => false,
            };
            let reads = |at: &usize| match &self.r.body[*at] {
                Stm::Nest(n) => !n.yields.iter().any(changes),
                _ => false,
            };
            !self.nexts.contains(&a) && self.users(a).iter().all(reads)
        };
        !uses_trip
            && self.is_at_trip(n)
            && self.is_small_product(n)
            && self.may_be_moved(n)
            && self.has_known_extents(n)
            && n.yields.iter().all(|y| {
                let dims = &self.p.array(y.array).dims;
                !dims.is_empty() && is_only_read(y.array) && self.has_room(dims, count)
            })
    }

    /// Whether a nest is another one in each trip.
    fn is_at_trip(&self, n: &Nest) -> bool {
        let mut is_at_trip = reads(n, self.index);
        n.body.visit_sizes(&mut |d| is_at_trip |= scalars(d).any(|a| a == self.index));
        is_at_trip
    }
}
