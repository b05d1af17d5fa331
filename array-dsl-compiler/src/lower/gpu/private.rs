//! Memory of loops that points make by themselves: a point's own elements.
//!
//! | array | where its elements are |
//! |---|---|
//! | of few elements for each point, known by constants, that its loops change and read | the thread's own, `var<function>` |
//! | that others need as well, before or after | the same, taken from there before and stored there after the loops |
//! | of more elements, used by loops of the points alone | memory in which the points are neighbors, not filled before if a point sets all of its own first |
//!
//! A device keeps what is a thread's own in registers, or in memory where the elements of neighboring threads are neighbors, so that
//! what they read at the same time is read at once. The memory of all others is laid out in the order of their dimensions: of those of
//! the third kind the points' come last. Arrays that more than loops of points use stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::rename::redirect;
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{ArrayInfo, Covers, Home, Node, Program, Recurrence, Rounds, Step, Tree, scratch};
use crate::lower::own::{Uses, move_home};
use crate::ty::{Const, Elem, Loc};

/// The most words of 32 bits that are a thread's own.
const MOST_WORDS: i64 = 256;

/// Finds the memory of the points' own elements.
pub fn private(p: &mut Program) {
    let uses = Uses::of(p);
    let mut steps = std::mem::take(&mut p.steps);
    let who = Who { alone: uses.alone().collect(), once: uses.once().collect() };
    in_threads(p, &mut steps, &who);
    without(&mut steps, &|a| p.arrays[a.0 as usize].home == Home::Scratch);
    p.steps = steps;
    for array in Uses::of(p).alone().collect::<Vec<_>>() {
        without_fills(p, array);
    }
    let of_points: Vec<_> = Uses::of(p).of_points().collect();
    for (array, points) in of_points {
        points_last(p, array, &points);
    }
}

/// The arrays that only one tree uses.
struct Who {
    /// It sets its points' elements before it does anything else with them.
    alone: BTreeSet<ArrayId>,
    /// Any, and what fills them.
    once: BTreeSet<ArrayId>,
}

fn in_threads(p: &mut Program, steps: &mut Vec<Step>, who: &Who) {
    let mut at = 0;
    while at < steps.len() {
        if let Step::Repeat(r) = &mut steps[at] {
            in_threads(p, &mut r.steps, who);
        }
        let found = if let Step::Tree(t) = &steps[at] { candidates(p, t) } else { Vec::new() };
        let mut left = MOST_WORDS;
        for (array, words) in found {
            let began = began(p, &steps[..=at], array);
            let Step::Tree(t) = &mut steps[at] else { break };
            if words > left {
                continue;
            }
            left -= words;
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
        Step::Fill { value, .. } => Some((at, From::Constant(*value))),
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

/// The arrays of a tree whose elements can be a thread's own, with the words that they take.
fn candidates(p: &Program, t: &Tree) -> Vec<(ArrayId, i64)> {
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

/// The words of a thread's own elements of an array, if all that the tree does with it is there.
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

/// Has a tree work with elements of the thread's own in place of those of an array, which it stores in the end if they are needed.
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
                    let var = self.var(Elem::I64);
                    axes.push(Axis { var, extent: d.clone() });
                    Atom::Var(var)
                }
            });
        }
        let mut body = Vec::new();
        let value = match from {
            From::Array(array) => {
                let v = self.var(self.elem);
                let exp = Exp::Read { array, index: index.clone(), checked: false };
                body.push(Node::Let(Let { vars: vec![v], exp, loc: self.loc }));
                Atom::Var(v)
            }
            From::Constant(c) => Atom::Const(c),
        };
        body.push(match is_new {
            true => Node::Store { array: to, index, value },
            false => Node::Write { array: to, index, value },
        });
        axes.into_iter().rev().fold(body, |body, axis| {
            let rounds = Rounds::For(axis, None);
            vec![Node::Recurrence(Recurrence { rounds, states: Vec::new(), body, loc: self.loc })]
        })
    }

    fn var(&mut self, elem: Elem) -> Var {
        self.p.vars.push(elem);
        Var(self.p.vars.len() as u32 - 1)
    }
}

