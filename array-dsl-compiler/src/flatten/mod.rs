//! The bulk-operation transform: Core to Bulk.
//!
//! Every `Build` is pushed inwards until only nests are left. Because a nest's body may be any scalar code, the
//! transform splits only at array-valued intermediates, inner reductions and scatters; each of those becomes a
//! nest whose leading axes are those of the `Build`s around it (the **frame**).
//!
//! ```text
//! vec F (build [k] b)         = nest over F,k storing b               (b scalar)
//! vec F (let x = u in v)      = x' : F.. = vec F u;  x := x'[F] in v  (u array-valued or a reduction)
//! vec F (reduce k b)          = nest over F,k reducing b over k
//! vec F (scan, fold k b)      = nest over F,k with a scan along k
//! vec F (loop of scalars)     = the same, with a step that is executed in order
//! vec F (argsort a)           = the rows of a over F sorted, or of a alone where it does not depend on F
//! vec F (index a ix)          = a view: no statement at all; an invariant `a` is never replicated (G1, G2)
//! vec F (derivative of b)     = vec F b, and the derivative of the code or of the nests that it is (`derivative`)
//! vec F (scalar code)         = kept, and copied into the nests that need it
//! vec F (if c a b)            = lazy `if` in the body; around array code the nests of a branch are guarded by
//!                               `c`, and the results are chosen lazily, element by element
//! ```
//!
//! The invariance rules G1-G5 hold by construction: a view of an array that does not depend on an axis has no
//! index for it, so a transpose written as nested builds stays quadratic.
//!
//! A scalar of an outer frame that a deeper nest needs is copied into it if it is cheap, and else stored once
//! per point of its own frame. The scalars in frames are templates: each nest gets copies with new variables.

mod choice;
mod counts;
mod derivative;
mod fold;
mod nest;
mod repeat;
mod reshape;
mod values;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::{ArrayId, Atom, Axis, Custom, Exp, Param, Program, Rule, Sort, Stm, Var, YieldKind};
use crate::core::{self, Placing};
use crate::derive::NotDifferentiable;
use crate::dim::{Dim, SizeAtom};
use crate::internal::{at, expect};
use crate::ty::{Const, Elem, Loc, Tree};
use nest::Frame;
use values::{Val, View};

/// Transforms a kernel. It has no Bulk form if something inside it that is differentiated has no derivative.
pub fn flatten(f: &core::Function) -> Result<Program, NotDifferentiable> {
    match core::complex::split(f) {
        Some(real) => flatten_real(&real),
        None => flatten_real(f),
    }
}

/// That of a kernel without complex numbers.
fn flatten_real(f: &core::Function) -> Result<Program, NotDifferentiable> {
    let program = Program {
        name: f.name.clone(),
        sizes: f.sizes.clone(),
        strips: Vec::new(),
        params: Vec::new(),
        arrays: Vec::new(),
        vars: Vec::new(),
        stms: Vec::new(),
        result: Tree::Tuple(Vec::new()),
        places: f.places.clone(),
        rules: Vec::new(),
    };
    let mut t = Flatten {
        f,
        p: program,
        env: FxHashMap::default(),
        frames: vec![Frame::default()],
        home: FxHashMap::default(),
        stored: FxHashMap::default(),
        size_scalars: FxHashMap::default(),
        sizes: FxHashMap::default(),
        updated: FxHashMap::default(),
        counters: FxHashSet::default(),
        checks: Vec::new(),
        missing: None,
    };
    for r in &f.rules {
        let program = flatten(&r.function)?;
        t.p.rules.push(Arc::new(Rule { by: r.by.clone(), program, routine: r.routine }));
    }
    t.params();
    t.body(&f.body);
    let results: Vec<ArrayId> = f.body.results.iter().map(|a| t.over_frame(*a, Loc::default())).collect();
    t.p.result = f.result.map(&mut |i| results[*i]);
    match t.missing {
        Some(reason) => Err(reason),
        None => Ok(t.p),
    }
}

struct Flatten<'a> {
    f: &'a core::Function,
    p: Program,
    env: FxHashMap<core::Var, Val>,
    frames: Vec<Frame>,
    /// The frame that defines a template scalar.
    home: FxHashMap<Var, usize>,
    /// Template scalars that have been stored in arrays over the axes around them. What a branch has stored is still
    /// read after its frame is gone, where its code stands in an `if`.
    stored: FxHashMap<Var, (ArrayId, Vec<Var>)>,
    /// Integers of depth 0 that dimensions mention, as arrays of rank 0.
    size_scalars: FxHashMap<core::Var, ArrayId>,
    /// Integers that are sizes.
    sizes: FxHashMap<core::Var, Dim>,
    /// What updated arrays started from.
    updated: FxHashMap<ArrayId, ArrayId>,
    /// The numbers of the trips of loops.
    counters: FxHashSet<ArrayId>,
    /// The checks made before, on every path.
    checks: Vec<core::Check>,
    /// A derivative that does not exist.
    missing: Option<NotDifferentiable>,
}

