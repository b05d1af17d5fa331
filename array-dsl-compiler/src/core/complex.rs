//! Complex numbers end here: a function with complex scalars and arrays becomes one of real ones. Front ends give functions with complex
//! numbers, and kernels carry themselves to others as such; all stages after Core know floats only.
//!
//! ```text
//! z: [n]c64                 two variables, z: [n]f64 (the real parts) and z.im: [n]f64
//! a * b                     a.re b.re - a.im b.im,  a.re b.im + a.im b.re
//! a / b                     by the larger part s of b, so that nothing overflows that need not (`quotient`)
//! build, if, loop, ..       of twice as many values; a sum is that of each part
//! ```
//!
//! * A number that is known to be real has the constant 0 for its imaginary part, with which nothing is computed.
//! * **A parameter is one array of floats, with a dimension of 2 after its own**, as the host has complex numbers in memory; a result
//!   likewise, a scalar too.
//! * **Derivatives are those of JAX**: the gradient of a real function of z = x + iy is ∂f/∂x - i ∂f/∂y, and the cotangents of a
//!   holomorphic function are multiplied by its derivative, not by the conjugate of that. In floats the imaginary parts of cotangents have
//!   the other sign: so imaginary parts enter and leave through [`Op::Mirror`], which is the identity but for cotangents, and a derivative
//!   inside a kernel, and a rule of the user's, change the sign of theirs. A step downhill is `z - rate * gradient.conj()`.
//! * Of a product there is no reducer: `elaborate` folds by `*`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{
    Atom, Axis, Body, Derivative, Exp, Function, Loop, Mode, Operator, Param, Placing, Rule, Stm, Trips,
    Type, Var, VarInfo,
};
use crate::dim::Dim;
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Tree};

/// The function without complex numbers, if it has any.
pub fn split(f: &Function) -> Option<Function> {
    let complex = |f: &Function| f.vars.iter().any(|v| v.ty.elem.is_complex());
    let any = complex(f) || f.rules.iter().any(|r| complex(&r.function));
    any.then(|| Split::new(f).function(&Ends::Interleaved { mirrored: true }))
}

/// As [`split`], with the derivatives of a function of so many floats: those of the parts as they are, which differences give too.
pub fn of_floats(f: &Function) -> Option<Function> {
    split(f)?;
    Some(Split::new(f).function(&Ends::Interleaved { mirrored: false }))
}

/// Whether arguments or results are complex.
pub fn is_at_border(f: &Function) -> bool {
    let params = f.params.iter().flat_map(|p| p.vars.leaves()).map(|v| f.ty(*v));
    params.chain(&f.result_types).any(|ty| ty.elem.is_complex())
}

/// How complex numbers enter and leave a function.
enum Ends {
    /// As the host has them, the cotangents of imaginary parts with the other sign or not.
    Interleaved { mirrored: bool },
    /// Of a rule: each as two, of which these many parameters, the last ones, are cotangents, as are all results.
    Apart { cotangents: usize },
}

struct Split<'a> {
    f: &'a Function,
    vars: Vec<VarInfo>,
    /// The imaginary part of each complex variable; the real part has the variable's place.
    imaginary: FxHashMap<Var, Atom>,
    /// The lists of statements under construction, innermost last.
    bodies: Vec<Vec<Stm>>,
    /// The place of the statement in work.
    loc: Loc,
}

/// A real and an imaginary part.
type Pair = [Atom; 2];

fn is_zero(a: Atom) -> bool {
    matches!(a, Atom::Const(c) if c.is_zero())
}

