//! Trips that go straight back: from what a trip left, what it wrote is undone statement by statement, and what it computed besides is
//! computed again between these, from states that are then what they were.
//!
//! ```text
//! of t = f(s);  s' = write s at p of g(t, s);  u = h(s');  s" = repeat { write .. }
//!       the loop backwards;  u again = h(s');  u backwards;  s = s' undone at p;  t again = f(s);  g, f backwards
//! ```
//!
//! The **segments** of a trip are the statements before its first update of a state, those after it, and so on. What is computed from
//! states in a segment can be had again when the update that ends the segment is undone. So nothing later than that may need it; and not
//! that update either if it is a loop, which undoes what it wrote by going backwards. No statement may read what a state was before an
//! earlier update. What depends on no state is computed first. A trip with other needs is executed again from its start.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Rewound;
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Program, Stm, Trips};

/// The statements of a trip but for updates, by their places.
pub(super) struct Segments {
    /// Those that depend on no state that is written into.
    pub steady: Vec<usize>,
    /// The others by segment.
    pub of: Vec<Vec<usize>>,
}

impl Segments {
    /// Of a trip that can go straight back.
    pub fn of(p: &Program, body: &[Stm], written: &[Rewound<'_>]) -> Option<Segments> {
        let versions: FxHashSet<ArrayId> = written.iter().flat_map(|w| &w.versions).copied().collect();
        let mut current: FxHashSet<ArrayId> = written.iter().map(|w| w.versions[0]).collect();
        let mut segments = Segments { steady: Vec::new(), of: vec![Vec::new()] };
        // By array that depends on a state: the segment in which it is computed.
        let mut segment_of: FxHashMap<ArrayId, usize> = FxHashMap::default();
        for (at, s) in body.iter().enumerate() {
            let now = segments.of.len() - 1;
            let used = used(p, s);
            let computed: Vec<usize> = used.iter().filter_map(|a| segment_of.get(a)).copied().collect();
            let is_past = |a: &ArrayId| versions.contains(a) && !current.contains(a);
            if computed.iter().any(|segment| *segment != now) || used.iter().any(is_past) {
                return None;
            }
            let results = s.results();
            for w in written {
                for v in w.versions.windows(2).filter(|v| results.contains(&v[1])) {
                    current.remove(&v[0]);
                    current.insert(v[1]);
                }
            }
            if results.iter().any(|a| versions.contains(a)) {
                let is_update = results.iter().all(|a| versions.contains(a));
                let is_simple = match s {
                    Stm::Repeat(r) => computed.is_empty() && matches!(r.trips, Trips::For(..)),
                    _ => true,
                };
                (is_update && is_simple).then(|| segments.of.push(Vec::new()))?;
            } else if computed.is_empty() && !used.iter().any(|a| versions.contains(a)) {
                segments.steady.push(at);
            } else {
                segments.of[now].push(at);
                segment_of.extend(results.into_iter().map(|a| (a, now)));
            }
        }
        Some(segments)
    }
}

/// The arrays that a statement uses, in sizes as well.
fn used(p: &Program, s: &Stm) -> Vec<ArrayId> {
    let mut used = s.inputs();
    s.visit_sizes(&mut |d| used.extend(scalars(d)));
    used.extend(s.results().iter().flat_map(|a| &p.array(*a).dims).flat_map(scalars));
    used
}
