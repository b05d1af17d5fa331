//! Forward mode of statements.
//!
//! ```text
//! jvp of   nest axes { body } yields store y
//! is       the nest itself, and   nest axes { body with tangents } yields store y_t
//!
//! reduce(+)              the tangents are summed
//! reduce(min, max, *)    the sum of the tangents times the slopes of `reduce`
//! accumulate(*, min, max)   see `bins`
//! accumulate(+), write   the tangents are accumulated or written into the target's tangent
//! reshape                the tangent is reshaped
//! ```
//!
//! Fusion makes one loop of the nest and its tangent. An array without a tangent costs nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::product;
use super::reduce::{self, Slope};
use super::tangent::{Tangents, of, with_tangents};
use super::{NotDifferentiable, active_arrays, active_params, bins, floats};
use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::{ArrayId, Atom, Body, Item, Nest, Param, Program, Reducer, Stm, Yield, YieldKind};
use crate::ty::{Const, Loc, Name, Tree};

/// See the module header and [`super::Derivative::Jvp`].
pub(super) fn forward(p: &Program) -> Result<Program, NotDifferentiable> {
    let mut f = Forward { p: p.clone(), tangents: FxHashMap::default(), active: active_arrays(p) };
    f.p.stms.clear();
    let active = active_params(p);
    for (i, t) in &active {
        let arrays = t.map(&mut |a| {
            let info = p.array(*a).clone();
            let tangent = f.p.new_array(format!("{}_tangent", info.name), info.elem, info.dims);
            f.tangents.insert(*a, tangent);
            tangent
        });
        let name = Name::from(format!("{}_tangent", p.params[*i].name));
        f.p.params.push(Param { name, arrays, active: true, loc: p.params[*i].loc });
    }
    f.block(&p.stms)?;
    let tangent = match floats(p, &p.result) {
        Some(t) => t.map(&mut |a| f.tangent_or_zero(*a)),
        None => Tree::Tuple(Vec::new()),
    };
    f.p.result = Tree::Tuple(vec![p.result.clone(), tangent]);
    Ok(f.p)
}

pub(super) struct Forward {
    pub p: Program,
    pub tangents: FxHashMap<ArrayId, ArrayId>,
    pub active: FxHashSet<ArrayId>,
}

impl Forward {
    /// Statements with their tangents.
    pub fn block(&mut self, stms: &[Stm]) -> Result<(), NotDifferentiable> {
        for s in stms {
            if let Stm::Repeat(r) = s {
                self.repeat(r)?;
                continue;
            }
            self.p.stms.push(s.clone());
            self.statement(s)?;
        }
        Ok(())
    }

    /// The product of two arrays of one type.
    fn product(&mut self, x: ArrayId, y: ArrayId) -> ArrayId {
        let info = self.p.array(x).clone();
        self.p.store(&info.name, info.elem, &info.dims, Loc::default(), |p, code, index| {
            let (a, b) = (code.read(p, x, index), code.read(p, y, index));
            code.mul(p, a, b)
        })
    }

    pub fn tangent_or_zero(&mut self, a: ArrayId) -> ArrayId {
        if let Some(t) = self.tangents.get(&a) {
            return *t;
        }
        let info = self.p.array(a).clone();
        self.p.constant(
            &format!("{}_tangent", info.name),
            &info.dims,
            Const::of(info.elem, 0),
            Loc::default(),
        )
    }

    fn statement(&mut self, s: &Stm) -> Result<(), NotDifferentiable> {
        match s {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => {
                if let Some(t) = self.tangents.get(source).copied() {
                    let info = self.p.array(*result).clone();
                    let new = self.p.new_array(format!("{}_tangent", info.name), info.elem, info.dims);
                    self.p.stms.push(Stm::Reshape { result: new, source: t });
                    self.tangents.insert(*result, new);
                }
                Ok(())
            }
            Stm::Custom(c) => self.custom(c),
            Stm::Call(c) => super::custom::called_early(c),
            // Positions are integers: the derivative of sorted values is that of the gather by them.
            Stm::Repeat(_) | Stm::Check(..) | Stm::Sort(_) => Ok(()),
        }
    }

