//! Reductions by `mul`: `y[b] = d[b] * v_p * ..` over the points `p` of a bin `b`. The bins are told by an index, or they are the
//! rows along the reduced axes, and nothing is in a row before.
//!
//! ```text
//! with the zeros apart:      q = product of the factors that are not zero
//!                            e = sum of 1 + x over the factors x that are zero
//! so that z = e, as a constant, counts them, and s = e - z is their sum. By the factor x the derivative is
//!     x == 0 ? a[b] - x c[b] : r[b] / x
//!     z == 0   r = q
//!     z == 1   r = s q,   a = q
//!     z == 2   a = s q,   c = q                                     and 0 what is not said
//! ```
//!
//! Where y is not zero, q = y and e = 0: the points are executed again for q and e only in rows whose product is zero, and of bins
//! that an index tells only if some product is zero.
//!
//! The sum of the zeros is zero, but it stands for the one zero (or, less `x`, for the other of two), so that the slope's own
//! derivative is right as well: gradients and Hessians of products are exact at zeros.
//!
//! Cost: bins, and a read and a division for each point. Source: thesis 3.4.1 and 3.4.2 (special operators), with zeros counted;
//! the target of a reduction by index takes part.

use crate::affine::bins::{inside, only_where};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Nest, Program, Reducer, Stm, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// See the module header.
pub(super) struct Slopes {
    at_zero: ArrayId,
    by_zero: ArrayId,
    elsewhere: ArrayId,
    /// That of the target's own elements.
    pub own: ArrayId,
    /// They are times the adjoint.
    weighted: bool,
}

/// Computes the slopes of a yield that reduces by `mul` to what `result` has, times `weight` if there is one.
pub(super) fn slopes(
    p: &mut Program,
    n: &Nest,
    y: &Yield,
    result: ArrayId,
    weight: Option<ArrayId>,
) -> Option<Slopes> {
    let info = p.array(result).clone();
    let (zeros, product, into) = match &y.kind {
        YieldKind::Reduce { over, value, .. } => {
            let (zeros, product) = of_rows(p, n, result, *over, *value);
            (zeros, product, None)
        }
        YieldKind::Accumulate { into, index, value, .. } => {
            let (zeros, product) = by_index(p, n, result, *into, index, *value)?;
            (zeros, product, Some(*into))
        }
        YieldKind::Store(_) | YieldKind::Write { .. } => return None,
    };
    let axes = p.new_axes(&info.dims);
    let bin: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let y = code.read(p, result, &bin);
    let is_nonzero = differs_from_zero(p, &mut code, y);
    let weighted = |p: &mut Program, code: &mut Code, q: Atom| match weight {
        Some(weight) => {
            let weight = code.read(p, weight, &bin);
            code.mul(p, weight, q)
        }
        None => q,
    };
    let mut without_zeros = Code::new(n.loc);
    let whole = weighted(p, &mut without_zeros, y);
    let mut with_zeros = Code::new(n.loc);
    let q = with_zeros.read(p, product, &bin);
    let q = weighted(p, &mut with_zeros, q);
    let e = with_zeros.read(p, zeros, &bin);
    let counted = by_count(p, &mut with_zeros, q, e);
    let zero = Atom::Const(Const::of(info.elem, 0));
    let slopes =
        code.choose(p, is_nonzero, (without_zeros, vec![zero, zero, whole]), (with_zeros, counted.to_vec()));
    let (at_zero, by_zero, elsewhere) = (slopes[0], slopes[1], slopes[2]);
    let one = Atom::Const(Const::of(info.elem, 1));
    let x = into.map_or(one, |into| code.read(p, into, &bin));
    let own = slope(p, &mut code, x, |_, _| (at_zero, by_zero), |_, _| elsewhere);
    let values = [(at_zero, "at_zero"), (by_zero, "by_zero"), (elsewhere, "elsewhere"), (own, "own")];
    let arrays = values.map(|(_, name)| p.new_array(name, info.elem, info.dims.clone()));
    let yields = arrays.iter().zip(values);
    let yields = yields.map(|(array, (v, _))| Yield { array: *array, kind: YieldKind::Store(v) }).collect();
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
    let [at_zero, by_zero, elsewhere, own] = arrays;
    Some(Slopes { at_zero, by_zero, elsewhere, own, weighted: weight.is_some() })
}

