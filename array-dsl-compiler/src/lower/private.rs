//! A point's own elements of arrays, in the memory of whoever executes it.
//!
//! ```text
//! fill x = 0; par p < n { .. x[p, i] .. x[p, j] := .. }   ->   par p < n { own[p, ..] = 0; .. own[p, i] .. own[p, j] := .. }
//! ```
//!
//! An array of which a tree's points change and read elements of their own, so few that the number is a constant, is replaced by
//! scratch memory. What its elements are before the tree is taken in by the points, where a step that sets all of them comes before; and
//! if others need it after the tree, the points store their elements there in the end.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::own::{Uses, move_home};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::rename::redirect;
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{ArrayInfo, Home, Node, Program, Recurrence, Rounds, Step, Tree, scratch};
use crate::ty::{Const, Elem, Loc};

/// Has the points of each tree keep their elements of some arrays. `choose` takes these from those of which points can keep their
/// elements, given with the words of 32 bits that they take for one point.
pub(super) fn keep(p: &mut Program, choose: &impl Fn(&Program, &Tree, Vec<(ArrayId, i64)>) -> Vec<ArrayId>) {
    let uses = Uses::of(p);
    let mut steps = std::mem::take(&mut p.steps);
    let who = Who { alone: uses.alone().collect(), once: uses.once().collect() };
    keep_in(p, &mut steps, &who, choose);
    without_fills(&mut steps, &|a| p.arrays[a.0 as usize].home == Home::Scratch);
    p.steps = steps;
}

/// Takes out the steps that set such arrays.
pub(super) fn without_fills(steps: &mut Vec<Step>, is_it: &impl Fn(ArrayId) -> bool) {
    steps.retain(|s| !matches!(s, Step::Fill { array, .. } | Step::Copy { array, .. } if is_it(*array)));
    for s in steps {
        if let Some(inside) = s.inside_mut() {
            without_fills(inside, is_it);
        }
    }
}

/// The arrays that only one tree uses.
struct Who {
    /// It sets its points' elements before it does anything else with them.
    alone: BTreeSet<ArrayId>,
    /// Any, and what fills them.
    once: BTreeSet<ArrayId>,
}

fn keep_in(
    p: &mut Program,
    steps: &mut Vec<Step>,
    who: &Who,
    choose: &impl Fn(&Program, &Tree, Vec<(ArrayId, i64)>) -> Vec<ArrayId>,
) {
    let mut at = 0;
    while at < steps.len() {
        if let Some(inside) = steps[at].inside_mut() {
            keep_in(p, inside, who, choose);
        }
        let found = match &steps[at] {
            Step::Tree(t) => choose(p, t, candidates(p, t)),
            _ => Vec::new(),
        };
        for array in found {
            let began = began(p, &steps[..=at], array);
            let Step::Tree(t) = &mut steps[at] else { break };
            if who.alone.contains(&array) && scratch::points(p, t, array).is_some() {
                move_home(p, array, Home::Scratch);
            } else {
                let from = began.map_or(From::Array(array), |(_, from)| from);
                let is_needed = began.is_none() || !who.once.contains(&array);
                within(p, t, array, from, is_needed);
            }
            if let Some((k, _)) = began {
                steps.remove(k);
                at -= 1;
            }
        }
        at += 1;
    }
}

/// The step that prepares an array, if that is what the steps before a tree, the last of them, did to it last: what it begins as.
fn began(p: &Program, steps: &[Step], array: ArrayId) -> Option<(usize, From)> {
    let (tree, before) = steps.split_last()?;
    let at = before.iter().rposition(|s| uses(p, s, array, Access::Read))?;
    match &before[at] {
        Step::Fill { value, .. } => value.map(|value| (at, From::Constant(value))),
        Step::Copy { array: to, source } if *to == array => {
            let root = p.root(*source);
            let stays = |s: &Step| !uses(p, s, root, Access::Write);
            let same = p.arrays[source.0 as usize].dims == p.arrays[array.0 as usize].dims;
            (same && before[at + 1..].iter().chain([tree]).all(stays)).then_some((at, From::Array(*source)))
        }
        _ => None,
    }
}

/// Whether a step uses some memory, so much at least.
fn uses(p: &Program, s: &Step, root: ArrayId, least: Access) -> bool {
    let mut found = false;
    match s {
        Step::Tree(t) => visit_arrays(&t.body, &mut |a, access| {
            found |= access >= least && p.end_of_views(a) == Some(root);
        }),
        Step::Fill { array, .. } => found = p.root(*array) == root,
        Step::Copy { array, source } => {
            found = p.root(*array) == root || (least == Access::Read && p.root(*source) == root);
        }
        Step::Check(..) => {}
        _ => found = true,
    }
    found
}

