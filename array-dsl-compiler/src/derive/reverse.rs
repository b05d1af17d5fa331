//! Reverse mode of statements.
//!
//! ```text
//! vjp of   nest axes { body } yields store y
//! is       nest axes { body; body backwards from y_adj[axes] }
//!          yields, for each differentiable read x[ix]:  accumulate(+) into x_adj at [ix]
//!
//! reduce(+) over k     the seed is y_adj[outer axes]
//! reduce(min, max, *)  the seed is y_adj[outer axes] times the slope of `reduce`
//! accumulate(+) into d at [ix] of v     v's seed is y_adj[ix] (0 outside);   d_adj = y_adj
//! accumulate(min, max, *)               see `bins`
//! write into d at [ix] of v             likewise;   d_adj = y_adj with zeros written at the same places
//! write into d at [ix] of d[ix] + v     as accumulate(+)
//! overwrite ..                          likewise, for the last writers; the others have 0
//! reshape              the adjoint is reshaped back
//! ```
//!
//! The body is executed again (free for perfect nests); `optimize` turns accumulates into stores, reductions and gathers
//! wherever their index allows. An array's adjoint is the sum of the contributions of all its readers; an array
//! without contributions has no adjoint, and nothing is computed for it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::adjoint::{Adjoints, Contribution, active_scalars, backwards};
use super::product;
use super::reduce::{self, Slope};
use super::{Derivative, NotDifferentiable, active_arrays, active_params, bins, bundle, separate};
use crate::affine::bins::{LastWriters, inside, last_writers};
use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::{
    Addition, ArrayId, ArrayInfo, Atom, Axis, Check, CheckKind, Exp, Let, Nest, Param, Program, Reducer, Stm,
    Var, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Loc, Name, Tree};

/// See the module header and [`Derivative`].
pub(super) fn reverse(p: &Program, what: Derivative) -> Result<Program, NotDifferentiable> {
    let mut r = Reverse::new(p.clone(), active_arrays(p));
    // What a scan's nest does besides is done by nests of their own.
    let stms = separate::separate(&mut r.p, &p.stms);
    r.p.stms = stms.clone();
    r.active = active_arrays(&r.p);
    r.seed(what);
    r.block(&stms)?;
    let mut gradients = Vec::new();
    for (_, t) in active_params(p) {
        gradients.push(t.map(&mut |a| r.total_or_zero(*a)));
    }
    let gradient = bundle(gradients);
    r.p.result = match what {
        Derivative::Grad => gradient,
        _ => Tree::Tuple(vec![p.result.clone(), gradient]),
    };
    Ok(r.p)
}

pub(super) struct Reverse {
    pub p: Program,
    pub active: FxHashSet<ArrayId>,
    /// Contributions to each array's adjoint.
    pub adjoints: FxHashMap<ArrayId, Vec<ArrayId>>,
    /// Arrays whose adjoint is one array that everything is added to, in place, and that array so far: in a loop, where a new
    /// array for each contribution of each trip would cost its whole size.
    pub sums: FxHashMap<ArrayId, Option<ArrayId>>,
    /// The arrays that have again what another one had, which was overwritten since.
    pub again: FxHashMap<ArrayId, ArrayId>,
    /// From these to the arrays that had it first, whose adjoints they contribute to.
    pub first: FxHashMap<ArrayId, ArrayId>,
    /// By the result of a loop that went backwards: the array that it started from, again.
    pub rewound: FxHashMap<ArrayId, ArrayId>,
    /// By the result of a nest that wrote into an array and has been undone: what its points wrote.
    pub written: FxHashMap<ArrayId, ArrayId>,
}

impl Reverse {
    /// Of a program in which these arrays vary.
    pub fn new(p: Program, active: FxHashSet<ArrayId>) -> Reverse {
        Reverse {
            p,
            active,
            adjoints: FxHashMap::default(),
            sums: FxHashMap::default(),
            again: FxHashMap::default(),
            first: FxHashMap::default(),
            rewound: FxHashMap::default(),
            written: FxHashMap::default(),
        }
    }

    /// The array that an array is, for adjoints.
    pub fn first(&self, a: ArrayId) -> ArrayId {
        self.first.get(&a).copied().unwrap_or(a)
    }

    /// The sum of what has been added in place to the adjoint of an array.
    pub fn sum(&self, a: ArrayId) -> Option<ArrayId> {
        self.sums.get(&self.first(a)).copied().flatten()
    }

