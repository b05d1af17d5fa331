//! The derivative of scalar code as scalar code, for functions inside kernels that make no arrays.

use rustc_hash::{FxHashMap, FxHashSet};

use super::adjoint::{Adjoints, active_scalars, backwards};
use super::tangent::{Tangents, forwards, of};
use crate::bulk::build::Code;
use crate::bulk::{Atom, Let, Program, Var};
use crate::ty::Const;

/// Appends the adjoint of `lets`, which have been executed: the cotangents of `point`, from (result, cotangent) pairs.
pub fn pullback(
    p: &mut Program,
    code: &mut Code,
    lets: &[Let],
    point: &[Var],
    seeds: &[(Atom, Atom)],
) -> Vec<Atom> {
    let nothing = FxHashSet::default();
    let active = active_scalars(p, lets, &nothing, &point.iter().copied().collect());
    let mut adjoints = Adjoints::default();
    for (result, cotangent) in seeds {
        if matches!(result, Atom::Var(v) if active.contains(v)) {
            adjoints.add(p, code, *result, *cotangent);
        }
    }
    backwards(p, code, lets, &nothing, &active, &mut adjoints, &mut Vec::new());
    let zero = |v: &Var| Atom::Const(Const::of(p.vars[v.0 as usize], 0));
    point.iter().map(|v| adjoints.get(*v).unwrap_or_else(|| zero(v))).collect()
}

/// Appends `lets` with tangents: those of the results, from those of the point.
pub fn pushforward(
    p: &mut Program,
    code: &mut Code,
    lets: &[Let],
    point: &[(Var, Atom)],
    results: &[Atom],
) -> Vec<Atom> {
    let mut tangents: Tangents = point.iter().copied().collect();
    forwards(p, code, lets, &FxHashMap::default(), &mut tangents);
    results.iter().map(|a| of(&tangents, *a).unwrap_or(Atom::Const(Const::of(p.elem(*a), 0)))).collect()
}