/// `a`, `c` and `r` of the module header, by the number of zeros.
fn by_count(p: &mut Program, code: &mut Code, q: Atom, e: Atom) -> [Atom; 3] {
    let elem = p.elem(e);
    let [zero, one, two] = [0, 1, 2].map(|i| Atom::Const(Const::of(elem, i)));
    let z = code.bind(p, elem, Exp::StopGradient(e));
    let s = code.op(p, Op::Sub, &[e, z]);
    let sq = code.mul(p, s, q);
    let [none, single, pair] = [zero, one, two].map(|i| code.op(p, Op::Eq, &[z, i]));
    let at_pair = code.select(p, pair, sq, zero);
    let a = code.select(p, single, q, at_pair);
    let c = code.select(p, pair, q, zero);
    let at_single = code.select(p, single, sq, zero);
    let r = code.select(p, none, q, at_single);
    [a, c, r]
}

/// The factor, or 1 in place of a zero.
fn nonzero(p: &mut Program, code: &mut Code, x: Atom) -> Atom {
    let [zero, one] = [0, 1].map(|i| Atom::Const(Const::of(p.elem(x), i)));
    let is_zero = code.op(p, Op::Eq, &[x, zero]);
    code.select(p, is_zero, one, x)
}

/// `1 + x` for a zero, else 0 and an index outside: points that have nothing to say need not wait for each other.
fn marked(p: &mut Program, code: &mut Code, x: Atom, index: &mut [Atom]) -> Atom {
    let [zero, one] = [0, 1].map(|i| Atom::Const(Const::of(p.elem(x), i)));
    let is_zero = code.op(p, Op::Eq, &[x, zero]);
    only_where(p, code, is_zero, index, zero, |p, code| code.op(p, Op::Add, &[x, one]))
}

/// `e` and `q` of the module header for each row whose product is zero; 0 and 1 for the others.
fn of_rows(p: &mut Program, n: &Nest, result: ArrayId, over: usize, value: Atom) -> (ArrayId, ArrayId) {
    let info = p.array(result).clone();
    let [zero, one] = [0, 1].map(|i| Atom::Const(Const::of(info.elem, i)));
    let nonzero_rows = p.store("whole", Elem::Bool, &info.dims, n.loc, |p, code, row| {
        let y = code.read(p, result, row);
        differs_from_zero(p, code, y)
    });
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let row: Vec<Atom> = axes[..axes.len() - over].iter().map(|a| Atom::Var(a.var)).collect();
    let mut point = Code::new(n.loc);
    point.lets = p.copy_lets(&n.body.unordered(), &mut map);
    let x = renamed(&map, value);
    let (mark, factor) = (marked(p, &mut point, x, &mut []), nonzero(p, &mut point, x));
    let mut code = Code::new(n.loc);
    let is_nonzero = code.read(p, nonzero_rows, &row);
    let terms = code.choose(p, is_nonzero, (Code::new(n.loc), vec![zero, one]), (point, vec![mark, factor]));
    let kinds = [(Reducer::Add, terms[0]), (Reducer::Mul, terms[1])]
        .map(|(reducer, value)| YieldKind::Reduce { reducer, over, value });
    store_both(p, n, axes, code, result, kinds)
}

/// `e` and `q` of the module header if some product is zero; else these are what the target starts with.
fn by_index(
    p: &mut Program,
    n: &Nest,
    result: ArrayId,
    into: ArrayId,
    index: &[Atom],
    value: Atom,
) -> Option<(ArrayId, ArrayId)> {
    let info = p.array(result).clone();
    let [zero, one] = [0, 1].map(|i| Atom::Const(Const::of(info.elem, i)));
    let zeros = p.store("zeros", info.elem, &info.dims, n.loc, |p, code, bin| {
        let x = code.read(p, into, bin);
        marked(p, code, x, &mut [])
    });
    let product = p.store("product", info.elem, &info.dims, n.loc, |p, code, bin| {
        let x = code.read(p, into, bin);
        nonzero(p, code, x)
    });
    let some_zero = some_zero(p, result, n);
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let mut point = Code::new(n.loc);
    point.lets = p.copy_lets(&n.body.unordered(), &mut map);
    let x = renamed(&map, value);
    let index: Vec<Atom> = index.iter().map(|a| renamed(&map, *a)).collect();
    let mut marks_at = index.clone();
    let mark = marked(p, &mut point, x, &mut marks_at);
    let factor = nonzero(p, &mut point, x);
    // Components that are axes stay in sight of the passes that look for them.
    let is_axis = |a: &Atom| axes.iter().any(|x| Atom::Var(x.var) == *a);
    let (mut yes, mut no) = (vec![mark, factor], vec![zero, one]);
    for a in marks_at.iter().chain(&index).filter(|a| !is_axis(a)) {
        yes.push(*a);
        no.push(int(-1));
    }
    let mut code = Code::new(n.loc);
    let condition = code.read(p, some_zero, &[]);
    let mut results = code.choose(p, condition, (point, yes), (Code::new(n.loc), no)).into_iter();
    let (mark, factor) = results.next().zip(results.next())?;
    let mut component = |a: &Atom| if is_axis(a) { Some(*a) } else { results.next() };
    let marks_at: Vec<Atom> = marks_at.iter().map(&mut component).collect::<Option<_>>()?;
    let index: Vec<Atom> = index.iter().map(&mut component).collect::<Option<_>>()?;
    let kinds = [
        YieldKind::Accumulate { reducer: Reducer::Add, into: zeros, index: marks_at, value: mark },
        YieldKind::Accumulate { reducer: Reducer::Mul, into: product, index, value: factor },
    ];
    Some(store_both(p, n, axes, code, result, kinds))
}

