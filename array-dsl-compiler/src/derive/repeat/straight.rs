//! Trips that go straight back: from what a trip left, what it wrote is undone statement by statement, and what it computed besides is
//! computed again between these, from states that are then what they were.
//!
//! ```text
//! of t = f(s);  s' = write s at p of g(t, s);  u = h(s');  s" = repeat { write .. }
//!       the loop backwards;  u again = h(s');  u backwards;  s = s' undone at p;  t again = f(s);  g, f backwards
//! ```
//!
//! The **segments** of a trip are the statements before its first update of a state, those after it, and so on. What is computed from
//! states in a segment can be had again when the update that ends the segment is undone. What something later than that needs, or that
//! update itself if it is a loop, which undoes what it wrote by going backwards, is **kept** by each trip (`history`), as the factor of
//! a row is in an elimination. No statement may read what a state was before an earlier update, nor a loop's trips what it was before the
//! loop. What depends on no state is computed
//! first. A trip with other needs is executed again from its start.
//!
//! A loop that writes into a state may carry others that it **replaces**, as a value that goes from layer to layer. Its trips store
//! these; it goes backwards from that, and what it gives in the end is kept where anything needs it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::history::Kept;
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Carried, Program, Repeat, Stm, Trips};

/// The statements of a trip but for updates and those whose values are kept, by their places.
pub(in crate::derive) struct Segments {
    /// Those that depend on no state that is written into, but for what is kept.
    pub steady: Vec<usize>,
    /// The others by segment.
    pub of: Vec<Vec<usize>>,
}

/// Why a trip cannot go straight back.
enum Need {
    /// These statements' values would have to be kept.
    Kept(Vec<usize>),
    /// Something else.
    Other,
}

impl Segments {
    /// Of a trip that can go straight back with what it keeps. `written` are the versions of each state that it writes into, from the one
    /// before it on.
    pub fn of(p: &Program, body: &[Stm], written: &[Vec<ArrayId>], kept: &Kept) -> Option<Segments> {
        let versions: FxHashSet<ArrayId> = written.iter().flatten().copied().collect();
        let are_stored = |(at, s): (usize, &Stm)| {
            let stored = kept.inside(at).states;
            replaced(s, &versions).all(|(k, _)| stored.iter().any(|(place, _)| *place == k))
        };
        let can = body.iter().enumerate().all(are_stored);
        can.then(|| Segments::found(p, body, written, &kept.places()).ok()).flatten()
    }

    /// The statements whose values a trip has to keep so that it can go straight back, if there is a way.
    pub fn to_keep(p: &Program, body: &[Stm], written: &[Vec<ArrayId>]) -> Option<FxHashSet<usize>> {
        let versions: FxHashSet<ArrayId> = written.iter().flatten().copied().collect();
        let can_be_kept = |s: &Stm| matches!(s, Stm::Nest(_)) || replaced(s, &versions).next().is_some();
        let mut kept = FxHashSet::default();
        loop {
            match Segments::found(p, body, written, &kept) {
                Ok(_) => return Some(kept),
                Err(Need::Other) => return None,
                Err(Need::Kept(more)) => {
                    if !more.iter().all(|at| can_be_kept(&body[*at]))
                        || more.iter().all(|at| kept.contains(at))
                    {
                        return None;
                    }
                    kept.extend(more);
                }
            }
        }
    }

    /// Whether a trip that can go straight back still can if it keeps these.
    pub fn can_keep(p: &Program, body: &[Stm], written: &[Vec<ArrayId>], kept: &FxHashSet<usize>) -> bool {
        Segments::found(p, body, written, kept).is_ok()
    }