    fn nest(&mut self, n: &Nest) -> Result<(), NotDifferentiable> {
        if !n.inputs().iter().any(|a| self.tangents.contains_key(a)) {
            return Ok(());
        }
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(&n.axes, &mut map);
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let primal = self.p.copy_body(&n.body, &mut map);
        let mut tangents = Tangents::default();
        let body = with_tangents(&mut self.p, &primal, &self.tangents, &mut tangents);
        let code = Code::new(primal.items.last().map_or(n.loc, Item::loc));
        let mut dual = Dual { n, map, index, body, code, tangents };
        let mut yields = Vec::new();
        for y in &n.yields {
            let info = self.p.array(y.array).clone();
            if !info.elem.is_float() {
                continue;
            }
            let kind = match &y.kind {
                YieldKind::Store(v) => dual.tangent(*v).map(YieldKind::Store),
                YieldKind::Reduce { reducer, over, value } => {
                    self.reduced(&mut dual, y, *reducer, *over, *value)?
                }
                YieldKind::Accumulate { reducer, into, index, value } => {
                    self.accumulated(&mut dual, y, *reducer, *into, index, *value)?
                }
                YieldKind::Write { into, index, value, contested } => {
                    self.written(&dual, *into, index, *value, *contested)
                }
            };
            if let Some(kind) = kind {
                let array = self.p.new_array(format!("{}_tangent", info.name), info.elem, info.dims);
                self.tangents.insert(y.array, array);
                yields.push(Yield { array, kind });
            }
        }
        if !yields.is_empty() {
            let mut body = dual.body;
            body.extend(dual.code.lets);
            self.p.stms.push(Stm::Nest(Nest { axes, body, yields, loc: n.loc }));
        }
        Ok(())
    }

    /// `d (reduce v) = sum of (slope of v) dv`; the last value's tangent is the last tangent.
    fn reduced(
        &mut self,
        dual: &mut Dual<'_>,
        y: &Yield,
        reducer: Reducer,
        over: usize,
        value: Atom,
    ) -> Result<Option<YieldKind>, NotDifferentiable> {
        let Some(t) = dual.tangent(value) else { return Ok(None) };
        if reducer == Reducer::Last {
            return Ok(Some(YieldKind::Reduce { reducer, over, value: t }));
        }
        let slope: Option<Slope> = reduce::prepare(&mut self.p, dual.n, y, y.array, None);
        let slope = slope.ok_or_else(|| NotDifferentiable {
            what: format!("a reduction by `{}` over {over} axes has no derivative", reducer.name()),
            loc: Some(dual.n.loc),
        })?;
        let v = renamed(&dual.map, value);
        let value = reduce::apply(&mut self.p, &mut dual.code, &slope, &dual.index, over, v, t);
        Ok(Some(YieldKind::Reduce { reducer: Reducer::Add, over, value }))
    }

    /// `d (x[i] += v) = dx[i] += dv`; of products times what the others are; by `min` and `max` what the winners are.
    fn accumulated(
        &mut self,
        dual: &mut Dual<'_>,
        y: &Yield,
        reducer: Reducer,
        into: ArrayId,
        index: &[Atom],
        value: Atom,
    ) -> Result<Option<YieldKind>, NotDifferentiable> {
        let t = dual.tangent(value);
        let own = self.tangents.get(&into).copied();
        if t.is_none() && own.is_none() {
            return Ok(None);
        }
        let mut value_t = t.unwrap_or(Atom::Const(Const::of(self.p.array(y.array).elem, 0)));
        let index: Vec<Atom> = index.iter().map(|a| renamed(&dual.map, *a)).collect();
        let into = match reducer {
            Reducer::Add => self.tangent_or_zero(into),
            Reducer::Mul => {
                let Some(slopes) = product::slopes(&mut self.p, dual.n, y, y.array, None) else {
                    return Ok(None);
                };
                if t.is_some() {
                    let v = renamed(&dual.map, value);
                    value_t = slopes.times(&mut self.p, &mut dual.code, &index, v, value_t);
                }
                match own {
                    Some(own) => self.product(own, slopes.own),
                    None => self.tangent_or_zero(into),
                }
            }
            // Of floats there are `min` and `max` besides.
            _ => {
                if let Some(winners) = bins::winners(&mut self.p, dual.n, y) {
                    self.nest(&winners)?;
                }
                return Ok(None);
            }
        };
        Ok(Some(YieldKind::Accumulate { reducer: Reducer::Add, into, index, value: value_t }))
    }

    /// `d (x[i] = v) = dx[i] = dv`.
    fn written(
        &mut self,
        dual: &Dual<'_>,
        into: ArrayId,
        index: &[Atom],
        value: Atom,
        contested: bool,
    ) -> Option<YieldKind> {
        let t = dual.tangent(value);
        if t.is_none() && !self.tangents.contains_key(&into) {
            return None;
        }
        let zero = Atom::Const(Const::of(self.p.array(into).elem, 0));
        let index = index.iter().map(|a| renamed(&dual.map, *a)).collect();
        let (into, value) = (self.tangent_or_zero(into), t.unwrap_or(zero));
        Some(YieldKind::Write { into, index, value, contested })
    }
}

/// A nest that is executed again for its tangents.
struct Dual<'a> {
    n: &'a Nest,
    /// What its scalars and axes are called there.
    map: Renaming,
    /// The point.
    index: Vec<Atom>,
    /// Its code with tangents, and what the slopes of its yields add to that.
    body: Body,
    code: Code,
    tangents: Tangents,
}

impl Dual<'_> {
    /// The tangent of a value of the nest.
    fn tangent(&self, value: Atom) -> Option<Atom> {
        of(&self.tangents, renamed(&self.map, value))
    }
}
