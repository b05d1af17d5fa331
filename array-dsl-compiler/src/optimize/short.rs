//! Reductions along short axes, as scalar code of the points around them.
//!
//! ```text
//! before   s = nest [i, j, c < 3] { v(i, j, c) } reduce(+) 1 v                                      s: [n][n]
//! after    s = nest [i, j] { 0 + v(i, j, 0) + v(i, j, 1) + v(i, j, 2) } store
//!
//! before   s = nest [i, j, c < 3] { v(a[i, j], c) } reduce(+) 3 v                                   a: [n][n], made by the kernel
//! after    s = nest [i, j] { 0 + v(a[i, j], 0) + v(a[i, j], 1) + v(a[i, j], 2) } reduce(+) 2
//! ```
//!
//! What reads the sums can then compute them by itself, as the distance between two points in space. This is a step before scheduling:
//! rules of derivatives see one reduction. Where loops nest, those of one long axis stay, which are short loops of their points then
//! (`schedule::unroll`), and so do sums of products of two arrays, which are contractions.

use super::Sequence;
use crate::bulk::build::{Renaming, int, renamed};
use crate::bulk::{Atom, Axis, Exp, Let, Nest, Program, Stm, YieldKind};
use crate::scalar::Op;

/// The most points of what is reduced.
const SHORT: i64 = 4;
/// The most statements that a point is given.
const LONGEST: usize = 64;

/// Rewrites what there is, of a target where loops nest what is worth it; whether there was any.
pub fn short(p: &mut Program, nests: bool) -> bool {
    let mut any = false;
    Sequence::run(p, |seq, p| {
        for s in &mut seq.stms {
            if let Stm::Nest(n) = s
                && let Some(made) = at_points(p, n, nests)
            {
                *n = made;
                any = true;
            }
        }
    });
    any
}

fn at_points(p: &mut Program, n: &Nest, nests: bool) -> Option<Nest> {
    let over = match n.yields.first()?.kind {
        YieldKind::Reduce { over, .. } if !n.body.is_ordered() => over,
        _ => return None,
    };
    // The last of the axes that are summed over, as far as they are constant.
    let is_constant = |a: &&Axis| a.extent.as_constant().is_some();
    let short = n.axes.iter().rev().take(over).take_while(is_constant).count();
    let (outer, inner) = n.axes.split_at(n.axes.len() - short);
    let extents: Option<Vec<i64>> = inner.iter().map(|a| a.extent.as_constant()).collect();
    let extents = extents?;
    let places = extents.iter().try_fold(1, |a: i64, b| a.checked_mul(*b))?;
    if outer.is_empty() || short == 0 || !(1..=SHORT).contains(&places) {
        return None;
    }
    if short < over && !reads_at_points(p, n, outer) {
        return None;
    }
    let lets = n.body.unordered();
    let is_long = lets.len() * places as usize > LONGEST;
    let long_axes = outer.iter().filter(|a| a.extent.as_constant().is_none()).count();
    if is_long || nests && (long_axes < 2 || is_product(&lets)) {
        return None;
    }
    let states = n.yields.iter().map(|y| match y.kind {
        YieldKind::Reduce { over: o, reducer, value } if o == over => Some((reducer, reducer.op()?, value)),
        _ => None,
    });
    let states: Vec<_> = states.collect::<Option<_>>()?;
    let elem = |k: usize, p: &Program| p.array(n.yields[k].array).elem;
    let mut values: Vec<Atom> =
        states.iter().enumerate().map(|(k, s)| Atom::Const(s.0.neutral(elem(k, p)))).collect();
    let mut body = Vec::new();
    for place in 0..places {
        let mut map = Renaming::default();
        let mut rest = place;
        for (axis, extent) in inner.iter().zip(&extents).rev() {
            map.insert(axis.var, int(rest % extent));
            rest /= extent;
        }
        body.extend(p.copy_lets(&lets, &mut map));
        for (k, (_, op, value)) in states.iter().enumerate() {
            let var = p.new_var(elem(k, p));
            let exp = Exp::Op(*op, vec![values[k], renamed(&map, *value)]);
            body.push(Let { vars: vec![var], exp, loc: n.loc });
            values[k] = Atom::Var(var);
        }
    }
    let mut yields = n.yields.clone();
    for (y, (value, (reducer, ..))) in yields.iter_mut().zip(values.into_iter().zip(states)) {
        y.kind = match over - short {
            0 => YieldKind::Store(value),
            over => YieldKind::Reduce { reducer, over, value },
        };
    }
    Some(Nest { axes: outer.to_vec(), body: body.into(), yields, loc: n.loc })
}

/// Whether a nest reads an element of an array of the kernel's own that there is for all of these axes and for no others.
fn reads_at_points(p: &Program, n: &Nest, axes: &[Axis]) -> bool {
    let mut found = false;
    n.body.visit_reads(&mut |a, index| {
        let is_own = p.params.iter().all(|q| !q.arrays.leaves().contains(&&a));
        let is_at = axes.iter().all(|x| index.contains(&Atom::Var(x.var)));
        found |= is_own && is_at && index.len() == axes.len();
    });
    found
}

/// Whether code is one product of two elements.
fn is_product(lets: &[Let]) -> bool {
    let reads = lets.iter().filter(|l| matches!(l.exp, Exp::Read { .. })).count();
    reads == 2 && lets.len() == 3 && matches!(lets[2].exp, Exp::Op(Op::Mul, _))
}
