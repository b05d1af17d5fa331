//! Where each loop is executed: by every point for itself (`sink`), or step by step at the host level, where it has one condition.

use rustc_hash::{FxHashMap, FxHashSet};

use super::constants;
use super::sink::{Sunk, points, sunk};
use super::sums::{OwnSums, with_own_sums};
use crate::bulk::{ArrayId, Carried, Program, Reducer, Repeat, Stm, Trips};
use crate::dim::Dim;
use crate::loops::uses::visit_arrays;
use crate::loops::{Node, Rounds, Tree};
use crate::optimize;
use crate::target::{Capabilities, Target};
use crate::ty::{Const, Elem, Loc};

/// The loops that stand in their points, by their first state.
pub(super) type SunkLoops = FxHashMap<ArrayId, Sunk>;

/// Decides it for every loop. A `while` of several points that stays looks at one state, which says whether any of them goes on.
pub(super) fn settled(
    p: &mut Program,
    known: &FxHashMap<ArrayId, Const>,
    target: Target,
    arrays: usize,
) -> SunkLoops {
    let constants = known.clone();
    let mut s = Settle { constants, target, arrays, sunk: FxHashMap::default() };
    let stms = std::mem::take(&mut p.stms);
    p.stms = s.list(p, stms);
    s.sunk
}

struct Settle {
    constants: FxHashMap<ArrayId, Const>,
    target: Target,
    /// The most arrays of a loop that stands in its points.
    arrays: usize,
    sunk: SunkLoops,
}

impl Settle {
    fn list(&mut self, p: &mut Program, stms: Vec<Stm>) -> Vec<Stm> {
        let outside = std::mem::take(&mut p.stms);
        for s in stms {
            match s {
                Stm::Repeat(r) => self.repeat(p, r),
                s => p.stms.push(s),
            }
        }
        std::mem::replace(&mut p.stms, outside)
    }

    fn repeat(&mut self, p: &mut Program, mut r: Repeat) {
        // At points what is added to an element is added where it is, whatever the host level does.
        if !self.target.can().updates {
            let mut updated = r.clone();
            optimize::updated(&mut updated, p);
            if updated != r && self.sinks_to_points(p, &updated) {
                return;
            }
        }
        if self.sinks_to_points(p, &r) {
            return;
        }
        r.body = self.list(p, r.body);
        let r = with_one_condition(p, r);
        p.stms.push(Stm::Repeat(r));
    }

    /// Adds the loop as one of its points, if it can be that: with small arrays as scalars, where they would be memory else.
    fn sinks_to_points(&mut self, p: &mut Program, r: &Repeat) -> bool {
        let mut found = self.sunk(p, r, false);
        if found.as_ref().is_none_or(|(_, sunk)| sunk.has_few_in_memory(p)) {
            found = self.sunk(p, r, true).or(found);
        }
        let found = found.filter(|(_, sunk)| is_of_points(&sunk.tree, self.target.can(), self.arrays));
        found.is_some_and(|found| self.add(p, r, found))
    }

    /// The loop as one of its points, and the sums that come before and after it. What was made for nothing is gone.
    fn sunk(&mut self, p: &mut Program, r: &Repeat, small: bool) -> Option<(Option<OwnSums>, Sunk)> {
        let (vars, arrays) = (p.vars.len(), p.arrays.len());
        let mut attempt = || {
            let points = points(p, r, small)?;
            let own = with_own_sums(p, r, &points, &self.constants);
            let mut known = self.constants.clone();
            if let Some(OwnSums { before, .. }) = &own {
                constants(before, &mut known);
            }
            let repeat = own.as_ref().map_or(r, |s| &s.repeat);
            let loop_of_points = sunk(p, &known, repeat, points, small)?;
            Some((own, loop_of_points))
        };
        let found = attempt();
        if found.is_none() {
            p.vars.truncate(vars);
            p.arrays.truncate(arrays);
        }
        found
    }

    fn add(&mut self, p: &mut Program, r: &Repeat, (own, loop_of_points): (Option<OwnSums>, Sunk)) -> bool {
        let OwnSums { before, repeat, after } =
            own.unwrap_or_else(|| OwnSums { before: Vec::new(), repeat: r.clone(), after: Vec::new() });
        constants(&before, &mut self.constants);
        if let Some(first) = repeat.carried.first() {
            self.sunk.insert(first.state, loop_of_points);
        }
        p.stms.extend(before);
        p.stms.push(Stm::Repeat(repeat));
        p.stms.extend(after);
        true
    }
}

/// So few points, where their number is known, leave most of a device's threads idle.
const FEW_POINTS: i64 = 32;
/// So few trips take a thread no longer than the host takes to ask for a step.
const FEW_TRIPS: i64 = 1024;

/// Whether a loop that points can make by themselves is one that they do make. Then there is one step in place of several for each
/// trip, nobody waits to see whether a loop goes on, and what goes from trip to trip is in registers. It is not, if
///
/// 1. it uses more arrays than a tree may (`schedule` says how many);
/// 2. a point has a thread of its own, the points are known to be few, and inside of a trip there are loops that are not known to be
///    short: the points' loop would go through them one by one, where a step for each trip has threads for all of them. Where all
///    is one point no step has more than one thread anyway.
fn is_of_points(t: &Tree, can: Capabilities, most: usize) -> bool {
    let mut arrays = FxHashSet::default();
    visit_arrays(&t.body, &mut |a, _| arrays.extend([a]));
    if arrays.len() > most {
        return false;
    }
    let points = Dim::product(t.axes.iter().map(|a| &a.extent));
    let are_few = points.as_constant().is_some_and(|n| n < FEW_POINTS);
    let is_short = t.body.iter().all(|n| match n {
        Node::Recurrence(r) => trips(&r.body).is_some_and(|n| n <= FEW_TRIPS),
        _ => true,
    });
    can.lanes || !are_few || t.axes.is_empty() || is_short
}

/// How many trips the loops among nodes make at most, if that is known; 1 if there are none.
fn trips(nodes: &[Node]) -> Option<i64> {
    nodes.iter().try_fold(1i64, |sum, n| match n {
        Node::Recurrence(r) => match &r.rounds {
            Rounds::For(axis, _) => {
                let inside = trips(&r.body)?.checked_mul(axis.extent.as_constant()?)?;
                sum.checked_add(inside)
            }
            Rounds::While(_) => None,
        },
        _ => Some(sum),
    })
}

fn with_one_condition(p: &mut Program, mut r: Repeat) -> Repeat {
    let Trips::While(on) = r.trips else { return r };
    let is_condition = |c: &&Carried| c.state == on && !p.array(c.state).dims.is_empty();
    let Some(Carried { start, next, .. }) = r.carried.iter().find(is_condition).copied() else { return r };
    let start = any(p, start, r.loc);
    let outside = std::mem::replace(&mut p.stms, r.body);
    let next = any(p, next, r.loc);
    r.body = std::mem::replace(&mut p.stms, outside);
    let [state, result] = [(), ()].map(|()| p.new_array("any", Elem::Bool, Vec::new()));
    r.carried.push(Carried { state, start, next, result });
    r.trips = Trips::While(state);
    r
}

/// Whether any of the points goes on.
fn any(p: &mut Program, on: ArrayId, loc: Loc) -> ArrayId {
    p.reduced("any", Reducer::Or, on, loc)
}
