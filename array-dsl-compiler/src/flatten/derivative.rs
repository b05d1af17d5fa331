//! Derivatives inside kernels.
//!
//! ```text
//! x' = point(x);  y = scalar code of x';  pullback x' of y from c      = the adjoint of the code, as more scalar code
//! x' = point(x);  y = any code of x';     pullback x' of y from c      = nests that store x' and y over the frame, and the
//!                                                                        adjoint of the nests between (`derive::part`)
//! ```
//!
//! The first form keeps Newton's method in a loop of scalars a loop of scalars.

use super::Flatten;
use super::repeat::is_scalar;
use super::values::Val;
use crate::bulk::build::Code;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Var};
use crate::core;
use crate::derive::NotDifferentiable;
use crate::derive::part::{Part, pullback, pushforward};
use crate::derive::scalars;
use crate::scalar::Op;
use crate::ty::{Const, Loc};

/// A point whose derivative is still to come.
pub(super) enum Point {
    /// Template scalars, and where in the innermost frame the code after them begins.
    Scalars { vars: Vec<Var>, tangents: Vec<Atom>, code: usize },
    /// Arrays over the frame, and the number of the statement after them.
    Arrays { arrays: Vec<ArrayId>, tangents: Vec<ArrayId>, stms: usize },
}

impl Flatten<'_> {
    /// `rest` are the statements after the point, up to the end of its body.
    pub(super) fn point(
        &mut self,
        s: &core::Stm,
        at: &[core::Atom],
        tangents: &[core::Atom],
        rest: &[core::Stm],
    ) {
        if self.is_scalar_function(s, rest) {
            let tangents = tangents.iter().map(|a| self.atom(*a)).collect();
            let mut vars = Vec::new();
            let code = self.frames.last().map_or(0, |f| f.lets.len()) + s.vars.len();
            for (v, a) in s.vars.iter().zip(at) {
                let (elem, a) = (self.f.ty(*v).elem, self.atom(*a));
                // The same number: a variable of its own, since the old one may occur in the function as a constant.
                let new = self.bind_several(&[elem], Exp::Op(Op::Cast(elem), vec![a]), s.loc)[0];
                self.env.insert(*v, Val::Scalar(Atom::Var(new)));
                vars.push(new);
            }
            self.points.push(Point::Scalars { vars, tangents, code });
            return;
        }
        let tangents = tangents.iter().map(|a| self.over_frame(*a, s.loc)).collect();
        let mut arrays = Vec::new();
        for (v, a) in s.vars.iter().zip(at) {
            let array = self.copied(*v, *a, s.loc);
            self.bind_array(*v, array, s.loc);
            arrays.push(array);
        }
        self.points.push(Point::Arrays { arrays, tangents, stms: self.p.stms.len() });
    }

    /// Whether all between the point and its derivative is scalar code.
    fn is_scalar_function(&self, point: &core::Stm, rest: &[core::Stm]) -> bool {
        let scalars = |vars: &[core::Var]| vars.iter().all(|v| self.f.ty(*v).rank() == 0);
        for s in rest {
            match &s.exp {
                core::Exp::Pushforward { point: p, results }
                | core::Exp::Pullback { point: p, results, .. }
                    if *p == point.vars =>
                {
                    return scalars(&point.vars) && results.iter().all(|a| self.f.atom_type(*a).rank() == 0);
                }
                _ if !is_scalar(self.f, s) => return false,
                _ => {}
            }
        }
        false
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

    pub(super) fn pullback(&mut self, s: &core::Stm, results: &[core::Atom], cotangents: &[core::Atom]) {
        match self.points.pop() {
            Some(Point::Scalars { vars, code, .. }) => {
                let seeds: Vec<(Atom, Atom)> =
                    results.iter().zip(cotangents).map(|(r, c)| (self.atom(*r), self.atom(*c))).collect();
                let lets = self.frames.last().map_or_else(Vec::new, |f| f.lets[code..].to_vec());
                let mut backward = Code::new(s.loc);
                let found = scalars::pullback(&mut self.p, &mut backward, &lets, &vars, &seeds);
                self.add_lets(backward.lets);
                for (v, a) in s.vars.iter().zip(found) {
                    self.env.insert(*v, Val::Scalar(a));
                }
            }
            Some(Point::Arrays { arrays, stms, .. }) => {
                let results: Vec<ArrayId> = results.iter().map(|a| self.over_frame(*a, s.loc)).collect();
                let part = Part { stms: stms..self.p.stms.len(), point: &arrays, results: &results };
                let cotangents: Vec<ArrayId> =
                    cotangents.iter().map(|a| self.over_frame(*a, s.loc)).collect();
                let before = self.p.stms.len();
                let found = pullback(&mut self.p, &part, &cotangents);
                self.derived(s, before, found);
            }
            None => {}
        }
    }

    pub(super) fn pushforward(&mut self, s: &core::Stm, results: &[core::Atom]) {
        match self.points.pop() {
            Some(Point::Scalars { vars, tangents, code }) => {
                let results: Vec<Atom> = results.iter().map(|r| self.atom(*r)).collect();
                let lets = self.frames.last_mut().map_or_else(Vec::new, |f| f.lets.split_off(code));
                let mut forward = Code::new(s.loc);
                let point: Vec<(Var, Atom)> = vars.into_iter().zip(tangents).collect();
                let found = scalars::pushforward(&mut self.p, &mut forward, &lets, &point, &results);
                self.add_lets(forward.lets);
                for (v, a) in s.vars.iter().zip(found) {
                    self.env.insert(*v, Val::Scalar(a));
                }
            }
            Some(Point::Arrays { arrays, tangents, stms }) => {
                let results: Vec<ArrayId> = results.iter().map(|a| self.over_frame(*a, s.loc)).collect();
                let part = Part { stms: stms..self.p.stms.len(), point: &arrays, results: &results };
                let before = self.p.stms.len();
                let found = pushforward(&mut self.p, &part, &tangents);
                self.derived(s, before, found);
            }
            None => {}
        }
    }

    /// Binds the derivative, which the statements from `before` on compute: what is of no place there is of the derivative's. Without
    /// one there is no program; zeros stand for it until that is said.
    fn derived(&mut self, s: &core::Stm, before: usize, found: Result<Vec<ArrayId>, NotDifferentiable>) {
        self.p.stms[before..].iter_mut().for_each(|stm| Placed(s.loc).stm(stm));
        match found {
            Ok(arrays) => {
                for (v, array) in s.vars.iter().zip(arrays) {
                    self.bind_array(*v, array, s.loc);
                }
            }
            Err(reason) => {
                self.missing.get_or_insert(reason);
                for v in &s.vars {
                    let ty = self.f.ty(*v).clone();
                    let zero = Atom::Const(Const::of(ty.elem, 0));
                    let array = self.elementwise(&ty.dims, self.name(*v), s.loc, |_, _| zero);
                    self.bind_array(*v, array, s.loc);
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
