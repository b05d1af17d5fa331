//! Derivatives inside kernels.
//!
//! ```text
//! pullback x from a { scalar code => y, c }     = the code and its adjoint, as more scalar code
//! pullback x from a { any code => y, c }        = nests that store x and y over the frame, and the adjoint of the nests between
//!                                                 (`derive::part`)
//! ```
//!
//! The first form keeps Newton's method in a loop of scalars a loop of scalars.

use super::Flatten;
use super::repeat::is_scalar;
use super::values::Val;
use crate::bulk::build::Code;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Let, Var};
use crate::core::{self, Mode};
use crate::derive::NotDifferentiable;
use crate::derive::part::{Part, pullback, pushforward};
use crate::derive::scalars;
use crate::scalar::Op;
use crate::ty::{Const, Loc};

impl Flatten<'_> {
    pub(super) fn derivative(&mut self, s: &core::Stm, d: &core::Derivative) {
        if is_scalar(self.f, s) {
            self.of_scalars(s, d);
        } else {
            self.of_nests(s, d);
        }
        let (values, _) = d.results(s.vars.len());
        for (v, a) in s.vars.iter().zip(values) {
            self.alias(*v, *a);
        }
    }

    /// The code of the body, and its derivative.
    fn of_scalars(&mut self, s: &core::Stm, d: &core::Derivative) {
        let mut directions: Vec<Atom> = d.tangents().iter().map(|a| self.atom(*a)).collect();
        let mut point = Vec::new();
        for (v, a) in &d.point {
            let (elem, a) = (self.f.ty(*v).elem, self.atom(*a));
            // The same number: a variable of its own, since the old one may occur in the function as a constant.
            let new = self.bind_several(&[elem], Exp::Op(Op::Cast(elem), vec![a]), s.loc)[0];
            self.env.insert(*v, Val::Scalar(Atom::Var(new)));
            point.push(new);
        }
        let from = self.lets().len();
        self.body(&d.body);
        let (values, cotangents) = d.results(s.vars.len());
        let results: Vec<Atom> = self.floats(values).map(|a| self.atom(a)).collect();
        directions.extend(cotangents.iter().map(|a| self.atom(*a)));
        let mut code = Code::new(s.loc);
        let found = match d.mode {
            Mode::Forward(_) => {
                let lets = self.lets().split_off(from);
                let point: Vec<(Var, Atom)> = point.into_iter().zip(directions).collect();
                scalars::pushforward(&mut self.p, &mut code, &lets, &point, &results)
            }
            Mode::Reverse => {
                let lets = self.lets()[from..].to_vec();
                let seeds: Vec<(Atom, Atom)> = results.into_iter().zip(directions).collect();
                scalars::pullback(&mut self.p, &mut code, &lets, &point, &seeds)
            }
        };
        self.add_lets(code.lets);
        for (v, a) in s.vars[values.len()..].iter().zip(found) {
            self.env.insert(*v, Val::Scalar(a));
        }
    }

    /// The nests of the body, and their derivative.
    fn of_nests(&mut self, s: &core::Stm, d: &core::Derivative) {
        let mut directions: Vec<ArrayId> = d.tangents().iter().map(|a| self.over_frame(*a, s.loc)).collect();
        let mut point = Vec::new();
        for (v, a) in &d.point {
            let array = self.copied(*v, *a, s.loc);
            self.bind_array(*v, array, s.loc);
            point.push(array);
        }
        let from = self.p.stms.len();
        self.body(&d.body);
        let (values, cotangents) = d.results(s.vars.len());
        let floats: Vec<core::Atom> = self.floats(values).collect();
        let results: Vec<ArrayId> = floats.into_iter().map(|a| self.over_frame(a, s.loc)).collect();
        let part = Part { stms: from..self.p.stms.len(), point: &point, results: &results };
        directions.extend(cotangents.iter().map(|a| self.over_frame(*a, s.loc)));
        let before = self.p.stms.len();
        let found = match d.mode {
            Mode::Forward(_) => pushforward(&mut self.p, &part, &directions),
            Mode::Reverse => pullback(&mut self.p, &part, &directions),
        };
        // What is of no place in the derivative is of its.
        self.p.stms[before..].iter_mut().for_each(|stm| Placed(s.loc).stm(stm));
        self.bind_derivatives(&s.vars[values.len()..], found, s.loc);
    }

    /// The code of the innermost frame, so far.
    fn lets(&mut self) -> &mut Vec<Let> {
        &mut self.frames.last_mut().expect("there is a frame around everything").lets
    }

    /// What of the values is differentiated.
    fn floats(&self, values: &[core::Atom]) -> impl Iterator<Item = core::Atom> {
        values.iter().copied().filter(|a| self.f.atom_type(*a).elem.is_float())
    }

    /// An array over the frame with the same values.
    fn copied(&mut self, v: core::Var, a: core::Atom, loc: Loc) -> ArrayId {
        let name = self.name(v);
        let value = self.value(a);
        let dims = self.f.ty(v).dims.clone();
        self.elementwise(&dims, name, loc, |t, index| match &value {
            Val::Scalar(x) => *x,
            Val::View(view) => t.read(view, index, loc),
        })
    }

    /// Binds what a derivative gives. Without one there is no program; zeros stand for it until that is said.
    fn bind_derivatives(
        &mut self,
        vars: &[core::Var],
        found: Result<Vec<ArrayId>, NotDifferentiable>,
        loc: Loc,
    ) {
        match found {
            Ok(arrays) => {
                for (v, array) in vars.iter().zip(arrays) {
                    self.bind_array(*v, array, loc);
                }
            }
            Err(reason) => {
                self.missing.get_or_insert(reason);
                for v in vars {
                    let ty = self.f.ty(*v).clone();
                    let zero = Atom::Const(Const::of(ty.elem, 0));
                    let array = self.elementwise(&ty.dims, self.name(*v), loc, |_, _| zero);
                    self.bind_array(*v, array, loc);
                }
            }
        }
    }
}

/// Gives a place to what has none.
struct Placed(Loc);

impl Rewriter for Placed {
    fn loc(&mut self, l: &mut Loc) {
        if *l == Loc::default() {
            *l = self.0;
        }
    }
}
