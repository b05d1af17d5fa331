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
//!
//! | file | subject |
//! |---|---|
//! | `mod` | what statements are made of, and the parts of values |
//! | `border` | parameters, results and rules |
//! | `statements` | all expressions but arithmetic |
//! | `arithmetic` | scalar functions |

mod arithmetic;
mod border;
mod statements;

use rustc_hash::FxHashMap;

use super::{Atom, Axis, Body, Exp, Function, Stm, Type, Var, VarInfo};
use crate::dim::Dim;
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};
use border::Ends;

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
        let stms = self.close_body();
        let result_types = results.iter().map(|(_, ty)| ty.clone()).collect();
        let body = Body { stms, results: results.into_iter().map(|(a, _)| a).collect() };
        let (name, sizes, places) = (f.name.clone(), f.sizes.clone(), f.places.clone());
        Function { name, sizes, params, vars: self.vars, body, result, result_types, places, rules }
    }

    /// The end of the innermost statement list.
    fn close_body(&mut self) -> Vec<Stm> {
        expect(self.bodies.pop(), || "a list of statements ends that has not begun".into())
    }

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
        (self.close_body(), value)
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
}

/// The type of the parts of values of a type.
fn real_type(ty: &Type) -> Type {
    Type { elem: ty.elem.part(), dims: ty.dims.clone() }
}

fn is_zero(a: Atom) -> bool {
    matches!(a, Atom::Const(c) if c.is_zero())
}
