//! Sums over the points of a loop, of what these points make, are added up by the points:
//!
//! ```text
//! par i < n { for t < m { .. h[i, t] = .. } }    par j < k { for i < n { v = f(h[i, j]) } fold s = add v; c[j] = g(s) }
//!     = fill s = 0;  par i < n { for t < m { .. h[i, t] = .. }; for j < k { s[j] add= f(h[i, j]) } }    par j < k { c[j] = g(s[j]) }
//! ```
//!
//! So `h`, which is as large as all points' histories together, is scratch memory of few points (`loops::scratch`), and is read again
//! while it is in the cache. Tasks add up in copies of `s` that are combined at the end (`Division::Copies`). The same holds of values
//! that are combined into an array at computed indices, and of contractions over the points whose result is one row.
//!
//! What several sums compute at the same points is computed once in the same way, as what a value and its adjoints have in common where
//! each adds to a table:
//!
//! ```text
//! for i < n { v = f(t[k[i]]) } fold s = add v    par i < n { u[k[i]] add= g(f(t[k[i]])) }    par i < n { w[k[i]] add= h(f(t[k[i]])) }
//!     = par i < n { v = f(t[k[i]]); s add= v; u[k[i]] add= g(v); w[k[i]] add= h(v) }
//! ```
//!
//! What points store of their own, and others add to afterwards, as the adjoint of an array that is read at each point and at other places
//! is made, is added up from zero with the rest:
//!
//! ```text
//! par i < n { c[i] = v }    move d = c    par i < n { d[k[i]] add= u }
//!     = fill c = 0;  par i < n { c[i] add= v; c[k[i]] add= u }    move d = c
//! ```
//!
//! A sum is collected if
//!
//! 1. it reads what the loop makes, at each point's own elements alone, or has something in common with the points that costs much; it
//!    cannot fail, and what it computes once costs little at each point;
//! 2. nothing between the two changes what it reads, or uses what it makes;
//! 3. all that the points combine into has one type and operator;
//! 4. the points keep their lanes, and go through no array crosswise, in steps of a row, as the sum by itself did not.

mod sum;

use rustc_hash::FxHashSet;

use self::sum::{Around, Sum, accumulated, contracted, folded, moved};
use super::adjoin::{fails, has_loops, share_own};
use super::shared::{fails_alike, shares};
use super::users::Uses;
use super::values::{Values, stored};
use crate::bulk::build::Renaming;
use crate::bulk::{ArrayId, Atom, Axis, Reducer, Var};
use crate::loops::together::{in_blocks, together};
use crate::loops::uses::{combined, visit_arrays, visit_indices};
use crate::loops::{Loop, Node, Program, Step, Tree};
use crate::ty::{Const, Elem};

/// Has the points of a program's loops add up what is summed over them.
pub(super) fn collect(p: &mut Program) {
    let mut steps = std::mem::take(&mut p.steps);
    list(p, &mut steps);
    p.steps = steps;
}

fn list(p: &mut Program, steps: &mut Vec<Step>) {
    for s in steps.iter_mut() {
        if let Step::Repeat(r) = s {
            list(p, &mut r.steps);
        }
    }
    let mut at = 0;
    while at < steps.len() {
        match after(p, steps, at) {
            Some((k, c)) => {
                steps.splice(k..=k, c.sum.rest.map(Step::Tree));
                steps.splice(at..=at, [Step::Tree(c.tree)].into_iter().chain(c.points.rest.map(Step::Tree)));
                for (array, value) in c.points.fills.into_iter().chain(c.sum.fills) {
                    let is_it = |s: &Step| matches!(s, Step::Fill { array: a, .. } if *a == array);
                    if let Some(old) = steps[at + 1..].iter().position(is_it) {
                        steps.remove(at + 1 + old);
                    }
                    steps.insert(at, Step::Fill { array, value: Some(value) });
                    at += 1;
                }
            }
            None => at += 1,
        }
    }
}

/// Points that collect as well.
struct Collecting {
    tree: Tree,
    points: Around,
    sum: Around,
}

