//! Steps that change elements in place at the same points are one step:
//!
//! ```text
//! par j < n { h[t, j] := a[j] }    move b = a    par j < n { b[j] := f(b[j]) }
//!     = move b = a    par j < n { v = b[j]; h[t, j] := v; b[j] := f(v) }
//!
//! par j < n { b[j] := h[t, j] }    for j < n { } fold s = add g(b[j], d[j])    par j < n { d[j] := g(b[j], d[j]) }
//!     = for j < n { b[j] := h[t, j]; v = g(b[j], d[j]); d[j] := v } fold s = add v
//! ```
//!
//! `fuse` joins what makes new arrays. An update is a step of its own there, as what it starts from has to be at hand in memory first.
//! A loop that changes a part of an array in each trip, row by row or down a triangle, is nothing but such steps: the log, the change,
//! and on the way back what was there before, the sums, the cotangents. Each of them goes through memory, and computes again what the
//! others have. Two of them are joined if
//!
//! 1. they have the same points: the axes of a tree, or those of a loop that the host makes and that folds;
//! 2. of what one of them changes the other one uses the same point's elements only, and each overwrites its own (`loops::own`);
//! 3. they have elements in common, so that there is something to gain;
//! 4. nothing between them uses what the second one changes, or changes what it uses;
//! 5. not both may fail, unless they do so alike: the first failure is the one that is told.
//!
//! What takes over memory does so before what else is done there: the earlier steps use it under its new name.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::adjoin::fails;
use super::shared::fails_alike;
use super::users::{Users, Uses, join_steps};
use super::values::Values;
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Var};
use crate::loops::own::{is_own, overwrite_their_own, overwritten};
use crate::loops::rename::{fresh, redirect};
use crate::loops::uses::{Access, bound, same_again, visit_arrays, visit_indices};
use crate::loops::{Fold, Loop, Node, Plan, Program, Step, Tree};
use crate::target::Target;
use crate::ty::{Elem, Loc};

/// Joins the updates of a program.
pub(super) fn updates(p: &mut Program, target: Target) {
    let mut steps = std::mem::take(&mut p.steps);
    take_over_early(p, &mut steps);
    p.steps = steps;
    let mut users = Users::of(p);
    let steps = std::mem::take(&mut p.steps);
    p.steps = join_steps(p, steps, &mut users, &|p, steps, at, users| after(p, steps, at, users, target));
}

fn is_update(s: &Step) -> bool {
    matches!(s, Step::Tree(t) if !overwritten(&t.body).is_empty())
}

/// Moves steps that take over memory before trees that use it, which use it under the new name then.
fn take_over_early(p: &Program, steps: &mut [Step]) {
    for s in steps.iter_mut() {
        if let Step::Repeat(r) = s {
            take_over_early(p, &mut r.steps);
        }
    }
    if !steps.iter().any(is_update) {
        return;
    }
    for at in 0..steps.len() {
        let Step::Move { array, source } = steps[at] else { continue };
        let mut k = at;
        while k > 0 {
            let Step::Tree(t) = &mut steps[k - 1] else { break };
            let mut is_in_its_way = false;
            visit_arrays(&t.body, &mut |a, _| {
                // A view of it would be one of memory that is gone.
                is_in_its_way |= p.root(a) == p.root(array) || p.root(a) == p.root(source) && a != source;
            });
            let mut uses = Uses::default();
            uses.tree(p, t);
            if is_in_its_way || makes(&t.body, source) || uses.sizes.contains(&p.root(source)) {
                break;
            }
            redirect(&mut t.body, &[(source, array)].into_iter().collect());
            steps.swap(k - 1, k);
            k -= 1;
        }
    }
}

