//! Random array code: builds, parts, reshapes, scatters, branches.

use super::{Generator, float, int};
use crate::core::{Atom, Axis, Body, Exp, Placing, Reducer, Type, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::Elem;

impl Generator {
    /// Arrays over one to three axes; the first of them.
    pub(super) fn build(&mut self, fuel: usize) -> Var {
        let rank = [1, 1, 1, 1, 2, 2, 2, 3][self.rng.below(8)];
        let axes: Vec<Axis> = (0..rank)
            .map(|_| {
                let d = self.extent();
                self.new_axis(d)
            })
            .collect();
        self.build_over(axes, fuel)
    }

    pub(super) fn build_over(&mut self, axes: Vec<Axis>, fuel: usize) -> Var {
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
            .map(|t| Type {
                elem: t.elem,
                dims: axes.iter().map(|a| a.extent.clone()).chain(t.dims).collect(),
            })
            .collect();
        self.emit_all(types, Exp::Build(axes, body))[0]
    }

    /// An array inside a build: made here, or a part of one from outside.
    pub(super) fn inner_array(&mut self, fuel: usize) -> Atom {
        if self.rng.chance(35)
            && let Some(a) = self.part()
        {
            return a;
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
    pub(super) fn part(&mut self) -> Option<Atom> {
        let v = self.pick(|t| t.elem == Elem::F64 && t.rank() > 1)?;
        let ty = self.ty(Atom::Var(v));
        let (i, inside) = self.index(&ty.dims[0]);
        inside.then(|| self.emit(Type { elem: ty.elem, dims: ty.dims[1..].to_vec() }, Exp::Index(v, vec![i])))
    }

    pub(super) fn reshape(&mut self) {
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
    pub(super) fn scatter(&mut self, fuel: usize) -> Atom {
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
        let how = reducer.map_or(Placing::Only, Placing::Combined);
        self.emit(ty, Exp::Scatter { how, dest, axes, body })
    }

    /// One of two arrays of the same type.
    pub(super) fn array_choice(&mut self, fuel: usize) -> Atom {
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
        let b = if self.rng.chance(50) {
            made(self)
        } else {
            Body { stms: Vec::new(), results: vec![Atom::Var(v)] }
        };
        self.emit(ty, Exp::If(c, a, b))
    }

    /// The sum of all elements, weighted by position so that no two count the same.
    pub(super) fn total(&mut self, v: Var, dims: &[Dim], at: Vec<Atom>) -> Atom {
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
