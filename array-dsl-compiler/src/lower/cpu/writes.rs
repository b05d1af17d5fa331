//! Writes that never meet: tasks can share their target, and points come in the order of the places that they write to.

use crate::bulk::{ArrayId, Atom, Var};
use crate::loops::own::distinct as distinct_places;
use crate::loops::uses::visit_indices;
use crate::loops::{Node, Tree};

/// If different points of a tree write to different places, and read nothing of the target but what they overwrite: for each axis the
/// index that it is, alone, or moved or turned around by what is the same at all points.
pub(super) fn distinct(t: &Tree, write: &Node, is_target: impl Fn(ArrayId) -> bool) -> Option<Vec<usize>> {
    let Node::Write { array, index, .. } = write else { return None };
    let updates = t.body.iter().filter(|n| matches!(n, Node::Accumulate { .. } | Node::Write { .. }));
    if updates.count() != 1 {
        return None;
    }
    let mut reads_others = false;
    visit_indices(&t.body, &mut |a, at| {
        reads_others |= is_target(a) && (a != *array || at != index.as_slice())
    });
    if reads_others {
        return None;
    }
    let axes: Vec<Var> = t.axes.iter().map(|a| a.var).collect();
    let index: Vec<(usize, Atom)> = index.iter().copied().enumerate().collect();
    distinct_places(&axes, &t.body, &index)
}
