//! What stands beside a loop of points and is made by the same points, one for one, is made with it:
//!
//! ```text
//! par p < n { a[p] = f(x[p]) }    par q < n { while .. with s = a[q] { .. } => r; b[q] = r }    par p < n { c[p] = g(b[p]) }
//!     = par q < n { v = f(x[q]); while .. with s = v { .. } => r; c[q] = g(r) }
//! ```
//!
//! `fuse` does so for nests; a loop that has gone into its points comes from several. A neighbor, before or after the loop, is scalar
//! code that costs little, cannot fail and stores elements at its points: a failure in it would otherwise be told before or after
//! those of the loop at other points, and the loop might not end on what it left. It is joined if
//!
//! 1. what one of the two stores the other reads at its own point alone, where it is a scalar then,
//! 2. neither changes what the other one reads otherwise, nor what the other one changes,
//! 3. nothing between them uses what it stores, or changes what it reads.
//!
//! Another loop of the same points is joined as well, if one of them reads what the other one changes in its trips, as the way back
//! does with a history: then no point's history is there before or after its time (`loops::scratch`). Of what either changes the other
//! one may use each point's own elements only, and not both may fail.
//!
//! Where each point has a thread of its own there are no lanes to lose, and a step costs more than scalar code does: what is joined may
//! be any such code, with loops of few trips, and may use what the loop changes at its own point. It may fail as well: of the failures
//! of several threads one is told by chance in any case, and the steps after it work with the harmless values that it left.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::users::{Users, Uses, join_steps};
use super::values::{Values, is_own, stored};
use crate::bulk::build::{Fresh, Renaming, int, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Let, Var};
use crate::loops::rename::{fresh, redirect};
use crate::loops::together::together;
use crate::loops::uses::{Access, bound, each_tree, places, visit_arrays, visit_indices};
use crate::loops::{Home, Loop, Node, Program, Step, Tree};
use crate::target::Target;
use crate::ty::{Elem, Loc};

/// The most elements that a neighbor makes at each point.
const MOST_ELEMENTS: i64 = 16;
/// The most trips of loops that a neighbor's point has, where a thread makes them.
const MOST_TRIPS: i64 = 64;

/// Joins what stands beside the loops of points of a program.
pub(super) fn adjoin(p: &mut Program, target: Target) {
    let mut steps = std::mem::take(&mut p.steps);
    if !target.can().lanes {
        moved_for_good(p, &mut steps);
    }
    p.steps = steps;
    let mut users = Users::of(p);
    let steps = std::mem::take(&mut p.steps);
    p.steps = join_steps(p, steps, &mut users, &|p, steps, at, users| beside(p, steps, at, users, target));
}

/// What takes over the memory of another array once is a name of it, and nothing stands between the steps that use one and the other.
fn moved_for_good(p: &mut Program, steps: &mut Vec<Step>) {
    steps.retain(|s| {
        let Step::Move { array, source } = s else { return true };
        let [to, from] = [array, source].map(|a| &p.arrays[a.0 as usize]);
        let is_name = to.dims == from.dims
            && to.home == Home::Heap
            && p.arrays[p.root(*source).0 as usize].home == Home::Heap
            && !to.dims.is_empty();
        if is_name {
            p.arrays[array.0 as usize].home = Home::View(*source);
        }
        !is_name
    });
    // Trees name the memory that they use.
    each_tree(steps, &mut |t| in_own_memory(p, &mut t.body));
}

/// A neighbor of the loop of points at `at`, by its place, and both as one.
fn beside(
    p: &mut Program,
    steps: &[Step],
    at: usize,
    users: &Users,
    target: Target,
) -> Option<(usize, Tree)> {
    let Step::Tree(of_points) = &steps[at] else { return None };
    if !has_loops(of_points) {
        return None;
    }
    let before = (0..at).rev();
    let after = at + 1..steps.len();
    let joined = |p: &mut Program, t: &Tree, is_first: bool| {
        let joined = joined(p, of_points, t, is_first, target)?;
        let most = target.can().arrays;
        (most == usize::MAX || users.arrays_of_two(p, &joined, [of_points, t]) <= most).then_some(joined)
    };
    nearest(p, steps, before, |p, t| joined(p, t, true))
        .or_else(|| nearest(p, steps, after, |p, t| joined(p, t, false)))
}

