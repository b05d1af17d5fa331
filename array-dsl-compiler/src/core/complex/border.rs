//! How complex numbers enter and leave a function: its parameters and results, and the rules of the user's.

use std::rc::Rc;

use super::super::{Body, Param, Rule};
use super::{
    Atom, Dim, Elem, Exp, Function, Op, Pair, Split, Type, Var, VarInfo, expect, is_zero, real_type,
};
use crate::ty::Tree;

/// How complex numbers enter and leave a function.
pub(super) enum Ends {
    /// As the host has them, the cotangents of imaginary parts with the other sign or not.
    Interleaved { mirrored: bool },
    /// Of a rule: each as two, of which these many parameters, the last ones, are cotangents, as are all results.
    Apart { cotangents: usize },
}

impl Split<'_> {
    pub(super) fn params(&mut self, ends: &Ends) -> Vec<Param> {
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
    pub(super) fn results(&mut self, ends: &Ends) -> (Tree<usize>, Vec<(Atom, Type)>) {
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
            let (k, at) = expect(at.split_last(), || "parts without a dimension".into());
            let (zero, re) = (s.int(0), s.element(re, at));
            let im = s.element(im, at);
            let im = if is_zero(im) || !mirrored { im } else { s.op(Op::Mirror, &[im]) };
            let is_real = s.scalar("is_real", Elem::Bool, Exp::Op(Op::Eq, vec![*k, zero]));
            s.op(Op::Select, &[is_real, re, im])
        });
        self.bind(vec![v], exp);
        Atom::Var(v)
    }

    pub(super) fn rule(&mut self, r: &Rc<Rule>) -> Rc<Rule> {
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
        Rc::new(Rule { by, function, routine: r.routine })
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
}
