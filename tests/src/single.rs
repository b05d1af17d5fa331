//! Core functions in single precision.

use std::rc::Rc;

use array_dsl_compiler::core::{Atom, Body, Exp, Function, Rule};
use array_dsl_compiler::scalar::Op;
use array_dsl_compiler::ty::{Const, Elem};

/// The function with `f32` instead of `f64` everywhere.
pub fn single(f: &Function) -> Function {
    let mut f = f.clone();
    for v in &mut f.vars {
        elem(&mut v.ty.elem);
    }
    for t in &mut f.result_types {
        elem(&mut t.elem);
    }
    body(&mut f.body);
    for rule in &mut f.rules {
        *rule = Rc::new(Rule { by: rule.by.clone(), function: single(&rule.function), ..(**rule).clone() });
    }
    f
}

/// Whether the arrays that the host passes and gets have types that GPUs have, once `f64` has become `f32`.
pub fn fits_gpu(f: &Function) -> bool {
    let params = f.params.iter().flat_map(|p| p.vars.leaves()).map(|v| f.ty(*v));
    params.chain(&f.result_types).all(|t| t.elem != Elem::I64 || t.rank() == 0)
}

fn elem(e: &mut Elem) {
    match e {
        Elem::F64 => *e = Elem::F32,
        Elem::C64 => *e = Elem::C32,
        _ => {}
    }
}

fn atom(a: &mut Atom) {
    if let Atom::Const(c) = a
        && matches!(c.elem, Elem::F64 | Elem::C64)
    {
        elem(&mut c.elem);
        *c = Const::float(c.elem, c.as_f64());
    }
}

fn body(b: &mut Body) {
    for s in &mut b.stms {
        if let Exp::Op(Op::Cast(e), _) = &mut s.exp {
            elem(e);
        }
        s.exp.change(&mut atom, &mut body);
    }
    b.results.iter_mut().for_each(atom);
}