/// The nearest tree at one of these places that can be joined, and that can be moved past those before it.
fn nearest(
    p: &mut Program,
    steps: &[Step],
    places: impl Iterator<Item = usize>,
    join: impl Fn(&mut Program, &Tree) -> Option<Tree>,
) -> Option<(usize, Tree)> {
    let mut passed = Uses::default();
    for k in places {
        let uses = Uses::of(p, &steps[k])?;
        if let Step::Tree(t) = &steps[k]
            && uses.is_apart_from(&passed)
            && let Some(joined) = join(p, t)
        {
            return Some((k, joined));
        }
        passed.extend(uses);
    }
    None
}

pub(super) fn has_loops(t: &Tree) -> bool {
    t.body.iter().any(|n| matches!(n, Node::Recurrence(_)))
}

/// Two loops of the same points, one after the other at each.
fn loops_joined(p: &Program, first: &Tree, second: &Tree, target: Target) -> Option<Tree> {
    let own: Vec<Atom> = first.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let names = second.axes.iter().zip(&own).map(|(a, v)| (a.var, *v)).collect();
    let mut second = Values { stored: FxHashMap::default(), names }.nodes(second.body.clone());
    let mut first_body = first.body.clone();
    for body in [&mut first_body, &mut second] {
        in_own_memory(p, body);
    }
    let mut b = Uses::default();
    b.tree(p, &Tree::new(first.axes.clone(), second.clone(), Loc::default()));
    let gains = changed_in_trips(&first_body).iter().any(|c| b.reads.contains(c));
    let fail = [&first_body, &second].map(|body| fails(body, &p.vars));
    if !gains
        || (target.can().lanes && fail == [true, true])
        || !share_own(p, &first.axes, &first_body, &second)
        || !bound(&first_body).is_disjoint(&bound(&second))
    {
        return None;
    }
    let mut body = first_body;
    let stored = stored(p, &body, &second, &own);
    body.extend(Values { stored, names: Renaming::default() }.nodes(second));
    let has_lanes = |body: &[Node]| target.can().lanes && together(&first.axes, body, &p.vars).is_some();
    let keeps_lanes = has_lanes(&body) || !has_lanes(&first.body) && !has_lanes(&body[first.body.len()..]);
    keeps_lanes.then(|| Tree::new(first.axes.clone(), body, first.loc))
}

/// Whether nodes use each point's own elements only of what others of the same points change, and the other way round.
pub(super) fn share_own(p: &Program, axes: &[Axis], first: &[Node], second: &[Node]) -> bool {
    let [a, b] = [first, second].map(|body| {
        let mut uses = Uses::default();
        uses.tree(p, &Tree::new(axes.to_vec(), body.to_vec(), Loc::default()));
        uses
    });
    if !a.keeps_sizes_of(&b) {
        return false;
    }
    let uses = |u: &Uses, r: &ArrayId| u.reads.contains(r) || u.changes.contains(r);
    let mut shared = a.changes.iter().filter(|r| uses(&b, r)).chain(b.changes.iter().filter(|r| uses(&a, r)));
    let axes: BTreeSet<Var> = axes.iter().map(|a| a.var).collect();
    let both: Vec<Node> = first.iter().chain(second).cloned().collect();
    shared.all(|root| {
        let found: BTreeSet<Var> =
            places(&both, &axes, &|a| p.root(a) == *root).into_iter().map(|(_, v)| v).collect();
        let mut is_viewed = false;
        visit_arrays(&both, &mut |a, _| is_viewed |= a != *root && p.root(a) == *root);
        found == axes && !is_viewed
    })
}