impl Flatten<'_> {
    fn params(&mut self) {
        // Scalars first: dimensions may mention them.
        let vars: Vec<core::Var> = self
            .f
            .params
            .iter()
            .flat_map(|p| p.vars.leaves().into_iter().copied().collect::<Vec<_>>())
            .collect();
        let mut ids = FxHashMap::default();
        for pass in 0..2 {
            for v in &vars {
                let ty = self.f.ty(*v).clone();
                if (pass == 0) != (ty.rank() == 0) {
                    continue;
                }
                let dims: Vec<Dim> = ty.dims.iter().map(|d| self.dim(d)).collect();
                let id = self.p.new_array(self.f.vars[v.0 as usize].name.clone(), ty.elem, dims);
                ids.insert(*v, id);
                if ty.rank() == 0 {
                    self.size_scalars.insert(*v, id);
                    let read = Exp::Read { array: id, index: Vec::new(), checked: false };
                    let x = self.bind(ty.elem, read, Loc::default());
                    self.env.insert(*v, Val::Scalar(x));
                } else {
                    self.env.insert(*v, Val::View(View::of(id, Vec::new())));
                }
            }
        }
        self.p.params = self
            .f
            .params
            .iter()
            .map(|p| Param {
                name: p.name.clone(),
                arrays: p.vars.map(&mut |v| ids[v]),
                active: p.active,
                loc: p.loc,
            })
            .collect();
    }

    /// A dimension of Core as one of Bulk.
    fn dim(&mut self, d: &Dim) -> Dim {
        d.substitute(&mut |a| match a {
            SizeAtom::Name(_) => Dim::atom(a.clone()),
            SizeAtom::Scalar(s) => {
                let v = core::Var(*s);
                if let Some(id) = self.size_scalars.get(&v) {
                    return Dim::atom(SizeAtom::Scalar(id.0));
                }
                match self.env.get(&v) {
                    Some(Val::Scalar(Atom::Const(c))) => Dim::constant(c.as_i64()),
                    Some(Val::Scalar(Atom::Var(x))) => {
                        let id = self.store(*x);
                        // Messages about sizes name it.
                        self.p.arrays[id.0 as usize].name = self.name(v);
                        self.size_scalars.insert(v, id);
                        Dim::atom(SizeAtom::Scalar(id.0))
                    }
                    _ => self.unbound(v),
                }
            }
        })
    }

    fn body(&mut self, b: &core::Body) {
        b.stms.iter().for_each(|s| self.stm(s));
    }

    fn stm(&mut self, s: &core::Stm) {
        let elem = |i: usize| self.f.ty(s.vars[i]).elem;
        match &s.exp {
            core::Exp::Atom(a) => self.alias(s.vars[0], *a),
            core::Exp::Op(op, args) => {
                let args = args.iter().map(|a| self.atom(*a)).collect();
                self.scalar(s, elem(0), Exp::Op(*op, args));
            }
            core::Exp::Size(d) => {
                let d = self.dim(d);
                self.sizes.insert(s.vars[0], d.clone());
                self.scalar(s, Elem::I64, Exp::Size(d));
            }
            core::Exp::StopGradient(a) => self.stop_gradient(s, *a),
            core::Exp::Index(v, index) => self.index(s, *v, index),
            core::Exp::Build(axes, body) => self.build(s, axes, body),
            core::Exp::Reduce(reducers, axis, body) => self.reduce(s, reducers, axis, body),
            core::Exp::If(c, a, b) => self.choice(s, *c, a, b),
            core::Exp::Reshape(v, dims) => self.reshape(s, *v, dims),
            core::Exp::Scan(reducers, prefix, axis, body) => self.scan(s, reducers, *prefix, axis, body),
            core::Exp::Fold(operator, prefix, axis, body) => self.fold(s, operator, *prefix, axis, body),
            core::Exp::Loop(l) => self.repeat(s, l),
            core::Exp::Update(a, index, value) => self.update(s, *a, index, *value),
            core::Exp::Scatter { how, dest, axes, body } => self.scatter(s, *how, *dest, axes, body),
            core::Exp::Derivative(d) => self.derivative(s, d),
            core::Exp::Custom { values, args, rule } => self.custom(s, values, args, *rule),
            core::Exp::Argsort(v) => self.argsort(s, *v),
            core::Exp::Check(c) => {
                let mut check = c.clone();
                check.dims_mut().into_iter().for_each(|d| *d = self.dim(d));
                self.checks.push(check.clone());
                self.p.stms.push(Stm::Check(check, s.loc));
            }
        }
    }

    /// Another name for an atom.
    fn alias(&mut self, v: core::Var, a: core::Atom) {
        self.env.insert(v, self.value(a));
        if let core::Atom::Var(old) = a {
            let (size, array) = (self.sizes.get(&old).cloned(), self.size_scalars.get(&old).copied());
            self.sizes.extend(size.map(|d| (v, d)));
            self.size_scalars.extend(array.map(|id| (v, id)));
        }
    }

    /// Arrays over the frame; the rule does not see it.
    fn custom(&mut self, s: &core::Stm, values: &[core::Atom], args: &[core::Atom], rule: usize) {
        let values: Vec<ArrayId> = values.iter().map(|a| self.over_frame(*a, s.loc)).collect();
        let args = args.iter().map(|a| self.over_frame(*a, s.loc)).collect();
        let mut results = Vec::new();
        for (v, a) in s.vars.iter().zip(&values) {
            let info = self.p.array(*a).clone();
            results.push(self.p.new_array(self.name(*v), info.elem, info.dims));
        }
        self.p.stms.push(Stm::Custom(Custom { results: results.clone(), values, args, rule, loc: s.loc }));
        for (v, a) in s.vars.iter().zip(results) {
            self.bind_array(*v, a, s.loc);
        }
    }

    /// A row is a view; an element is read.
    fn index(&mut self, s: &core::Stm, v: core::Var, index: &[core::Atom]) {
        let mut view = self.view(v);
        let outer = view.prefix.len();
        view.prefix.extend(index.iter().map(|a| self.atom(*a)));
        let array = view.array;
        if self.p.array(array).dims.len() > view.prefix.len() {
            view.loc = Some(s.loc);
            self.env.insert(s.vars[0], Val::View(view));
            return;
        }
        let loc = view.loc.filter(|_| self.are_axes(array, &view.prefix, outer)).unwrap_or(s.loc);
        let read = Exp::Read { array, index: view.prefix, checked: true };
        let x = self.bind(self.p.array(array).elem, read, loc);
        self.env.insert(s.vars[0], Val::Scalar(x));
    }

    fn name(&self, v: core::Var) -> crate::ty::Name {
        self.f.vars[v.0 as usize].name.clone()
    }

    fn scalar(&mut self, s: &core::Stm, elem: Elem, exp: Exp) {
        let a = self.bind(elem, exp, s.loc);
        self.env.insert(s.vars[0], Val::Scalar(a));
    }

    fn stop_gradient(&mut self, s: &core::Stm, a: core::Atom) {
        let ty = self.f.atom_type(a);
        match a {
            core::Atom::Var(v) if ty.rank() > 0 => {
                let view = self.view(v);
                let array = self.elementwise(&ty.dims, self.name(s.vars[0]), s.loc, |t, index| {
                    let x = t.read(&view, index, s.loc);
                    t.bind(ty.elem, Exp::StopGradient(x), s.loc)
                });
                self.bind_array(s.vars[0], array, s.loc);
            }
            _ => {
                let a = self.atom(a);
                self.scalar(s, ty.elem, Exp::StopGradient(a));
            }
        }
    }

    fn axes(&mut self, dims: Vec<Dim>) -> Vec<Axis> {
        dims.into_iter().map(|extent| Axis { var: self.p.new_var(Elem::I64), extent }).collect()
    }

    fn core_axes(&mut self, axes: &[core::Axis]) -> Vec<Axis> {
        let dims = axes.iter().map(|a| self.dim(&a.extent)).collect();
        let new = self.axes(dims);
        for (a, n) in axes.iter().zip(&new) {
            self.env.insert(a.var, Val::Scalar(Atom::Var(n.var)));
        }
        new
    }

    fn build(&mut self, s: &core::Stm, axes: &[core::Axis], body: &core::Body) {
        let axes = self.core_axes(axes);
        self.push_frame(Frame { axes, ..Frame::default() });
        self.body(body);
        let scalar = |t: &Self, a: core::Atom| t.f.atom_type(a).rank() == 0;
        let mut made: Vec<Option<ArrayId>> = vec![None; s.vars.len()];
        let scalars: Vec<usize> = (0..s.vars.len()).filter(|i| scalar(self, body.results[*i])).collect();
        if !scalars.is_empty() {
            let values: Vec<_> =
                scalars.iter().map(|i| (self.atom(body.results[*i]), self.name(s.vars[*i]))).collect();
            for (i, a) in scalars.iter().zip(self.store_nest(&values, s.loc)) {
                made[*i] = Some(a);
            }
        }
        for (i, slot) in made.iter_mut().enumerate() {
            if slot.is_none() {
                *slot = Some(self.over_frame(body.results[i], s.loc));
            }
        }
        self.pop_frame();
        for (v, a) in s.vars.iter().zip(made) {
            let a = expect(a, || format!("no array for `{}`", self.name(*v)));
            self.bind_array(*v, a, s.loc);
        }
    }

    fn reduce(&mut self, s: &core::Stm, reducers: &[core::Reducer], axis: &core::Axis, body: &core::Body) {
        let axes = self.core_axes(std::slice::from_ref(axis));
        self.push_frame(Frame { axes, ..Frame::default() });
        self.body(body);
        let mut outputs = Vec::new();
        for (i, r) in reducers.iter().enumerate() {
            let value = self.atom(body.results[i]);
            let elem = self.p.elem(value);
            outputs.push((value, r.neutral(elem), self.name(s.vars[i]), r.result(elem)));
        }
        let dims: Vec<Dim> = self.frame_extents();
        let outer = dims[..dims.len() - 1].to_vec();
        let arrays: Vec<ArrayId> =
            outputs.iter().map(|(_, _, n, e)| self.p.new_array(n.clone(), *e, outer.clone())).collect();
        let values: Vec<(Atom, Const)> = outputs.iter().map(|o| (o.0, o.1)).collect();
        self.nest(&values, s.loc, |atoms, _| {
            atoms
                .iter()
                .zip(reducers)
                .zip(&arrays)
                .map(|((v, r), a)| (*a, YieldKind::Reduce { reducer: *r, over: 1, value: *v }))
                .collect()
        });
        self.pop_frame();
        let index = self.frame_index();
        for ((v, a), o) in s.vars.iter().zip(arrays).zip(&outputs) {
            let x = self.bind(o.3, Exp::Read { array: a, index: index.clone(), checked: false }, s.loc);
            self.env.insert(*v, Val::Scalar(x));
        }
    }

    fn scatter(
        &mut self,
        s: &core::Stm,
        how: Placing,
        dest: core::Var,
        axes: &[core::Axis],
        body: &core::Body,
    ) {
        let into = self.over_frame(core::Atom::Var(dest), s.loc);
        self.store_reads(into);
        let outer = self.frame_index().len();
        let axes = self.core_axes(axes);
        self.push_frame(Frame { axes, ..Frame::default() });
        self.body(body);
        let mut values: Vec<(Atom, Const)> = Vec::new();
        let (value, index) = expect(body.results.split_last(), || {
            format!("a scatter of no value{}", at(&self.f.places, s.loc))
        });
        for i in index {
            // Where a guard is false the index lies outside, so that nothing happens.
            values.push((self.atom(*i), Const::int(Elem::I64, -1)));
        }
        let value = self.atom(*value);
        values.push((value, Const::of(self.p.elem(value), 0)));
        let info = self.p.array(into).clone();
        let result = self.p.new_array(self.name(s.vars[0]), info.elem, info.dims);
        self.nest(&values, s.loc, |atoms, axes| {
            let (value, at) = (atoms[atoms.len() - 1], &atoms[..atoms.len() - 1]);
            let index: Vec<Atom> = axes[..outer].iter().copied().chain(at.iter().copied()).collect();
            let kind = match how {
                Placing::Combined(reducer) => YieldKind::Accumulate { reducer, into, index, value },
                Placing::Only => YieldKind::Write { into, index, value, contested: false },
                Placing::Last => YieldKind::Write { into, index, value, contested: true },
            };
            vec![(result, kind)]
        });
        self.pop_frame();
        self.updated.insert(result, into);
        self.bind_array(s.vars[0], result, s.loc);
    }

    fn argsort(&mut self, s: &core::Stm, v: core::Var) {
        let view = self.view(v);
        let info = self.p.array(view.array).clone();
        // Rows that do not depend on an axis are not sorted once for each of its points.
        let keys = if self.covers(&view, &info.dims) {
            view
        } else {
            let array = self.over_frame(core::Atom::Var(v), s.loc);
            View::of(array, self.frame_index())
        };
        let dims = self.p.array(keys.array).dims.clone();
        let result = self.p.new_array(self.name(s.vars[0]), Elem::I64, dims);
        self.p.stms.push(Stm::Sort(Sort { result, keys: keys.array }));
        self.env.insert(s.vars[0], Val::View(View { array: result, ..keys }));
    }
}
