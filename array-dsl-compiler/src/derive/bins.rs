//! Reductions by index with `min`, `max` and `mul`: `y[b] = d[b] op v_p op ..` over the points `p` whose index is `b`.
//!
//! ```text
//! min, max   the winner of a bin is the target's own element if that is the extremum, else the first such point:
//!                first[b] = d[b] == y[b] ? -1 : N;    winner = first, and the least p with v_p == y[ix_p]
//!            and y is, wherever that differs from what it was,
//!                y = nest [b] { w = winner[b];  if 0 <= w < N { v_w } else { d[b] } }
//!
//! mul        with the zeros apart:      q = product of the factors that are not zero
//!                                       e = sum of 1 + x over the factors x that are zero
//!            so that z = e, as a constant, counts them, and s = e - z is their sum. By the factor x the derivative is
//!                x == 0 ? a[b] - x c[b] : r[b] / x
//!                z == 0   r = q
//!                z == 1   r = s q,   a = q
//!                z == 2   a = s q,   c = q                                     and 0 what is not said
//! ```
//!
//! The nest over bins has the rules of every nest. It goes to the winners alone: a derivative by `min` costs the search for them
//! and then as much as there are bins. The sum of the zeros is zero, but stands for the one zero (or, less `x`, for the other
//! of two), so that the slopes' own derivatives are right as well, as in `reduce`.
//!
//! Cost: points and bins. Source: thesis 3.4.2 (special operators); zeros are counted, and the target takes part.

use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Branch, Exp, Let, Nest, Program, Reducer, Stm, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A reduction by index in parts.
struct ByIndex<'a> {
    nest: &'a Nest,
    result: ArrayId,
    into: ArrayId,
    index: &'a [Atom],
    value: Atom,
}

impl<'a> ByIndex<'a> {
    fn new(nest: &'a Nest, y: &'a Yield) -> Option<ByIndex<'a>> {
        let YieldKind::Accumulate { into, index, value, .. } = &y.kind else { return None };
        Some(ByIndex { nest, result: y.array, into: *into, index, value: *value })
    }

    /// Executes the points again and combines what `f` makes of the index and the value into `start`, at an index which may be
    /// another: points that have nothing to say need not wait for each other.
    fn again(
        &self,
        p: &mut Program,
        reducer: Reducer,
        start: ArrayId,
        f: impl FnOnce(&mut Program, &mut Code, &Renaming, &mut [Atom], Atom) -> Atom,
    ) -> ArrayId {
        let mut map = Renaming::new();
        let axes = p.copy_axes(&self.nest.axes, &mut map);
        let mut code = Code::new(self.nest.loc);
        code.lets = p.copy_lets(&self.nest.body.lets, &mut map);
        let mut index: Vec<Atom> = self.index.iter().map(|a| renamed(&map, *a)).collect();
        let value = f(p, &mut code, &map, &mut index, renamed(&map, self.value));
        let info = p.array(start).clone();
        let array = p.new_array(info.name, info.elem, info.dims);
        let kind = YieldKind::Accumulate { reducer, into: start, index, value };
        let yields = vec![Yield { array, kind }];
        p.stms.push(Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc: self.nest.loc }));
        array
    }

    /// How the points of one bin are told from each other.
    fn numbering(&self, p: &Program) -> Numbering {
        let dims = &p.array(self.result).dims;
        let component =
            |a: &Axis| (0..dims.len()).find(|c| self.index[*c] == Atom::Var(a.var) && dims[*c] == a.extent);
        let components: Vec<Option<usize>> = self.nest.axes.iter().map(component).collect();
        let own = self.nest.axes.iter().zip(&components).filter(|(_, c)| c.is_none());
        let count = Dim::product(&own.map(|(a, _)| a.extent.clone()).collect::<Vec<_>>());
        Numbering { components, count }
    }
}

/// Numbers for the points of a bin, in row-major order of the axes that the index does not have as they are.
struct Numbering {
    /// For each axis the component of the index that it is.
    components: Vec<Option<usize>>,
    /// How many points there are.
    count: Dim,
}

impl Numbering {
    /// The number of the current point.
    fn number(&self, p: &mut Program, code: &mut Code, axes: &[Axis], map: &Renaming) -> Atom {
        let mut number = None;
        for (axis, _) in axes.iter().zip(&self.components).filter(|(_, c)| c.is_none()) {
            let at = renamed(map, Atom::Var(axis.var));
            number = Some(match number {
                None => at,
                Some(before) => {
                    let extent = code.size(p, &axis.extent);
                    let before = code.mul(p, before, extent);
                    code.add(p, before, at)
                }
            });
        }
        number.unwrap_or(int(0))
    }