/// Names the memory that views of the same dimensions have.
fn in_own_memory(p: &Program, nodes: &mut [Node]) {
    let mut names = FxHashMap::default();
    visit_arrays(nodes, &mut |a, _| {
        let root = p.root(a);
        if root != a && p.arrays[root.0 as usize].dims == p.arrays[a.0 as usize].dims {
            names.insert(a, root);
        }
    });
    if !names.is_empty() {
        redirect(nodes, &names);
    }
}

/// The arrays that are changed in trips.
fn changed_in_trips(nodes: &[Node]) -> FxHashSet<ArrayId> {
    let mut changed = FxHashSet::default();
    for n in nodes {
        if let Node::Recurrence(r) = n {
            visit_arrays(&r.body, &mut |a, access| changed.extend((access != Access::Read).then_some(a)));
        }
    }
    changed
}

pub(super) fn fails(nodes: &[Node], vars: &[Elem]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Let(l) => l.may_fail(vars),
        Node::Scan(s) => Item::Scan(s.clone()).may_fail(vars),
        Node::Loop(l) => fails(&l.body, vars),
        Node::Recurrence(r) => fails(&r.body, vars),
        Node::Store { .. } | Node::Write { .. } | Node::Accumulate { .. } => false,
    })
}

/// A tree of points and few elements at each, as the scalar code of a point.
fn at_points(p: &mut Program, t: &Tree, points: usize) -> Option<Tree> {
    let few: Vec<&Axis> = t.axes.get(points..)?.iter().collect();
    let mut places = vec![Renaming::default()];
    for a in few {
        let n = a.extent.as_constant().filter(|n| (1..=MOST_ELEMENTS).contains(n))?;
        let place = |(names, i): (&Renaming, i64)| {
            let mut names = names.clone();
            names.insert(a.var, int(i));
            names
        };
        places = places.iter().flat_map(|names| (0..n).map(move |i| (names, i))).map(place).collect();
        if places.len() as i64 > MOST_ELEMENTS {
            return None;
        }
    }
    if places.len() == 1 && t.axes.len() == points {
        return Some(t.clone());
    }
    let mut body = Vec::new();
    for mut names in places {
        for n in &t.body {
            body.push(match n {
                Node::Let(l) => {
                    let mut l = l.clone();
                    Fresh { vars: &mut p.vars, names: &mut names }.binding(&mut l);
                    Node::Let(l)
                }
                Node::Store { array, index, value } => {
                    let index = index.iter().map(|i| renamed(&names, *i)).collect();
                    Node::Store { array: *array, index, value: renamed(&names, *value) }
                }
                _ => return None,
            });
        }
    }
    Some(Tree::new(t.axes[..points].to_vec(), body, t.loc))
}

