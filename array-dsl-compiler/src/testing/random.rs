//! Random well-typed programs, and random arguments for any program.
//!
//! [`program`] is a function of its seed alone. Of five programs one is a kernel as users write them ([`kernels`]), with every
//! construct of the language; four are made in Core, as follows. The programs of Core have 2 to 4 parameters over the named sizes `n` and `m`
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
use crate::testing::kernels::kernel;
use crate::testing::numbers::Rng;
use crate::ty::{Const, Elem, Loc, Place, Tree};

mod arguments;
mod arrays;
pub mod kernels;
mod scalars;

pub use arguments::{Ranges, arguments, arguments_with, arguments_within};

/// More variables than this, and expressions become leaves.
const ENOUGH: usize = 160;

/// The text of a seed's program, if it is one that users might write.
pub fn source(seed: u64) -> Option<String> {
    (seed % 5 == 2).then(|| kernels::write(seed).source)
}

/// The program of a seed.
///
/// # Panics
/// If a text that ought to be right is not.
pub fn program(seed: u64) -> Function {
    match source(seed) {
        Some(text) => {
            let mut f = kernel(&text);
            // Texts are numbered as they are parsed.
            f.places.iter_mut().for_each(|p| p.file = "random.rs".into());
            f
        }
        None => core_program(seed),
    }
}

fn core_program(seed: u64) -> Function {
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
        rules: Vec::new(),
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
                    let exp = if self.rng.chance(30) {
                        Exp::StopGradient(Atom::Var(v))
                    } else {
                        Exp::Atom(Atom::Var(v))
                    };
                    self.emit(ty, exp);
                }
            }
            _ => {
                self.reduce(4);
            }
        }
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
}

fn uses(e: &Exp, out: &mut Vec<Var>) {
    let mut atoms: Vec<Atom> = e.operands();
    for b in e.bodies() {
        b.stms.iter().for_each(|s| uses(&s.exp, out));
        atoms.extend(&b.results);
    }
    out.extend(atoms.into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }));
}
