//! Numbers of the host level are computed as soon as what they need is there: then they do not stand between loops that could be one.

use rustc_hash::FxHashSet;

use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Nest, Program, Stm, YieldKind};

/// Has the numbers of a program stand first.
pub(super) fn first(p: &mut Program) {
    let stms = std::mem::take(&mut p.stms);
    p.stms = sorted(p, stms);
}

fn sorted(p: &Program, stms: Vec<Stm>) -> Vec<Stm> {
    let mut out: Vec<Stm> = Vec::new();
    for mut s in stms {
        if let Stm::Repeat(r) = &mut s {
            r.body = sorted(p, std::mem::take(&mut r.body));
        }
        let at = match &s {
            Stm::Nest(n) if is_number(p, n) => {
                let mut needs: FxHashSet<ArrayId> = s.inputs().into_iter().collect();
                s.visit_sizes(&mut |d| needs.extend(scalars(d)));
                // What is known of them is said before they are computed with.
                let tells = |o: &Stm| {
                    let mut tells = o.results().iter().any(|a| needs.contains(a));
                    if let Stm::Check(..) = o {
                        o.visit_sizes(&mut |d| tells |= scalars(d).any(|a| needs.contains(&a)));
                    }
                    tells
                };
                out.iter().rposition(tells).map_or(0, |k| k + 1)
            }
            _ => out.len(),
        };
        out.insert(at, s);
    }
    out
}

/// Whether a nest computes numbers of numbers, and cannot fail. That an element is inside may have been checked just before it.
fn is_number(p: &Program, n: &Nest) -> bool {
    let mut of_numbers = true;
    n.body.visit_reads(&mut |_, index| of_numbers &= index.is_empty());
    of_numbers
        && n.axes.is_empty()
        && n.yields.iter().all(|y| matches!(y.kind, YieldKind::Store(_)))
        && !n.body.items.iter().any(|i| i.may_fail(&p.vars))
}