/// Whether an array is new in what these nodes store.
fn makes(nodes: &[Node], array: ArrayId) -> bool {
    nodes.iter().any(|n| match n {
        Node::Store { array: a, .. } => *a == array,
        Node::Loop(l) => makes(&l.body, array),
        Node::Recurrence(r) => makes(&r.body, array),
        Node::Let(_) | Node::Scan(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
    })
}

/// The nearest step that can be joined with the one before at `at`, and both as one.
fn after(p: &mut Program, steps: &[Step], at: usize, users: &Users, target: Target) -> Option<(usize, Tree)> {
    let Step::Tree(first) = &steps[at] else { return None };
    if !steps[at..].iter().any(is_update) {
        return None;
    }
    let of_first = Points::of(first, target)?;
    let (mut passed, mut may_fail) = (Uses::default(), false);
    for (k, s) in steps.iter().enumerate().skip(at + 1) {
        let uses = Uses::of(p, s)?;
        if let Step::Tree(second) = s {
            let second_fails = fails(&second.body, &p.vars);
            if uses.is_apart_from(&passed)
                && !(may_fail && second_fails)
                && (is_update(&steps[at]) || is_update(s))
                && let Some(of_second) = Points::of(second, target)
                && let Some(joined) = joined(p, &of_first, of_second)
            {
                let most = target.can().arrays;
                if most == usize::MAX || users.arrays_of_two(p, &joined, [first, second]) <= most {
                    return Some((k, joined));
                }
            }
            may_fail |= second_fails;
        }
        passed.extend(uses);
    }
    None
}

/// A tree as points and what each of them does.
#[derive(Clone)]
struct Points {
    /// What the host does before, scalar code.
    before: Vec<Node>,
    axes: Vec<Axis>,
    body: Vec<Node>,
    /// What they fold, and what the host does with it; only of points of the host's loop.
    folds: Option<(Vec<Fold>, Vec<Node>)>,
    loc: Loc,
}

impl Points {
    /// Of scalar code that stores and overwrites elements. Where each point is a thread, loops that fold are others' work.
    fn of(t: &Tree, target: Target) -> Option<Points> {
        let is_plain = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. } | Node::Write { .. });
        if t.plan != Plan::default() {
            return None;
        }
        if !t.axes.is_empty() {
            let points = Points {
                before: Vec::new(),
                axes: t.axes.clone(),
                body: t.body.clone(),
                folds: None,
                loc: t.loc,
            };
            return t.body.iter().all(is_plain).then_some(points);
        }
        let at = t.body.iter().position(|n| matches!(n, Node::Loop(_)))?;
        let (before, [Node::Loop(l), after @ ..]) = t.body.split_at(at) else { return None };
        let is_whole = l.range.is_whole() && l.merged.is_empty() && l.plan == Plan::default();
        let is_scalar = |n: &Node| matches!(n, Node::Let(_));
        let stores = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. });
        let fits = target.can().lanes
            && is_whole
            && !l.folds.is_empty()
            && before.iter().all(is_scalar)
            && l.body.iter().all(is_plain)
            && after.iter().all(stores);
        fits.then(|| Points {
            before: before.to_vec(),
            axes: vec![l.axis.clone()],
            body: l.body.clone(),
            folds: Some((l.folds.clone(), after.to_vec())),
            loc: t.loc,
        })
    }

    fn after(&self) -> &[Node] {
        self.folds.as_ref().map_or(&[], |(_, after)| after)
    }

    /// What the host does around the points.
    fn around(&self) -> Vec<Node> {
        self.before.iter().chain(self.after()).cloned().collect()
    }

    fn tree(self) -> Tree {
        let Points { before, axes, body, folds, loc } = self;
        let Some((folds, after)) = folds else { return Tree::new(axes, body, loc) };
        let loops =
            axes.into_iter().map(|axis| Node::Loop(Loop::new(axis, body.clone(), folds.clone(), loc)));
        Tree::new(Vec::new(), before.into_iter().chain(loops).chain(after).collect(), loc)
    }

    /// The same with other names for its axes, and for all that it binds if these are bound elsewhere.
    fn renamed(mut self, p: &mut Program, axes: &[Axis], elsewhere: &Points) -> Points {
        let names = self.axes.iter().zip(axes).map(|(a, b)| (a.var, Atom::Var(b.var))).collect();
        let mut values = Values { stored: Default::default(), names };
        self.body = values.nodes(self.body);
        if let Some((folds, _)) = &mut self.folds {
            folds.iter_mut().for_each(|f| f.value = renamed(&values.names, f.value));
        }
        let here = |points: &Points| -> BTreeSet<Var> {
            let around = points.around();
            [&points.body, &around].into_iter().flat_map(|nodes| bound(nodes)).collect()
        };
        if !here(&self).is_disjoint(&here(elsewhere)) {
            let mut names = Renaming::default();
            let mut f = Fresh { vars: &mut p.vars, names: &mut names };
            fresh(&mut self.before, &mut f);
            fresh(&mut self.body, &mut f);
            if let Some((folds, after)) = &mut self.folds {
                folds.iter_mut().for_each(|x| x.value = renamed(f.names, x.value));
                fresh(after, &mut f);
            }
        }
        self.axes = axes.to_vec();
        self
    }

    /// Has the host compute the integers that are the same at all points.
    fn compute_before(&mut self, p: &Program) {
        let mut differ: BTreeSet<Atom> = self.axes.iter().map(|a| Atom::Var(a.var)).collect();
        let (before, body): (Vec<Node>, Vec<Node>) =
            std::mem::take(&mut self.body).into_iter().partition(|n| {
                let Node::Let(l) = n else { return false };
                let is_simple = matches!(l.exp, Exp::Op(..) | Exp::Size(_)) && !l.may_fail(&p.vars);
                let mut same = is_simple && l.vars.iter().all(|v| p.vars[v.0 as usize] == Elem::I64);
                l.exp.visit_atoms(&mut |a| same &= !differ.contains(&a));
                if !same {
                    differ.extend(l.vars.iter().map(|v| Atom::Var(*v)));
                }
                same
            });
        self.before.extend(before);
        self.body = body;
    }

    fn uses(&self, p: &Program, nodes: &[Node]) -> Uses {
        let mut u = Uses::default();
        u.tree(p, &Tree::new(self.axes.clone(), nodes.to_vec(), self.loc));
        u
    }
}

