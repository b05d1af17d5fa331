//! Equal states of scans are one, and states that never change are what they start from.
//!
//! ```text
//! before   s, t = scan [l = a, m = a] [x = v, y = v] { k = f(l, x); o = f(m, y) => k, o }
//! after    s = t = scan [l = a] [x = v] { k = f(l, x) => k }
//!
//! before   s, t = scan [l = a, m = b] [x = v] { k = f(l, m, x) => k, m }
//! after    t = b;  s = scan [l = a] [x = v] { k = f(l, b, x) => k }      unless the step uses the second's own value
//! ```
//!
//! States start in classes of equal starts and values. A class stays one if its new values are equal once the states of each class
//! are taken to be equal, else it is divided, until nothing changes: what is left is equal at every point, by induction. The
//! affine maps of a derivative have such states: the map of a product of matrices is the same for each row.
//!
//! Source: partition refinement (Hopcroft 1971), here for recurrences.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::bulk::build::{Rename, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{Atom, Exp, Item, Let, Nest, Program, Scan, Stm, Var};

/// Shares the states of all scans.
pub(super) fn states(seq: &mut Sequence, _: &mut Program) {
    for s in &mut seq.stms {
        if let Stm::Nest(n) = s {
            nest(n);
        }
    }
}

fn nest(n: &mut Nest) {
    let mut map = Renaming::default();
    for i in &mut n.body.items {
        Rename(&map).item(i);
        if let Item::Scan(s) = i {
            let used = used(s);
            let stays = |k: &usize| {
                let right = s.right.get(*k).is_some_and(|v| used.contains(v));
                s.step.results[*k] == Atom::Var(s.left[*k]) && !right
            };
            let (same, kept): (Vec<usize>, Vec<usize>) = (0..s.left.len()).partition(stays);
            if !same.is_empty() {
                map.extend(same.iter().map(|k| (s.vars[*k], s.start[*k])));
                let before: Renaming = same.iter().map(|k| (s.left[*k], s.start[*k])).collect();
                rename_step(s, &before);
                keep(s, &kept);
            }
            let first = firsts(s);
            if first.iter().enumerate().any(|(k, f)| k != *f) {
                map.extend(s.vars.iter().zip(&first).map(|(v, f)| (*v, Atom::Var(s.vars[*f]))));
                let kept: Vec<usize> = (0..first.len()).filter(|k| first[*k] == *k).collect();
                shrink(s, &first, &kept);
            }
        }
    }
    n.body.items.retain(|i| !matches!(i, Item::Scan(s) if s.vars.is_empty()));
    n.yields.iter_mut().for_each(|y| y.kind.rename(&map));
}

/// The scalars that a step uses.
fn used(s: &Scan) -> FxHashSet<Var> {
    let mut used: FxHashSet<Var> = s.step.results.iter().filter_map(|a| a.var()).collect();
    s.step.block.lets.iter().for_each(|l| l.exp.visit_atoms(&mut |a| used.extend(a.var())));
    used
}

/// For each state the first one that is equal to it.
fn firsts(s: &Scan) -> Vec<usize> {
    let count = s.left.len();
    let equal_at_start = |i: usize, j: usize| s.start[i] == s.start[j] && s.values.get(i) == s.values.get(j);
    let mut first: Vec<usize> =
        (0..count).map(|j| (0..j).find(|i| equal_at_start(*i, j)).unwrap_or(j)).collect();
    loop {
        let results = results(s, &first);
        let next: Vec<usize> = (0..count)
            .map(|j| (0..j).find(|i| first[*i] == first[j] && results[*i] == results[j]).unwrap_or(j))
            .collect();
        if next == first {
            return first;
        }
        first = next;
    }
}

/// The new values, with equal expressions in one variable and the states of each class taken to be equal.
fn results(s: &Scan, first: &[usize]) -> Vec<Atom> {
    let mut map = classes(s, first);
    let mut known: FxHashMap<Exp, Vec<Var>> = FxHashMap::default();
    for l in &s.step.block.lets {
        let e = l.exp.renamed(&map);
        match known.get(&e) {
            Some(vars) => map.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v)))),
            None => drop(known.insert(e, l.vars.clone())),
        }
    }
    s.step.results.iter().map(|a| renamed(&map, *a)).collect()
}

/// The states before the point, and its values, as those of the first of their classes.
fn classes(s: &Scan, first: &[usize]) -> Renaming {
    let to = |vars: &[Var]| -> Vec<(Var, Atom)> {
        vars.iter().zip(first).map(|(v, f)| (*v, Atom::Var(vars[*f]))).collect()
    };
    to(&s.left).into_iter().chain(to(&s.right)).collect()
}

/// Keeps one state of each class; what computed the others is no longer used.
fn shrink(s: &mut Scan, first: &[usize], kept: &[usize]) {
    let map = classes(s, first);
    rename_step(s, &map);
    keep(s, kept);
}

fn rename_step(s: &mut Scan, map: &Renaming) {
    let rename = |l: &Let| Let { exp: l.exp.renamed(map), ..l.clone() };
    s.step.block.lets = s.step.block.lets.iter().map(rename).collect();
    s.step.results.iter_mut().for_each(|a| *a = renamed(map, *a));
}

/// Keeps these states.
fn keep(s: &mut Scan, kept: &[usize]) {
    let of = |atoms: &[Atom]| kept.iter().filter_map(|k| atoms.get(*k)).copied().collect::<Vec<Atom>>();
    (s.start, s.values, s.step.results) = (of(&s.start), of(&s.values), of(&s.step.results));
    let of = |vars: &[Var]| kept.iter().filter_map(|k| vars.get(*k)).copied().collect::<Vec<Var>>();
    (s.vars, s.left, s.right) = (of(&s.vars), of(&s.left), of(&s.right));
}
