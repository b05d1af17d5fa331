//! Equal states of loops that carry arrays are one.
//!
//! ```text
//! before   s, t = repeat i < n with s = a, t = a { s' = write s at [i] of x;  t' = write t at [i] of x;  => s', t' }
//! after    s = t = repeat i < n with s = a { s' = write s at [i] of x;  => s' }
//! ```
//!
//! As in `states`: states start in classes of equal starts and types, a class whose next states are not equal once the states of each class
//! are taken to be equal is divided, and what is left is equal after every trip. A loop that reads an element, changes it and uses what it
//! read stores that twice for the way back: as what was overwritten and as what was read.

use rustc_hash::FxHashMap;

use super::Sequence;
use super::share::{Key, key};
use crate::bulk::build::Redirect;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Program, Repeat, Stm, Trips};

/// From arrays to others that are equal to them.
type Equal = FxHashMap<ArrayId, ArrayId>;

/// Has loops carry one state of each class. Loops inside of these are next.
pub(super) fn alike(seq: &mut Sequence, p: &mut Program) {
    let mut names = Equal::default();
    for s in &mut seq.stms {
        Redirect(&names).stm(s);
        if let Stm::Repeat(r) = s {
            merge(r, &mut names, p);
        }
    }
    seq.results.iter_mut().for_each(|a| *a = renamed(&names, *a));
    // Integers may be sizes.
    p.arrays.iter_mut().flat_map(|a| &mut a.dims).for_each(|d| Redirect(&names).dim(d));
}

fn renamed(names: &Equal, a: ArrayId) -> ArrayId {
    names.get(&a).copied().unwrap_or(a)
}

/// `names` gains those of states and results.
fn merge(r: &mut Repeat, names: &mut Equal, p: &Program) {
    let first = classes(r, &Equal::default(), p);
    if first.iter().enumerate().all(|(k, f)| k == *f) {
        return;
    }
    let mut states = Equal::default();
    for (c, f) in r.carried.iter().zip(&first) {
        states.insert(c.state, r.carried[*f].state);
        names.insert(c.result, r.carried[*f].result);
    }
    let mut place = 0..;
    r.carried.retain(|_| place.next().is_some_and(|k| first[k] == k));
    if let Trips::While(on) = &mut r.trips {
        *on = renamed(&states, *on);
    }
    for s in &mut r.body {
        Redirect(&states).stm(s);
    }
    r.carried.iter_mut().for_each(|c| c.next = renamed(&states, c.next));
    names.extend(states);
}

/// For each state the first one of its class. `equal` is what is known of arrays from outside.
fn classes(r: &Repeat, equal: &Equal, p: &Program) -> Vec<usize> {
    let first_of = |same: &dyn Fn(usize, usize) -> bool| -> Vec<usize> {
        (0..r.carried.len()).map(|k| (0..k).find(|j| same(*j, k)).unwrap_or(k)).collect()
    };
    let begins = |k: usize| {
        let (c, info) = (&r.carried[k], p.array(r.carried[k].state));
        (renamed(equal, c.start), info.elem, &info.dims)
    };
    let mut first = first_of(&|j, k| begins(j) == begins(k));
    while first.iter().enumerate().any(|(k, f)| k != *f) {
        let mut same = equal.clone();
        same.extend(r.carried.iter().zip(&first).map(|(c, f)| (c.state, r.carried[*f].state)));
        let after = trip(&r.body, same, p);
        let next = |k: usize| renamed(&after, r.carried[k].next);
        let divided = first_of(&|j, k| first[j] == first[k] && next(j) == next(k));
        if divided == first {
            break;
        }
        first = divided;
    }
    first
}

/// What is equal after these statements.
fn trip(stms: &[Stm], mut equal: Equal, p: &Program) -> Equal {
    let mut seen: FxHashMap<Key, Vec<ArrayId>> = FxHashMap::default();
    for s in stms {
        let mut s = s.clone();
        Redirect(&equal).stm(&mut s);
        if let Stm::Repeat(r) = &s {
            let first = classes(r, &equal, p);
            equal.extend(r.carried.iter().zip(first).map(|(c, f)| (c.result, r.carried[f].result)));
        } else if let Some(key) = key(p, &s) {
            match seen.get(&key) {
                Some(old) => equal.extend(s.results().into_iter().zip(old.iter().copied())),
                None => drop(seen.insert(key, s.results())),
            }
        }
    }
    equal
}