    /// What the axes are at the point with that number in a bin.
    fn point(&self, p: &mut Program, code: &mut Code, axes: &[Axis], number: Atom, bin: &[Atom]) -> Renaming {
        let mut map = Renaming::new();
        let mut own: Vec<&Axis> = Vec::new();
        for (axis, component) in axes.iter().zip(&self.components) {
            match component {
                Some(c) => drop(map.insert(axis.var, bin[*c])),
                None => own.push(axis),
            }
        }
        let mut rest = number;
        while let Some(axis) = own.pop() {
            let mut at = rest;
            if !own.is_empty() {
                let extent = code.size(p, &axis.extent);
                at = code.op(p, Op::Rem, &[rest, extent]);
                rest = code.op(p, Op::Div, &[rest, extent]);
            }
            map.insert(axis.var, at);
        }
        map
    }
}

/// A reduction by `min` or `max` as the nest that reads the winners.
pub(super) fn chosen(p: &mut Program, n: &Nest, y: &Yield) -> Option<Nest> {
    let r = ByIndex::new(n, y)?;
    let numbering = r.numbering(p);
    let dims = p.array(r.result).dims.clone();
    let first = p.store("winner", Elem::I64, &dims, n.loc, |p, code, bin| {
        let (own, best) = (code.read(p, r.into, bin), code.read(p, r.result, bin));
        let wins = code.op(p, Op::Eq, &[own, best]);
        let nobody = code.size(p, &numbering.count);
        code.select(p, wins, int(-1), nobody)
    });
    let winner = r.again(p, Reducer::Min, first, |p, code, map, index, value| {
        let nowhere = Atom::Const(Const::bool(false));
        let wins = inside(p, code, index, &dims, nowhere, |p, code| {
            let best = code.read(p, r.result, index);
            code.op(p, Op::Eq, &[value, best])
        });
        let nobody = code.size(p, &numbering.count);
        only_where(p, code, wins, index, nobody, |p, code| numbering.number(p, code, &n.axes, map))
    });
    let axes = p.new_axes(&dims);
    let bin: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let number = code.read(p, winner, &bin);
    let is_point = code.in_range(p, &[number], std::slice::from_ref(&numbering.count));
    let mut point = Code::new(n.loc);
    let mut map = numbering.point(p, &mut point, &n.axes, number, &bin);
    point.lets.extend(p.copy_lets(&n.body.lets, &mut map));
    let mut own = Code::new(n.loc);
    let kept = own.read(p, r.into, &bin);
    let value = either(p, &mut code, is_point, (point, renamed(&map, r.value)), (own, kept));
    let yields = vec![Yield { array: r.result, kind: YieldKind::Store(value) }];
    Some(Nest { axes, body: Block { lets: code.lets }, yields, loc: n.loc })
}

/// The slopes of a reduction by `mul`: see the module header.
pub(super) struct Slopes {
    at_zero: ArrayId,
    by_zero: ArrayId,
    elsewhere: ArrayId,
    /// That of the target's own elements.
    pub own: ArrayId,
}

