//! Sums of products of two arrays, as contractions for GEMM.
//!
//! ```text
//! before   c = nest [i, j, k] { x = a[i, k]; y = b[k, j]; v = mul x y } reduce(+) 1 v
//! after    c = contract a[i, k] * b[k, j]
//! ```
//!
//! Only when each read has distinct plain axes, every axis occurs, floats are multiplied, and there is at least one
//! row axis, one column axis and one summed axis: anything less is a memory-bound nest that the ordinary loops do as
//! well.

use rustc_hash::FxHashSet;

use crate::bulk::{ArrayId, Atom, Exp, Nest, Program, Reducer, YieldKind};
use crate::loops::Contract;
use crate::scalar::Op;

/// The contraction that a nest is.
pub(super) fn contraction(p: &Program, n: &Nest) -> Option<Contract> {
    let [y] = n.yields.as_slice() else { return None };
    let YieldKind::Reduce { reducer: Reducer::Add, over, value: Atom::Var(value) } = &y.kind else {
        return None;
    };
    if !p.array(y.array).elem.is_float() || n.body.items.len() > 3 {
        return None;
    }
    let find = |v| n.body.lets().find(|l| l.vars == [v]).map(|l| &l.exp);
    let Some(Exp::Op(Op::Mul, args)) = find(*value) else { return None };
    let operand = |a: Atom| {
        let Atom::Var(v) = a else { return None };
        let Some(Exp::Read { array, index, checked: false }) = find(v) else { return None };
        let axes: Option<Vec<usize>> =
            index.iter().map(|i| n.axes.iter().position(|x| Atom::Var(x.var) == *i)).collect();
        let axes = axes?;
        let distinct: FxHashSet<usize> = axes.iter().copied().collect();
        (distinct.len() == axes.len()).then_some((*array, axes))
    };
    let (a, b) = (operand(args[0])?, operand(args[1])?);
    let out: Vec<usize> = (0..n.axes.len() - over).collect();
    // Whole dimensions only: an axis shorter than the dimension it reads is a slice.
    let whole = |(array, axes): &(ArrayId, Vec<usize>)| {
        axes.iter().zip(&p.array(*array).dims).all(|(x, d)| n.axes[*x].extent == *d)
    };
    let (rows, columns) = (
        out.iter().any(|x| a.1.contains(x) && !b.1.contains(x)),
        out.iter().any(|x| b.1.contains(x) && !a.1.contains(x)),
    );
    let summed = (n.axes.len() - over..n.axes.len()).all(|x| a.1.contains(&x) && b.1.contains(&x));
    let every = (0..n.axes.len()).all(|x| a.1.contains(&x) || b.1.contains(&x));
    (rows && columns && summed && every && whole(&a) && whole(&b)).then(|| Contract {
        result: y.array,
        extents: n.axes.iter().map(|x| x.extent.clone()).collect(),
        out,
        a,
        b,
        loc: n.loc,
    })
}