/// The first and then the second at each point.
fn joined(p: &mut Program, first: &Points, second: Points) -> Option<Tree> {
    let extents = |points: &Points| points.axes.iter().map(|a| a.extent.clone()).collect::<Vec<_>>();
    if extents(first) != extents(&second) {
        return None;
    }
    let vars = p.vars.len();
    let mut second = second.renamed(p, &first.axes, first);
    let mut first = first.clone();
    if first.folds.is_some() || second.folds.is_some() {
        [&mut first, &mut second].into_iter().for_each(|points| points.compute_before(p));
    }
    use_computed(p, &first, &mut second);
    let joined = of_renamed(p, &first, &second);
    if joined.is_none() {
        p.vars.truncate(vars);
    }
    joined
}

/// Has the second points use what the first ones have computed already, so that equal places are seen to be. What is made of elements that
/// either changes is not equal. An index that has been compared is not compared again.
fn use_computed(p: &Program, first: &Points, second: &mut Points) {
    let mut changed = BTreeSet::new();
    for nodes in [&first.body, &second.body] {
        visit_arrays(nodes, &mut |a, access| changed.extend((access != Access::Read).then(|| p.root(a))));
    }
    let mut computed = Computed { p, changed, known: FxHashMap::default(), names: Renaming::default() };
    computed.learn(&first.before);
    second.before = computed.without_known(std::mem::take(&mut second.before));
    computed.learn(&first.body);
    second.body = computed.without_known(std::mem::take(&mut second.body));
    if let Some((folds, after)) = &mut second.folds {
        folds.iter_mut().for_each(|f| f.value = renamed(&computed.names, f.value));
        *after = computed.renamed(std::mem::take(after));
    }
}

/// What has been computed of what does not change.
struct Computed<'a> {
    p: &'a Program,
    changed: BTreeSet<ArrayId>,
    known: FxHashMap<Exp, Atom>,
    names: Renaming,
}

