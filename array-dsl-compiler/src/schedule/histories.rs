//! States that begin as anything: each trip of their loop writes a row of its own, and nothing reads them before the loop ends.
//!
//! ```text
//! history = repeat i < n { h = nest [p] { .. } write into history at [i, p] of v; => h }
//! ```
//!
//! So is the history of a loop that its way back needs. It is as large as all states together, and to set it to zero first would take
//! as long as to write it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::{self, ArrayId, Atom, Carried, Nest, Program, Repeat, Stm, Trips, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::ty::{Const, Elem};

/// Gives such states starts of their own, which are these: arrays of which the elements are anything. `constants` are arrays of one
/// constant, and `is_step` says of a loop that it is a step of the host, and does not stand in its points.
pub(super) fn histories(
    p: &mut Program,
    constants: &FxHashMap<ArrayId, Const>,
    is_step: &dyn Fn(&Repeat) -> bool,
) -> FxHashSet<ArrayId> {
    let mut begun = FxHashSet::default();
    let stms = std::mem::take(&mut p.stms);
    let mut stms = list(p, stms, constants, is_step, &mut begun);
    if !begun.is_empty() {
        without_unused(&mut stms, constants, p.result.leaves().into_iter().copied().collect());
    }
    p.stms = stms;
    begun
}

fn list(
    p: &mut Program,
    stms: Vec<Stm>,
    constants: &FxHashMap<ArrayId, Const>,
    is_step: &dyn Fn(&Repeat) -> bool,
    begun: &mut FxHashSet<ArrayId>,
) -> Vec<Stm> {
    let mut out = Vec::new();
    for s in stms {
        let s = match s {
            Stm::Repeat(mut r) if is_step(&r) => {
                for k in 0..r.carried.len() {
                    let c = r.carried[k];
                    if !constants.contains_key(&c.start) || !sets_all(p, &r, &c) {
                        continue;
                    }
                    let info = p.array(c.start).clone();
                    let zero = Atom::Const(Const::of(info.elem, 0));
                    let start = p.store(&info.name, info.elem, &info.dims, r.loc, |_, _, _| zero);
                    out.extend(p.stms.pop());
                    r.carried[k].start = start;
                    begun.insert(start);
                }
                r.body = list(p, std::mem::take(&mut r.body), constants, is_step, begun);
                Stm::Repeat(r)
            }
            s => s,
        };
        out.push(s);
    }
    out
}

/// Takes out constant arrays that nothing uses any more. `used` are those that are used after these statements.
fn without_unused(stms: &mut Vec<Stm>, constants: &FxHashMap<ArrayId, Const>, mut used: FxHashSet<ArrayId>) {
    used.extend(stms.iter().flat_map(Stm::inputs));
    let is_unused = |y: &Yield| constants.contains_key(&y.array) && !used.contains(&y.array);
    stms.retain(|s| !matches!(s, Stm::Nest(n) if !n.yields.is_empty() && n.yields.iter().all(is_unused)));
    for s in stms {
        if let Stm::Repeat(r) = s {
            without_unused(&mut r.body, constants, r.carried.iter().map(|c| c.next).collect());
        }
    }
}

/// Whether the trips of a loop write all of a state, each its own row, and do not read it.
fn sets_all(p: &Program, r: &Repeat, c: &Carried) -> bool {
    let Trips::For(_, count) = &r.trips else { return false };
    let info = p.array(c.state);
    let Some((first, others)) = info.dims.split_first() else { return false };
    let users = |a: ArrayId| r.body.iter().filter(move |s| s.inputs().contains(&a));
    let mut writes = users(c.state);
    let (Some(Stm::Nest(n)), None) = (writes.next(), writes.next()) else { return false };
    let [Yield { array, kind: YieldKind::Write { into, index, .. } }] = &n.yields[..] else { return false };
    let mut is_read = false;
    n.body.visit_reads(&mut |a, _| is_read |= a == c.state);
    let is_next = |d: &Carried| d.next == c.next || d.next == c.state;
    first == count
        && info.elem != Elem::Bool
        && (*array, *into) == (c.next, c.state)
        && !is_read
        && users(c.next).next().is_none()
        && r.carried.iter().filter(|d| is_next(d)).count() == 1
        && is_row(n, index, &r.trips, others)
}

/// Whether the points of a nest are the elements of the row that is a trip's own.
fn is_row(n: &Nest, index: &[Atom], trips: &Trips, dims: &[Dim]) -> bool {
    let Some((Atom::Var(row), places)) = index.split_first() else { return false };
    let is_trip = n.body.lets().any(|l| l.vars == [*row] && trips.goes_through(&l.exp));
    let axis = |a: &Atom| n.axes.iter().find(|x| Atom::Var(x.var) == *a);
    let axes: Option<Vec<&bulk::Axis>> = places.iter().map(axis).collect();
    axes.is_some_and(|axes| {
        let different: FxHashSet<Var> = axes.iter().map(|a| a.var).collect();
        is_trip
            && different.len() == n.axes.len()
            && axes.len() == dims.len()
            && axes.iter().zip(dims).all(|(a, d)| a.extent == *d)
    })
}
