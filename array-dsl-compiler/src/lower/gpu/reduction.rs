//! Trees that are one reduction: on a GPU it has several threads for each point.

use crate::bulk::{ArrayId, Atom, Axis, Let, Reducer};
use crate::loops::uses::is_pure;
use crate::loops::{Loop, Node, Program, Tree};

/// `array[axes] = reducer over inner of (body; value)`, with `before` executed once per point of the tree's axes.
pub(crate) struct Reduction<'t> {
    pub before: &'t [Node],
    pub inner: Vec<&'t Axis>,
    /// Lets of the levels above the innermost: executed at each inner point.
    pub between: Vec<&'t Let>,
    pub body: &'t [Node],
    pub reducer: Reducer,
    pub value: Atom,
    pub array: ArrayId,
}

impl<'t> Reduction<'t> {
    /// The tree as a reduction, if it is one whose result is stored at exactly the tree's axes.
    pub fn of(p: &Program, tree: &'t Tree) -> Option<Self> {
        let [before @ .., Node::Loop(outermost), Node::Store { array, index, value }] = tree.body.as_slice()
        else {
            return None;
        };
        let axes = || tree.axes.iter();
        let info = &p.arrays[array.0 as usize];
        let in_place = index.iter().copied().eq(axes().map(|a| Atom::Var(a.var)))
            && info.dims.iter().eq(axes().map(|a| &a.extent));
        let [fold] = outermost.folds.as_slice() else { return None };
        let reorderable = fold.reducer.op().is_some() && *value == Atom::Var(fold.result);
        if !in_place
            || !reorderable
            || !before.iter().all(|n| matches!(n, Node::Let(_)))
            || !is_pure(&outermost.body)
        {
            return None;
        }
        let (mut level, mut inner, mut between) = (outermost, vec![&outermost.axis], Vec::new());
        while let Some((lets, next)) = nested(level) {
            between.extend(lets);
            inner.push(&next.axis);
            level = next;
        }
        let value = level.folds[0].value;
        Some(Reduction {
            before,
            inner,
            between,
            body: &level.body,
            reducer: fold.reducer,
            value,
            array: *array,
        })
    }
}

/// The loop inside whose fold is all that this loop folds, by the same operator.
fn nested(l: &Loop) -> Option<(Vec<&Let>, &Loop)> {
    let (Node::Loop(next), lets) = l.body.split_last()? else { return None };
    let [fold] = next.folds.as_slice() else { return None };
    let same = fold.reducer == l.folds[0].reducer && l.folds[0].value == Atom::Var(fold.result);
    let lets: Option<Vec<&Let>> =
        lets.iter().map(|n| if let Node::Let(l) = n { Some(l) } else { None }).collect();
    if same { lets.map(|lets| (lets, next)) } else { None }
}
