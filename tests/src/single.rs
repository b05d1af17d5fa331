//! Core functions in single precision.

use array_dsl_compiler::core::{Atom, Body, Exp, Function};
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
    f
}

/// Whether the arrays that the host passes and gets have types that GPUs have, once `f64` has become `f32`.
pub fn fits_gpu(f: &Function) -> bool {
    let params = f.params.iter().flat_map(|p| p.vars.leaves()).map(|v| f.ty(*v));
    params.chain(&f.result_types).all(|t| t.elem != Elem::I64 || t.rank() == 0)
}

fn elem(e: &mut Elem) {
    if *e == Elem::F64 {
        *e = Elem::F32;
    }
}

fn atom(a: &mut Atom) {
    if let Atom::Const(c) = a
        && c.elem == Elem::F64
    {
        *c = Const::float(Elem::F32, c.as_f64());
    }
}

fn body(b: &mut Body) {
    for s in &mut b.stms {
        match &mut s.exp {
            Exp::Atom(a) | Exp::StopGradient(a) => atom(a),
            Exp::Op(op, args) => {
                if let Op::Cast(e) = op {
                    elem(e);
                }
                args.iter_mut().for_each(atom);
            }
            Exp::Index(_, index) => index.iter_mut().for_each(atom),
            Exp::If(c, yes, no) => {
                atom(c);
                body(yes);
                body(no);
            }
            Exp::Build(_, b) | Exp::Reduce(_, _, b) | Exp::Scatter { body: b, .. } => body(b),
            Exp::Size(_) | Exp::Reshape(..) | Exp::Check(_) => {}
        }
    }
    b.results.iter_mut().for_each(atom);
}
