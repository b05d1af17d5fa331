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
use super::{Derivative, NotDifferentiable, active_params, bundle, forward, reverse};
use crate::bulk::{ArrayId, Param, Program};
use crate::dim::Dim;
use crate::ty::{Const, Loc, Name, Tree};

/// The Jacobian of a program: for each float result, a tree of arrays like its differentiated arguments.
pub(super) fn jacobian(p: &Program) -> Result<Program, NotDifferentiable> {
    let ranks = |leaves: &[ArrayId]| leaves.iter().map(|a| p.array(*a).dims.len()).sum::<usize>();
    let results = float_results(p);
    if ranks(&results) < ranks(&super::active_leaves(p)) { backward_units(p) } else { forward_units(p) }
}

/// The Hessian of a program with one float as its value: for each differentiated argument, a tree like all of them.
pub(super) fn hessian(p: &Program) -> Result<Program, NotDifferentiable> {
    let gradient = reverse::reverse(p, Derivative::Grad)?;
    let mut d = gradient.clone();
    // Several gradients are several results.
    d.name = p.name.clone();
    forward_units(&d)
}

/// The float arrays of the result, in order.
fn float_results(p: &Program) -> Vec<ArrayId> {
    p.result.leaves().into_iter().copied().filter(|a| p.array(*a).elem.is_float()).collect()
}

fn forward_units(p: &Program) -> Result<Program, NotDifferentiable> {
    let mut d = forward::forward(p)?;
    crate::optimize::optimize(&mut d);
    let count = p.params.len();
    let tangents: Vec<ArrayId> = leaves_of(&d.params[count..]);
    let arguments: Vec<ArrayId> = super::active_leaves(p);
    let slopes: Vec<ArrayId> = match &d.result {
        Tree::Tuple(parts) => {
            parts.get(1).map(|t| t.leaves().into_iter().copied().collect()).unwrap_or_default()
        }
        Tree::Leaf(_) => Vec::new(),
    };
    let mut q = d.clone();
    q.stms.clear();
    q.params.truncate(count);
    // Blocks by result and argument.
    let mut blocks: HashMap<(usize, usize), ArrayId> = HashMap::new();
    for (i, argument) in arguments.iter().enumerate() {
        let frame = q.array(*argument).dims.clone();
        let elem = q.array(*argument).elem;
        let one = unit(&mut q, elem, &frame);
        let (mut names, mut lifted) = (HashMap::new(), HashMap::new());
        for (k, t) in tangents.iter().enumerate() {
            let info = q.array(*t).clone();
            if k == i {
                let here = q.new_array(info.name, info.elem, info.dims);
                names.insert(*t, here);
                lifted.insert(here, one);
            } else {
                let zeros = q.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default());
                names.insert(*t, zeros);
            }
        }
        let stms = q.copy_stms(&d.stms, &mut names);
        lift(&mut q, &stms, &frame, &mut lifted)?;
        for (k, slope) in slopes.iter().enumerate() {
            let slope = names.get(slope).copied().unwrap_or(*slope);
            let columns = everywhere(&mut q, slope, &frame, &lifted);
            // From [argument.., result..] to [result.., argument..].
            let info = q.array(columns).clone();
            let (a, r) = info.dims.split_at(frame.len());
            let dims: Vec<Dim> = r.iter().chain(a).cloned().collect();
            let rank = r.len();
            let block = q.store("jacobian", info.elem, &dims, Loc::default(), |p, code, index| {
                let at: Vec<_> = index[rank..].iter().chain(&index[..rank]).copied().collect();
                code.read(p, columns, &at)
            });
            blocks.insert((k, i), block);
        }
    }
    finish(p, q, slopes.len(), &blocks)
}

fn backward_units(p: &Program) -> Result<Program, NotDifferentiable> {
    let mut d = reverse::reverse(p, Derivative::Vjp)?;
    crate::optimize::optimize(&mut d);
    let count = p.params.len();
    let cotangents: Vec<ArrayId> = leaves_of(&d.params[count..]);
    let gradients: Vec<ArrayId> = match &d.result {
        Tree::Tuple(parts) => {
            parts.get(1).map(|t| t.leaves().into_iter().copied().collect()).unwrap_or_default()
        }
        Tree::Leaf(_) => Vec::new(),
    };
    let mut q = d.clone();
    q.stms.clear();
    q.params.truncate(count);
    let mut blocks: HashMap<(usize, usize), ArrayId> = HashMap::new();
    for (k, cotangent) in cotangents.iter().enumerate() {
        let info = q.array(*cotangent).clone();
        let frame = info.dims.clone();
        let one = unit(&mut q, info.elem, &frame);
        let (mut names, mut lifted) = (HashMap::new(), HashMap::new());
        for (j, ct) in cotangents.iter().enumerate() {
            let info = q.array(*ct).clone();
            if j == k {
                let here = q.new_array(info.name, info.elem, info.dims);
                names.insert(*ct, here);
                lifted.insert(here, one);
            } else {
                let zeros = q.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default());
                names.insert(*ct, zeros);
            }
        }
        let stms = q.copy_stms(&d.stms, &mut names);
        lift(&mut q, &stms, &frame, &mut lifted)?;
        for (i, g) in gradients.iter().enumerate() {
            let g = names.get(g).copied().unwrap_or(*g);
            let block = everywhere(&mut q, g, &frame, &lifted);
            blocks.insert((k, i), block);
        }
    }
    finish(p, q, cotangents.len(), &blocks)
}

fn leaves_of(params: &[Param]) -> Vec<ArrayId> {
    params.iter().flat_map(|q| q.arrays.leaves()).copied().collect()
}

/// Sets the result: for each result, the arguments in their structure.
fn finish(
    p: &Program,
    mut q: Program,
    results: usize,
    blocks: &HashMap<(usize, usize), ArrayId>,
) -> Result<Program, NotDifferentiable> {
    let mut rows = Vec::new();
    for k in 0..results {
        let mut i = 0;
        let mut row = Vec::new();
        for (_, t) in active_params(p) {
            row.push(t.map(&mut |a| {
                let block = blocks.get(&(k, i)).copied().unwrap_or(*a);
                i += 1;
                block
            }));
        }
        rows.push(bundle(row));
    }
    q.result = bundle(rows);
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
        let what = format!("an array of {most} dimensions, which is more than {MOST},");
        return Err(NotDifferentiable { what, loc: Loc::default() });
    }
    Ok(p)
}
