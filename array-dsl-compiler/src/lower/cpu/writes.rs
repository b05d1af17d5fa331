//! Writes that never meet: tasks can share their target, and points come in the order of the places that they write to.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::{ArrayId, Atom, Exp};
use crate::loops::uses::visit_indices;
use crate::loops::{Node, Tree};
use crate::scalar::Op;

/// If different points of a tree write to different places, and read nothing of the target but what they overwrite: for each axis the
/// index that it is, alone or plus what is the same at all points.
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
    let axes: Vec<Atom> = t.axes.iter().map(|a| Atom::Var(a.var)).collect();
    // What differs from point to point, as far as it can be told.
    let mut differ: FxHashSet<Atom> = axes.iter().copied().collect();
    let mut shifted: FxHashMap<Atom, Atom> = FxHashMap::default();
    for n in &t.body {
        match n {
            Node::Let(l) => {
                let mut differs = false;
                l.exp.visit_atoms(&mut |a| differs |= differ.contains(&a));
                if let (Exp::Op(Op::Add, args), [v]) = (&l.exp, l.vars.as_slice())
                    && let Some(axis) = args.iter().find(|a| axes.contains(a))
                    && args.iter().filter(|a| differ.contains(a)).count() == 1
                {
                    shifted.insert(Atom::Var(*v), *axis);
                }
                differ.extend(l.vars.iter().filter(|_| differs).map(|v| Atom::Var(*v)));
            }
            Node::Loop(l) => differ.extend(l.folds.iter().map(|f| Atom::Var(f.result))),
            Node::Scan(_) | Node::Recurrence(_) => return None,
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
    axes.iter().map(|a| index.iter().position(|i| shifted.get(i).unwrap_or(i) == a)).collect()
}