    /// Statements from the last to the first.
    pub fn block(&mut self, stms: &[Stm]) -> Result<(), NotDifferentiable> {
        for s in stms.iter().rev() {
            self.statement(s)?;
        }
        Ok(())
    }

    fn seed(&mut self, what: Derivative) {
        let results: Vec<ArrayId> = self.p.result.leaves().into_iter().copied().collect();
        let floats: Vec<ArrayId> = results.into_iter().filter(|a| self.p.array(*a).elem.is_float()).collect();
        let several = floats.len() > 1;
        for (i, a) in floats.iter().enumerate() {
            let info = self.p.array(*a).clone();
            let ct = match what {
                Derivative::Vjp => {
                    let name = if several { format!("cotangent{i}") } else { "cotangent".into() };
                    self.cotangent(name.into(), &info)
                }
                _ => self.p.constant("seed", &info.dims, Const::of(info.elem, 1), Loc::default()),
            };
            if self.active.contains(a) {
                self.adjoints.entry(*a).or_default().push(ct);
            }
        }
    }

    /// A parameter for the cotangent of a result. A dimension that only the primal's run tells is a size of its own in the
    /// signature, and checked when the primal's is known.
    fn cotangent(&mut self, name: Name, info: &ArrayInfo) -> ArrayId {
        let mut dims = Vec::new();
        for (k, d) in info.dims.iter().enumerate() {
            if self.entry_scalars(d) {
                dims.push(d.clone());
                continue;
            }
            let mut size = Name::from(format!("#{name}.{k}"));
            while self.p.sizes.contains(&size) {
                size = Name::from(format!("{size}'"));
            }
            self.p.sizes.push(size.clone());
            let equal = CheckKind::Equal(Dim::name(size.clone()), d.clone());
            self.p.stms.push(Stm::Check(Check { kind: equal, guards: Vec::new() }, Loc::default()));
            dims.push(Dim::name(size));
        }
        let param = self.p.new_array(name.clone(), info.elem, dims);
        self.p.params.push(Param { name, arrays: Tree::Leaf(param), active: true, loc: Loc::default() });
        if self.p.array(param).dims == info.dims {
            return param;
        }
        let ct = self.p.new_array(self.p.array(param).name.clone(), info.elem, info.dims.clone());
        self.p.stms.push(Stm::Reshape { result: ct, source: param });
        ct
    }

    /// Whether a dimension is known on entry: its scalars, if any, are parameters.
    fn entry_scalars(&self, d: &Dim) -> bool {
        let params: Vec<ArrayId> = self.p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
        d.atoms().iter().all(|a| match a {
            SizeAtom::Name(_) => true,
            SizeAtom::Scalar(s) => params.contains(&ArrayId(*s)),
        })
    }

    /// The adjoint of an array, if it has one.
    pub fn total(&mut self, a: ArrayId) -> Option<ArrayId> {
        let a = self.first(a);
        if let Some(sum) = self.sums.get(&a) {
            return *sum;
        }
        let parts = self.adjoints.get(&a)?.clone();
        if let [only] = parts.as_slice() {
            return Some(*only);
        }
        let info = self.p.array(a).clone();
        let name = format!("{}_adj", info.name);
        let sum = self.p.store(&name, info.elem, &info.dims, Loc::default(), |p, code, index| {
            let mut sum = code.read(p, parts[0], index);
            for part in &parts[1..] {
                let x = code.read(p, *part, index);
                sum = code.add(p, sum, x);
            }
            sum
        });
        self.adjoints.insert(a, vec![sum]);
        Some(sum)
    }

    pub fn total_or_zero(&mut self, a: ArrayId) -> ArrayId {
        self.total(a).unwrap_or_else(|| {
            let info = self.p.array(a).clone();
            let name = format!("{}_adj", info.name);
            self.p.constant(&name, &info.dims, Const::of(info.elem, 0), Loc::default())
        })
    }

    pub fn contribute(&mut self, a: ArrayId, part: ArrayId) {
        let a = self.first(a);
        if let Some(sum) = self.sums.get(&a).copied() {
            let sum = sum.map_or(part, |sum| self.plus(sum, part));
            self.sums.insert(a, Some(sum));
        } else if self.active.contains(&a) {
            self.adjoints.entry(a).or_default().push(part);
        }
    }

    /// The sum of two arrays of one type.
    fn plus(&mut self, x: ArrayId, y: ArrayId) -> ArrayId {
        let info = self.p.array(x).clone();
        self.p.store(&info.name, info.elem, &info.dims, Loc::default(), |p, code, index| {
            let (a, b) = (code.read(p, x, index), code.read(p, y, index));
            code.add(p, a, b)
        })
    }

