//! Points that meet in the elements of an array: a nest that accumulates or writes at an index which it computes.
//!
//! ```text
//! the last writers of y = overwrite v_p into d at [ix_p]:      last = accumulate(max) p into -1.. at [ix_p]
//! v_p stays                                                    if last[ix_p] == p
//! ```
//!
//! The points of a place are numbered in row-major order of the axes that the index does not have as they are.

use super::{Checked, Facts};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Nest, Program, Reducer, Stm, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A yield at a computed index, in parts.
pub struct ByIndex<'a> {
    /// Whose points they are.
    pub nest: &'a Nest,
    /// The array after it.
    pub result: ArrayId,
    /// The array before it.
    pub into: ArrayId,
    /// The place of the current point.
    pub index: &'a [Atom],
    /// What the current point gives.
    pub value: Atom,
}

impl<'a> ByIndex<'a> {
    /// The parts of an accumulation or a write.
    pub fn new(nest: &'a Nest, y: &'a Yield) -> Option<ByIndex<'a>> {
        let (YieldKind::Accumulate { into, index, value, .. } | YieldKind::Write { into, index, value, .. }) =
            &y.kind
        else {
            return None;
        };
        Some(ByIndex { nest, result: y.array, into: *into, index, value: *value })
    }

    /// Executes the points again and combines what `f` makes of the index and the value into `start`, at an index which may be
    /// another: points that have nothing to say need not wait for each other.
    pub fn again(
        &self,
        p: &mut Program,
        reducer: Reducer,
        start: ArrayId,
        f: impl FnOnce(&mut Program, &mut Code, &Renaming, &mut [Atom], Atom) -> Atom,
    ) -> ArrayId {
        let mut map = Renaming::default();
        let axes = p.copy_axes(&self.nest.axes, &mut map);
        let mut code = Code::new(self.nest.loc);
        code.lets = p.copy_lets(&self.nest.body.unordered(), &mut map);
        let mut index: Vec<Atom> = self.index.iter().map(|a| renamed(&map, *a)).collect();
        let value = f(p, &mut code, &map, &mut index, renamed(&map, self.value));
        let info = p.array(start).clone();
        let array = p.new_array(info.name, info.elem, info.dims);
        let kind = YieldKind::Accumulate { reducer, into: start, index, value };
        let yields = vec![Yield { array, kind }];
        p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: self.nest.loc }));
        array
    }

    /// How the points of one bin are told from each other.
    pub fn numbering(&self, p: &Program) -> Numbering {
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
pub struct Numbering {
    /// For each axis the component of the index that it is.
    components: Vec<Option<usize>>,
    /// How many points there are.
    pub count: Dim,
}

impl Numbering {
    /// The number of the current point.
    pub fn number(&self, p: &mut Program, code: &mut Code, axes: &[Axis], map: &Renaming) -> Atom {
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
    pub fn point(
        &self,
        p: &mut Program,
        code: &mut Code,
        axes: &[Axis],
        number: Atom,
        bin: &[Atom],
    ) -> Renaming {
        let mut map = Renaming::default();
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

/// Of the points that write to a place, the one whose value stays there.
pub struct LastWriters {
    numbering: Numbering,
    /// The number of the last point of each place.
    last: ArrayId,
}

/// The last writers of a nest, if points may meet there.
pub fn last_writers(p: &mut Program, n: &Nest, y: &Yield) -> Option<LastWriters> {
    if !matches!(y.kind, YieldKind::Write { contested: true, .. }) {
        return None;
    }
    let r = ByIndex::new(n, y)?;
    let mut facts = Facts::new(&n.axes, &Checked::default());
    n.body.lets().for_each(|l| facts.learn((&*p).into(), l));
    if facts.tells_all(r.index, &n.axes.iter().map(|a| a.var).collect()) {
        return None;
    }
    let numbering = r.numbering(p);
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
pub fn inside(
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
pub fn only_where(
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
