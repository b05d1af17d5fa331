//! Nests that have no points, whatever the sizes are: nothing is computed at them.
//!
//! ```text
//! before   y = nest [i < -n] { %1 = max i -1; %2 = x[%1] } store %2
//! after    y = nest [i < -n] { } store 0.0
//! ```
//!
//! Where there is no point everything holds, its contrary as well: what later passes conclude of such code need not fit together.

use super::Sequence;
use crate::bulk::build::int;
use crate::bulk::{Atom, Nest, Program, Stm, YieldKind};
use crate::ty::Const;

/// Empties the bodies of nests without points.
pub fn empty(seq: &mut Sequence, p: &mut Program) {
    for s in &mut seq.stms {
        if let Stm::Nest(n) = s {
            emptied(p, n);
        }
    }
}

fn emptied(p: &Program, n: &mut Nest) {
    // What a scan leaves where it has no points is what it starts from.
    let leaves = n.body.is_ordered() && !n.yields.iter().all(|y| matches!(y.kind, YieldKind::Store(_)));
    let has_none = n.axes.iter().any(|a| a.extent.scale(-1).is_nonnegative());
    if !has_none || leaves || n.body.items.is_empty() {
        return;
    }
    n.body.items.clear();
    for y in &mut n.yields {
        let nothing = |a: Atom| Atom::Const(Const::of(p.elem(a), 0));
        match &mut y.kind {
            YieldKind::Store(value) | YieldKind::Reduce { value, .. } => *value = nothing(*value),
            YieldKind::Accumulate { index, value, .. } | YieldKind::Write { index, value, .. } => {
                index.iter_mut().for_each(|i| *i = int(-1));
                *value = nothing(*value);
            }
        }
    }
}