    pub fn statement(&mut self, s: &Stm) -> Result<(), NotDifferentiable> {
        match s {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => {
                if let Some(adj) = self.total(*result) {
                    let info = self.p.array(*source).clone();
                    let back = self.p.new_array(format!("{}_adj", info.name), info.elem, info.dims);
                    self.p.stms.push(Stm::Reshape { result: back, source: adj });
                    self.contribute(*source, back);
                }
                Ok(())
            }
            Stm::Repeat(r) => self.repeat(r),
            Stm::Custom(c) => self.custom(c),
            Stm::Call(c) => super::custom::called_early(c),
            // Positions are integers: the derivative of sorted values is that of the gather by them.
            Stm::Check(..) | Stm::Sort(_) => Ok(()),
        }
    }

    fn nest(&mut self, n: &Nest) -> Result<(), NotDifferentiable> {
        if n.body.is_ordered() {
            self.scan(n);
            return Ok(());
        }
        let mut seeded: Vec<(&Yield, ArrayId, Slope)> = Vec::new();
        for y in &n.yields {
            let Some(adj) = self.total(y.array) else { continue };
            seeded.extend(self.yield_seed(n, y, adj)?.map(|(seed, slope)| (y, seed, slope)));
        }
        if seeded.is_empty() {
            return Ok(());
        }
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(&n.axes, &mut map);
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(n.loc);
        code.lets = self.p.copy_lets(&n.body.unordered(), &mut map);
        let primal = code.lets.clone();
        self.reuse_stored(n, &map, &index, &mut code);
        let active = active_scalars(&self.p, &primal, &self.active, &FxHashSet::default());
        let mut adjoints = Adjoints::default();
        for (y, adj, slope) in &seeded {
            let (value, seed) = self.point_seed(&mut code, y, *adj, slope, &index, &map);
            let is_active = matches!(value, Atom::Var(v) if active.contains(&v));
            if is_active {
                adjoints.add(&mut self.p, &mut code, value, seed);
            }
        }
        let mut contributions: Vec<Contribution> = Vec::new();
        backwards(&mut self.p, &mut code, &primal, &self.active, &active, &mut adjoints, &mut contributions);
        self.accumulate(axes, code, contributions, n.loc);
        Ok(())
    }

    /// What a yield's values get of its array's adjoint: an array, and the slope to it. What the array is made from gets its own
    /// part here. None where there is nothing more to do.
    fn yield_seed(
        &mut self,
        n: &Nest,
        y: &Yield,
        adj: ArrayId,
    ) -> Result<Option<(ArrayId, Slope)>, NotDifferentiable> {
        Ok(match &y.kind {
            YieldKind::Store(_) => Some((adj, Slope::One)),
            YieldKind::Reduce { reducer, over, .. } => {
                let result = self.now(y.array);
                let slope = reduce::prepare(&mut self.p, n, y, result, Some(adj)).ok_or_else(|| {
                    let by = format!("a reduction by `{}` over {over} axes", reducer.name());
                    NotDifferentiable { what: format!("{by} has no derivative"), loc: Some(n.loc) }
                })?;
                Some((adj, slope))
            }
            YieldKind::Accumulate { reducer: Reducer::Add, into, .. } => {
                // Where the adjoint is changed in place, what the points need of it is read first.
                let seed = match self.sums.contains_key(&self.first(*into)) {
                    true => (self.seeds(n, y, adj, None), Slope::Point),
                    false => (adj, Slope::One),
                };
                self.contribute(*into, adj);
                Some(seed)
            }
            YieldKind::Accumulate { reducer: Reducer::Mul, into, .. } => {
                let result = self.now(y.array);
                let Some(slopes) = product::slopes(&mut self.p, n, y, result, Some(adj)) else {
                    return Ok(None);
                };
                self.contribute(*into, slopes.own);
                Some((adj, Slope::Product(slopes)))
            }
            YieldKind::Accumulate { .. } => {
                // Of floats there are `min` and `max` besides.
                if let Some(winners) = bins::winners(&mut self.p, n, y) {
                    self.nest(&winners)?;
                }
                None
            }
            YieldKind::Write { into, contested, .. } => {
                let is_active = self.active.contains(into);
                if is_active
                    && !contested
                    && let Some(addition) = y.kind.addition(&n.body)
                {
                    let seeds = self.seeds(n, y, adj, None);
                    self.contribute(*into, adj);
                    return Ok(Some((seeds, Slope::Term(addition))));
                }
                let last = last_writers(&mut self.p, n, y);
                if !is_active && last.is_none() {
                    return Ok(Some((adj, Slope::One)));
                }
                // What the points need is read first, so that the zeros can be written in place.
                let seeds = self.seeds(n, y, adj, last.as_ref());
                if is_active {
                    let cleared = self.cleared(n, y, adj);
                    self.contribute(*into, cleared);
                }
                Some((seeds, Slope::Point))
            }
        })
    }