/// The sum nearest after the loop of points at `at` that these can add up, by its place.
fn after(p: &mut Program, steps: &[Step], at: usize) -> Option<(usize, Collecting)> {
    let Step::Tree(t) = &steps[at] else { return None };
    let (vars, arrays) = (p.vars.len(), p.arrays.len());
    let found = points(p, t).and_then(|(points, around)| {
        let (k, tree, sum) = nearest(p, steps, at, &points, &around)?;
        Some((k, Collecting { tree, points: around, sum }))
    });
    if found.is_none() {
        p.vars.truncate(vars);
        p.arrays.truncate(arrays);
    }
    found
}

/// A tree as points: itself, or the loop that it is.
fn points(p: &mut Program, t: &Tree) -> Option<(Tree, Around)> {
    match &t.axes[..] {
        [_] if !t.body.iter().any(|n| matches!(n, Node::Write { .. })) => {
            Some((t.clone(), Around::default()))
        }
        [] => {
            let l = t.body.iter().find_map(|n| if let Node::Loop(l) = n { Some(l) } else { None })?;
            let axis = Axis { var: p.new_var(Elem::I64), extent: l.axis.extent.clone() };
            let alone = Tree::new(vec![axis], Vec::new(), t.loc);
            let sum = folded(p, &alone, t)?;
            Some((Tree { body: sum.nodes, ..alone }, sum.around))
        }
        _ => None,
    }
}

/// Whether some node is a loop.
fn has_loop(body: &[Node]) -> bool {
    body.iter().any(|n| matches!(n, Node::Loop(_) | Node::Recurrence(_)))
}

/// The sum nearest after the points at `at` that these can add up: its place, both as one, and what stands around.
fn nearest(
    p: &mut Program,
    steps: &[Step],
    at: usize,
    points: &Tree,
    around: &Around,
) -> Option<(usize, Tree, Around)> {
    let collects = matches!(&steps[at], Step::Tree(t) if !combined(&t.body).is_empty());
    // What is done with what the points fold comes after them.
    let mut passed = Uses::default();
    around.rest.iter().for_each(|t| passed.tree(p, t));
    for k in at + 1..steps.len() {
        let uses = uses(p, &steps[k])?;
        // What a sum begins from is filled before the loop.
        let fill = |a: ArrayId| {
            steps[at + 1..k].iter().find_map(|s| match s {
                Step::Fill { array, value } if *array == a => *value,
                _ => None,
            })
        };
        let sum = match &steps[k] {
            Step::Tree(t) if combined(&t.body).is_empty() => folded(p, points, t),
            Step::Tree(t) => accumulated(p, points, t, &fill, &|p, a| moved(p, &steps[at + 1..k], a)),
            Step::Contract(c) => contracted(p, points, c),
            _ => None,
        };
        if let Some(mut sum) = sum {
            let fills = sum.around.fills.iter().map(|(a, _)| *a);
            let prepared = fills.chain(sum.moved.iter().copied());
            let others = passed.without(&prepared.map(|a| p.root(a)).collect());
            let added = sum.moved.last().and_then(|a| added_up(p, points, *a));
            let points = added.as_ref().map_or(points, |(t, _)| t);
            if uses.is_apart_from(&others)
                && let Some(tree) = collecting(p, points, &sum, collects)
            {
                sum.around.fills.extend(added.map(|(_, fill)| fill));
                return Some((k, tree, sum.around));
            }
        }
        passed.extend(uses);
    }
    None
}

/// Points that store their own element of an array, and use it in no other way, with the element added to what the array begins as.
fn added_up(p: &Program, points: &Tree, array: ArrayId) -> Option<(Tree, (ArrayId, Const))> {
    let own: Vec<Atom> = points.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let is_own = |n: &Node| matches!(n, Node::Store { array: a, index, .. } if *a == array && *index == own);
    let place = points.body.iter().position(is_own)?;
    let mut uses = 0;
    visit_arrays(&points.body, &mut |a, _| uses += usize::from(p.root(a) == p.root(array)));
    let mut tree = points.clone();
    let Node::Store { index, value, .. } = tree.body[place].clone() else { return None };
    tree.body[place] = Node::Accumulate { array, reducer: Reducer::Add, index, value };
    (uses == 1).then(|| (tree, (array, Reducer::Add.neutral(p.arrays[array.0 as usize].elem))))
}

/// The memory that a step uses, contractions included.
fn uses(p: &Program, s: &Step) -> Option<Uses> {
    let Step::Contract(c) = s else { return Uses::of(p, s) };
    let mut u = Uses::default();
    u.changes.insert(p.root(c.result));
    u.reads.extend([c.a.array, c.b.array].map(|a| p.root(a)));
    Some(u)
}

