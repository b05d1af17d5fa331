//! Code of a point that reads elements which code before it has stored there: their values.

use rustc_hash::FxHashMap;

use super::computed::Forward;
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Node, Program, Rounds};

/// The elements that nodes store at their own point, for good: those that are changed later, by these or by the nodes that come after
/// them, or in a loop, are not among them.
pub(super) fn stored(
    p: &Program,
    nodes: &[Node],
    after: &[Node],
    own: &[Atom],
) -> FxHashMap<(ArrayId, Vec<Atom>), Atom> {
    let mut stores: FxHashMap<ArrayId, usize> = FxHashMap::default();
    for nodes in [nodes, after] {
        visit_arrays(nodes, &mut |a, access| {
            if access != Access::Read {
                *stores.entry(p.root(a)).or_default() += 1;
            }
        });
    }
    let mut times: FxHashMap<ArrayId, usize> = FxHashMap::default();
    let mut elements = FxHashMap::default();
    for n in nodes {
        if let Node::Store { array, index, value } = n
            && is_own(index, own)
            && elements.insert((*array, index.clone()), *value).is_none()
        {
            *times.entry(p.root(*array)).or_default() += 1;
        }
    }
    elements.retain(|(array, _), _| times[&p.root(*array)] == stores[&p.root(*array)]);
    elements
}

/// Whether an index is of the point, and of a known element there.
pub(super) fn is_own(index: &[Atom], own: &[Atom]) -> bool {
    let is_known = |rest: &[Atom]| rest.iter().all(|i| matches!(i, Atom::Const(_)));
    index.strip_prefix(own).is_some_and(is_known)
}

/// Code whose reads of elements that are stored at its point are their values.
pub(super) struct Values {
    pub stored: FxHashMap<(ArrayId, Vec<Atom>), Atom>,
    pub names: Renaming,
}

impl Values {
    pub fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        nodes.into_iter().filter_map(|n| self.node(n)).collect()
    }

    fn node(&mut self, n: Node) -> Option<Node> {
        let mut code = Forward { stored: &self.stored, map: &mut self.names };
        Some(match n {
            Node::Let(mut l) => {
                code.binding(&mut l);
                if let Some(value) = code.value(&l.exp) {
                    self.names.insert(l.vars[0], value);
                    return None;
                }
                Node::Let(l)
            }
            Node::Scan(mut s) => {
                code.scan(&mut s);
                Node::Scan(s)
            }
            Node::Loop(mut l) => {
                l.body = self.nodes(l.body);
                l.folds.iter_mut().for_each(|f| f.value = renamed(&self.names, f.value));
                Node::Loop(l)
            }
            Node::Recurrence(mut r) => {
                r.states.iter_mut().for_each(|s| code.atom(&mut s.start));
                if let Rounds::For(_, Some(until)) = &mut r.rounds {
                    code.atom(until);
                }
                r.body = self.nodes(r.body);
                r.states.iter_mut().for_each(|s| s.next = renamed(&self.names, s.next));
                Node::Recurrence(r)
            }
            mut n => {
                if let Node::Store { index, value, .. }
                | Node::Write { index, value, .. }
                | Node::Accumulate { index, value, .. } = &mut n
                {
                    index.iter_mut().chain([value]).for_each(|a| code.atom(a));
                }
                n
            }
        })
    }
}
