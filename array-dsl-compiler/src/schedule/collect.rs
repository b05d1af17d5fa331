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
//! A sum is collected if
//!
//! 1. it reads what the loop makes, at each point's own elements alone, or has something in common with the points that costs much; it
//!    cannot fail, and what it computes once costs little at each point;
//! 2. nothing between the two changes what it reads, or uses what it makes;
//! 3. all that the points combine into has one type and operator;
//! 4. the points keep their lanes.

use rustc_hash::FxHashSet;

use super::adjoin::{fails, has_loops, share_own};
use super::shared::{fails_alike, shares};
use super::users::Uses;
use super::values::{Values, stored};
use crate::bulk::build::{Fresh, Renaming};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::loops::rename::{fresh, redirect};
use crate::loops::together::{in_blocks, together};
use crate::loops::uses::{Access, combined, is_pure, places, takes_long, visit_arrays, visit_atoms};
use crate::loops::{ArrayInfo, Contract, Home, Loop, Node, Operand, Program, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

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

/// What stands around points that combine values.
#[derive(Default)]
struct Around {
    /// What they combine into begins as this.
    fills: Vec<(ArrayId, Const)>,
    /// What is done with the sums.
    rest: Option<Tree>,
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
        if let Some(sum) = sum {
            let fills = sum.around.fills.iter().map(|(a, _)| *a);
            let prepared = fills.chain(sum.moved.iter().copied());
            let others = passed.without(&prepared.map(|a| p.root(a)).collect());
            if uses.is_apart_from(&others)
                && let Some(tree) = collecting(p, points, &sum, collects)
            {
                return Some((k, tree, sum.around));
            }
        }
        passed.extend(uses);
    }
    None
}

/// The memory that a step uses, contractions included.
fn uses(p: &Program, s: &Step) -> Option<Uses> {
    let Step::Contract(c) = s else { return Uses::of(p, s) };
    let mut u = Uses::default();
    u.changes.insert(p.root(c.result));
    u.reads.extend([c.a.array, c.b.array].map(|a| p.root(a)));
    Some(u)
}

/// A sum as code of one point.
struct Sum {
    nodes: Vec<Node>,
    /// Whether it has functions, for which only its points can be in vectors.
    has_vectors: bool,
    around: Around,
    /// The arrays that take over, each from the next, the memory of the last of them, into which it combines as the points do.
    moved: Vec<ArrayId>,
}

