//! What both modes need for reductions by `mul`, `min` and `max`: for each point, the derivative of the result
//! by the point's value, as code inside a nest over all points.
//!
//! ```text
//! min, max   1 at the first extremal point, else 0:     best = argmin v;   slope = (k == best[i])
//! mul        the product of the others: see `product`
//! ```
//!
//! Cost: one more execution of the nest. Source: thesis 3.4.1 (special operators).

use super::product::{self, Slopes};
use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::{Addition, ArrayId, Atom, Nest, Program, Reducer, Stm, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// The arrays computed beforehand.
pub(super) enum Slope {
    /// The derivative is 1 everywhere.
    One,
    /// The derivative is 1, and the adjoint has one element for each point.
    Point,
    /// As `Point`, for what a write adds.
    Term(Addition),
    /// 1 at the last point of an axis so long.
    Last(Dim),
    /// The position of the extremum.
    At(ArrayId),
    /// Of a product.
    Product(Slopes),
}

/// Computes what the slopes of a yield that reduces need; `result` has what it made, `weight` is the adjoint, if there is one.
pub(super) fn prepare(
    p: &mut Program,
    n: &Nest,
    y: &Yield,
    result: ArrayId,
    weight: Option<ArrayId>,
) -> Option<Slope> {
    let YieldKind::Reduce { reducer, over, value } = y.kind else { return None };
    match reducer {
        Reducer::Add => Some(Slope::One),
        Reducer::Last => n.axes.last().map(|a| Slope::Last(a.extent.clone())),
        Reducer::Min | Reducer::Max if over == 1 => {
            let arg = if reducer == Reducer::Min { Reducer::ArgMin } else { Reducer::ArgMax };
            let at = recomputed(p, n, |_, _, map| vec![(arg, Elem::I64, renamed(map, value), "best")], over);
            Some(Slope::At(at[0]))
        }
        Reducer::Mul => product::slopes(p, n, y, result, weight).map(Slope::Product),
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
        Slope::One | Slope::Point | Slope::Term(_) => d,
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
        Slope::Product(slopes) => slopes.times(p, code, outer, v, d),
    }
}

/// Executes the nest's body again with other reductions.
fn recomputed(
    p: &mut Program,
    n: &Nest,
    f: impl FnOnce(&mut Program, &mut Code, &Renaming) -> Vec<(Reducer, Elem, Atom, &'static str)>,
    over: usize,
) -> Vec<ArrayId> {
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let mut code = Code::new(n.loc);
    code.lets = p.copy_lets(&n.body.unordered(), &mut map);
    let outputs = f(p, &mut code, &map);
    let dims: Vec<_> = axes[..axes.len() - over].iter().map(|a| a.extent.clone()).collect();
    let mut arrays = Vec::new();
    let mut yields = Vec::new();
    for (reducer, elem, value, name) in outputs {
        let array = p.new_array(name, elem, dims.clone());
        arrays.push(array);
        yields.push(Yield { array, kind: YieldKind::Reduce { reducer, over, value } });
    }
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
    arrays
}
