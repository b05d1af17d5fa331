//! Arrays of which a tree's points need their own elements go to scratch memory: the history of a loop that is left again by the same
//! tree takes as much as the points that are executed at a time need, which stays in a cache, and not what all need.

use crate::bulk::ArrayId;
use crate::loops::{Home, Program, Step};
use crate::lower::own::{Uses, move_home};

/// Moves what can live there to scratch memory.
pub(super) fn scratch(p: &mut Program) {
    let found: Vec<ArrayId> = Uses::of(p).alone().collect();
    found.into_iter().for_each(|a| move_home(p, a, Home::Scratch));
    let homes: Vec<Home> = p.arrays.iter().map(|a| a.home.clone()).collect();
    without_fills(&mut p.steps, &homes);
}

/// Scratch memory is set by the tree that it belongs to.
fn without_fills(steps: &mut Vec<Step>, homes: &[Home]) {
    steps.retain(|s| !matches!(s, Step::Fill { array, .. } if homes[array.0 as usize] == Home::Scratch));
    for s in steps {
        if let Step::Repeat(r) = s {
            without_fills(&mut r.steps, homes);
        }
    }
}