/// The arrays through which this one takes over the memory of one that is there after the points, which is the last of them, if nothing
/// else is done with them between the points and a sum.
fn moved(p: &Program, between: &[Step], array: ArrayId) -> Option<Vec<ArrayId>> {
    let mut names = vec![array];
    for s in between.iter().rev() {
        match s {
            Step::Move { array, source } if names.last() == Some(array) => names.push(*source),
            s => {
                let uses = uses(p, s)?;
                let all = [&uses.reads, &uses.changes, &uses.sizes];
                if names.iter().any(|a| all.iter().any(|u| u.contains(&p.root(*a)))) {
                    return None;
                }
            }
        }
    }
    (names.len() > 1).then_some(names)
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
    // What both add to has one copy.
    let both = sum.moved.last().map(|source| p.root(*source));
    let [own, others] = [&points.body, &sum.nodes].map(|nodes| match both {
        Some(root) => without(p, nodes, root),
        None => nodes.clone(),
    });
    let is_combined = |a: ArrayId| combined(&points.body).iter().any(|(b, _)| p.root(*b) == a);
    if both.is_some_and(|root| !is_combined(root) || made.reads.contains(&root)) {
        return None;
    }
    let combines = |a: &ArrayId| combined(&points.body).iter().any(|(b, _)| p.root(*b) == *a);
    let is_apart = |a: &ArrayId| !made.reads.contains(a) && (!made.changes.contains(a) || both == Some(*a));
    if !gains
        || !used.changes.iter().all(is_apart)
        || used.reads.iter().any(combines)
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

/// The nodes of a sum over `over`, at a point, in loops over the others of its axes.
fn at_point(
    p: &mut Program,
    points: &Tree,
    over: Var,
    inner: &[Axis],
    mut body: Vec<Node>,
    loc: Loc,
) -> Vec<Node> {
    for a in inner.iter().rev() {
        body = vec![Node::Loop(Loop::new(a.clone(), body, Vec::new(), loc))];
    }
    let mut names = Renaming::from_iter([(over, Atom::Var(points.axes[0].var))]);
    fresh(&mut body, &mut Fresh { vars: &mut p.vars, names: &mut names });
    body
}

/// A sum that is a tree's one loop over the points, with little scalar code before.
fn folded(p: &mut Program, points: &Tree, t: &Tree) -> Option<Sum> {
    let at = t.body.iter().position(|n| matches!(n, Node::Loop(_)))?;
    let (before, [Node::Loop(l), after @ ..]) = t.body.split_at(at) else { return None };
    let is_little = |n: &Node| match n {
        Node::Let(Let { exp: Exp::Op(op, _), .. }) => op.is_cheap(),
        Node::Let(Let { exp: Exp::Read { .. } | Exp::Size(_) | Exp::StopGradient(_), .. }) => true,
        _ => false,
    };
    let is_sum = !l.folds.is_empty() && l.folds.iter().all(|f| f.reducer == Reducer::Add);
    if !is_sum
        || l.axis.extent != points.axes[0].extent
        || !l.merged.is_empty()
        || !l.range.is_whole()
        || l.is_ordered()
        || !if t.axes.is_empty() { only_stores(&l.body) } else { is_pure(&l.body) }
        || !before.iter().all(is_little)
        || !after.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }))
    {
        return None;
    }
    let place: Vec<Atom> = t.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let result = |v: Var| {
        after.iter().find_map(|n| match n {
            Node::Store { array, index, value } if *value == Atom::Var(v) && *index == place => Some(*array),
            _ => None,
        })
    };
    // A result is added up where it is, if nothing else is done with it.
    let is_store = after.iter().all(|n| matches!(n, Node::Store { .. })) && after.len() == l.folds.len();
    let direct: Option<Vec<ArrayId>> =
        l.folds.iter().map(|f| result(f.result)).collect::<Option<Vec<_>>>().filter(|_| is_store);
    let is_direct = direct.is_some();
    let arrays = match direct {
        Some(arrays) => arrays,
        None => l.folds.iter().map(|f| sums(p, t, f.result)).collect(),
    };
    let mut body = needed(before, |f| {
        visit_atoms(&l.body, &mut |a| f(a));
        l.folds.iter().for_each(|q| f(q.value));
    });
    body.extend(l.body.iter().cloned());
    for (f, array) in l.folds.iter().zip(&arrays) {
        body.push(Node::Accumulate {
            array: *array,
            reducer: f.reducer,
            index: place.clone(),
            value: f.value,
        });
    }
    let rest = (!is_direct).then(|| {
        let read = |(v, array): (Var, &ArrayId)| {
            let exp = Exp::Read { array: *array, index: place.clone(), checked: false };
            Node::Let(Let { vars: vec![v], exp, loc: l.loc })
        };
        let reads = l.folds.iter().map(|f| f.result).zip(&arrays).map(read);
        let body = before.iter().cloned().chain(reads).chain(after.iter().cloned()).collect();
        Tree::new(t.axes.clone(), body, t.loc)
    });
    let fills = arrays.iter().map(|a| (*a, Reducer::Add.neutral(p.arrays[a.0 as usize].elem))).collect();
    let nodes = at_point(p, points, l.axis.var, &t.axes, body, t.loc);
    let has_vectors = t.axes.is_empty() && !has_loop(&l.body) && takes_long(&nodes);
    Some(Sum { nodes, has_vectors, around: Around { fills, rest }, moved: Vec::new() })
}

/// Whether nodes change nothing but what they store.
fn only_stores(nodes: &[Node]) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } => true,
        Node::Loop(l) => only_stores(&l.body),
        Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
    })
}

/// A new array for what is folded at each point of a tree.
fn sums(p: &mut Program, t: &Tree, result: Var) -> ArrayId {
    let elem = p.vars[result.0 as usize];
    let dims = t.axes.iter().map(|a| a.extent.clone()).collect();
    p.arrays.push(ArrayInfo { name: "sum".into(), elem, dims, home: Home::Heap, most: None });
    ArrayId(p.arrays.len() as u32 - 1)
}