    fn found(
        p: &Program,
        body: &[Stm],
        written: &[Vec<ArrayId>],
        kept: &FxHashSet<usize>,
    ) -> Result<Segments, Need> {
        let versions: FxHashSet<ArrayId> = written.iter().flatten().copied().collect();
        let mut current: FxHashSet<ArrayId> = written.iter().map(|w| w[0]).collect();
        let mut segments = Segments { steady: Vec::new(), of: vec![Vec::new()] };
        // By array that depends on a state: the segment in which it is computed, and where.
        let mut segment_of: FxHashMap<ArrayId, (usize, usize)> = FxHashMap::default();
        for (at, s) in body.iter().enumerate() {
            let now = segments.of.len() - 1;
            let all = used(p, s);
            if all.iter().any(|a| versions.contains(a) && !current.contains(a)) {
                return Err(Need::Other);
            }
            // Going backwards a loop has what it replaces from where that is stored.
            let used = without_starts(s, &versions).map_or(all, |s| used(p, &s));
            let computed: Vec<(usize, usize)> =
                used.iter().filter_map(|a| segment_of.get(a)).copied().collect();
            let earlier: Vec<usize> =
                computed.iter().filter(|(segment, _)| *segment != now).map(|(_, at)| *at).collect();
            if !earlier.is_empty() {
                return Err(Need::Kept(earlier));
            }
            let results = s.results();
            for w in written {
                for v in w.windows(2).filter(|v| results.contains(&v[1])) {
                    current.remove(&v[0]);
                    current.insert(v[1]);
                }
            }
            let gives: Vec<ArrayId> = results.iter().copied().filter(|a| !versions.contains(a)).collect();
            if kept.contains(&at) {
                // It is there from the start, and so has to be what its size is made of. An integer that is had again is called
                // otherwise, which sizes of arrays do not know.
                let is_size = |a: &ArrayId| body.iter().any(|s| sizes_of_results(p, s).any(|of| of == *a));
                if sizes(p, s).iter().any(|a| segment_of.contains_key(a)) || gives.iter().any(is_size) {
                    return Err(Need::Other);
                }
            }
            if gives.len() < results.len() {
                let can = match s {
                    Stm::Nest(_) => gives.is_empty(),
                    Stm::Repeat(r) => matches!(r.trips, Trips::For(..)),
                    _ => false,
                };
                if !can {
                    return Err(Need::Other);
                }
                if let Stm::Repeat(r) = s {
                    // What it started from is there again when all of it has gone backwards.
                    let inside = Stm::Repeat(Repeat { carried: Vec::new(), ..r.clone() }).inputs();
                    if r.carried.iter().any(|c| inside.contains(&c.start) && versions.contains(&c.start)) {
                        return Err(Need::Other);
                    }
                    if !computed.is_empty() {
                        return Err(Need::Kept(computed.iter().map(|(_, at)| *at).collect()));
                    }
                }
                if !kept.contains(&at) {
                    segment_of.extend(gives.into_iter().map(|a| (a, (now, at))));
                }
                segments.of.push(Vec::new());
            } else if computed.is_empty() && !used.iter().any(|a| versions.contains(a)) {
                segments.steady.extend(Some(at).filter(|at| !kept.contains(at)));
            } else if !kept.contains(&at) {
                segments.of[now].push(at);
                segment_of.extend(results.into_iter().map(|a| (a, (now, at))));
            }
        }
        Ok(segments)
    }
}

/// The states that a loop replaces, and their places among those that it carries, if it writes into others of these versions.
pub(in crate::derive) fn replaced<'s>(
    s: &'s Stm,
    versions: &FxHashSet<ArrayId>,
) -> impl Iterator<Item = (usize, &'s Carried)> {
    let carried = if let Stm::Repeat(r) = s { &r.carried[..] } else { &[] };
    let writes = carried.iter().any(|c| versions.contains(&c.result));
    carried.iter().enumerate().filter(move |(_, c)| writes && !versions.contains(&c.result))
}

/// A loop that replaces states, without what these start from.
fn without_starts(s: &Stm, versions: &FxHashSet<ArrayId>) -> Option<Stm> {
    let Stm::Repeat(r) = s else { return None };
    let places: Vec<usize> = replaced(s, versions).map(|(k, _)| k).collect();
    let mut r = r.clone();
    for k in &places {
        r.carried[*k].start = r.carried[*k].state;
    }
    (!places.is_empty()).then_some(Stm::Repeat(r))
}

/// The arrays that a statement uses, in sizes as well.
fn used(p: &Program, s: &Stm) -> Vec<ArrayId> {
    let mut used = s.inputs();
    used.extend(sizes(p, s));
    used
}

/// The integers that its sizes are made of.
fn sizes(p: &Program, s: &Stm) -> Vec<ArrayId> {
    let mut out = Vec::new();
    s.visit_sizes(&mut |d| out.extend(scalars(d)));
    out.extend(sizes_of_results(p, s));
    out
}

/// Those in the sizes of the arrays that it makes.
fn sizes_of_results(p: &Program, s: &Stm) -> impl Iterator<Item = ArrayId> {
    s.results().into_iter().flat_map(|a| &p.array(a).dims).flat_map(scalars)
}
