//! Sums of products of two arrays, as contractions for GEMM.
//!
//! ```text
//! before   c = nest [i, j, k] { x = a[i, k]; y = b[k, j]; v = mul x y } reduce(+) 1 v
//! after    c = contract a[i, k] * b[k, j]
//! ```
//!
//! Only when each read has distinct axes, every axis occurs, floats are multiplied, and there is at least one row axis, one column axis
//! and one summed axis: anything less is a memory-bound nest that the ordinary loops do as well.
//!
//! The runtime of a CPU also takes parts of arrays, certain to be within them: an index may be a number of the host level, as that of the
//! trip in `x[t][i][k]`, and an axis may begin after the first element or end before the last. The small ones among these, of constant
//! extents, stay loops: they are scalar code.

use rustc_hash::FxHashSet;

use crate::affine::{Checked, Facts};
use crate::bulk::{Atom, Exp, Let, Nest, Program, Reducer, YieldKind};
use crate::dim::Dim;
use crate::loops::{Contract, Operand};
use crate::scalar::Op;
use crate::ty::Elem;

/// Products of parts with so many multiplications are too small for a routine.
const FEW: i64 = 4096;

/// The contraction that a nest is, after statements that have established `checked`; of parts of arrays if the target takes them.
pub(super) fn contraction(p: &Program, n: &Nest, parts: bool, checked: &Checked) -> Option<Contract> {
    let [y] = n.yields.as_slice() else { return None };
    let YieldKind::Reduce { reducer: Reducer::Add, over, value: Atom::Var(value) } = &y.kind else {
        return None;
    };
    if !p.array(y.array).elem.is_float() || n.body.is_ordered() || !is_product(p, n) {
        return None;
    }
    let mut facts = Facts::new(&n.axes, checked);
    n.body.lets().for_each(|l| facts.learn(p.into(), l));
    let find = |v| n.body.lets().find(|l| l.vars == [v]).map(|l| &l.exp);
    let Some(Exp::Op(Op::Mul, args)) = find(*value) else { return None };
    let extents: Vec<Dim> = n.axes.iter().map(|x| x.extent.clone()).collect();
    let mut operand = |a: Atom| {
        let Some(Exp::Read { array, index, checked: false }) = find(a.var()?) else { return None };
        let places: Option<Vec<_>> = index.iter().map(|i| place(n, &facts, *i)).collect();
        let o = Operand { array: *array, places: places? };
        let axes = o.axes();
        let distinct: FxHashSet<usize> = axes.iter().copied().collect();
        let dims = &p.array(*array).dims;
        let is_few = Dim::product(&extents).as_constant().is_some_and(|n| n <= FEW);
        let taken = o.is_whole(&extents, dims) || parts && !is_few && facts.all_inside(index, dims);
        (distinct.len() == axes.len() && taken).then_some((o, axes))
    };
    let ((a, of_a), (b, of_b)) = (operand(args[0])?, operand(args[1])?);
    let out: Vec<usize> = (0..n.axes.len() - over).collect();
    let (rows, columns) = (
        out.iter().any(|x| of_a.contains(x) && !of_b.contains(x)),
        out.iter().any(|x| of_b.contains(x) && !of_a.contains(x)),
    );
    let summed = (n.axes.len() - over..n.axes.len()).all(|x| of_a.contains(&x) && of_b.contains(&x));
    let every = (0..n.axes.len()).all(|x| of_a.contains(&x) || of_b.contains(&x));
    let found = rows && columns && summed && every;
    found.then_some(Contract { result: y.array, extents, out, a, b, loc: n.loc })
}

/// Whether a nest's code is one multiplication of two elements, beside the indices of these.
fn is_product(p: &Program, n: &Nest) -> bool {
    let is_index = |l: &Let| {
        let read = matches!(&l.exp, Exp::Read { index, .. } if !index.is_empty());
        !read && !l.may_fail(&p.vars) && l.vars.iter().all(|v| p.vars[v.0 as usize] == Elem::I64)
    };
    n.body.lets().filter(|l| !is_index(l)).count() <= 3
}

/// The axis that an index moves along, if there is one, and where it begins.
fn place(n: &Nest, facts: &Facts, index: Atom) -> Option<(Option<usize>, Dim)> {
    let form = facts.form(index).filter(|f| facts.exact(f))?;
    let mut axes = form.axes.iter();
    let axis = match (axes.next(), axes.next()) {
        (None, _) => None,
        (Some((v, step)), None) if step.as_constant() == Some(1) => {
            Some(n.axes.iter().position(|x| x.var == *v)?)
        }
        _ => return None,
    };
    Some((axis, form.rest))
}
