//! Whole matrices of derivatives, and programs over batches, by lifting.
//!
//! ```text
//! jacobian, forward   J[.., a..] = the tangent of the result for the unit tangent a of the argument
//! jacobian, reverse   J[r.., ..] = the cotangent of the argument for the unit cotangent r of the result
//! hessian             H[a.., b..] = the tangent of the gradient by b for the unit tangent a
//! vmap                every argument with one more leading dimension, the same for all
//! ```
//!
//! The program, its forward or its reverse mode is executed at every unit; what does not depend on the unit is
//! computed once. A Jacobian is taken forward unless the result has fewer dimensions than the arguments. Memory is that of
//! the tangents of all intermediate arrays at once.

use std::collections::HashMap;

use super::lift::{everywhere, lift, unit};
use super::{Derivative, NotDifferentiable, active_leaves, active_params, bundle, forward, reverse};
use crate::bulk::{ArrayId, Atom, Program};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Loc, Name, Tree};

/// The Jacobian of a program: for each float result, a tree of arrays like its differentiated arguments.
pub(super) fn jacobian(p: &Program) -> Result<Program, NotDifferentiable> {
    let ranks = |leaves: &[ArrayId]| leaves.iter().map(|a| p.array(*a).dims.len()).sum::<usize>();
    if ranks(&float_results(p)) < ranks(&active_leaves(p)) { backward_units(p) } else { forward_units(p) }
}

/// The Hessian of a program with one float as its value: for each differentiated argument, a tree like all of them.
pub(super) fn hessian(p: &Program) -> Result<Program, NotDifferentiable> {
    forward_units(&reverse::reverse(p, Derivative::Grad)?)
}

/// The float arrays of the result, in order.
fn float_results(p: &Program) -> Vec<ArrayId> {
    p.result.leaves().into_iter().copied().filter(|a| p.array(*a).elem.is_float()).collect()
}

/// Each row of the columns that forward mode gives.
fn forward_units(p: &Program) -> Result<Program, NotDifferentiable> {
    let (mut q, columns) = at_units(forward::forward(p)?, p.params.len())?;
    let results = float_results(p).len();
    let mut rows: Vec<Vec<ArrayId>> = vec![Vec::new(); results];
    for (argument, columns) in active_leaves(p).iter().zip(columns) {
        let rank = p.array(*argument).dims.len();
        for (row, column) in rows.iter_mut().zip(columns) {
            row.push(turned(&mut q, column, rank));
        }
    }
    finish(p, q, &rows)
}

/// The rows that reverse mode gives.
fn backward_units(p: &Program) -> Result<Program, NotDifferentiable> {
    let (mut q, mut rows) = at_units(reverse::reverse(p, Derivative::Vjp)?, p.params.len())?;
    // A matrix is of its result's type, whichever way it was taken.
    for (result, row) in float_results(p).iter().zip(&mut rows) {
        let elem = p.array(*result).elem;
        for block in row {
            let info = q.array(*block).clone();
            if info.elem == elem {
                continue;
            }
            let other = *block;
            *block = q.store(&info.name, elem, &info.dims, Loc::default(), |p, code, index| {
                let x = code.read(p, other, index);
                code.op(p, Op::Cast(elem), &[x])
            });
        }
    }
    finish(p, q, &rows)
}

