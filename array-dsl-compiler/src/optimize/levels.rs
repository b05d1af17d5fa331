//! Reductions along several axes of which the first has work of its own, as reductions of reductions.
//!
//! ```text
//! before   s = nest [i, j] { u(i); v(u, j) } reduce(+) over i, j
//! after    r = nest [i, j] { u(i); v(u, j) } reduce(+) over j;   s = nest [i] { r[i] } reduce(+) over i
//! ```
//!
//! Where each point has a thread, `u` would be computed, or read, for each `j`. This is a step before scheduling. What reads an element for
//! each `i` and `j` waits for that, and is better off in one reduction.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::bulk::build::Code;
use crate::bulk::{Atom, Exp, Nest, Program, Stm, Var, Yield, YieldKind};
use crate::ty::Elem;

/// So many elements that a point of the first axis reads for itself are worth a nest.
const MANY: usize = 2;

/// Rewrites what there is; whether there was any.
pub fn levels(p: &mut Program) -> bool {
    let mut any = false;
    Sequence::run(p, |seq, p| {
        for s in std::mem::take(&mut seq.stms) {
            let Stm::Nest(n) = s else {
                seq.stms.push(s);
                continue;
            };
            match split(p, &n) {
                Some(nests) => {
                    any = true;
                    seq.stms.extend(nests.map(Stm::Nest));
                }
                None => seq.stms.push(Stm::Nest(n)),
            }
        }
    });
    any
}

fn split(p: &mut Program, n: &Nest) -> Option<[Nest; 2]> {
    let over = match n.yields.first()?.kind {
        YieldKind::Reduce { over, .. } if over > 1 && !n.body.is_ordered() => over,
        _ => return None,
    };
    let alike = |y: &Yield| matches!(y.kind, YieldKind::Reduce { over: o, reducer, .. } if o == over && reducer.op().is_some());
    let outer = n.axes.len() - over;
    if !n.yields.iter().all(alike) || own_reads(n, outer) < MANY {
        return None;
    }
    let mut rows = n.clone();
    let mut axes = n.axes[..=outer].to_vec();
    axes.iter_mut().for_each(|a| a.var = p.new_var(Elem::I64));
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let mut yields = Vec::new();
    for y in &mut rows.yields {
        let YieldKind::Reduce { reducer, over, .. } = &mut y.kind else { return None };
        *over -= 1;
        let (reducer, info) = (*reducer, p.array(y.array).clone());
        let mut dims = info.dims;
        dims.push(n.axes[outer].extent.clone());
        let array = std::mem::replace(&mut y.array, p.new_array(info.name, info.elem, dims));
        let value = code.read(p, y.array, &index);
        yields.push(Yield { array, kind: YieldKind::Reduce { reducer, over: 1, value } });
    }
    Some([rows, Nest { axes, body: code.into(), yields, loc: n.loc }])
}

/// How many reads depend on this axis and not on those after it, if none depends on both.
fn own_reads(n: &Nest, at: usize) -> usize {
    let mut varies: FxHashSet<Var> = n.axes[at + 1..].iter().map(|a| a.var).collect();
    let mut own: FxHashSet<Var> = [n.axes[at].var].into_iter().collect();
    let mut reads = 0;
    for l in n.body.unordered() {
        let (mut inside, mut outside) = (false, false);
        l.exp.visit_atoms(&mut |a| {
            inside |= a.var().is_some_and(|v| varies.contains(&v));
            outside |= a.var().is_some_and(|v| own.contains(&v));
        });
        if inside {
            let mut whole = false;
            l.exp.visit_reads(&mut |_, index| {
                let on =
                    |side: &FxHashSet<Var>| index.iter().any(|a| a.var().is_some_and(|v| side.contains(&v)));
                whole |= on(&varies) && on(&own);
            });
            if whole {
                return 0;
            }
            varies.extend(&l.vars);
        } else if outside {
            own.extend(&l.vars);
            reads += usize::from(matches!(l.exp, Exp::Read { .. }));
        }
    }
    reads
}
