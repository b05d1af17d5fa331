//! Arrays of which a tree's points need their own elements go to scratch memory.
//!
//! * The history of a loop that is left again by the same tree takes as much as the points that are executed at a time need, which stays
//!   in a cache, and not what all need.
//! * The few elements that a point changes and reads in loops are its own (`lower::private`) where points can go together: in scratch
//!   memory those of several points are neighbors, and in memory of the array they are not. For that short loops of points, which may
//!   fold, become loops of one point by itself.

use std::collections::BTreeSet;

use crate::bulk::{ArrayId, Atom, Exp, Let};
use crate::loops::together::{folds_are_short, together};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Bands, Fold, Home, Loop, Node, Program, Recurrence, Repeat, Rounds, State, Step, Tree};
use crate::lower::own::{Uses, move_home};
use crate::lower::private::{candidates, keep, without_fills};

/// The most words of 32 bits that a point keeps: eight of them fill half of the nearest cache.
const MOST_WORDS: i64 = 512;
/// The most trips of a loop that goes in order so that points can go together.
const SHORT: i64 = 32;

/// Moves what can live there to scratch memory.
pub(super) fn scratch(p: &mut Program) {
    let alone: BTreeSet<ArrayId> = Uses::of(p).alone().collect();
    let mut steps = std::mem::take(&mut p.steps);
    in_order(p, &mut steps, &alone);
    p.steps = steps;
    keep(p, &|p, t, found| if fits(p, t, &found, &alone) { first(found) } else { Vec::new() });
    let found: Vec<ArrayId> = Uses::of(p).alone().collect();
    found.into_iter().for_each(|a| move_home(p, a, Home::Scratch));
    let homes: Vec<Home> = p.arrays.iter().map(|a| a.home.clone()).collect();
    without_fills(&mut p.steps, &|a| homes[a.0 as usize] == Home::Scratch);
}

fn first(found: Vec<(ArrayId, i64)>) -> Vec<ArrayId> {
    found.into_iter().map(|(a, _)| a).collect()
}

/// Whether points go together once they keep their elements of the arrays that were found: all that their loops change and read, but
/// for what is theirs alone.
fn fits(p: &Program, t: &Tree, found: &[(ArrayId, i64)], alone: &BTreeSet<ArrayId>) -> bool {
    let words = found.iter().map(|(_, words)| words).sum::<i64>();
    let has = |a: &ArrayId| alone.contains(a) || found.iter().any(|(b, _)| a == b);
    !found.is_empty()
        && words <= MOST_WORDS
        && reread(&t.body).iter().all(has)
        && together(&t.axes, &t.body, &p.vars).is_some()
        && folds_are_short(&t.body)
}

/// The arrays that loops of one point change and read.
pub(super) fn reread(body: &[Node]) -> BTreeSet<ArrayId> {
    let (mut read, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for n in body.iter().filter(|n| matches!(n, Node::Recurrence(_))) {
        visit_arrays(std::slice::from_ref(n), &mut |a, access| {
            read.extend((access != Access::Write).then_some(a));
            changed.extend((access != Access::Read).then_some(a));
        });
    }
    read.intersection(&changed).copied().collect()
}

/// Has short loops go in order where points can go together then.
fn in_order(p: &mut Program, steps: &mut [Step], alone: &BTreeSet<ArrayId>) {
    for s in steps {
        match s {
            Step::Repeat(Repeat { steps, .. }) | Step::Bands(Bands { steps, .. }) => {
                in_order(p, steps, alone)
            }
            Step::Tree(t) if t.body.iter().any(|n| matches!(n, Node::Recurrence(_))) => {
                let vars = p.vars.len();
                let body = t.body.iter().cloned().map(|n| ordered(p, n)).collect::<Option<Vec<_>>>();
                let t2 = body.map(|body| Tree { body, ..t.clone() });
                match t2.filter(|t| fits(p, t, &candidates(p, t), alone)) {
                    Some(found) => *t = found,
                    None => p.vars.truncate(vars),
                }
            }
            _ => {}
        }
    }
}

/// The node with short loops in order; none if there are others.
fn ordered(p: &mut Program, n: Node) -> Option<Node> {
    match n {
        Node::Loop(l) => one_by_one(p, l),
        Node::Recurrence(r) => {
            let body = r.body.into_iter().map(|n| ordered(p, n)).collect::<Option<Vec<_>>>()?;
            Some(Node::Recurrence(Recurrence { body, ..r }))
        }
        n => Some(n),
    }
}

/// A loop as one of a point by itself: what it folds are states.
fn one_by_one(p: &mut Program, l: Loop) -> Option<Node> {
    let is_short = l.extent().as_constant().is_some_and(|n| n <= SHORT);
    if !is_short || l.is_ordered() || !l.merged.is_empty() {
        return None;
    }
    let mut body = l.body.into_iter().map(|n| ordered(p, n)).collect::<Option<Vec<_>>>()?;
    let mut states = Vec::new();
    for Fold { result, reducer, value } in l.folds {
        let elem = p.vars[result.0 as usize];
        let (state, next) = (p.new_var(elem), p.new_var(elem));
        let exp = Exp::Op(reducer.op()?, vec![Atom::Var(state), value]);
        body.push(Node::Let(Let { vars: vec![next], exp, loc: l.loc }));
        states.push(State {
            state,
            start: Atom::Const(reducer.neutral(elem)),
            next: Atom::Var(next),
            result,
        });
    }
    Some(Node::Recurrence(Recurrence { rounds: Rounds::For(l.axis, None), states, body, loc: l.loc }))
}
