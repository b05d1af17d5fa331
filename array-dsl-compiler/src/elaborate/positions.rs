//! Operators on arrays that combine them position by position, as code on the numbers of one position.
//!
//! ```text
//! |a, b| map(|u, v| map(|x, y| x * y + x, u, v), a, b)     =     |x, y| x * y + x     at each position
//! ```
//!
//! In Core that is a `build` over the dimensions of the operands, or one in another, in which an operand is read at the indices
//! around and nowhere else, and nothing else depends on them.

use rustc_hash::FxHashMap;

use super::Elaborator;
use crate::core::{Atom, Axis, Body, Exp, Stm, Type, Var};
use crate::dim::Dim;

/// An operator's operands, left and right, and its body.
type Code = (Vec<Var>, Vec<Var>, Body);

/// The arrays of the operator at the position around the current place.
struct Position {
    /// The numbers there, and by how many indices the array has been indexed.
    arrays: FxHashMap<Var, (Atom, usize)>,
    /// Their dimensions.
    dims: Vec<Dim>,
    /// The indices around the place.
    indices: Vec<Var>,
    stms: Vec<Stm>,
}

impl Elaborator<'_> {
    /// What an operator on arrays of one rank does at a position, if it does the same at each.
    pub(super) fn at_a_position(&mut self, left: &[Var], right: &[Var], body: &Body) -> Option<Code> {
        let dims = self.vars[left.first()?.0 as usize].ty.dims.clone();
        let mut operands = left.iter().chain(right);
        if operands.any(|v| self.vars[v.0 as usize].ty.dims != dims) {
            return None;
        }
        let mut arrays = FxHashMap::default();
        let mut own = |e: &mut Self, vars: &[Var]| -> Vec<Var> {
            let number = |v: &Var| {
                let info = e.vars[v.0 as usize].clone();
                let own = e.new_var(&info.name, Type::scalar(info.ty.elem));
                arrays.insert(*v, (Atom::Var(own), 0));
                own
            };
            vars.iter().map(number).collect()
        };
        let (left, right) = (own(self, left), own(self, right));
        self.states.extend(left.iter().chain(&right));
        let mut position = Position { arrays, dims, indices: Vec::new(), stms: Vec::new() };
        let results = position.body(body)?;
        Some((left, right, Body { stms: position.stms, results }))
    }
}

impl Position {
    /// The numbers that the results of a body have at the position.
    fn body(&mut self, b: &Body) -> Option<Vec<Atom>> {
        for s in &b.stms {
            self.stm(s)?;
        }
        b.results.iter().map(|a| self.number(*a, self.indices.len())).collect()
    }

    /// The number that stands for an atom which is read where so many indices are around. What is no array of the operator is the
    /// same at each position, so that it must be a number.
    fn number(&self, a: Atom, depth: usize) -> Option<Atom> {
        let all = depth == self.dims.len();
        match a {
            Atom::Var(v) => match self.arrays.get(&v) {
                Some((number, indexed)) => (*indexed == depth).then_some(*number),
                None => (all && !self.indices.contains(&v)).then_some(a),
            },
            Atom::Const(_) => all.then_some(a),
        }
    }

    fn stm(&mut self, s: &Stm) -> Option<()> {
        let depth = self.indices.len();
        match &s.exp {
            // An array of the operator, read at the indices around.
            Exp::Index(v, at) if self.arrays.contains_key(v) => {
                let (number, indexed) = self.arrays[v];
                let expected = self.indices.get(indexed..indexed + at.len())?;
                let same = at.iter().zip(expected).all(|(a, i)| *a == Atom::Var(*i));
                self.arrays.insert(*s.vars.first()?, same.then_some((number, indexed + at.len()))?);
            }
            Exp::Build(axes, body)
                if self.dims.get(depth..depth + axes.len()).is_some_and(|d| d.iter().eq(extents(axes))) =>
            {
                self.indices.extend(axes.iter().map(|a| a.var));
                let numbers = self.body(body)?;
                self.indices.truncate(depth);
                self.arrays.extend(s.vars.iter().zip(numbers).map(|(v, number)| (*v, (number, depth))));
            }
            _ => {
                let mut exp = s.exp.clone();
                if !self.renamed(&mut exp) {
                    return None;
                }
                self.stms.push(Stm { vars: s.vars.clone(), exp, loc: s.loc });
            }
        }
        Some(())
    }

    /// Puts the numbers into scalar code. False if it reads an array of the operator otherwise, or counts by the indices.
    fn renamed(&self, exp: &mut Exp) -> bool {
        let all = self.dims.len();
        let mut fits = exp.operands().iter().all(|a| self.number(*a, all).is_some());
        let number = |a: &mut Atom| *a = self.number(*a, all).unwrap_or(*a);
        exp.change(&mut |a| number(a), &mut |b| {
            fits &= b.stms.iter_mut().all(|s| self.renamed(&mut s.exp));
            fits &= b.results.iter().all(|a| self.number(*a, all).is_some());
            b.results.iter_mut().for_each(number);
        });
        fits
    }
}

fn extents(axes: &[Axis]) -> impl Iterator<Item = &Dim> {
    axes.iter().map(|a| &a.extent)
}
