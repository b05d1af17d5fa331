//! Work that does not depend on an axis is done once and not once per point of it.
//!
//! ```text
//! before   t = nest [i, j, k] { .. j, k alone .. } reduce(+) over k           t: [n][m]
//! after    u = nest [j, k] { .. } reduce(+) over k;   t = nest [i, j] { u[j] }          u: [m]
//! ```
//!
//! The second nest is free and disappears into its readers. Code that may report an error stays, unless the axis is known to have
//! points: with none it would not have been executed. Source: rule G3 of the bulk-operation transform, for whole nests.

use rustc_hash::FxHashSet;

use super::Sequence;
use super::inline;
use crate::bulk::build::{Code, Renaming};
use crate::bulk::{Atom, Axis, Block, Nest, Program, Stm, Var, Yield, YieldKind};

/// Removes axes that nests do not depend on.
pub(super) fn invariant(seq: &mut Sequence, p: &mut Program) {
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Nest(n) => {
                let unused = unused_axes(&n);
                if unused.is_empty()
                    || n.body.is_ordered()
                    || is_inlined(&n)
                    || (n.body.lets().any(|l| l.may_fail(&p.vars)) && !have_points(&n, &unused))
                {
                    seq.stms.push(Stm::Nest(n));
                } else {
                    seq.stms.extend(without(p, n, &unused));
                }
            }
            s => seq.stms.push(s),
        }
    }
}

fn have_points(n: &Nest, axes: &FxHashSet<Var>) -> bool {
    let has_points = |a: &Axis| a.extent.as_constant().is_some_and(|n| n > 0);
    n.axes.iter().filter(|a| axes.contains(&a.var)).all(has_points)
}

/// Whether its points are executed where they are read: what is stored once would be read there again.
fn is_inlined(n: &Nest) -> bool {
    let is_stored = |y: &Yield| matches!(y.kind, YieldKind::Store(_));
    n.yields.iter().all(is_stored) && inline::is_free(&Block { lets: n.body.unordered() })
}

/// The axes that become dimensions of every result and occur nowhere in the body.
fn unused_axes(n: &Nest) -> FxHashSet<Var> {
    let mut outer = n.axes.len();
    for y in &n.yields {
        match &y.kind {
            YieldKind::Store(_) => {}
            YieldKind::Reduce { over, .. } => outer = outer.min(n.axes.len() - over),
            YieldKind::Accumulate { .. } | YieldKind::Write { .. } => return FxHashSet::default(),
        }
    }
    let mut used: FxHashSet<Var> = FxHashSet::default();
    let mut note = |a: Atom| {
        if let Atom::Var(v) = a {
            used.insert(v);
        }
    };
    n.body.visit_atoms(&mut note);
    n.yields.iter().for_each(|y| y.kind.atoms().into_iter().for_each(&mut note));
    n.axes[..outer].iter().map(|a| a.var).filter(|v| !used.contains(v)).collect()
}

/// The nest without these axes, and its results as reads of what it makes then.
fn without(p: &mut Program, n: Nest, unused: &FxHashSet<Var>) -> Vec<Stm> {
    let kept: Vec<Axis> = n.axes.iter().filter(|a| !unused.contains(&a.var)).cloned().collect();
    let mut broadcasts = Vec::new();
    let mut yields = Vec::new();
    for y in n.yields {
        let over = match &y.kind {
            YieldKind::Reduce { over, .. } => *over,
            _ => 0,
        };
        let info = p.array(y.array).clone();
        let dims = kept[..kept.len() - over].iter().map(|a| a.extent.clone()).collect();
        let once = p.new_array(info.name, info.elem, dims);
        yields.push(Yield { array: once, kind: y.kind });
        // The result, as a read of what was computed once.
        let mut map = Renaming::default();
        let outer = n.axes.len() - over;
        let axes = p.copy_axes(&n.axes[..outer], &mut map);
        let index: Vec<Atom> = n.axes[..outer]
            .iter()
            .zip(&axes)
            .filter(|(old, _)| !unused.contains(&old.var))
            .map(|(_, new)| Atom::Var(new.var))
            .collect();
        let mut code = Code::new(n.loc);
        let value = code.read(p, once, &index);
        let yields = vec![Yield { array: y.array, kind: YieldKind::Store(value) }];
        broadcasts.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
    }
    let once = Stm::Nest(Nest { axes: kept, body: n.body, yields, loc: n.loc });
    [once].into_iter().chain(broadcasts).collect()
}