/// The nodes without what they combine into some memory.
fn without(p: &Program, nodes: &[Node], root: ArrayId) -> Vec<Node> {
    let others =
        nodes.iter().filter(|n| !matches!(n, Node::Accumulate { array, .. } if p.root(*array) == root));
    let inside = |n: &Node| match n {
        Node::Loop(l) => Node::Loop(Loop { body: without(p, &l.body, root), ..l.clone() }),
        n => n.clone(),
    };
    others.map(inside).collect()
}

/// Whether a point goes through the rows of an array of which its neighbors have the next columns, in loops of many trips: few are made by
/// several points together.
fn is_crosswise(point: Var, nodes: &[Node]) -> bool {
    nodes.iter().any(|n| {
        let Node::Loop(l) = n else { return false };
        let mut found = false;
        visit_indices(&l.body, &mut |_, index| {
            if let Some((last, rows)) = index.split_last() {
                found |= *last == Atom::Var(point) && rows.contains(&Atom::Var(l.axis.var));
            }
        });
        found && l.axis.extent.as_constant().is_none() || is_crosswise(point, &l.body)
    })
}

/// The points with a sum at their end, if that is one of what they make and they go together as they did.
fn collecting(p: &mut Program, points: &Tree, sum: &Sum, collects: bool) -> Option<Tree> {
    let axis = points.axes[0].var;
    let all: FxHashSet<(Reducer, Elem)> = combined(&points.body)
        .into_iter()
        .chain(combined(&sum.nodes))
        .map(|(a, reducer)| (reducer, p.arrays[a.0 as usize].elem))
        .collect();
    // What may fail fails at the points before, where they do the same.
    if all.len() != 1 || fails(&sum.nodes, &p.vars) && !fails_alike(axis, &points.body, &sum.nodes, &p.vars) {
        return None;
    }
    let [made, used] = [&points.body, &sum.nodes].map(|body| {
        let mut u = Uses::default();
        u.tree(p, &Tree::new(points.axes.clone(), body.clone(), points.loc));
        u
    });
    let reads_it = used.reads.iter().any(|a| made.changes.contains(a));
    // Points without loops of their own gain what both have at hand of an array with rows.
    let rows = |a: &&ArrayId| p.arrays[a.0 as usize].dims.len() > 1;
    let shares_rows =
        used.reads.iter().filter(rows).any(|a| made.reads.contains(a) || made.changes.contains(a));
    let is_near = has_loops(points) || collects || shares_rows;
    let gains = reads_it && is_near && has_loop(&points.body) || shares(axis, &points.body, &sum.nodes);
    if is_crosswise(axis, &sum.nodes) {
        return None;
    }
    // What both add to has one copy.
    let both = sum.moved.last().map(|source| p.root(*source));
    let [own, others] = [&points.body, &sum.nodes].map(|nodes| match both {
        Some(root) => without(p, nodes, root),
        None => nodes.clone(),
    });
    let sums: FxHashSet<ArrayId> = combined(&points.body).iter().map(|(a, _)| p.root(*a)).collect();
    if both.is_some_and(|root| !sums.contains(&root) || made.reads.contains(&root)) {
        return None;
    }
    let is_apart = |a: &ArrayId| !made.reads.contains(a) && (!made.changes.contains(a) || both == Some(*a));
    if !gains
        || !used.changes.iter().all(is_apart)
        || !used.reads.is_disjoint(&sums)
        || !share_own(p, &points.axes, &own, &others)
    {
        return None;
    }
    let own = [Atom::Var(axis)];
    let elements = stored(p, &points.body, &sum.nodes, &own);
    let mut body = points.body.clone();
    body.extend(Values { stored: elements, names: Renaming::default() }.nodes(sum.nodes.clone()));
    let has_lanes = |body: &[Node]| together(&points.axes, body, &p.vars).is_some();
    let loses = match has_lanes(&points.body) {
        true => !has_lanes(&body),
        false => sum.has_vectors && in_blocks(&body, &p.vars).is_none(),
    };
    if loses {
        return None;
    }
    Some(Tree::new(points.axes.clone(), body, points.loc))
}
