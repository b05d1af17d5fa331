//! Steps that have rows in common, for some rows at a time.
//!
//! ```text
//! before   h = contract x[i0, i2] * w[i2, i1]
//!          par i < n { for j < m { t[i, j] = f(h[i, j]) } }
//!          g = contract t[i2, i0] * x[i2, i1]
//! after    bands of rows of n reading (x' for x) {
//!            h' = contract x'[i0, i2] * w[i2, i1]
//!            par i < rows { for j < m { t'[i, j] = f(h'[i, j]) } }
//!            g' = contract t'[i2, i0] * x'[i2, i1]
//!          } adding (g' for g)
//! ```
//!
//! Of what these steps hand on to each other there are the rows of a band, near the processor, where there were all `n`: memory beside
//! arguments and results no longer grows with `n`, and a product is used before it has left the cache. Bands are divided among tasks
//! with all their steps; how many there are the runtime decides by sizes (`array-dsl-runtime/src/cpu/bands.rs`), and of few rows there
//! is one, whose steps are divided as before.
//!
//! A step can be of bands (`member`) if what it makes of some rows needs these rows alone of what other steps in bands make: a tree whose
//! points are rows, or a product of rows; or if it sums over all rows: a product, what points add to an array, and a fold, of which the
//! tree around it stays behind (`folds`). There has to be a product, without which loops would be one tree already, and something that
//! one step hands on to another.
//!
//! **Steps between these go before the bands where they need nothing of them, else after them**; of what may fail the order stays. Where
//! a band fails all is done again for all rows at once, so that the error is that of the first step that fails.
//!
//! | file | subject |
//! |---|---|
//! | `bands` | which steps go together |
//! | `member` | which step can, with which others |
//! | `folds` | trees around folds over rows |
//! | `rows` | what code does at a row |
//! | `build` | the steps that result |

mod build;
mod folds;
mod member;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use self::member::{Group, Member, Role};
use crate::bulk::ArrayId;
use crate::dim::Dim;
use crate::loops::touched::Touched;
use crate::loops::verify::compare;
use crate::loops::{Program, Step};

/// So few rows are not divided.
const FEW: i64 = 128;

/// Has steps with common rows executed in bands.
pub(super) fn bands(p: &mut Program) {
    let steps = std::mem::take(&mut p.steps);
    let elsewhere: BTreeSet<ArrayId> = p.result.leaves().into_iter().map(|a| p.root(*a)).collect();
    let arrays = p.arrays.len();
    p.steps = in_list(p, steps, &elsewhere);
    // What a step has established is not known where that comes after it now.
    if p.arrays.len() > arrays {
        compare(p);
    }
}

/// In a list of steps, of what else uses this memory.
fn in_list(p: &mut Program, mut steps: Vec<Step>, elsewhere: &BTreeSet<ArrayId>) -> Vec<Step> {
    for at in 0..steps.len() {
        let Step::Repeat(r) = &mut steps[at] else { continue };
        let inside = std::mem::take(&mut r.steps);
        // The loop is looked at without its steps.
        let Touched { mut reads, changes } = Touched::of_all(p, &steps);
        reads.extend(changes);
        reads.extend(elsewhere);
        let inside = in_list(p, inside, &reads);
        if let Step::Repeat(r) = &mut steps[at] {
            r.steps = inside;
        }
    }
    while let Some(found) = best(p, &steps, elsewhere) {
        steps = build::build(p, steps, found);
    }
    steps
}

/// Steps to be executed in bands.
struct Found {
    total: Dim,
    /// By their places in the list.
    members: BTreeMap<usize, Member>,
    /// The places of steps that come after the bands.
    late: BTreeSet<usize>,
    /// The arrays of rows that nothing else uses.
    own: BTreeSet<ArrayId>,
}

/// Those that hand on most.
fn best(p: &Program, steps: &[Step], elsewhere: &BTreeSet<ArrayId>) -> Option<Found> {
    let mut tried = BTreeSet::new();
    let mut best: Option<(usize, Found)> = None;
    for (at, s) in steps.iter().enumerate() {
        let Step::Contract(c) = s else { continue };
        for total in member::rows_of(c) {
            let few = total.as_constant().is_some_and(|n| n < FEW);
            // What comes before may be what stands in the way.
            for from in [0, at] {
                if few || !tried.insert((total.clone(), from)) {
                    continue;
                }
                let found = group(p, steps, elsewhere, &total, from);
                let dims = |f: &Found| f.own.iter().map(|a| p.arrays[a.0 as usize].dims.len()).sum();
                let found = found.map(|f| (dims(&f), f));
                if found.as_ref().map(|(dims, _)| *dims) > best.as_ref().map(|(dims, _)| *dims) {
                    best = found;
                }
            }
        }
    }
    best.map(|(_, found)| found)
}

/// The steps from one on that go together in bands of so many rows.
fn group(
    p: &Program,
    steps: &[Step],
    elsewhere: &BTreeSet<ArrayId>,
    total: &Dim,
    from: usize,
) -> Option<Found> {
    let mut left_out: BTreeSet<usize> = (0..from).collect();
    loop {
        let Group { members, late, .. } = Group::of(p, steps, total, &left_out);
        let mut outside = Touched { reads: elsewhere.clone(), changes: BTreeSet::new() };
        for (at, s) in steps.iter().enumerate() {
            match members.get(&at) {
                Some(m) => outside.extend(m.after.clone()),
                None => outside.extend(Touched::of(p, s)),
            }
        }
        let before = left_out.len();
        // What others have a part in making is not made by bands.
        let is_shared = |m: &Member| m.makes.iter().any(|a| outside.changes.contains(a));
        let others = |at: usize| members.iter().filter(move |(k, _)| **k != at).map(|(_, m)| m);
        let hands_on = |at: usize, m: &Member| {
            others(at).any(|n| !n.makes.is_disjoint(&m.needs) || !m.makes.is_disjoint(&n.needs))
        };
        let alone = |(at, m): (&usize, &Member)| (is_shared(m) || !hands_on(*at, m)).then_some(*at);
        left_out.extend(members.iter().filter_map(alone));
        if left_out.len() > before {
            continue;
        }
        let own: BTreeSet<ArrayId> =
            members.values().flat_map(|m| &m.makes).copied().filter(|a| !outside.has(a)).collect();
        let has_product = members.values().any(|m| matches!(m.role, Role::Product { .. }));
        let found = Found { total: total.clone(), members, late, own };
        return (has_product && !found.own.is_empty()).then_some(found);
    }
}