/// Computes the slopes of a reduction by `mul`, times `weight` if there is one.
pub(super) fn slopes(p: &mut Program, n: &Nest, y: &Yield, weight: Option<ArrayId>) -> Option<Slopes> {
    let r = ByIndex::new(n, y)?;
    let info = p.array(r.result).clone();
    let [zero, one, two] = [0, 1, 2].map(|i| Atom::Const(Const::of(info.elem, i)));
    let nonzero = |p: &mut Program, code: &mut Code, x: Atom| {
        let is_zero = code.op(p, Op::Eq, &[x, zero]);
        code.select(p, is_zero, one, x)
    };
    let marked = |p: &mut Program, code: &mut Code, x: Atom, index: &mut [Atom]| {
        let is_zero = code.op(p, Op::Eq, &[x, zero]);
        only_where(p, code, is_zero, index, zero, |p, code| code.op(p, Op::Add, &[x, one]))
    };
    let zeros = p.store("zeros", info.elem, &info.dims, n.loc, |p, code, bin| {
        let x = code.read(p, r.into, bin);
        marked(p, code, x, &mut [])
    });
    let zeros = r.again(p, Reducer::Add, zeros, |p, code, _, index, x| marked(p, code, x, index));
    let product = p.store("product", info.elem, &info.dims, n.loc, |p, code, bin| {
        let x = code.read(p, r.into, bin);
        nonzero(p, code, x)
    });
    let product = r.again(p, Reducer::Mul, product, |p, code, _, _, x| nonzero(p, code, x));

    let axes = p.new_axes(&info.dims);
    let bin: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let marks = code.read(p, zeros, &bin);
    let mut q = code.read(p, product, &bin);
    if let Some(weight) = weight {
        let weight = code.read(p, weight, &bin);
        q = code.mul(p, weight, q);
    }
    let z = code.bind(p, info.elem, Exp::StopGradient(marks));
    let sum = code.op(p, Op::Sub, &[marks, z]);
    let through = code.mul(p, sum, q);
    let [none, single, pair] = [zero, one, two].map(|i| code.op(p, Op::Eq, &[z, i]));
    let at_pair = code.select(p, pair, through, zero);
    let at_zero = code.select(p, single, q, at_pair);
    let by_zero = code.select(p, pair, q, zero);
    let at_single = code.select(p, single, through, zero);
    let elsewhere = code.select(p, none, q, at_single);
    let x = code.read(p, r.into, &bin);
    let own = slope(p, &mut code, x, |_, _| (at_zero, by_zero), |_, _| elsewhere);
    let names = ["at_zero", "by_zero", "elsewhere", "own"];
    let yields: Vec<Yield> = [at_zero, by_zero, elsewhere, own]
        .into_iter()
        .zip(names)
        .map(|(v, name)| Yield {
            array: p.new_array(name, info.elem, info.dims.clone()),
            kind: YieldKind::Store(v),
        })
        .collect();
    let [at_zero, by_zero, elsewhere, own] = [0, 1, 2, 3].map(|i| yields[i].array);
    p.stms.push(Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc: n.loc }));
    Some(Slopes { at_zero, by_zero, elsewhere, own })
}

impl Slopes {
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
    either(p, code, is_zero, (first, at_zero), (second, quotient))
}

/// What `f` gives where the index lies in the dimensions, else `outside`.
fn inside(
    p: &mut Program,
    code: &mut Code,
    index: &[Atom],
    dims: &[Dim],
    outside: Atom,
    f: impl FnOnce(&mut Program, &mut Code) -> Atom,
) -> Atom {
    let c = code.in_range(p, index, dims);
    let mut taken = Code::new(code.loc);
    let value = f(p, &mut taken);
    either(p, code, c, (taken, value), (Code::new(code.loc), outside))
}

/// What `f` gives where the condition holds. Elsewhere `other`, and the index is moved outside.
fn only_where(
    p: &mut Program,
    code: &mut Code,
    c: Atom,
    index: &mut [Atom],
    other: Atom,
    f: impl FnOnce(&mut Program, &mut Code) -> Atom,
) -> Atom {
    let mut taken = Code::new(code.loc);
    let value = f(p, &mut taken);
    let mut yes = (taken, vec![value]);
    let mut no = (Code::new(code.loc), vec![other]);
    if let Some(i) = index.first() {
        yes.1.push(*i);
        no.1.push(int(-1));
    }
    let results = choice(p, code, c, yes, no);
    if let Some(i) = index.first_mut() {
        *i = results[1];
    }
    results[0]
}

fn either(p: &mut Program, code: &mut Code, c: Atom, yes: (Code, Atom), no: (Code, Atom)) -> Atom {
    choice(p, code, c, (yes.0, vec![yes.1]), (no.0, vec![no.1]))[0]
}

/// A lazy choice between values of the same types.
fn choice(
    p: &mut Program,
    code: &mut Code,
    c: Atom,
    yes: (Code, Vec<Atom>),
    no: (Code, Vec<Atom>),
) -> Vec<Atom> {
    let branch = |(code, results): (Code, Vec<Atom>)| Branch { block: Block { lets: code.lets }, results };
    let elems: Vec<Elem> = yes.1.iter().map(|a| p.elem(*a)).collect();
    let vars: Vec<Var> = elems.into_iter().map(|e| p.new_var(e)).collect();
    code.lets.push(Let { vars: vars.clone(), exp: Exp::If(c, branch(yes), branch(no)), loc: code.loc });
    vars.into_iter().map(Atom::Var).collect()
}
