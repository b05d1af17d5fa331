//! What is summed over points, as code of one of them: folds over a tree's one loop, additions to an array at computed indices, and
//! contractions of which the result is one row.

use rustc_hash::FxHashSet;

use super::{has_loop, uses};
use crate::bulk::build::{Fresh, Renaming};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::loops::rename::{fresh, redirect};
use crate::loops::uses::{Access, combined, is_pure, places, takes_long, visit_arrays, visit_atoms};
use crate::loops::{ArrayInfo, Contract, Home, Loop, Node, Operand, Program, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// What stands around points that combine values.
#[derive(Default)]
pub(super) struct Around {
    /// What they combine into begins as this.
    pub fills: Vec<(ArrayId, Const)>,
    /// What is done with the sums.
    pub rest: Option<Tree>,
}

/// A sum as code of one point.
pub(super) struct Sum {
    pub nodes: Vec<Node>,
    /// Whether it has functions, for which only its points can be in vectors.
    pub has_vectors: bool,
    pub around: Around,
    /// The arrays that take over, each from the next, the memory of the last of them, into which it combines as the points do.
    pub moved: Vec<ArrayId>,
}

/// The arrays through which this one takes over the memory of one that is there after the points, which is the last of them, if nothing
/// else is done with them between the points and a sum.
pub(super) fn moved(p: &Program, between: &[Step], array: ArrayId) -> Option<Vec<ArrayId>> {
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
pub(super) fn folded(p: &mut Program, points: &Tree, t: &Tree) -> Option<Sum> {
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
pub(super) fn accumulated(
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
pub(super) fn contracted(p: &mut Program, points: &Tree, c: &Contract) -> Option<Sum> {
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