/// The nest that gives `e` and `q`.
fn store_both(
    p: &mut Program,
    n: &Nest,
    axes: Vec<Axis>,
    code: Code,
    like: ArrayId,
    kinds: [YieldKind; 2],
) -> (ArrayId, ArrayId) {
    let info = p.array(like).clone();
    let arrays = ["zeros", "product"].map(|name| p.new_array(name, info.elem, info.dims.clone()));
    let yields = arrays.into_iter().zip(kinds).map(|(array, kind)| Yield { array, kind }).collect();
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
    (arrays[0], arrays[1])
}

/// Whether some element of an array is zero or NaN.
fn some_zero(p: &mut Program, array: ArrayId, n: &Nest) -> ArrayId {
    let axes = p.new_axes(&p.array(array).dims.clone());
    let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let x = code.read(p, array, &at);
    let differs = differs_from_zero(p, &mut code, x);
    let value = code.op(p, Op::Not, &[differs]);
    let result = p.new_array("some_zero", Elem::Bool, Vec::new());
    let kind = match axes.len() {
        0 => YieldKind::Store(value),
        over => YieldKind::Reduce { reducer: Reducer::Or, over, value },
    };
    let yields = vec![Yield { array: result, kind }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
    result
}

/// `|x| > 0`, which NaN is not.
fn differs_from_zero(p: &mut Program, code: &mut Code, x: Atom) -> Atom {
    let size = code.op(p, Op::Abs, &[x]);
    code.op(p, Op::Gt, &[size, Atom::Const(Const::of(p.elem(x), 0))])
}

impl Slopes {
    /// `d` times the slope by the value `x` of a point in that bin.
    pub fn times(&self, p: &mut Program, code: &mut Code, index: &[Atom], x: Atom, d: Atom) -> Atom {
        let slope = self.at(p, code, index, x);
        if self.weighted { slope } else { code.mul(p, d, slope) }
    }

    /// The slope by the value `x` of a point with that index, 0 outside.
    pub fn at(&self, p: &mut Program, code: &mut Code, index: &[Atom], x: Atom) -> Atom {
        let info = p.array(self.own).clone();
        let zero = Atom::Const(Const::of(info.elem, 0));
        inside(p, code, index, &info.dims, zero, |p, code| {
            slope(
                p,
                code,
                x,
                |p, code| (code.read(p, self.at_zero, index), code.read(p, self.by_zero, index)),
                |p, code| code.read(p, self.elsewhere, index),
            )
        })
    }
}

/// `x == 0 ? a - x c : r / x`
fn slope(
    p: &mut Program,
    code: &mut Code,
    x: Atom,
    zero: impl FnOnce(&mut Program, &mut Code) -> (Atom, Atom),
    elsewhere: impl FnOnce(&mut Program, &mut Code) -> Atom,
) -> Atom {
    let is_zero = code.op(p, Op::Eq, &[x, Atom::Const(Const::of(p.elem(x), 0))]);
    let mut first = Code::new(code.loc);
    let (a, c) = zero(p, &mut first);
    let less = first.op(p, Op::Mul, &[x, c]);
    let at_zero = first.op(p, Op::Sub, &[a, less]);
    let mut second = Code::new(code.loc);
    let r = elsewhere(p, &mut second);
    let quotient = second.op(p, Op::Div, &[r, x]);
    code.choose(p, is_zero, (first, vec![at_zero]), (second, vec![quotient]))[0]
}