impl<'a> Split<'a> {
    fn new(f: &'a Function) -> Split<'a> {
        let real = |v: &VarInfo| VarInfo { name: v.name.clone(), ty: real_type(&v.ty) };
        let vars = f.vars.iter().map(real).collect();
        Split { f, vars, imaginary: FxHashMap::default(), bodies: vec![Vec::new()], loc: Loc(0) }
    }

    fn function(mut self, ends: &Ends) -> Function {
        let f = self.f;
        let params = self.params(ends);
        f.body.stms.iter().for_each(|s| self.stm(s));
        let (result, results) = self.results(ends);
        let rules = f.rules.iter().map(|r| self.rule(r)).collect();
        let stms = self.bodies.pop().unwrap_or_default();
        let result_types = results.iter().map(|(_, ty)| ty.clone()).collect();
        let body = Body { stms, results: results.into_iter().map(|(a, _)| a).collect() };
        let (name, sizes, places) = (f.name.clone(), f.sizes.clone(), f.places.clone());
        Function { name, sizes, params, vars: self.vars, body, result, result_types, places, rules }
    }

    fn params(&mut self, ends: &Ends) -> Vec<Param> {
        let f = self.f;
        let leaves: usize = f.params.iter().map(|p| p.vars.leaves().len()).sum();
        let mut before = 0;
        let mut params = Vec::new();
        for p in &f.params {
            self.loc = p.loc;
            let vars = p.vars.grow(&mut |v| {
                before += 1;
                if !f.ty(*v).elem.is_complex() {
                    return Tree::Leaf(*v);
                }
                match ends {
                    Ends::Interleaved { mirrored } => Tree::Leaf(self.parameter(*v, *mirrored)),
                    Ends::Apart { cotangents } => {
                        let im = self.imaginary_of(*v);
                        if before > leaves - cotangents {
                            let negated = self.each(Op::Neg, im);
                            self.imaginary.insert(*v, negated);
                        }
                        Tree::Tuple(vec![Tree::Leaf(*v), Tree::Leaf(im)])
                    }
                }
            });
            params.push(Param { name: p.name.clone(), vars, active: p.active, loc: p.loc });
        }
        params
    }

    /// The array that a complex parameter is, of which its parts are read.
    fn parameter(&mut self, v: Var, mirrored: bool) -> Var {
        let VarInfo { name, ty } = self.vars[v.0 as usize].clone();
        let dims = ty.dims.iter().cloned().chain([Dim::constant(2)]).collect();
        let both = self.var(&name, Type { elem: ty.elem, dims });
        let part = |s: &mut Self, k: i64, var: Var| {
            let exp = s.points(&ty.dims, |s, at| {
                let at = [at, &[s.int(k)]].concat();
                let x = s.scalar("part", ty.elem, Exp::Index(both, at));
                if k == 0 || !mirrored { x } else { s.op(Op::Mirror, &[x]) }
            });
            s.bind(vec![var], exp);
        };
        part(self, 0, v);
        let im = self.imaginary_of(v);
        part(self, 1, im);
        both
    }

    /// The results, with their types, in their structure.
    fn results(&mut self, ends: &Ends) -> (Tree<usize>, Vec<(Atom, Type)>) {
        let f = self.f;
        let mut all = Vec::new();
        let result = f.result.grow(&mut |i| {
            let (a, ty) = (f.body.results[*i], &f.result_types[*i]);
            if !ty.elem.is_complex() {
                all.push((a, ty.clone()));
                return Tree::Leaf(all.len() - 1);
            }
            let [re, im] = self.pair(a);
            let real = real_type(ty);
            match ends {
                Ends::Interleaved { mirrored } => {
                    let dims =
                        |t: Type| -> Vec<Dim> { t.dims.into_iter().chain([Dim::constant(2)]).collect() };
                    let both = self.interleaved(&dims(self.type_of(re)), real.elem, [re, im], *mirrored);
                    all.push((both, Type { elem: real.elem, dims: dims(real) }));
                    Tree::Leaf(all.len() - 1)
                }
                Ends::Apart { .. } => {
                    let im = self.negated(im);
                    all.extend([(re, real.clone()), (im, real)]);
                    Tree::Tuple(vec![Tree::Leaf(all.len() - 2), Tree::Leaf(all.len() - 1)])
                }
            }
        });
        (result, all)
    }

    /// One array of both parts; `dims` are all its dimensions.
    fn interleaved(&mut self, dims: &[Dim], elem: Elem, [re, im]: Pair, mirrored: bool) -> Atom {
        let v = self.var("complex", Type { elem, dims: dims.to_vec() });
        let exp = self.points(dims, |s, at| {
            let (k, at) = at.split_last().unwrap_or((&at[0], &[]));
            let (zero, re) = (s.int(0), s.element(re, at));
            let im = s.element(im, at);
            let im = if is_zero(im) || !mirrored { im } else { s.op(Op::Mirror, &[im]) };
            let is_real = s.scalar("is_real", Elem::Bool, Exp::Op(Op::Eq, vec![*k, zero]));
            s.op(Op::Select, &[is_real, re, im])
        });
        self.bind(vec![v], exp);
        Atom::Var(v)
    }

    fn rule(&mut self, r: &Rc<Rule>) -> Rc<Rule> {
        let elem = |v: &Var| r.function.ty(*v).elem;
        let leaves: Vec<Elem> = r.function.params.iter().flat_map(|p| p.vars.leaves()).map(elem).collect();
        // Where each argument is among those that are apart, and how many it is.
        let mut at = 0;
        let places: Vec<(usize, usize)> = leaves
            .iter()
            .map(|e| {
                let parts = 1 + usize::from(e.is_complex());
                at += parts;
                (at - parts, parts)
            })
            .collect();
        let by = r.by.iter().flat_map(|i| places[*i].0..places[*i].0 + places[*i].1).collect();
        let cotangents = leaves.len() - self.arguments_of(r);
        let function = Split::new(&r.function).function(&Ends::Apart { cotangents });
        Rc::new(Rule { by, function })
    }

    /// How many of a rule's parameters are arguments of what it is a rule of.
    fn arguments_of(&self, rule: &Rc<Rule>) -> usize {
        fn find(f: &Function, b: &Body, rule: &Rc<Rule>) -> Option<usize> {
            b.stms.iter().find_map(|s| match &s.exp {
                Exp::Custom { args, rule: r, .. } if Rc::ptr_eq(&f.rules[*r], rule) => Some(args.len()),
                e => e.bodies().into_iter().find_map(|b| find(f, b, rule)),
            })
        }
        // One that nothing uses is none of complex numbers that anyone could tell.
        find(self.f, &self.f.body, rule)
            .unwrap_or_else(|| rule.function.params.iter().map(|p| p.vars.leaves().len()).sum())
    }

    // What statements are made of.

    fn var(&mut self, name: &str, ty: Type) -> Var {
        self.vars.push(VarInfo { name: name.into(), ty });
        Var(self.vars.len() as u32 - 1)
    }

    /// A new variable for the imaginary part of one.
    fn imaginary_of(&mut self, v: Var) -> Var {
        let VarInfo { name, ty } = self.vars[v.0 as usize].clone();
        let im = self.var(&name, ty);
        self.imaginary.insert(v, Atom::Var(im));
        im
    }

    fn bind(&mut self, vars: Vec<Var>, exp: Exp) {
        let loc = self.loc;
        let body = expect(self.bodies.last_mut(), || "statements without a list".into());
        body.push(Stm { vars, exp, loc });
    }

    fn scalar(&mut self, name: &str, elem: Elem, exp: Exp) -> Atom {
        let v = self.var(name, Type::scalar(elem));
        self.bind(vec![v], exp);
        Atom::Var(v)
    }

    fn op(&mut self, op: Op, args: &[Atom]) -> Atom {
        let elems: Vec<Elem> = args.iter().map(|a| self.type_of(*a).elem).collect();
        self.scalar(&op.name(), op.result(&elems), Exp::Op(op, args.to_vec()))
    }

    fn int(&self, i: i64) -> Atom {
        Atom::Const(Const::int(Elem::I64, i))
    }

    fn type_of(&self, a: Atom) -> Type {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize].ty.clone(),
            Atom::Const(c) => Type::scalar(c.elem),
        }
    }

    fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (Vec<Stm>, T) {
        self.bodies.push(Vec::new());
        let value = f(self);
        (self.bodies.pop().unwrap_or_default(), value)
    }

    /// An array of these dimensions of what `f` gives at its points; of none the value.
    fn points(&mut self, dims: &[Dim], f: impl FnOnce(&mut Self, &[Atom]) -> Atom) -> Exp {
        if dims.is_empty() {
            return Exp::Atom(f(self, &[]));
        }
        let axis =
            |s: &mut Self, d: &Dim| Axis { var: s.var("i", Type::scalar(Elem::I64)), extent: d.clone() };
        let axes: Vec<Axis> = dims.iter().map(|d| axis(self, d)).collect();
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let (stms, value) = self.inside(|s| f(s, &at));
        Exp::Build(axes, Body { stms, results: vec![value] })
    }

    fn element(&mut self, a: Atom, at: &[Atom]) -> Atom {
        match a {
            Atom::Var(v) if !at.is_empty() => {
                let elem = self.type_of(a).elem;
                self.scalar("element", elem, Exp::Index(v, at.to_vec()))
            }
            a => a,
        }
    }

    /// A function of one number, of every element.
    fn each(&mut self, op: Op, v: Var) -> Atom {
        let ty = self.vars[v.0 as usize].ty.clone();
        let exp = self.points(&ty.dims, |s, at| {
            let x = s.element(Atom::Var(v), at);
            s.op(op, &[x])
        });
        let new = self.var(&op.name(), ty);
        self.bind(vec![new], exp);
        Atom::Var(new)
    }

    fn negated(&mut self, a: Atom) -> Atom {
        match a {
            Atom::Var(v) => self.each(Op::Neg, v),
            Atom::Const(c) => Atom::Const(Const::float(c.elem, -c.as_f64())),
        }
    }

    // Values.

    fn is_complex(&self, a: Atom) -> bool {
        match a {
            Atom::Var(v) => self.f.vars.get(v.0 as usize).is_some_and(|i| i.ty.elem.is_complex()),
            Atom::Const(c) => c.elem.is_complex(),
        }
    }

    /// The parts of a complex atom.
    fn pair(&self, a: Atom) -> Pair {
        match a {
            Atom::Const(c) => {
                let part = |x| Atom::Const(Const::float(c.elem.part(), x));
                [part(c.as_f64()), part(0.0)]
            }
            Atom::Var(v) => {
                [a, *expect(self.imaginary.get(&v), || "a complex number without an imaginary part".into())]
            }
        }
    }

    /// The parts of each, if it is complex, else itself.
    fn atoms(&self, atoms: &[Atom]) -> Vec<Atom> {
        let parts = |a: &Atom| if self.is_complex(*a) { self.pair(*a).to_vec() } else { vec![*a] };
        atoms.iter().flat_map(parts).collect()
    }

    /// Variables that are bound: with those of imaginary parts.
    fn bound(&mut self, vars: &[Var]) -> Vec<Var> {
        let mut out = Vec::new();
        for v in vars {
            out.push(*v);
            if self.is_complex(Atom::Var(*v)) {
                out.push(self.imaginary_of(*v));
            }
        }
        out
    }

    fn body(&mut self, b: &Body) -> Body {
        let (stms, results) = self.inside(|s| {
            b.stms.iter().for_each(|stm| s.stm(stm));
            s.atoms(&b.results)
        });
        Body { stms, results }
    }

    /// A complex variable, whose real part is bound to the first expression.
    fn bind_pair(&mut self, v: Var, [re, im]: [Exp; 2]) {
        self.bind(vec![v], re);
        let imaginary = self.imaginary_of(v);
        self.bind(vec![imaginary], im);
    }

    fn stm(&mut self, s: &Stm) {
        self.loc = s.loc;
        let first = s.vars.first().copied();
        let complex = first.filter(|v| self.is_complex(Atom::Var(*v)));
        match (&s.exp, complex) {
            (Exp::Op(op, args), _) if complex.is_some() || args.iter().any(|a| self.is_complex(*a)) => {
                self.operation(*op, args, expect(first, || "an operation without a result".into()));
            }
            (Exp::Atom(a), Some(v)) => self.bind_pair(v, self.pair(*a).map(Exp::Atom)),
            (Exp::StopGradient(a), Some(v)) => self.bind_pair(v, self.pair(*a).map(Exp::StopGradient)),
            (Exp::Index(array, at), Some(v)) => {
                let read = |part: Atom| match part {
                    Atom::Var(array) => Exp::Index(array, at.clone()),
                    constant => Exp::Atom(constant),
                };
                self.bind_pair(v, self.pair(Atom::Var(*array)).map(read));
            }
            (Exp::Reshape(array, dims), Some(v)) => {
                self.bind_pair(v, self.arrays(*array).map(|a| Exp::Reshape(a, dims.clone())));
            }
            (Exp::Update(array, at, x), Some(v)) => {
                let ([re, im], [x, y]) = (self.arrays(*array), self.pair(*x));
                self.bind_pair(v, [Exp::Update(re, at.clone(), x), Exp::Update(im, at.clone(), y)]);
            }
            (Exp::Scatter { how, dest, axes, body }, Some(v)) => self.scatter(v, *how, *dest, axes, body),
            (exp, _) => {
                let exp = self.expression(exp, s.vars.len());
                let vars = self.bound(&s.vars);
                self.bind(vars, exp);
                if let Exp::Derivative(_) = s.exp {
                    self.mirror_cotangents(s);
                }
            }
        }
    }

    /// The arrays of both parts.
    fn arrays(&self, array: Var) -> [Var; 2] {
        self.pair(Atom::Var(array)).map(|part| match part {
            Atom::Var(v) => v,
            Atom::Const(_) => array,
        })
    }

    /// Expressions of bodies, and of several values.
    fn expression(&mut self, exp: &Exp, vars: usize) -> Exp {
        match exp {
            Exp::If(c, yes, no) => Exp::If(*c, self.body(yes), self.body(no)),
            Exp::Build(axes, body) => Exp::Build(axes.clone(), self.body(body)),
            Exp::Reduce(reducers, axis, body) => {
                let reducers = self.twice(reducers, body);
                Exp::Reduce(reducers, axis.clone(), self.body(body))
            }
            Exp::Scan(reducers, prefix, axis, body) => {
                let reducers = self.twice(reducers, body);
                Exp::Scan(reducers, *prefix, axis.clone(), self.body(body))
            }
            Exp::Fold(operator, prefix, axis, body) => {
                let (left, right) = (self.bound(&operator.left), self.bound(&operator.right));
                let neutral = self.atoms(&operator.neutral);
                let operator = Operator { left, right, body: self.body(&operator.body), neutral };
                Exp::Fold(Box::new(operator), *prefix, axis.clone(), self.body(body))
            }
            Exp::Loop(l) => {
                let states: Vec<Var> = l.state.iter().map(|(v, _)| *v).collect();
                let starts: Vec<Atom> = l.state.iter().map(|(_, start)| *start).collect();
                let starts = self.atoms(&starts);
                let state = self.bound(&states).into_iter().zip(starts).collect();
                let trips = match &l.trips {
                    Trips::For(v, count) => Trips::For(*v, *count),
                    Trips::While(condition) => Trips::While(self.body(condition)),
                };
                Exp::Loop(Box::new(Loop { state, trips, body: self.body(&l.body) }))
            }
            Exp::Derivative(d) => self.derivative(d, vars),
            Exp::Custom { values, args, rule } => {
                Exp::Custom { values: self.atoms(values), args: self.atoms(args), rule: *rule }
            }
            exp => exp.clone(),
        }
    }

    /// A reducer for each part.
    fn twice<T: Copy>(&self, reducers: &[T], body: &Body) -> Vec<T> {
        let each = reducers.iter().zip(&body.results);
        each.flat_map(|(r, a)| vec![*r; 1 + usize::from(self.is_complex(*a))]).collect()
    }

    /// A scatter of each part, of values that are computed before, once.
    fn scatter(&mut self, v: Var, how: Placing, dest: Var, axes: &[Axis], body: &Body) {
        let body = self.body(body);
        let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
        let elems: Vec<Elem> = body.results.iter().map(|a| self.type_of(*a).elem).collect();
        let arrays: Vec<Var> =
            elems.iter().map(|e| self.var("scattered", Type { elem: *e, dims: dims.clone() })).collect();
        self.bind(arrays.clone(), Exp::Build(axes.to_vec(), body));
        let (index, parts) = arrays.split_at(arrays.len() - 2);
        let dests = self.arrays(dest);
        let scatter = |s: &mut Self, k: usize| {
            let axes: Vec<Axis> = axes
                .iter()
                .map(|a| Axis { var: s.var("i", Type::scalar(Elem::I64)), extent: a.extent.clone() })
                .collect();
            let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let read = [index, &[parts[k]]].concat();
            let (stms, results) =
                s.inside(|s| read.iter().map(|a| s.element(Atom::Var(*a), &at)).collect::<Vec<_>>());
            Exp::Scatter { how, dest: dests[k], axes, body: Body { stms, results } }
        };
        let both = [scatter(self, 0), scatter(self, 1)];
        self.bind_pair(v, both);
    }

    /// A derivative at a point of floats, where `vars` variables are bound to it.
    fn derivative(&mut self, d: &Derivative, vars: usize) -> Exp {
        let at: Vec<Atom> = d.point.iter().map(|(_, at)| *at).collect();
        let at = self.atoms(&at);
        let vars_of_point: Vec<Var> = d.point.iter().map(|(v, _)| *v).collect();
        let point = self.bound(&vars_of_point).into_iter().zip(at).collect();
        let mode = match &d.mode {
            Mode::Forward(tangents) => Mode::Forward(self.atoms(tangents)),
            Mode::Reverse => Mode::Reverse,
        };
        let (values, cotangents) = d.results(vars);
        let (stms, results) = self.inside(|s| {
            d.body.stms.iter().for_each(|stm| s.stm(stm));
            let mut results = s.atoms(values);
            for c in cotangents {
                if s.is_complex(*c) {
                    let [re, im] = s.pair(*c);
                    results.extend([re, s.negated(im)]);
                } else {
                    results.push(*c);
                }
            }
            results
        });
        Exp::Derivative(Box::new(Derivative { point, body: Body { stms, results }, mode }))
    }

    /// The cotangents that a derivative gives, as they are after it.
    fn mirror_cotangents(&mut self, s: &Stm) {
        let Exp::Derivative(d) = &s.exp else { return };
        if d.mode != Mode::Reverse {
            return;
        }
        let (values, _) = d.results(s.vars.len());
        for v in &s.vars[values.len()..] {
            if let Some(Atom::Var(im)) = self.imaginary.get(v).copied() {
                let negated = self.each(Op::Neg, im);
                self.imaginary.insert(*v, negated);
            }
        }
    }

    // Arithmetic.

    /// A function of complex numbers, or one that gives one.
    fn operation(&mut self, op: Op, args: &[Atom], v: Var) {
        let parts = |s: &Self, k: usize| {
            if s.is_complex(args[k]) { s.pair(args[k]) } else { [args[k]; 2] }
        };
        let (a, b) = (parts(self, 0), args.get(1).map(|_| parts(self, 1)).unwrap_or([args[0]; 2]));
        let real = match op {
            Op::Re => Some(a[0]),
            Op::Im => Some(a[1]),
            Op::Eq | Op::Ne => {
                let (re, im) = (self.op(op, &[a[0], b[0]]), self.op(op, &[a[1], b[1]]));
                Some(self.op(if op == Op::Eq { Op::And } else { Op::Or }, &[re, im]))
            }
            _ => None,
        };
        if let Some(real) = real {
            return self.bind(vec![v], Exp::Atom(real));
        }
        let part = self.vars[v.0 as usize].ty.elem;
        let zero = Atom::Const(Const::float(part, 0.0));
        let pair = match op {
            Op::Complex => [args[0], args[1]],
            Op::Add => [self.op(op, &[a[0], b[0]]), self.sum(a[1], b[1])],
            Op::Sub => {
                // Of a real number 0 - b.im, as in num-complex: the sign of a zero says on which side of a branch cut it is.
                let im = if is_zero(b[1]) { a[1] } else { self.op(op, &[a[1], b[1]]) };
                [self.op(op, &[a[0], b[0]]), im]
            }
            Op::Mul => self.product(a, b),
            Op::Div => self.quotient(a, b),
            Op::Neg => [self.op(op, &[a[0]]), self.scalar_negated(a[1])],
            Op::Select => {
                let c = parts(self, 2);
                [self.op(op, &[args[0], b[0], c[0]]), self.op(op, &[args[0], b[1], c[1]])]
            }
            Op::Cast(_) if self.is_complex(args[0]) => {
                a.map(|x| self.scalar("cast", part, Exp::Op(Op::Cast(part), vec![x])))
            }
            Op::Cast(_) if self.type_of(args[0]).elem == part => [args[0], zero],
            Op::Cast(_) => [self.scalar("cast", part, Exp::Op(Op::Cast(part), vec![args[0]])), zero],
            op => expect(None, || format!("`{}` of complex numbers", op.name())),
        };
        self.bind(vec![v], Exp::Atom(pair[0]));
        self.imaginary.insert(v, pair[1]);
    }

    fn sum(&mut self, a: Atom, b: Atom) -> Atom {
        match (is_zero(a), is_zero(b)) {
            (true, _) => b,
            (_, true) => a,
            _ => self.op(Op::Add, &[a, b]),
        }
    }

    fn scalar_negated(&mut self, a: Atom) -> Atom {
        if is_zero(a) { a } else { self.op(Op::Neg, &[a]) }
    }

    fn product(&mut self, a: Pair, b: Pair) -> Pair {
        let [re, im] = a;
        match (is_zero(im), is_zero(b[1])) {
            (_, true) if is_zero(im) => [self.op(Op::Mul, &[re, b[0]]), im],
            (_, true) => [self.op(Op::Mul, &[re, b[0]]), self.op(Op::Mul, &[im, b[0]])],
            (true, _) => [self.op(Op::Mul, &[re, b[0]]), self.op(Op::Mul, &[re, b[1]])],
            _ => {
                let [rr, ii] = [self.op(Op::Mul, &[re, b[0]]), self.op(Op::Mul, &[im, b[1]])];
                let [ri, ir] = [self.op(Op::Mul, &[re, b[1]]), self.op(Op::Mul, &[im, b[0]])];
                [self.op(Op::Sub, &[rr, ii]), self.op(Op::Add, &[ri, ir])]
            }
        }
    }

    /// `a / b = a (b.re - i b.im) / |b|^2`, with numerator and denominator divided by the larger part `s` of `b` first, of which the
    /// quotient does not depend: its derivative neither.
    fn quotient(&mut self, a: Pair, b: Pair) -> Pair {
        if is_zero(b[1]) {
            let im = if is_zero(a[1]) { a[1] } else { self.op(Op::Div, &[a[1], b[0]]) };
            return [self.op(Op::Div, &[a[0], b[0]]), im];
        }
        let [x, y] = b.map(|part| self.op(Op::Abs, &[part]));
        let larger = self.op(Op::Max, &[x, y]);
        let elem = self.type_of(larger).elem;
        let s = self.scalar("larger", elem, Exp::StopGradient(larger));
        let [x, y] = b.map(|part| self.op(Op::Div, &[part, s]));
        let [xx, yy] = [self.op(Op::Mul, &[b[0], x]), self.op(Op::Mul, &[b[1], y])];
        let norm = self.op(Op::Add, &[xx, yy]);
        let minus = self.op(Op::Neg, &[y]);
        self.product(a, [x, minus]).map(|part| self.op(Op::Div, &[part, norm]))
    }
}

/// The type of the parts of values of a type.
fn real_type(ty: &Type) -> Type {
    Type { elem: ty.elem.part(), dims: ty.dims.clone() }
}
