//! Numbers of the host level are computed as soon as what they need is there, and what is to be checked of them is checked then: neither
//! stands between loops that could be one. A check goes past nothing that may fail, so that the first failure is told.

use rustc_hash::FxHashSet;

use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Nest, Program, Stm, YieldKind};

/// Has the numbers of a program and the checks stand first.
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
            Stm::Nest(n) if is_number(p, n) => after(&out, |o| tells(o, &needs(&s))),
            Stm::Check(..) => after(&out, |o| may_fail(p, o) || tells(o, &needs(&s))),
            _ => out.len(),
        };
        out.insert(at, s);
    }
    out
}

/// The place after the last statement that is one.
fn after(stms: &[Stm], is_one: impl Fn(&Stm) -> bool) -> usize {
    stms.iter().rposition(is_one).map_or(0, |k| k + 1)
}

/// The arrays that a statement needs, and those in sizes.
fn needs(s: &Stm) -> FxHashSet<ArrayId> {
    let mut needs: FxHashSet<ArrayId> = s.inputs().into_iter().collect();
    s.visit_sizes(&mut |d| needs.extend(scalars(d)));
    needs
}

/// Whether a statement makes some of these arrays, or checks what is said of them: that is known before they are computed with.
fn tells(s: &Stm, of: &FxHashSet<ArrayId>) -> bool {
    let mut tells = s.results().iter().any(|a| of.contains(a));
    if let Stm::Check(..) = s {
        s.visit_sizes(&mut |d| tells |= scalars(d).any(|a| of.contains(&a)));
    }
    tells
}

/// Whether executing a statement may report an error.
fn may_fail(p: &Program, s: &Stm) -> bool {
    match s {
        Stm::Nest(n) => n.body.items.iter().any(|i| i.may_fail(&p.vars)),
        Stm::Reshape { .. } | Stm::Sort(_) => false,
        Stm::Repeat(_) | Stm::Call(_) | Stm::Custom(_) | Stm::Check(..) => true,
    }
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
