//! Writes that never meet: tasks can share their target.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::{Atom, Exp};
use crate::loops::{Node, Tree};
use crate::scalar::Op;

/// Whether different points of a tree write to different places: each axis is an index of its own, or one of its own plus what is
/// the same at all points.
pub(super) fn distinct(t: &Tree, write: &Node) -> bool {
    let Node::Write { index, .. } = write else { return false };
    let updates = t.body.iter().filter(|n| matches!(n, Node::Accumulate { .. } | Node::Write { .. }));
    if updates.count() != 1 {
        return false;
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
            Node::Scan(_) | Node::Recurrence(_) => return false,
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
    axes.iter().all(|a| index.iter().any(|i| shifted.get(i).unwrap_or(i) == a))
}
