//! Random well-typed Core programs, and random arguments for any program.
//!
//! [`program`] is a function of its seed alone. The programs have 2 to 4 parameters over the named sizes `n` and `m`
//! (sizes 0 to 4 at run time), a handful of statements at depth 0, and everything of Core below them: builds of one to three axes,
//! reductions by every operator, scatters, branches of scalars and of arrays, reshapes, computed sizes, checks,
//! variables used in several places. Most have one float as their value, the sum of whatever nothing else used.
//!
//! * Indices are inside by construction (an axis of that extent, an axis shifted around it, a constant), or guarded
//!   by an `if`; the programs of one seed in ten also have reads that nothing guards.
//! * Writes never meet: a scatter without an operator has indices that differ from point to point.
//! * Values stay small: results of growing functions pass through bounded ones now and then.

use crate::core::{
    Atom, Axis, Body, Check, CheckKind, Exp, Function, Param, Reducer, Stm, Type, Var, VarInfo,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::testing::numbers::Rng;
use crate::ty::{Const, Elem, Loc, Place, Tree};

mod arguments;
pub use arguments::{Ranges, arguments, arguments_within};

/// More variables than this, and expressions become leaves.
const ENOUGH: usize = 160;

/// The program of a seed.
pub fn program(seed: u64) -> Function {
    let mut g = Generator {
        rng: Rng::new(seed),
        vars: Vec::new(),
        bodies: vec![Vec::new()],
        scope: Vec::new(),
        axes: Vec::new(),
        counts: Vec::new(),
        partial: seed % 10 == 9,
    };
    let params = g.params();
    for _ in 0..2 + g.rng.below(4) {
        g.statement();
    }
    let results = g.results();
    let result_types = results.iter().map(|a| g.ty(*a)).collect();
    let result = if results.len() == 1 {
        Tree::Leaf(0)
    } else {
        Tree::Tuple((0..results.len()).map(Tree::Leaf).collect())
    };
    let place = Place { kernel: "random".into(), file: "random.rs".into(), line: 1, column: 1 };
    let stms = g.bodies.pop().unwrap_or_default();
    Function {
        name: "random".into(),
        sizes: vec!["n".into(), "m".into()],
        params,
        vars: g.vars,
        body: Body { stms, results },
        result,
        result_types,
        places: vec![place],
    }
}

struct Generator {
    rng: Rng,
    vars: Vec<VarInfo>,
    /// Statement lists under construction.
    bodies: Vec<Vec<Stm>>,
    /// Variables in sight.
    scope: Vec<Var>,
    /// Index variables in sight.
    axes: Vec<(Var, Dim)>,
    /// Integers of depth 0 that may serve as sizes.
    counts: Vec<Var>,
    /// Whether reads may be outside.
    partial: bool,
}

fn float(x: f64) -> Atom {
    Atom::Const(Const::float(Elem::F64, x))
}

fn int(x: i64) -> Atom {
    Atom::Const(Const::int(Elem::I64, x))
}

fn named(elem: Elem, dims: &[&str]) -> Type {
    Type { elem, dims: dims.iter().map(|d| Dim::name(*d)).collect() }
}

impl Generator {
    fn ty(&self, a: Atom) -> Type {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize].ty.clone(),
            Atom::Const(c) => Type::scalar(c.elem),
        }
    }

    fn new_var(&mut self, name: &str, ty: Type) -> Var {
        self.vars.push(VarInfo { name: name.into(), ty });
        Var(self.vars.len() as u32 - 1)
    }

    fn emit_all(&mut self, types: Vec<Type>, exp: Exp) -> Vec<Var> {
        let vars: Vec<Var> = types.into_iter().map(|t| self.new_var("v", t)).collect();
        if let Some(body) = self.bodies.last_mut() {
            body.push(Stm { vars: vars.clone(), exp, loc: Loc(0) });
        }
        self.scope.extend(&vars);
        vars
    }

    fn emit(&mut self, ty: Type, exp: Exp) -> Atom {
        Atom::Var(self.emit_all(vec![ty], exp)[0])
    }

    fn op(&mut self, op: Op, args: &[Atom]) -> Atom {
        let elems: Vec<Elem> = args.iter().map(|a| self.ty(*a).elem).collect();
        self.emit(Type::scalar(op.result(&elems)), Exp::Op(op, args.to_vec()))
    }

    /// A body: what `f` emits and gives, seen by nobody else.
    fn body(&mut self, f: impl FnOnce(&mut Self) -> Vec<Atom>) -> Body {
        let (scope, axes) = (self.scope.len(), self.axes.len());
        self.bodies.push(Vec::new());
        let results = f(self);
        self.scope.truncate(scope);
        self.axes.truncate(axes);
        Body { stms: self.bodies.pop().unwrap_or_default(), results }
    }

    fn open(&mut self, axes: &[Axis]) {
        for a in axes {
            self.scope.push(a.var);
            self.axes.push((a.var, a.extent.clone()));
        }
    }

    fn new_axis(&mut self, extent: Dim) -> Axis {
        Axis { var: self.new_var("i", Type::scalar(Elem::I64)), extent }
    }

    fn visible(&self, f: impl Fn(&Type) -> bool) -> Vec<Var> {
        self.scope.iter().copied().filter(|v| f(&self.vars[v.0 as usize].ty)).collect()
    }

    /// A variable of some kind; later ones are likelier.
    fn pick(&mut self, f: impl Fn(&Type) -> bool) -> Option<Var> {
        let list = self.visible(f);
        let late = list[list.len() / 2..].to_vec();
        if self.rng.chance(50) { self.rng.pick(&late) } else { self.rng.pick(&list) }
    }

    fn params(&mut self) -> Vec<Param> {
        let kinds: [(&str, Type, bool); 9] = [
            ("x", named(Elem::F64, &["n"]), true),
            ("a", named(Elem::F64, &["n", "m"]), true),
            ("y", named(Elem::F64, &["m"]), true),
            ("s", named(Elem::F64, &[]), true),
            ("q", named(Elem::F64, &["n", "n"]), true),
            ("c", named(Elem::F64, &["m", "n", "m"]), false),
            ("k", named(Elem::I64, &["n"]), true),
            ("p", named(Elem::Bool, &["m"]), true),
            ("t", named(Elem::I64, &[]), true),
        ];
        // Every size is a whole dimension: `a`, or `x` and `y`.
        let mut chosen: Vec<usize> = if self.rng.chance(50) { vec![1] } else { vec![0, 2] };
        for _ in 0..1 + self.rng.below(2) {
            let k = self.rng.below(kinds.len());
            if !chosen.contains(&k) {
                chosen.push(k);
            }
        }
        let mut params = Vec::new();
        let mut counts = Vec::new();
        for k in chosen {
            let (name, ty, active) = kinds[k].clone();
            let integer = ty == Type::scalar(Elem::I64);
            let v = self.new_var(name, ty);
            self.scope.push(v);
            params.push(Param { name: name.into(), vars: Tree::Leaf(v), active, loc: Loc(0) });
            if integer {
                counts.push(v);
            }
        }
        for v in counts {
            self.count(v);
        }
        params
    }

    /// Lets an integer of depth 0 be a size.
    fn count(&mut self, v: Var) {
        let kind = CheckKind::NonNegative(Dim::atom(SizeAtom::Scalar(v.0)));
        self.emit_all(Vec::new(), Exp::Check(Check { kind, guards: Vec::new() }));
        self.counts.push(v);
    }

    fn extent(&mut self) -> Dim {
        let count = self.counts.clone();
        match self.rng.below(12) {
            0..4 => Dim::name("n"),
            4..8 => Dim::name("m"),
            8 => Dim::constant(1 + self.rng.below(3) as i64),
            9 => Dim::name("n").add(&Dim::constant(1)),
            _ => match self.rng.pick(&count) {
                Some(v) => Dim::atom(SizeAtom::Scalar(v.0)),
                None => Dim::name("n"),
            },
        }
    }

    /// Something at depth 0.
    fn statement(&mut self) {
        match self.rng.below(12) {
            0..4 => {
                self.build(4);
            }
            4..6 => {
                self.float(4);
            }
            6 => {
                self.scatter(3);
            }
            7 => {
                self.reshape();
            }
            8 => {
                self.array_choice(3);
            }
            9 => {
                // How many of some elements satisfy a condition: a size that only data can tell.
                let extent = self.extent();
                let axis = self.new_axis(extent);
                let body = self.body(|g| {
                    g.open(std::slice::from_ref(&axis));
                    let c = g.truth(2);
                    vec![g.op(Op::Select, &[c, int(1), int(0)])]
                });
                let v = self.emit(Type::scalar(Elem::I64), Exp::Reduce(vec![Reducer::Add], axis, body));
                if let Atom::Var(v) = v {
                    self.count(v);
                }
            }
            10 => {
                if let Some(v) = self.pick(|t| t.elem == Elem::F64 && t.rank() > 0) {
                    let ty = self.ty(Atom::Var(v));
                    let exp = if self.rng.chance(30) { Exp::StopGradient(Atom::Var(v)) } else { Exp::Atom(Atom::Var(v)) };
                    self.emit(ty, exp);
                }
            }
            _ => {
                self.reduce(4);
            }
        }
    }

    /// A float scalar.
    fn float(&mut self, fuel: usize) -> Atom {
        let fuel = if self.vars.len() > ENOUGH { 0 } else { fuel };
        if fuel == 0 || self.rng.chance(12) {
            return self.float_leaf();
        }
        let fuel = fuel - 1;
        match self.rng.below(100) {
            0..22 => self.unary(fuel),
            22..50 => {
                let (a, b) = (self.float(fuel), self.float(fuel));
                match self.rng.below(10) {
                    0..3 => self.op(Op::Mul, &[a, b]),
                    3..5 => self.op(Op::Add, &[a, b]),
                    5 => self.op(Op::Sub, &[a, b]),
                    6 => self.op(Op::Max, &[a, b]),
                    7 => self.op(Op::Min, &[a, b]),
                    8 => {
                        // The divisor is at least one.
                        let square = self.op(Op::Mul, &[b, b]);
                        let divisor = self.op(Op::Add, &[square, float(1.0)]);
                        self.op(Op::Div, &[a, divisor])
                    }
                    _ => {
                        let b = self.op(Op::Cos, &[b]);
                        self.op(Op::Hypot, &[a, b])
                    }
                }
            }
            50..68 => self.read(),
            68..80 => self.reduce(fuel),
            80..88 => self.choice(fuel),
            88..93 => {
                let (c, a, b) = (self.truth(fuel), self.float(fuel), self.float(fuel));
                self.op(Op::Select, &[c, a, b])
            }
            93..95 => {
                let a = self.float(fuel);
                self.emit(Type::scalar(Elem::F64), Exp::StopGradient(a))
            }
            95..98 => {
                let i = self.whole(fuel);
                let i = self.op(Op::RemEuclid, &[i, int(5)]);
                self.op(Op::Cast(Elem::F64), &[i])
            }
            _ => {
                let a = self.float(fuel);
                let i = self.rng.between(0, 3);
                self.op(Op::Powi, &[a, int(i)])
            }
        }
    }

    fn float_leaf(&mut self) -> Atom {
        if self.rng.chance(75) {
            if let Some(v) = self.pick(|t| *t == Type::scalar(Elem::F64)) {
                return Atom::Var(v);
            }
        }
        if self.rng.chance(60) { self.read() } else { float(self.rng.float(-2.0, 2.0)) }
    }

    fn unary(&mut self, fuel: usize) -> Atom {
        let a = self.float(fuel);
        let bounded = [Op::Sin, Op::Cos, Op::Tanh, Op::Sigmoid, Op::Atan];
        match self.rng.below(10) {
            0..4 => {
                let op = self.rng.pick(&bounded).unwrap_or(Op::Sin);
                self.op(op, &[a])
            }
            4 => self.op(Op::Neg, &[a]),
            5 => self.op(Op::Abs, &[a]),
            6 => {
                let t = self.op(Op::Tanh, &[a]);
                self.op(Op::Exp, &[t])
            }
            7 => {
                let square = self.op(Op::Mul, &[a, a]);
                let op = self.rng.pick(&[Op::Ln1p, Op::ExpM1]).unwrap_or(Op::Ln1p);
                if op == Op::ExpM1 {
                    let t = self.op(Op::Sin, &[a]);
                    return self.op(op, &[t]);
                }
                self.op(op, &[square])
            }
            8 => {
                let square = self.op(Op::Mul, &[a, a]);
                let one = self.op(Op::Add, &[square, float(0.5)]);
                let op = self.rng.pick(&[Op::Sqrt, Op::Ln, Op::Recip, Op::Cbrt]).unwrap_or(Op::Sqrt);
                self.op(op, &[one])
            }
            _ => self.op(Op::Floor, &[a]),
        }
    }

    /// An integer.
    fn whole(&mut self, fuel: usize) -> Atom {
        let leaf = fuel == 0 || self.vars.len() > ENOUGH || self.rng.chance(50);
        if leaf {
            if self.rng.chance(80) {
                if let Some(v) = self.pick(|t| *t == Type::scalar(Elem::I64)) {
                    return Atom::Var(v);
                }
            }
            return if self.rng.chance(30) {
                let d = self.extent();
                self.emit(Type::scalar(Elem::I64), Exp::Size(d))
            } else {
                int(self.rng.between(-1, 4))
            };
        }
        let fuel = fuel - 1;
        match self.rng.below(8) {
            0..5 => {
                let (a, b) = (self.whole(fuel), self.whole(fuel));
                let op = self.rng.pick(&[Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Xor]);
                self.op(op.unwrap_or(Op::Add), &[a, b])
            }
            5 => {
                let a = self.whole(fuel);
                let op = self.rng.pick(&[Op::RemEuclid, Op::Div, Op::Rem]).unwrap_or(Op::Rem);
                let by = self.rng.between(2, 4);
                self.op(op, &[a, int(by)])
            }
            6 => match self.pick(|t| t.elem == Elem::I64 && t.rank() == 1) {
                Some(v) => self.element(v, int(0)),
                None => int(1),
            },
            _ => {
                let (c, a, b) = (self.truth(fuel), self.whole(fuel), self.whole(fuel));
                self.op(Op::Select, &[c, a, b])
            }
        }
    }

    /// A truth value.
    fn truth(&mut self, fuel: usize) -> Atom {
        if fuel > 0 && self.rng.chance(20) {
            let (a, b) = (self.truth(fuel - 1), self.truth(fuel - 1));
            return match self.rng.below(3) {
                0 => self.op(Op::And, &[a, b]),
                1 => self.op(Op::Or, &[a, b]),
                _ => self.op(Op::Not, &[a]),
            };
        }
        if self.rng.chance(15) {
            if let Some(v) = self.pick(|t| t.elem == Elem::Bool && t.rank() == 1) {
                return self.element(v, Atom::Const(Const::bool(false)));
            }
        }
        let fuel = fuel.saturating_sub(1);
        let op = self.rng.pick(&[Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne]).unwrap_or(Op::Lt);
        if self.rng.chance(50) {
            let (a, b) = (self.whole(fuel), self.whole(fuel));
            return self.op(op, &[a, b]);
        }
        let op = if matches!(op, Op::Eq | Op::Ne) { Op::Gt } else { op };
        let (a, b) = (self.float(fuel), self.float_leaf());
        self.op(op, &[a, b])
    }

    /// An element of some float array.
    fn read(&mut self) -> Atom {
        match self.pick(|t| t.elem == Elem::F64 && t.rank() > 0) {
            Some(v) => self.element(v, float(0.0)),
            None => float(0.5),
        }
    }

    /// An element of `v`, or `other` where the indices are outside.
    fn element(&mut self, v: Var, other: Atom) -> Atom {
        let ty = self.ty(Atom::Var(v));
        let mut index = Vec::new();
        let mut guards = Vec::new();
        for d in &ty.dims {
            let (i, inside) = self.index(d);
            if !inside {
                guards.push((i, d.clone()));
            }
            index.push(i);
        }
        let scalar = Type::scalar(ty.elem);
        if guards.is_empty() || (self.partial && self.rng.chance(10)) {
            return self.emit(scalar, Exp::Index(v, index));
        }
        let mut all: Option<Atom> = None;
        for (i, d) in guards {
            let n = self.emit(Type::scalar(Elem::I64), Exp::Size(d));
            let low = self.op(Op::Ge, &[i, int(0)]);
            let high = self.op(Op::Lt, &[i, n]);
            let both = self.op(Op::And, &[low, high]);
            all = Some(match all {
                Some(a) => self.op(Op::And, &[a, both]),
                None => both,
            });
        }
        let Some(c) = all else { return other };
        let taken = self.body(|g| vec![g.emit(Type::scalar(ty.elem), Exp::Index(v, index))]);
        let not = Body { stms: Vec::new(), results: vec![other] };
        self.emit(scalar, Exp::If(c, taken, not))
    }

    /// An index into a dimension, and whether it is certainly inside.
    fn index(&mut self, d: &Dim) -> (Atom, bool) {
        let same: Vec<Var> = self.axes.iter().filter(|a| a.1 == *d).map(|a| a.0).collect();
        if let Some(v) = self.rng.pick(&same) {
            let i = Atom::Var(v);
            let around = |g: &mut Self, i: Atom| {
                let n = g.emit(Type::scalar(Elem::I64), Exp::Size(d.clone()));
                g.op(Op::RemEuclid, &[i, n])
            };
            return match self.rng.below(20) {
                0..11 => (i, true),
                11..14 => {
                    let by = self.rng.between(-2, 3);
                    let moved = self.op(Op::Add, &[i, int(by)]);
                    (around(self, moved), true)
                }
                14..16 => {
                    let n = self.emit(Type::scalar(Elem::I64), Exp::Size(d.clone()));
                    let last = self.op(Op::Sub, &[n, int(1)]);
                    (self.op(Op::Sub, &[last, i]), true)
                }
                16..18 => {
                    let by = self.rng.between(-1, 1);
                    (self.op(Op::Add, &[i, int(by)]), by == 0)
                }
                _ => {
                    let any = self.whole(1);
                    (around(self, any), true)
                }
            };
        }
        if let Some(c) = d.as_constant().filter(|c| *c > 0) {
            return (int(self.rng.between(0, c - 1)), true);
        }
        let other: Vec<Var> = self.axes.iter().map(|a| a.0).collect();
        match self.rng.pick(&other).filter(|_| self.rng.chance(60)) {
            Some(v) => (Atom::Var(v), false),
            None => (self.whole(1), false),
        }
    }

    fn choice(&mut self, fuel: usize) -> Atom {
        let c = self.truth(fuel);
        let several = self.rng.chance(30);
        let side = |g: &mut Self| {
            g.body(|g| {
                let mut results = vec![g.float(fuel)];
                if several {
                    results.push(g.float_leaf());
                }
                results
            })
        };
        let (a, b) = (side(self), side(self));
        let types = vec![Type::scalar(Elem::F64); 1 + usize::from(several)];
        Atom::Var(self.emit_all(types, Exp::If(c, a, b))[0])
    }

    /// A fold; its first value if that is a float.
    fn reduce(&mut self, fuel: usize) -> Atom {
        let extent = self.extent();
        let axis = self.new_axis(extent);
        let mut reducers = vec![match self.rng.below(10) {
            0..6 => Reducer::Add,
            6 => Reducer::Mul,
            7 => Reducer::Min,
            8 => Reducer::Max,
            _ => Reducer::Add,
        }];
        let certain = axis.extent == Dim::name("n").add(&Dim::constant(1)) || axis.extent.as_constant().is_some();
        let extra = self.rng.chance(25);
        let second = self.rng.below(if certain { 7 } else { 5 });
        let mut types = vec![Type::scalar(Elem::F64)];
        let body = self.body(|g| {
            g.open(std::slice::from_ref(&axis));
            let mut results = vec![g.float(fuel.saturating_sub(1))];
            if extra {
                let (reducer, value) = match second {
                    0 => (Reducer::Add, g.whole(1)),
                    1 => (Reducer::Max, g.float_leaf()),
                    2 => (Reducer::And, g.truth(1)),
                    3 => (Reducer::Or, g.truth(1)),
                    4 => (Reducer::Min, g.whole(1)),
                    5 => (Reducer::ArgMin, g.float_leaf()),
                    _ => (Reducer::ArgMax, g.float_leaf()),
                };
                reducers.push(reducer);
                types.push(Type::scalar(reducer.result(g.ty(value).elem)));
                results.push(value);
            }
            results
        });
        Atom::Var(self.emit_all(types, Exp::Reduce(reducers, axis, body))[0])
    }

    /// Arrays over one to three axes; the first of them.
    fn build(&mut self, fuel: usize) -> Var {
        let rank = [1, 1, 1, 1, 2, 2, 2, 3][self.rng.below(8)];
        let axes: Vec<Axis> = (0..rank)
            .map(|_| {
                let d = self.extent();
                self.new_axis(d)
            })
            .collect();
        self.build_over(axes, fuel)
    }

    fn build_over(&mut self, axes: Vec<Axis>, fuel: usize) -> Var {
        let mut types = Vec::new();
        let rank = axes.len();
        let body = self.body(|g| {
            g.open(&axes);
            let mut results = Vec::new();
            for i in 0..if g.rng.chance(20) { 2 } else { 1 } {
                let value = match g.rng.below(20) {
                    0 if i > 0 => g.whole(2),
                    1 if i > 0 => g.truth(2),
                    2..6 if rank < 3 => g.inner_array(fuel.saturating_sub(1)),
                    _ => g.float(fuel.saturating_sub(1)),
                };
                types.push(g.ty(value));
                results.push(value);
            }
            results
        });
        let types = types
            .into_iter()
            .map(|t| Type { elem: t.elem, dims: axes.iter().map(|a| a.extent.clone()).chain(t.dims).collect() })
            .collect();
        self.emit_all(types, Exp::Build(axes, body))[0]
    }

    /// An array inside a build: made here, or a part of one from outside.
    fn inner_array(&mut self, fuel: usize) -> Atom {
        if self.rng.chance(35) {
            if let Some(a) = self.part() {
                return a;
            }
        }
        match self.rng.below(10) {
            0..2 => {
                if let Some(v) = self.pick(|t| t.elem == Elem::F64 && t.rank() == 1) {
                    return Atom::Var(v);
                }
            }
            2 => return self.scatter(fuel),
            3 => return self.array_choice(fuel),
            _ => {}
        }
        let d = self.extent();
        let axis = self.new_axis(d);
        Atom::Var(self.build_over(vec![axis], fuel))
    }

    /// A sub-array at certain indices.
    fn part(&mut self) -> Option<Atom> {
        let v = self.pick(|t| t.elem == Elem::F64 && t.rank() > 1)?;
        let ty = self.ty(Atom::Var(v));
        let (i, inside) = self.index(&ty.dims[0]);
        inside.then(|| self.emit(Type { elem: ty.elem, dims: ty.dims[1..].to_vec() }, Exp::Index(v, vec![i])))
    }

    fn reshape(&mut self) {
        let Some(v) = self.pick(|t| t.elem == Elem::F64 && t.rank() > 0) else { return };
        let ty = self.ty(Atom::Var(v));
        let dims = match self.rng.below(3) {
            0 => ty.dims.iter().rev().cloned().collect(),
            1 => vec![Dim::constant(1)].into_iter().chain(ty.dims.iter().cloned()).collect(),
            _ => vec![Dim::product(&ty.dims)],
        };
        self.emit(Type { elem: ty.elem, dims: dims.clone() }, Exp::Reshape(v, dims));
    }

    /// `dest` with values combined or written at computed indices.
    fn scatter(&mut self, fuel: usize) -> Atom {
        let dest = match self.pick(|t| t.elem == Elem::F64 && (1..3).contains(&t.rank())) {
            Some(v) if self.rng.chance(50) => v,
            _ => {
                let axes: Vec<Axis> = (0..1 + self.rng.below(2))
                    .map(|_| {
                        let d = self.extent();
                        self.new_axis(d)
                    })
                    .collect();
                let dims = axes.iter().map(|a| a.extent.clone()).collect();
                let body = Body { stms: Vec::new(), results: vec![float(0.0)] };
                self.emit_all(vec![Type { elem: Elem::F64, dims }], Exp::Build(axes, body))[0]
            }
        };
        let ty = self.ty(Atom::Var(dest));
        let reducer = match self.rng.below(10) {
            0..5 => Some(Reducer::Add),
            5 => self.rng.pick(&[Reducer::Min, Reducer::Max, Reducer::Mul]),
            _ => None,
        };
        let rank = if reducer.is_some() { 1 + self.rng.below(2) } else { 1 + self.rng.below(ty.rank()) };
        let axes: Vec<Axis> = (0..rank)
            .map(|_| {
                let d = self.extent();
                self.new_axis(d)
            })
            .collect();
        let body = self.body(|g| {
            g.open(&axes);
            let mut results = Vec::new();
            for k in 0..ty.rank() {
                let i = match axes.get(k).map(|a| Atom::Var(a.var)) {
                    Some(i) if reducer.is_none() || g.rng.chance(50) => match g.rng.below(3) {
                        0 => i,
                        1 => {
                            let by = g.rng.between(-1, 2);
                            g.op(Op::Add, &[i, int(by)])
                        }
                        _ => {
                            let from = g.rng.between(0, 3);
                            g.op(Op::Sub, &[int(from), i])
                        }
                    },
                    _ if reducer.is_none() => int(g.rng.between(0, 2)),
                    _ => g.whole(2),
                };
                results.push(i);
            }
            results.push(g.float(fuel.saturating_sub(1)));
            results
        });
        self.emit(ty, Exp::Scatter { reducer, dest, axes, body })
    }

    /// One of two arrays of the same type.
    fn array_choice(&mut self, fuel: usize) -> Atom {
        let Some(v) = self.pick(|t| t.elem == Elem::F64 && t.rank() > 0) else { return self.float(fuel) };
        let ty = self.ty(Atom::Var(v));
        let c = self.truth(2);
        let made = |g: &mut Self| {
            g.body(|g| {
                let axes: Vec<Axis> = ty.dims.iter().map(|d| g.new_axis(d.clone())).collect();
                let body = g.body(|g| {
                    g.open(&axes);
                    vec![g.float(fuel.saturating_sub(1))]
                });
                vec![g.emit(ty.clone(), Exp::Build(axes, body))]
            })
        };
        let a = made(self);
        let b = if self.rng.chance(50) { made(self) } else { Body { stms: Vec::new(), results: vec![Atom::Var(v)] } };
        self.emit(ty, Exp::If(c, a, b))
    }

    /// What nothing else uses: summed up, or as it is.
    fn results(&mut self) -> Vec<Atom> {
        let stms = self.bodies[0].clone();
        let mut used: Vec<Var> = Vec::new();
        stms.iter().for_each(|s| uses(&s.exp, &mut used));
        let bound: Vec<Var> = stms.iter().flat_map(|s| s.vars.clone()).collect();
        let unused: Vec<Var> = bound.into_iter().filter(|v| !used.contains(v)).collect();
        if self.rng.chance(30) && !unused.is_empty() {
            return unused.into_iter().rev().take(3).map(Atom::Var).collect();
        }
        let mut sum = float(0.0);
        for v in unused {
            let ty = self.ty(Atom::Var(v));
            let part = match ty.elem {
                Elem::F64 => self.total(v, &ty.dims.clone(), Vec::new()),
                Elem::I64 if ty.rank() == 0 => self.op(Op::Cast(Elem::F64), &[Atom::Var(v)]),
                _ => continue,
            };
            sum = self.op(Op::Add, &[sum, part]);
        }
        vec![sum]
    }

    /// The sum of all elements, weighted by position so that no two count the same.
    fn total(&mut self, v: Var, dims: &[Dim], at: Vec<Atom>) -> Atom {
        let Some((d, rest)) = dims.split_first() else {
            if at.is_empty() {
                return Atom::Var(v);
            }
            let x = self.emit(Type::scalar(Elem::F64), Exp::Index(v, at.clone()));
            let last = at[at.len() - 1];
            let weight = self.op(Op::Cast(Elem::F64), &[last]);
            let weight = self.op(Op::Add, &[weight, float(0.75)]);
            return self.op(Op::Mul, &[x, weight]);
        };
        let axis = self.new_axis(d.clone());
        let body = self.body(|g| {
            g.open(std::slice::from_ref(&axis));
            let at = at.into_iter().chain([Atom::Var(axis.var)]).collect();
            vec![g.total(v, rest, at)]
        });
        self.emit(Type::scalar(Elem::F64), Exp::Reduce(vec![Reducer::Add], axis, body))
    }
}

fn uses(e: &Exp, out: &mut Vec<Var>) {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut bodies: Vec<&Body> = Vec::new();
    match e {
        Exp::Atom(a) | Exp::StopGradient(a) => atoms.push(*a),
        Exp::Op(_, args) => atoms.extend(args),
        Exp::Size(_) | Exp::Check(_) => {}
        Exp::Index(v, ix) => {
            out.push(*v);
            atoms.extend(ix);
        }
        Exp::If(c, a, b) => {
            atoms.push(*c);
            bodies.extend([a, b]);
        }
        Exp::Build(_, b) | Exp::Reduce(_, _, b) => bodies.push(b),
        Exp::Scatter { dest, body, .. } => {
            out.push(*dest);
            bodies.push(body);
        }
        Exp::Reshape(v, _) => out.push(*v),
    }
    for b in bodies {
        b.stms.iter().for_each(|s| uses(&s.exp, out));
        atoms.extend(&b.results);
    }
    out.extend(atoms.into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }));
}