/// The arrays of a tree of which points can keep their own elements, with the words that they take.
pub(super) fn candidates(p: &Program, t: &Tree) -> Vec<(ArrayId, i64)> {
    let mut changed = BTreeMap::new();
    for n in &t.body {
        if let Node::Recurrence(r) = n {
            visit_arrays(&r.body, &mut |a, access| {
                let (reads, writes) = changed.entry(a).or_insert((false, false));
                *reads |= access != Access::Write;
                *writes |= access != Access::Read;
            });
        }
    }
    let both = changed.into_iter().filter(|(_, (reads, writes))| *reads && *writes);
    both.filter_map(|(a, _)| words(p, t, a).map(|words| (a, words))).collect()
}

/// The words of a point's own elements of an array, if all that the tree does with it is there.
fn words(p: &Program, t: &Tree, array: ArrayId) -> Option<i64> {
    let info = &p.arrays[array.0 as usize];
    let points = scratch::own(p, t, array).filter(|_| info.home == Home::Heap)?;
    let mut elements = 1i64;
    for (k, d) in info.dims.iter().enumerate() {
        if !points.contains_key(&k) {
            elements = elements.checked_mul(d.as_constant().filter(|n| *n > 0)?)?;
        }
    }
    let is_whole = |(k, v): (&usize, &Var)| t.axes.iter().any(|a| a.var == *v && a.extent == info.dims[*k]);
    let each = if matches!(info.elem, Elem::F64 | Elem::I64) { 2 } else { 1 };
    points.iter().all(is_whole).then(|| elements.checked_mul(each))?
}

/// Has a tree work with elements of its points' own in place of those of an array, which it stores in the end if they are needed.
fn within(p: &mut Program, t: &mut Tree, array: ArrayId, from: From, is_needed: bool) {
    let Some(points) = scratch::own(p, t, array) else { return };
    let ArrayInfo { name, elem, dims, .. } = p.arrays[array.0 as usize].clone();
    let is_made = stores(&t.body, array);
    let own = ArrayId(p.arrays.len() as u32);
    p.arrays.push(ArrayInfo { name, elem, dims: dims.clone(), home: Home::Scratch, most: None });
    let names = FxHashMap::from_iter([(array, own)]);
    redirect(&mut t.body, &names);
    let mut copies = Copies { p, dims: &dims, points: &points, elem, loc: t.loc };
    let mut body = Vec::new();
    if !copies.is_set_first(t, own) {
        body.extend(copies.nodes(from, own, true));
    }
    body.append(&mut t.body);
    if is_needed {
        // What has elements from before is not made anew.
        body.extend(copies.nodes(From::Array(own), array, is_made || from != From::Array(array)));
    }
    t.body = body;
    if !is_needed {
        move_home(p, array, Home::Nowhere);
    }
}

/// Whether nodes make an array anew.
fn stores(nodes: &[Node], array: ArrayId) -> bool {
    nodes.iter().any(|n| match n {
        Node::Loop(l) => stores(&l.body, array),
        Node::Recurrence(r) => stores(&r.body, array),
        Node::Store { array: a, .. } => *a == array,
        Node::Let(_) | Node::Scan(_) | Node::Write { .. } | Node::Accumulate { .. } => false,
    })
}

/// What elements become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Array(ArrayId),
    Constant(Const),
}

/// Copies of a point's own elements.
struct Copies<'a> {
    p: &'a mut Program,
    dims: &'a [Dim],
    points: &'a BTreeMap<usize, Var>,
    elem: Elem,
    loc: Loc,
}

impl Copies<'_> {
    fn is_set_first(&self, t: &Tree, own: ArrayId) -> bool {
        scratch::points(self.p, t, own).is_some()
    }

    /// Sets all elements of the point.
    fn nodes(&mut self, from: From, to: ArrayId, is_new: bool) -> Vec<Node> {
        let mut axes = Vec::new();
        let mut index = Vec::new();
        for (k, d) in self.dims.iter().enumerate() {
            index.push(match self.points.get(&k) {
                Some(v) => Atom::Var(*v),
                None => {
                    let var = self.p.new_var(Elem::I64);
                    axes.push(Axis { var, extent: d.clone() });
                    Atom::Var(var)
                }
            });
        }
        let mut body = Vec::new();
        let value = match from {
            From::Array(array) => {
                let v = self.p.new_var(self.elem);
                let exp = Exp::Read { array, index: index.clone(), checked: false };
                body.push(Node::Let(Let { vars: vec![v], exp, loc: self.loc }));
                Atom::Var(v)
            }
            From::Constant(c) => Atom::Const(c),
        };
        body.push(match is_new {
            true => Node::Store { array: to, index, value },
            false => Node::Write { array: to, index, value, checked: true },
        });
        axes.into_iter().rev().fold(body, |body, axis| {
            let rounds = Rounds::For(axis, None);
            vec![Node::Recurrence(Recurrence { rounds, states: Vec::new(), body, loc: self.loc })]
        })
    }
}
