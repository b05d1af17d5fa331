//! Other names for the arrays of nodes.

use rustc_hash::FxHashMap;

use super::Node;
use crate::bulk::ArrayId;
use crate::bulk::build::Redirect;
use crate::bulk::walk::Rewriter;

/// Gives arrays their new names.
pub fn redirect(nodes: &mut [Node], names: &FxHashMap<ArrayId, ArrayId>) {
    for n in nodes {
        match n {
            Node::Let(l) => Redirect(names).binding(l),
            Node::Scan(s) => Redirect(names).scan(s),
            Node::Loop(l) => redirect(&mut l.body, names),
            Node::Recurrence(r) => redirect(&mut r.body, names),
            Node::Store { array, .. } | Node::Write { array, .. } | Node::Accumulate { array, .. } => {
                Redirect(names).array(array);
            }
        }
    }
}