    /// A nest whose points contribute to adjoints.
    pub fn accumulate(&mut self, axes: Vec<Axis>, code: Code, contributions: Vec<Contribution>, loc: Loc) {
        let (mut yields, mut later) = (Vec::new(), Vec::new());
        for c in contributions {
            let info = self.p.array(c.array).clone();
            if self.sum(c.array).is_some() {
                later.push((c, None));
                continue;
            }
            let zeros = self.p.constant("zeros", &info.dims, Const::of(info.elem, 0), c.loc);
            let part = self.p.new_array(format!("{}_adj", info.name), info.elem, info.dims);
            let kind =
                YieldKind::Accumulate { reducer: Reducer::Add, into: zeros, index: c.index, value: c.value };
            yields.push(Yield { array: part, kind });
            self.contribute(c.array, part);
        }
        // What starts an adjoint comes before what is added to it.
        let at = self.p.stms.len();
        if axes.is_empty() && later.len() > 1 {
            self.computed_once(&code, &mut later, loc);
        }
        for (c, value) in later {
            let mut code = Code { lets: code.lets.clone(), loc };
            let mut c = c;
            if let Some(value) = value {
                c.value = code.read(&mut self.p, value, &[]);
            }
            if let Some(sum) = self.sum(c.array) {
                let part = self.add_in_place(&axes, &code, &c, sum, loc);
                self.sums.insert(self.first(c.array), Some(part));
            }
        }
        if !yields.is_empty() {
            self.p.stms.insert(at, Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
        }
    }

    /// Has one point store what it contributes to several adjoints: each is added to by a nest of its own.
    fn computed_once(&mut self, code: &Code, later: &mut [(Contribution, Option<ArrayId>)], loc: Loc) {
        let mut map = Renaming::default();
        let lets = self.p.copy_lets(&code.lets, &mut map);
        let mut yields = Vec::new();
        for (c, stored) in later {
            let value = renamed(&map, c.value);
            let array = self.p.new_array("part", self.p.elem(value), Vec::new());
            yields.push(Yield { array, kind: YieldKind::Store(value) });
            *stored = Some(array);
        }
        self.p.stms.push(Stm::Nest(Nest { axes: Vec::new(), body: lets.into(), yields, loc }));
    }

    /// A nest of its own that adds a contribution to the adjoint so far.
    fn add_in_place(
        &mut self,
        axes: &[Axis],
        code: &Code,
        c: &Contribution,
        sum: ArrayId,
        loc: Loc,
    ) -> ArrayId {
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(axes, &mut map);
        let lets = self.p.copy_lets(&code.lets, &mut map);
        let info = self.p.array(sum).clone();
        let array = self.p.new_array(info.name, info.elem, info.dims);
        let kind = YieldKind::Accumulate {
            reducer: Reducer::Add,
            into: sum,
            index: c.index.iter().map(|a| renamed(&map, *a)).collect(),
            value: renamed(&map, c.value),
        };
        let yields = vec![Yield { array, kind }];
        self.p.stms.push(Stm::Nest(Nest { axes, body: lets.into(), yields, loc }));
        array
    }

    /// A costly value that the primal nest stored or wrote is read instead of computed again: the `tanh` of a layer is
    /// evaluated once, and a sum of which a loop wrote the root is not needed again.
    fn reuse_stored(&self, n: &Nest, map: &Renaming, index: &[Atom], code: &mut Code) {
        for y in &n.yields {
            let stored = match y.kind {
                YieldKind::Store(_) => Some(self.now(y.array)),
                _ => self.written.get(&y.array).copied(),
            };
            let Some((array, value)) = stored.zip(costly_value(n, y)) else { continue };
            let Atom::Var(value) = renamed(map, Atom::Var(value)) else { continue };
            if let Some(l) = code.lets.iter_mut().find(|l| l.vars == [value]) {
                l.exp = Exp::Read { array, index: index.to_vec(), checked: false };
            }
        }
    }

    /// The seed of a yield's value at one point.
    fn point_seed(
        &mut self,
        code: &mut Code,
        y: &Yield,
        adj: ArrayId,
        slope: &Slope,
        index: &[Atom],
        map: &Renaming,
    ) -> (Atom, Atom) {
        let p = &mut self.p;
        if let Slope::Term(Addition { term, is_negated, .. }) = slope {
            let seed = code.read(p, adj, index);
            let seed = if *is_negated { code.op(p, Op::Neg, &[seed]) } else { seed };
            return (renamed(map, *term), seed);
        }
        match &y.kind {
            YieldKind::Store(v) => (renamed(map, *v), code.read(p, adj, index)),
            YieldKind::Reduce { over, value, .. } => {
                let d = code.read(p, adj, &index[..index.len() - over]);
                let v = renamed(map, *value);
                (v, reduce::apply(p, code, slope, index, *over, v, d))
            }
            YieldKind::Write { value, .. } | YieldKind::Accumulate { value, .. }
                if matches!(slope, Slope::Point) =>
            {
                (renamed(map, *value), code.read(p, adj, index))
            }
            YieldKind::Accumulate { index: at, value, .. } | YieldKind::Write { index: at, value, .. } => {
                let at: Vec<Atom> = at.iter().map(|a| renamed(map, *a)).collect();
                let v = renamed(map, *value);
                let seed = match slope {
                    Slope::Product(slopes) => slopes.at(p, code, &at, v),
                    _ => guarded_read(p, code, adj, &at),
                };
                (v, seed)
            }
        }
    }

    /// The adjoints of what the points write or add.
    fn seeds(&mut self, n: &Nest, y: &Yield, adj: ArrayId, last: Option<&LastWriters>) -> ArrayId {
        let (YieldKind::Write { index, .. } | YieldKind::Accumulate { index, .. }) = &y.kind else {
            return adj;
        };
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(&n.axes, &mut map);
        let mut code = Code::new(n.loc);
        code.lets = self.p.copy_lets(&n.body.unordered(), &mut map);
        let index: Vec<Atom> = index.iter().map(|a| renamed(&map, *a)).collect();
        let info = self.p.array(adj).clone();
        let zero = Atom::Const(Const::of(info.elem, 0));
        let value = inside(&mut self.p, &mut code, &index, &info.dims, zero, |p, code| {
            let seed = code.read(p, adj, &index);
            let Some(last) = last else { return seed };
            let stays = last.stays(p, code, n, &map, &index);
            code.select(p, stays, seed, zero)
        });
        let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
        let array = self.p.new_array("written_adj", self.p.array(adj).elem, dims);
        let yields = vec![Yield { array, kind: YieldKind::Store(value) }];
        self.p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
        array
    }

    /// `adj` with zeros where the nest writes.
    fn cleared(&mut self, n: &Nest, y: &Yield, adj: ArrayId) -> ArrayId {
        let YieldKind::Write { index, contested, .. } = &y.kind else { return adj };
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(&n.axes, &mut map);
        let lets = self.p.copy_lets(&n.body.unordered(), &mut map);
        let info = self.p.array(adj).clone();
        let array = self.p.new_array(info.name.clone(), info.elem, info.dims);
        let kind = YieldKind::Write {
            into: adj,
            index: index.iter().map(|a| renamed(&map, *a)).collect(),
            value: Atom::Const(Const::of(info.elem, 0)),
            contested: *contested,
        };
        let yields = vec![Yield { array, kind }];
        self.p.stms.push(Stm::Nest(Nest { axes, body: lets.into(), yields, loc: n.loc }));
        array
    }
}

/// What a nest without an order stores or writes there, if it is made by an operation that costs more than reading it.
pub(super) fn costly_value(n: &Nest, y: &Yield) -> Option<Var> {
    let (YieldKind::Store(value) | YieldKind::Write { value, .. }) = &y.kind else { return None };
    let value = value.var()?;
    let makes = |l: &Let| l.vars == [value] && matches!(&l.exp, Exp::Op(op, _) if !op.is_cheap());
    (!n.body.is_ordered() && n.body.lets().any(makes)).then_some(value)
}

/// `array[index]`, or 0 where the index lies outside.
pub(super) fn guarded_read(p: &mut Program, code: &mut Code, array: ArrayId, index: &[Atom]) -> Atom {
    let info = p.array(array).clone();
    let inside = code.in_range(p, index, &info.dims);
    let zero = Atom::Const(Const::of(info.elem, 0));
    code.only_if(p, inside, zero, |p, code| code.read(p, array, index))
}
