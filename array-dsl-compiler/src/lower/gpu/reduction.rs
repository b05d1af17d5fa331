//! Trees that are reductions with what is made of their results: on a GPU they have several threads for each point.

use crate::bulk::{Atom, Axis, Exp, Let, Var};
use crate::loops::uses::reads_changed;
use crate::loops::{Fold, Loop, MOST_FOLDED, Node, Program, Tree};
use crate::scalar::Op;

/// With no more trips, which are constant, a loop is one thread's.
const FEW: i64 = 8;

/// `results = folds over inner of (body; values)`, with `before` executed once per point of the tree's axes, and `after` once with
/// the results. The body may store elements of each inner point.
pub(crate) struct Reduction<'t> {
    pub before: &'t [Node],
    pub inner: Vec<&'t Axis>,
    /// Lets of the levels above the innermost: executed at each inner point.
    pub between: Vec<&'t Let>,
    pub body: &'t [Node],
    /// The values of the innermost loop; the results are those of the outermost one.
    pub folds: Vec<Fold>,
    pub after: &'t [Node],
    /// Whether what is read is contiguous along the tree's last axis rather than along the innermost one.
    pub across: bool,
}

impl<'t> Reduction<'t> {
    /// The tree as a reduction, if all of its loops are one, and fold what can be folded in parts.
    pub fn of(p: &Program, tree: &'t Tree) -> Option<Self> {
        let at = tree.body.iter().position(|n| matches!(n, Node::Loop(_)))?;
        let (before, [Node::Loop(outermost), after @ ..]) = tree.body.split_at(at) else { return None };
        let is_let = |n: &Node| matches!(n, Node::Let(_));
        let is_last = |n: &Node| {
            matches!(n, Node::Let(_) | Node::Store { .. } | Node::Write { .. } | Node::Accumulate { .. })
        };
        let divides = |f: &Fold| f.reducer.op().is_some() || f.reducer.is_extremum();
        if outermost.folds.is_empty()
            || !outermost.folds.iter().all(divides)
            || outermost.is_ordered()
            || !before.iter().all(is_let)
            || !after.iter().all(is_last)
            || !only_stores(&outermost.body)
            // Threads do not wait for each other's elements.
            || reads_changed(p, &tree.body)
            || outermost.folds.iter().map(|f| f.reducer.words(p.elem(f.value))).sum::<usize>() > MOST_FOLDED
            || outermost.axis.extent.as_constant().is_some_and(|n| n <= FEW)
        {
            return None;
        }
        let (mut level, mut inner, mut between) = (outermost, vec![&outermost.axis], Vec::new());
        while let Some((lets, next)) = nested(level) {
            between.extend(lets);
            inner.push(&next.axis);
            level = next;
        }
        let folds = outermost.folds.iter().zip(&level.folds);
        let folds = folds.map(|(o, i)| Fold { value: i.value, ..o.clone() }).collect();
        let across = is_across(tree, level, &between);
        Some(Reduction { before, inner, between, body: &level.body, folds, after, across })
    }
}

/// Whether the nodes change nothing but elements of each trip's own.
fn only_stores(nodes: &[Node]) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(_) | Node::Store { .. } => true,
        Node::Loop(l) => only_stores(&l.body),
        Node::Scan(_) | Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
    })
}

/// The loop inside whose folds are all that this loop folds, by the same operators.
fn nested(l: &Loop) -> Option<(Vec<&Let>, &Loop)> {
    let (Node::Loop(next), lets) = l.body.split_last()? else { return None };
    let same = l.folds.len() == next.folds.len()
        && l.folds.iter().zip(&next.folds).all(|(outer, inner)| {
            outer.reducer == inner.reducer
                && outer.reducer.op().is_some()
                && outer.value == Atom::Var(inner.result)
        });
    let lets: Option<Vec<&Let>> =
        lets.iter().map(|n| if let Node::Let(l) = n { Some(l) } else { None }).collect();
    if same { lets.map(|lets| (lets, next)) } else { None }
}

/// Whether more reads walk along the tree's last axis than along that of the innermost loop, with their last index. Arrays of both
/// are larger than those of one.
pub(super) fn is_across(tree: &Tree, innermost: &Loop, between: &[&Let]) -> bool {
    let Some(outer) = tree.axes.last() else { return false };
    // What follows either axis, one for one.
    let (mut outers, mut inners) = (vec![outer.var], vec![innermost.axis.var]);
    let mut balance = 0i32;
    let mut visit = |l: &Let| {
        if let Exp::Op(Op::Add | Op::Sub, args) = &l.exp {
            for along in [&mut outers, &mut inners] {
                if args.iter().filter(|a| along.iter().any(|v| **a == Atom::Var(*v))).count() == 1 {
                    along.extend(&l.vars);
                }
            }
        }
        l.exp.visit_reads(&mut |_, index| {
            let follows = |along: &[Var], a: &Atom| a.var().is_some_and(|v| along.contains(&v));
            let Some((last, rest)) = index.split_last() else { return };
            let [by_outer, by_inner] = [&outers, &inners].map(|along| follows(along, last));
            let of_both = rest.iter().any(|a| follows(if by_outer { &inners } else { &outers }, a));
            let weight = if of_both { 4 } else { 1 };
            balance += weight * (i32::from(by_outer) - i32::from(by_inner));
        });
    };
    between.iter().for_each(|l| visit(l));
    for node in &innermost.body {
        if let Node::Let(l) = node {
            visit(l);
        }
    }
    balance > 0
}