/// A derivative with parameters for tangents or cotangents after the first `count`, at every unit of each of them, the others
/// zero. For each of them, what the second part of the result is: arrays with the unit's dimensions before their own.
fn at_units(mut d: Program, count: usize) -> Result<(Program, Vec<Vec<ArrayId>>), NotDifferentiable> {
    crate::optimize::optimize(&mut d);
    let units: Vec<ArrayId> = d.params[count..].iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let outputs: Vec<ArrayId> = match &d.result {
        Tree::Tuple(parts) => parts.get(1).into_iter().flat_map(Tree::leaves).copied().collect(),
        Tree::Leaf(_) => Vec::new(),
    };
    let mut q = d.clone();
    q.stms.clear();
    q.params.truncate(count);
    let mut all = Vec::new();
    for here in &units {
        let info = q.array(*here).clone();
        let one = unit(&mut q, info.elem, &info.dims);
        let (mut names, mut lifted) = (HashMap::new(), HashMap::new());
        for other in &units {
            let info = q.array(*other).clone();
            let array = if other == here {
                let array = q.new_array(info.name, info.elem, info.dims);
                lifted.insert(array, one);
                array
            } else {
                q.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default())
            };
            names.insert(*other, array);
        }
        let stms = q.copy_stms(&d.stms, &mut names);
        lift(&mut q, &stms, &info.dims, &mut lifted)?;
        let whole = |a: &ArrayId| {
            let a = names.get(a).copied().unwrap_or(*a);
            everywhere(&mut q, a, &info.dims, &lifted)
        };
        all.push(outputs.iter().map(whole).collect());
    }
    Ok((q, all))
}

/// An array with its first `rank` dimensions last.
fn turned(q: &mut Program, a: ArrayId, rank: usize) -> ArrayId {
    let info = q.array(a).clone();
    let (first, rest) = info.dims.split_at(rank);
    let dims: Vec<Dim> = rest.iter().chain(first).cloned().collect();
    q.store("jacobian", info.elem, &dims, Loc::default(), |p, code, index| {
        let (rest, first) = index.split_at(index.len() - rank);
        let at: Vec<Atom> = first.iter().chain(rest).copied().collect();
        code.read(p, a, &at)
    })
}

/// Sets the result: for each float result, the arguments in their structure.
fn finish(p: &Program, mut q: Program, rows: &[Vec<ArrayId>]) -> Result<Program, NotDifferentiable> {
    let row = |row: &Vec<ArrayId>| {
        let mut blocks = row.iter();
        let params = active_params(p).into_iter();
        bundle(params.map(|(_, t)| t.map(&mut |a| blocks.next().copied().unwrap_or(*a))).collect())
    };
    q.result = bundle(rows.iter().map(row).collect());
    within_ranks(q)
}

/// The program for a batch.
pub(super) fn vmap(p: &Program) -> Result<Program, NotDifferentiable> {
    let mut q = p.clone();
    q.stms.clear();
    let first = p.params.first().map_or("batch", |a| &*a.name);
    let mut size = Name::from(format!("#{first}.0"));
    while q.sizes.contains(&size) {
        size = Name::from(format!("{size}'"));
    }
    q.sizes.push(size.clone());
    let frame = [Dim::name(size)];
    let mut lifted = HashMap::new();
    for i in 0..q.params.len() {
        let arrays = q.params[i].arrays.map(&mut |a| {
            let info = q.arrays[a.0 as usize].clone();
            let dims = frame.iter().cloned().chain(info.dims).collect();
            q.arrays.push(crate::bulk::ArrayInfo { name: info.name, elem: info.elem, dims });
            let new = ArrayId(q.arrays.len() as u32 - 1);
            lifted.insert(*a, new);
            new
        });
        q.params[i].arrays = arrays;
    }
    lift(&mut q, &p.stms, &frame, &mut lifted)?;
    let results: Vec<ArrayId> = p.result.leaves().into_iter().copied().collect();
    let whole: HashMap<ArrayId, ArrayId> =
        results.iter().map(|a| (*a, everywhere(&mut q, *a, &frame, &lifted))).collect();
    q.result = p.result.map(&mut |a| whole[a]);
    within_ranks(q)
}

/// The most dimensions that the host's arrays have.
const MOST: usize = 6;

fn within_ranks(p: Program) -> Result<Program, NotDifferentiable> {
    let outside = p.params.iter().flat_map(|q| q.arrays.leaves()).chain(p.result.leaves());
    let most = outside.map(|a| p.array(*a).dims.len()).max().unwrap_or(0);
    if most > MOST {
        let what = format!("it would take or give an array of {most} dimensions, which is more than {MOST}");
        return Err(NotDifferentiable { what, loc: None });
    }
    Ok(p)
}