/// Lays the memory of an array out anew: the points' dimensions come last.
fn points_last(p: &mut Program, array: ArrayId, points: &BTreeSet<usize>) {
    let dims = &p.arrays[array.0 as usize].dims;
    let order: Vec<usize> =
        (0..dims.len()).filter(|k| !points.contains(k)).chain(points.iter().copied()).collect();
    if order.is_sorted() {
        return;
    }
    p.arrays[array.0 as usize].dims = order.iter().map(|k| dims[*k].clone()).collect();
    reorder(&mut p.steps, array, &order);
}

fn reorder(steps: &mut [Step], array: ArrayId, order: &[usize]) {
    for s in steps {
        match s {
            Step::Tree(t) => Reorder { array, order }.nodes(&mut t.body),
            Step::Repeat(r) => reorder(&mut r.steps, array, order),
            _ => {}
        }
    }
}

/// Puts the indices of an array into another order.
struct Reorder<'a> {
    array: ArrayId,
    order: &'a [usize],
}

impl Reorder<'_> {
    fn index(&self, a: ArrayId, index: &mut Vec<Atom>) {
        if a == self.array {
            *index = self.order.iter().map(|k| index[*k]).collect();
        }
    }

    fn nodes(&mut self, nodes: &mut [Node]) {
        for n in nodes {
            match n {
                Node::Let(l) => self.binding(l),
                Node::Scan(s) => self.scan(s),
                Node::Loop(l) => self.nodes(&mut l.body),
                Node::Recurrence(r) => self.nodes(&mut r.body),
                Node::Store { array, index, .. }
                | Node::Write { array, index, .. }
                | Node::Accumulate { array, index, .. } => self.index(*array, index),
            }
        }
    }
}

impl Rewriter for Reorder<'_> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e {
            self.index(*array, index);
        }
        self.walk_exp(e);
    }
}

/// Takes out the steps that fill an array whose points set all of it before they do anything else with it.
fn without_fills(p: &mut Program, array: ArrayId) {
    fn in_steps(p: &Program, steps: &mut [Step], array: ArrayId, is_set: &mut bool) {
        for s in steps.iter_mut() {
            match s {
                Step::Tree(t) => {
                    let axes: Vec<Axis> = t.axes.clone();
                    *is_set |= Setting { p, array, is_first: true }.nodes(&mut t.body, &axes);
                }
                Step::Repeat(r) => in_steps(p, &mut r.steps, array, is_set),
                _ => {}
            }
        }
    }
    let (mut steps, mut is_set) = (std::mem::take(&mut p.steps), false);
    in_steps(p, &mut steps, array, &mut is_set);
    if is_set {
        without(&mut steps, &|a| a == array);
    }
    p.steps = steps;
}

/// Takes out the steps that fill such arrays.
fn without(steps: &mut Vec<Step>, is_it: &impl Fn(ArrayId) -> bool) {
    steps.retain(|s| !matches!(s, Step::Fill { array, .. } if is_it(*array)));
    for s in steps {
        if let Step::Repeat(r) = s {
            without(&mut r.steps, is_it);
        }
    }
}

/// The first access to an array, which sets all of it, as a store.
struct Setting<'a> {
    p: &'a Program,
    array: ArrayId,
    is_first: bool,
}

impl Setting<'_> {
    fn nodes(&mut self, nodes: &mut [Node], around: &[Axis]) -> bool {
        let mut is_set = false;
        for n in nodes {
            let mut uses = false;
            visit_arrays(std::slice::from_ref(n), &mut |a, _| uses |= a == self.array);
            if !uses || !self.is_first {
                continue;
            }
            match n {
                Node::Recurrence(Recurrence { rounds: Rounds::For(axis, None), body, .. }) => {
                    let around: Vec<Axis> = around.iter().chain([&*axis]).cloned().collect();
                    is_set |= self.nodes(body, &around);
                }
                Node::Write { array, index, value } => {
                    let (dims, axes) =
                        (&self.p.arrays[array.0 as usize].dims, around.iter().collect::<Vec<_>>());
                    if Covers::default().store(*array, dims, index, &axes) {
                        *n = Node::Store { array: *array, index: std::mem::take(index), value: *value };
                        is_set = true;
                    }
                }
                _ => {}
            }
            self.is_first = false;
        }
        is_set
    }
}
