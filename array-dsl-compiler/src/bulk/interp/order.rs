//! What an execution in order needs of an associative scan.
//!
//! Regrouping composes whole states. In order a state that nothing reads, and that no other state's new value is made of, is never
//! looked at: the matrix of an affine map `(b, C)` whose `b` alone is stored. What computes it is counted apart: generated code does
//! not execute it where it goes through a scan in order, but does where it composes the states of chunks.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::live::live_lets;
use crate::bulk::{Atom, Block, Nest, Scan, Var};

/// What is needed of the steps of a nest's associative scans, by their first variable; only of those that have more.
pub(super) fn in_order(n: &Nest) -> FxHashMap<Var, Block> {
    let mut used: FxHashSet<Var> = FxHashSet::default();
    used.extend(n.yields.iter().flat_map(|y| y.kind.atoms()).filter_map(Atom::var));
    n.body.visit_atoms(&mut |a| used.extend(a.var()));
    let scan = |s: &Scan| {
        let needed = needed(s, &used);
        (needed.lets.len() < s.step.block.lets.len()).then_some((s.vars[0], needed))
    };
    n.body.scans().filter(|s| s.is_associative()).filter_map(scan).collect()
}

fn needed(s: &Scan, used: &FxHashSet<Var>) -> Block {
    let mut states: Vec<bool> = s.vars.iter().map(|v| used.contains(v)).collect();
    loop {
        let results = s.step.results.iter().zip(&states).filter(|(_, needed)| **needed);
        let mut live: FxHashSet<Var> = results.filter_map(|(a, _)| a.var()).collect();
        let lets = live_lets(s.step.block.lets.clone(), &mut live);
        let before = states.clone();
        for (needed, v) in states.iter_mut().zip(&s.left) {
            *needed |= live.contains(v);
        }
        if before == states {
            return Block { lets };
        }
    }
}
