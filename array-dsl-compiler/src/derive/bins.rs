//! Reductions by index with `min` and `max`: `y[b] = d[b] op v_p op ..` over the points `p` whose index is `b`.
//!
//! ```text
//! the winner of a bin is the target's own element if that is the extremum, else the first such point:
//!     first[b] = d[b] == y[b] ? -1 : N;    winner = first, and the least p with v_p == y[ix_p]
//! and y is, wherever that differs from what it was,
//!     y = nest [b] { w = winner[b];  if 0 <= w < N { v_w } else { d[b] } }
//! ```
//!
//! The nest over bins has the rules of every nest. It goes to the winners alone: a derivative costs the search for them and then
//! as much as there are bins. Products by index are in `product`.
//!
//! Cost: points and bins. Source: thesis 3.4.2 (special operators); the target takes part.
//!
//! Writes of several points to one place have a winner as well: the last one ([`last_writers`]).

use crate::affine::{Checked, Facts};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Block, Nest, Program, Reducer, Stm, Yield, YieldKind};
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
        let (YieldKind::Accumulate { into, index, value, .. } | YieldKind::Write { into, index, value }) =
            &y.kind
        else {
            return None;
        };
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
    let chosen = renamed(&map, r.value);
    let value = code.choose(p, is_point, (point, vec![chosen]), (own, vec![kept]))[0];
    let yields = vec![Yield { array: r.result, kind: YieldKind::Store(value) }];
    Some(Nest { axes, body: Block { lets: code.lets }, yields, loc: n.loc })
}

/// Of the points that write to a place, the one whose value stays there.
pub(super) struct LastWriters {
    numbering: Numbering,
    /// The number of the last point of each place.
    last: ArrayId,
}

/// The last writers of a nest, unless every point has a place of its own. Only the value that stays is in the result, so only its
/// point is in the derivative:
///
/// ```text
/// y = write v_p into d at [ix_p]:    last = accumulate(max) p into -1.. at [ix_p];    v_p' = last[ix_p] == p ? y'[ix_p] : 0
/// ```
pub(super) fn last_writers(p: &mut Program, n: &Nest, y: &Yield) -> Option<LastWriters> {
    let r = ByIndex::new(n, y)?;
    let numbering = r.numbering(p);
    let mut facts = Facts::new(&n.axes, &Checked::default());
    n.body.lets.iter().for_each(|l| facts.learn((&*p).into(), l));
    if facts.tells_all(r.index, &n.axes.iter().map(|a| a.var).collect()) {
        return None;
    }
    let dims = p.array(r.result).dims.clone();
    let nobody = p.constant("last", &dims, Const::int(Elem::I64, -1), n.loc);
    let last = r.again(p, Reducer::Max, nobody, |p, code, map, _, _| numbering.number(p, code, &n.axes, map));
    Some(LastWriters { numbering, last })
}

impl LastWriters {
    /// Whether what the current point writes stays. The index lies inside.
    pub fn stays(&self, p: &mut Program, code: &mut Code, n: &Nest, map: &Renaming, index: &[Atom]) -> Atom {
        let last = code.read(p, self.last, index);
        let number = self.numbering.number(p, code, &n.axes, map);
        code.op(p, Op::Eq, &[last, number])
    }
}

/// What `f` gives where the index lies in the dimensions, else `outside`.
pub(super) fn inside(
    p: &mut Program,
    code: &mut Code,
    index: &[Atom],
    dims: &[Dim],
    outside: Atom,
    f: impl FnOnce(&mut Program, &mut Code) -> Atom,
) -> Atom {
    let c = code.in_range(p, index, dims);
    code.only_if(p, c, outside, f)
}

/// What `f` gives where the condition holds. Elsewhere `other`, and the index is moved outside.
pub(super) fn only_where(
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
    let results = code.choose(p, c, yes, no);
    if let Some(i) = index.first_mut() {
        *i = results[1];
    }
    results[0]
}