impl Computed<'_> {
    fn plain(&self, e: &Exp) -> Option<Exp> {
        let stays = !matches!(e, Exp::Read { array, .. } if self.changed.contains(&self.p.root(*array)));
        same_again(e).filter(|_| stays)
    }

    fn learn(&mut self, nodes: &[Node]) {
        for n in nodes {
            if let Node::Let(l) = n
                && let (Some(e), [v]) = (self.plain(&l.exp), &l.vars[..])
            {
                self.known.entry(e).or_insert(Atom::Var(*v));
            }
        }
    }

    fn renamed(&self, nodes: Vec<Node>) -> Vec<Node> {
        Values { stored: FxHashMap::default(), names: self.names.clone() }.nodes(nodes)
    }

    fn without_known(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut out = Vec::new();
        for n in nodes {
            let n = self.renamed(vec![n]);
            if let [Node::Let(l)] = &n[..]
                && let (Some(e), [v]) = (self.plain(&l.exp), &l.vars[..])
                && let Some(known) = self.known.get(&e)
            {
                self.names.insert(*v, *known);
                continue;
            }
            out.extend(n);
        }
        out
    }
}

fn of_renamed(p: &Program, first: &Points, second: &Points) -> Option<Tree> {
    let both_fail = fails(&first.body, &p.vars) && fails(&second.body, &p.vars);
    let alike = || match &first.axes[..] {
        [axis] => fails_alike(axis.var, &first.body, &second.body, &p.vars),
        _ => false,
    };
    let around = [first, second].map(Points::around);
    let host_fails = around.iter().any(|nodes| fails(nodes, &p.vars));
    let [a, b] = [first, second].map(|points| points.uses(p, &points.body));
    let [of_first, of_second] =
        [(first, &around[0]), (second, &around[1])].map(|(x, nodes)| x.uses(p, nodes));
    let body: Vec<Node> = first.body.iter().chain(&second.body).cloned().collect();
    let shared = |changes: &Uses, other: &Uses| {
        changes.changes.iter().any(|r| other.reads.contains(r) || other.changes.contains(r))
    };
    if both_fail && !alike()
        || host_fails
        || !(shared(&a, &b) || shared(&b, &a))
        || !of_second.is_apart_from(&a)
        || !of_second.is_apart_from(&of_first)
        || !of_first.is_apart_from(&b)
        || !share_own(p, &first.axes, &body, &a, &b)
        || !overwrite_their_own(p, &first.axes, &body)
        || is_crosswise(&first.axes, &body)
    {
        return None;
    }
    let folds = match (first.folds.clone(), second.folds.clone()) {
        (Some((mut folds, mut after)), Some((more, later))) => {
            folds.extend(more);
            after.extend(later);
            Some((folds, after))
        }
        (one, other) => one.or(other),
    };
    let before = first.before.iter().chain(&second.before).cloned().collect();
    Some(Points { before, axes: first.axes.clone(), body, folds, loc: first.loc }.tree())
}

/// Whether of what either of two pieces of code changes both use the elements of each point of their own.
fn share_own(p: &Program, axes: &[Axis], both: &[Node], a: &Uses, b: &Uses) -> bool {
    let uses = |u: &Uses, r: &ArrayId| u.reads.contains(r) || u.changes.contains(r);
    let mut shared = a.changes.iter().filter(|r| uses(b, r)).chain(b.changes.iter().filter(|r| uses(a, r)));
    let vars: Vec<Var> = axes.iter().map(|a| a.var).collect();
    a.keeps_sizes_of(b) && shared.all(|root| is_own(&|a| p.root(a), &vars, both, *root))
}

/// Whether something is gone through in steps of a row: it has the last axis before another one.
fn is_crosswise(axes: &[Axis], body: &[Node]) -> bool {
    let Some((last, others)) = axes.split_last() else { return false };
    let place = |index: &[Atom], axis: &Axis| index.iter().position(|i| *i == Atom::Var(axis.var));
    let mut found = false;
    visit_indices(body, &mut |_: ArrayId, index| {
        let at = place(index, last);
        found |= others.iter().any(|other| at.is_some() && place(index, other) > at);
    });
    found
}