/// Values that a tree over the points combines into an array that begins as one constant.
fn accumulated(
    p: &mut Program,
    points: &Tree,
    t: &Tree,
    fill: &impl Fn(ArrayId) -> Option<Const>,
    moved: &impl Fn(&Program, ArrayId) -> Option<Vec<ArrayId>>,
) -> Option<Sum> {
    let mut made = FxHashSet::default();
    visit_arrays(&points.body, &mut |a, access| {
        made.extend((access != Access::Read).then(|| p.root(a)));
    });
    let is_made = |a: ArrayId| made.contains(&p.root(a));
    let axes = t.axes.iter().filter(|a| a.extent == points.axes[0].extent).map(|a| a.var).collect();
    let mut reads_made = false;
    visit_arrays(&t.body, &mut |a, _| reads_made |= is_made(a));
    // The axis at which all that the points make is read, first among its indices.
    let over = match reads_made {
        true => places(&t.body, &axes, &is_made).into_iter().next()?.1,
        false => axes.into_iter().next()?,
    };
    let [(array, _)] = combined(&t.body)[..] else { return None };
    let value = fill(array);
    let moved = if value.is_none() { moved(p, array)? } else { Vec::new() };
    let inner: Vec<Axis> = t.axes.iter().filter(|a| a.var != over).cloned().collect();
    let mut nodes = at_point(p, points, over, &inner, t.body.clone(), t.loc);
    let has_vectors = inner.is_empty() && takes_long(&nodes);
    if let Some(source) = moved.last() {
        redirect(&mut nodes, &[(array, *source)].into_iter().collect());
    }
    let fills = value.map(|value| (array, value)).into_iter().collect();
    Some(Sum { nodes, has_vectors, around: Around { fills, rest: None }, moved })
}

/// A contraction over the points whose result is one row, or one number.
fn contracted(p: &mut Program, points: &Tree, c: &Contract) -> Option<Sum> {
    let summed: Vec<usize> = (0..c.extents.len()).filter(|k| !c.out.contains(k)).collect();
    let [over] = summed[..] else { return None };
    let is_floats = p.arrays[c.result.0 as usize].elem.is_float();
    let is_whole = |o: &Operand| o.is_whole(&c.extents, &p.arrays[o.array.0 as usize].dims);
    if !is_whole(&c.a)
        || !is_whole(&c.b)
        || c.out.len() > 1
        || c.extents[over] != points.axes[0].extent
        || !is_floats
    {
        return None;
    }
    let axes: Vec<Axis> =
        c.extents.iter().map(|e| Axis { var: p.new_var(Elem::I64), extent: e.clone() }).collect();
    let at =
        |axes: &[Axis], which: &[usize]| which.iter().map(|k| Atom::Var(axes[*k].var)).collect::<Vec<_>>();
    let elem = p.arrays[c.result.0 as usize].elem;
    let mut body = Vec::new();
    let mut bind = |p: &mut Program, exp: Exp| {
        let v = p.new_var(elem);
        body.push(Node::Let(Let { vars: vec![v], exp, loc: c.loc }));
        Atom::Var(v)
    };
    let [a, b] = [&c.a, &c.b]
        .map(|o| bind(p, Exp::Read { array: o.array, index: at(&axes, &o.axes()), checked: false }));
    let value = bind(p, Exp::Op(Op::Mul, vec![a, b]));
    body.push(Node::Accumulate { array: c.result, reducer: Reducer::Add, index: at(&axes, &c.out), value });
    let inner: Vec<Axis> = c.out.iter().map(|k| axes[*k].clone()).collect();
    let nodes = at_point(p, points, axes[over].var, &inner, body, c.loc);
    let fills = vec![(c.result, Reducer::Add.neutral(elem))];
    Some(Sum { nodes, has_vectors: false, around: Around { fills, rest: None }, moved: Vec::new() })
}

/// The nodes that scalars are computed by; `visit` calls a function with these.
fn needed(nodes: &[Node], visit: impl FnOnce(&mut dyn FnMut(Atom))) -> Vec<Node> {
    let mut live: FxHashSet<Var> = FxHashSet::default();
    visit(&mut |a| live.extend(a.var()));
    let mut out = Vec::new();
    for n in nodes.iter().rev() {
        if n.binds().iter().any(|v| live.contains(v)) {
            visit_atoms(std::slice::from_ref(n), &mut |a| live.extend(a.var()));
            out.push(n.clone());
        }
    }
    out.reverse();
    out
}
