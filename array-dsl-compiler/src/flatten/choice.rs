//! Choices.
//!
//! ```text
//! vec F (if c a b), scalars    = an `if` in the code, with the branches' scalar code
//!                 , arrays     = the nests of each branch, guarded by `c`; element by element an `if` that reads one or the other
//! ```
//!
//! A branch that updates an array needs no such `if`: not taken, it updates nothing. So the other branch, which may update the same
//! array, starts from what the first one has made of it.

use super::Flatten;
use super::nest::Frame;
use super::values::{Val, View};
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Let};
use crate::core;
use crate::ty::{Elem, Loc};

/// What a branch gives, and the scalar code that it needs.
pub(super) struct Side {
    pub values: Vec<Val>,
    pub lets: Vec<Let>,
}

impl Side {
    /// A branch of an `if` that gives some of the values, which are scalars.
    fn scalars(&self, which: &[usize]) -> Branch {
        let scalar = |i: &usize| match &self.values[*i] {
            Val::Scalar(a) => *a,
            Val::View(_) => panic!("a branch gives an array for scalar {i} of its choice"),
        };
        Branch { block: Block { lets: self.lets.clone() }, results: which.iter().map(scalar).collect() }
    }
}

impl Flatten<'_> {
    pub(super) fn choice(&mut self, s: &core::Stm, c: core::Atom, a: &core::Body, b: &core::Body) {
        let c = self.atom(c);
        let before = self.p.arrays.len();
        let yes = self.branch(c, true, a);
        let started = self.start_from(&yes, before);
        let no = self.branch(c, false, b);
        self.env.extend(started);
        let values = self.merged(c, &yes, &no, &s.vars, s.loc);
        for (v, value) in s.vars.iter().zip(values) {
            self.env.insert(*v, value);
        }
    }

    /// Where the other branch reads an array, of those that there were before, has it read what this one has made of it by updates;
    /// what the variables were.
    fn start_from(&mut self, side: &Side, before: usize) -> Vec<(core::Var, Val)> {
        let mut started = Vec::new();
        for value in &side.values {
            let Val::View(new) = value else { continue };
            let start = self.started_from(new.array, |a| (a.0 as usize) < before);
            let Some(start) = start.filter(|a| *a != new.array) else { continue };
            for (v, value) in &mut self.env {
                if let Val::View(view) = value
                    && view.array == start
                {
                    started.push((*v, Val::View(view.clone())));
                    view.array = new.array;
                }
            }
        }
        started
    }

    /// The values of the branch that `c` chooses, which have the types and names of these variables.
    pub(super) fn merged(
        &mut self,
        c: Atom,
        yes: &Side,
        no: &Side,
        vars: &[core::Var],
        loc: Loc,
    ) -> Vec<Val> {
        let mut out = yes.values.clone();
        let (scalars, arrays): (Vec<usize>, Vec<usize>) =
            (0..vars.len()).partition(|i| self.f.ty(vars[*i]).rank() == 0);
        if !scalars.is_empty() {
            let exp = Exp::If(c, yes.scalars(&scalars), no.scalars(&scalars));
            let elems: Vec<Elem> = scalars.iter().map(|i| self.f.ty(vars[*i]).elem).collect();
            for (i, v) in scalars.iter().zip(self.bind_several(&elems, exp, loc)) {
                out[*i] = Val::Scalar(Atom::Var(v));
            }
        }
        for i in arrays {
            let (Val::View(x), Val::View(y)) = (&yes.values[i], &no.values[i]) else {
                panic!("a branch gives a scalar for the array `{}`", self.name(vars[i]))
            };
            let updated = self.updates(x, y).or_else(|| self.updates(y, x));
            out[i] = Val::View(
                updated.unwrap_or_else(|| self.merged_array(c, (x, &yes.lets), (y, &no.lets), vars[i], loc)),
            );
        }
        out
    }

    /// An array that is chosen element by element.
    fn merged_array(
        &mut self,
        c: Atom,
        (x, yes): (&View, &[Let]),
        (y, no): (&View, &[Let]),
        v: core::Var,
        loc: Loc,
    ) -> View {
        let ty = self.f.ty(v).clone();
        let array = self.elementwise(&ty.dims, self.name(v), loc, |t, index| {
            let mut side = |view: &View, lets: &[Let]| {
                let var = t.p.new_var(ty.elem);
                let index = [view.prefix.as_slice(), index].concat();
                let read = Exp::Read { array: view.array, index, checked: true };
                let mut lets = lets.to_vec();
                lets.push(Let { vars: vec![var], exp: read, loc: view.loc.unwrap_or(loc) });
                Branch { block: Block { lets }, results: vec![Atom::Var(var)] }
            };
            let (x, y) = (side(x, yes), side(y, no));
            t.bind(ty.elem, Exp::If(c, x, y), loc)
        });
        View::of(array, self.frame_index())
    }

    /// The first such array among those that updates have made an array of, itself included.
    pub(super) fn started_from(&self, a: ArrayId, is_it: impl Fn(ArrayId) -> bool) -> Option<ArrayId> {
        let mut at = a;
        while !is_it(at) {
            at = *self.updated.get(&at)?;
        }
        Some(at)
    }

    /// The view `new`, if it is what updates have made of `old`.
    fn updates(&self, new: &View, old: &View) -> Option<View> {
        self.started_from(new.array, |a| a == old.array)?;
        (new.prefix == old.prefix && new.prefix == self.frame_index()).then(|| new.clone())
    }

    /// The values of a branch, and the scalar code they need. Nests made inside are guarded.
    pub(super) fn branch(&mut self, c: Atom, when: bool, b: &core::Body) -> Side {
        self.push_frame(Frame { guard: Some((c, when)), ..Frame::default() });
        self.body(b);
        let values = b.results.iter().map(|a| self.value(*a)).collect();
        Side { values, lets: self.pop_frame().lets }
    }
}