/// A loop of points with a neighbor, which is executed first or last at each point.
fn joined(
    p: &mut Program,
    of_points: &Tree,
    neighbor: &Tree,
    is_first: bool,
    target: Target,
) -> Option<Tree> {
    let neighbor = &at_points(p, neighbor, of_points.axes.len())?;
    let extents = |t: &Tree| t.axes.iter().map(|a| a.extent.clone()).collect::<Vec<_>>();
    if extents(of_points) != extents(neighbor) {
        return None;
    }
    if has_loops(neighbor) {
        let (first, second) = if is_first { (neighbor, of_points) } else { (of_points, neighbor) };
        return loops_joined(p, first, second, target);
    }
    let own: Vec<Atom> = of_points.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let names = neighbor.axes.iter().zip(&own).map(|(a, v)| (a.var, *v)).collect();
    let mut neighbor_body = Values { stored: FxHashMap::default(), names }.nodes(neighbor.body.clone());
    let mut of_points_body = of_points.body.clone();
    // Numbers of the host level that both need are computed by copies of one code.
    if !bound(&neighbor_body).is_disjoint(&bound(&of_points_body)) {
        fresh(&mut neighbor_body, &mut Fresh { vars: &mut p.vars, names: &mut Renaming::default() });
    }
    let has_lanes = target.can().lanes;
    if !has_lanes {
        in_own_memory(p, &mut neighbor_body);
        in_own_memory(p, &mut of_points_body);
    }
    let (first, second) = match is_first {
        true => (&neighbor_body, &of_points_body),
        false => (&of_points_body, &neighbor_body),
    };
    let stored = stored(p, first, second, &own);
    let mut uses = [Uses::default(), Uses::default()];
    for (u, body) in uses.iter_mut().zip([first, second]) {
        u.tree(p, &Tree::new(of_points.axes.clone(), body.clone(), of_points.loc));
    }
    let [a, b] = &mut uses;
    // What the first one stores the second one may read at its own point.
    let mut other_reads = FxHashSet::default();
    visit_indices(second, &mut |array, index| {
        if !stored.contains_key(&(array, index.to_vec())) {
            other_reads.insert(p.root(array));
        }
    });
    b.reads.retain(|r| other_reads.contains(r) || !stored.keys().any(|(s, _)| s == r));
    if !a.is_apart_from(b) && (has_lanes || !share_own(p, &of_points.axes, first, second)) {
        return None;
    }
    let mut body = first.clone();
    body.extend(Values { stored, names: Renaming::default() }.nodes(second.clone()));
    if !has_lanes {
        let is_little = neighbor_body.iter().all(|n| is_little(n, &own));
        return is_little.then(|| Tree::new(of_points.axes.clone(), body, of_points.loc));
    }
    let form = together(&of_points.axes, &body, &p.vars);
    let is_little = neighbor_body.iter().all(|n| match n {
        // One point has no lanes to lose.
        n if own.is_empty() => is_little(n, &own) && !fails(std::slice::from_ref(n), &p.vars),
        Node::Let(l) => costs_little(l, form.is_some(), &p.vars),
        Node::Store { index, .. } => is_own(index, &own),
        Node::Scan(_) | Node::Loop(_) | Node::Recurrence(_) => false,
        Node::Accumulate { .. } | Node::Write { .. } => false,
    });
    // Several points make it together, or could not before either.
    let keeps_lanes = form.is_some() || together(&of_points.axes, &of_points.body, &p.vars).is_none();
    (is_little && keeps_lanes).then(|| Tree::new(of_points.axes.clone(), body, of_points.loc))
}

/// Whether scalar code cannot fail, and costs little at a point, or with functions in lanes.
fn costs_little(l: &Let, in_lanes: bool, vars: &[Elem]) -> bool {
    match &l.exp {
        Exp::Op(op, _) => !l.may_fail(vars) && (op.is_cheap() || in_lanes && op.has_vectors()),
        Exp::Read { checked, .. } => !checked,
        Exp::Size(_) | Exp::StopGradient(_) => true,
        Exp::Inside { .. } => false,
        Exp::If(_, yes, no) => {
            [yes, no].into_iter().flat_map(|b| &b.block.lets).all(|l| costs_little(l, in_lanes, vars))
        }
    }
}

/// Whether a thread that goes through its point's loop does this as well: scalar code, and loops of few trips.
fn is_little(n: &Node, own: &[Atom]) -> bool {
    fn trips(l: &Loop, own: &[Atom]) -> Option<i64> {
        let inside = l.body.iter().try_fold(1i64, |most, n| match n {
            Node::Let(_) => Some(most),
            Node::Store { index, .. } => index.starts_with(own).then_some(most),
            Node::Loop(l) => Some(most.max(trips(l, own)?)),
            _ => None,
        });
        l.extent().as_constant()?.max(0).checked_mul(inside?)
    }
    match n {
        Node::Let(_) => true,
        Node::Store { index, .. } => is_own(index, own),
        Node::Loop(l) => trips(l, own).is_some_and(|n| n <= MOST_TRIPS),
        Node::Scan(_) | Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
    }
}
