//! What both modes need for reductions by `mul`, `min` and `max`: for each point, the derivative of the result
//! by the point's value, as code inside a nest over all points.
//!
//! ```text
//! min, max   1 at the first extremal point, else 0:     best = argmin v;   slope = (k == best[i])
//! mul        the product of the others:    p = prod of the nonzero v;  z = number of zeros;  s = sum of the zeros
//!            slope = v == 0 ? (z == 1 ? p : z == 2 ? (s - v) * p : 0)
//!                           : (z == 0 ? p / v : z == 1 ? s * (p / v) : 0)
//! ```
//!
//! The sum of the zeros is zero, but it stands for the one zero (or, less `v`, for the other of two), so that the
//! slope's own derivative is right as well: gradients and Hessians of products are exact at zeros.
//!
//! Cost: one more execution of the nest. Source: thesis 3.4.1 (special operators), with zeros counted.

use super::bins::Slopes;
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Let, Nest, Program, Reducer, Stm, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// The arrays computed beforehand.
pub(super) enum Slope {
    /// The derivative is 1 everywhere.
    One,
    /// The derivative is 1, and the adjoint has one element for each point.
    Point,
    /// 1 at the last point of an axis so long.
    Last(Dim),
    /// The position of the extremum.
    At(ArrayId),
    /// The product of the nonzero values, the number of zeros, and their sum.
    Product(ArrayId, ArrayId, ArrayId),
    /// Of a product by index, times the adjoint.
    Bins(Slopes),
}

/// Computes what the slopes of `reducer` over `value` need.
pub(super) fn prepare(
    p: &mut Program,
    n: &Nest,
    reducer: Reducer,
    over: usize,
    value: Atom,
) -> Option<Slope> {
    match reducer {
        Reducer::Add => Some(Slope::One),
        Reducer::Last => n.axes.last().map(|a| Slope::Last(a.extent.clone())),
        Reducer::Min | Reducer::Max if over == 1 => {
            let arg = if reducer == Reducer::Min { Reducer::ArgMin } else { Reducer::ArgMax };
            let at = again(p, n, |_, _, map| vec![(arg, Elem::I64, renamed(map, value), "best")], over);
            Some(Slope::At(at[0]))
        }
        Reducer::Mul => {
            let elem = p.elem(value);
            let arrays = again(
                p,
                n,
                |p, code, map| {
                    let v = renamed(map, value);
                    let zero = code.op(p, Op::Eq, &[v, Atom::Const(Const::of(elem, 0))]);
                    let nonzero = code.select(p, zero, Atom::Const(Const::of(elem, 1)), v);
                    let count = code.select(p, zero, int(1), int(0));
                    let itself = code.select(p, zero, v, Atom::Const(Const::of(elem, 0)));
                    vec![
                        (Reducer::Mul, elem, nonzero, "product"),
                        (Reducer::Add, Elem::I64, count, "zeros"),
                        (Reducer::Add, elem, itself, "sum_of_zeros"),
                    ]
                },
                over,
            );
            Some(Slope::Product(arrays[0], arrays[1], arrays[2]))
        }
        _ => None,
    }
}

/// `d * slope` at the current point; `axes` are the nest's index atoms, `v` the value.
pub(super) fn apply(
    p: &mut Program,
    code: &mut Code,
    s: &Slope,
    axes: &[Atom],
    over: usize,
    v: Atom,
    d: Atom,
) -> Atom {
    let outer = &axes[..axes.len() - over];
    let elem = p.elem(d);
    let zero = Atom::Const(Const::of(elem, 0));
    match s {
        Slope::One | Slope::Point | Slope::Bins(_) => d,
        Slope::Last(extent) => {
            let last = code.size(p, &extent.sub(&Dim::constant(1)));
            let here = code.op(p, Op::Eq, &[axes[axes.len() - 1], last]);
            code.select(p, here, d, zero)
        }
        Slope::At(best) => {
            let at = code.read(p, *best, outer);
            let here = code.op(p, Op::Eq, &[axes[axes.len() - 1], at]);
            code.select(p, here, d, zero)
        }
        Slope::Product(product, zeros, sum) => {
            let z = code.read(p, *zeros, outer);
            let q = code.read(p, *product, outer);
            let sum = code.read(p, *sum, outer);
            let is_zero = code.op(p, Op::Eq, &[v, zero]);
            let [none, one, two] = [0, 1, 2].map(|n| code.op(p, Op::Eq, &[z, int(n)]));
            let mut first = Code::new(code.loc);
            let other = first.op(p, Op::Sub, &[sum, v]);
            let pair = first.mul(p, other, q);
            let at_two = first.select(p, two, pair, zero);
            let at_zero = first.select(p, one, q, at_two);
            let mut second = Code::new(code.loc);
            let quotient = second.op(p, Op::Div, &[q, v]);
            let through = second.mul(p, sum, quotient);
            let at_one = second.select(p, one, through, zero);
            let elsewhere = second.select(p, none, quotient, at_one);
            let branch = |c: Code, r: Atom| Branch { block: Block { lets: c.lets }, results: vec![r] };
            let slope = p.new_var(elem);
            let exp = Exp::If(is_zero, branch(first, at_zero), branch(second, elsewhere));
            code.lets.push(Let { vars: vec![slope], exp, loc: code.loc });
            code.mul(p, d, Atom::Var(slope))
        }
    }
}

/// Executes the nest's body again with other reductions.
fn again(
    p: &mut Program,
    n: &Nest,
    f: impl FnOnce(&mut Program, &mut Code, &Renaming) -> Vec<(Reducer, Elem, Atom, &'static str)>,
    over: usize,
) -> Vec<ArrayId> {
    let mut map = Renaming::new();
    let axes = p.copy_axes(&n.axes, &mut map);
    let mut code = Code::new(n.loc);
    code.lets = p.copy_lets(&n.body.lets, &mut map);
    let outputs = f(p, &mut code, &map);
    let dims: Vec<_> = axes[..axes.len() - over].iter().map(|a| a.extent.clone()).collect();
    let mut arrays = Vec::new();
    let mut yields = Vec::new();
    for (reducer, elem, value, name) in outputs {
        let array = p.new_array(name, elem, dims.clone());
        arrays.push(array);
        yields.push(Yield { array, kind: YieldKind::Reduce { reducer, over, value } });
    }
    p.stms.push(Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc: n.loc }));
    arrays
}
