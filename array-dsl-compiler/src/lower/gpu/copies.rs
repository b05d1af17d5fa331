//! Arrays that are combined into, and have room in a workgroup's memory.

use crate::bulk::{ArrayId, Reducer};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Node, Program, Tree};
use crate::ty::Elem;

/// The array that the tree does nothing with but combine values into it, by one operator, and which may be private to a workgroup
/// for a while.
pub(crate) fn combined_into(p: &Program, tree: &Tree) -> Option<(ArrayId, Reducer)> {
    let mut found = None;
    let is_plain = combines(&tree.body, &mut |array, reducer| {
        let array = p.root(array);
        *found.get_or_insert((array, reducer)) == (array, reducer)
    });
    let (array, reducer) = found.filter(|_| is_plain)?;
    let mut uses = 0;
    visit_arrays(&tree.body, &mut |a, access| {
        uses += usize::from(p.root(a) == array && access != Access::Combine);
    });
    let elem = p.arrays[array.0 as usize].elem;
    let fits = matches!(elem, Elem::F32 | Elem::I32 | Elem::U32);
    (uses == 0 && fits && !tree.axes.is_empty()).then_some((array, reducer))
}

/// Whether the nodes write nothing, and `f` holds for what they combine into.
fn combines(nodes: &[Node], f: &mut impl FnMut(ArrayId, Reducer) -> bool) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(_) | Node::Scan(_) => true,
        Node::Loop(l) => combines(&l.body, f),
        Node::Accumulate { array, reducer, .. } => f(*array, *reducer),
        Node::Recurrence(_) | Node::Store { .. } | Node::Write { .. } => false,
    })
}
