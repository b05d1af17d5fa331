//! Choices.
//!
//! ```text
//! vec F (if c a b), scalars    = an `if` in the code, with the branches' scalar code
//!                 , arrays     = the nests of each branch, guarded by `c`; element by element an `if` that reads one or the other
//! ```
//!
//! A branch that updates an array which the other leaves alone needs no such `if`: not taken, it updates nothing.

use super::nest::Frame;
use super::{Flatten, Val, View};
use crate::bulk::{Atom, Block, Branch, Exp, Let};
use crate::core;
use crate::ty::{Elem, Loc, Name};

impl Flatten<'_> {
    pub(super) fn choice(&mut self, s: &core::Stm, c: core::Atom, a: &core::Body, b: &core::Body) {
        let c = self.atom(c);
        let (va, la) = self.branch(c, true, a);
        let (vb, lb) = self.branch(c, false, b);
        let types: Vec<core::Type> = s.vars.iter().map(|v| self.f.ty(*v).clone()).collect();
        let names: Vec<Name> = s.vars.iter().map(|v| self.name(*v)).collect();
        let values = self.merged(c, (&va, &la), (&vb, &lb), &types, &names, s.loc);
        for (v, value) in s.vars.iter().zip(values) {
            self.env.insert(*v, value);
        }
    }

    /// The values of the branch that `c` chooses, which are of these types.
    pub(super) fn merged(
        &mut self,
        c: Atom,
        (va, la): (&[Val], &Vec<Let>),
        (vb, lb): (&[Val], &Vec<Let>),
        types: &[core::Type],
        names: &[Name],
        loc: Loc,
    ) -> Vec<Val> {
        let mut out: Vec<Val> = va.to_vec();
        let scalars: Vec<usize> = (0..types.len()).filter(|i| types[*i].rank() == 0).collect();
        if !scalars.is_empty() {
            let side = |vals: &[Val], lets: &Vec<Let>| Branch {
                block: Block { lets: lets.clone() },
                results: scalars
                    .iter()
                    .map(|i| match &vals[*i] {
                        Val::Scalar(a) => *a,
                        Val::View(_) => panic!("a branch gives an array for the scalar `{}`", names[*i]),
                    })
                    .collect(),
            };
            let exp = Exp::If(c, side(va, la), side(vb, lb));
            let elems: Vec<Elem> = scalars.iter().map(|i| types[*i].elem).collect();
            let vars = self.bind_several(&elems, exp, loc);
            for (i, v) in scalars.iter().zip(vars) {
                out[*i] = Val::Scalar(Atom::Var(v));
            }
        }
        for (i, ty) in types.iter().enumerate() {
            if ty.rank() == 0 {
                continue;
            }
            let (Val::View(x), Val::View(y)) = (&va[i], &vb[i]) else {
                panic!("a branch gives a scalar for the array `{}`", names[i])
            };
            if let Some(view) = self.updates(x, y).or_else(|| self.updates(y, x)) {
                out[i] = Val::View(view);
                continue;
            }
            let elem = ty.elem;
            let array = self.elementwise(&ty.dims, names[i].clone(), loc, |t, index| {
                let mut side = |view: &View, lets: &Vec<Let>| {
                    let var = t.p.new_var(elem);
                    let index = [view.prefix.as_slice(), index].concat();
                    let read = Exp::Read { array: view.array, index, checked: true };
                    let mut lets = lets.clone();
                    lets.push(Let { vars: vec![var], exp: read, loc: view.loc.unwrap_or(loc) });
                    Branch { block: Block { lets }, results: vec![Atom::Var(var)] }
                };
                let (x, y) = (side(x, la), side(y, lb));
                t.bind(elem, Exp::If(c, x, y), loc)
            });
            out[i] = Val::View(View::of(array, self.frame_index()));
        }
        out
    }

    /// The view `new`, if it is what updates have made of `old`.
    fn updates(&self, new: &View, old: &View) -> Option<View> {
        let mut at = new.array;
        while at != old.array {
            at = *self.updated.get(&at)?;
        }
        (new.prefix == old.prefix && new.prefix == self.frame_index()).then(|| new.clone())
    }

    /// The values of a branch, and the scalar code they need. Nests made inside are guarded.
    pub(super) fn branch(&mut self, c: Atom, when: bool, b: &core::Body) -> (Vec<Val>, Vec<Let>) {
        self.push_frame(Frame { guard: Some((c, when)), ..Frame::default() });
        self.body(b);
        let values = b
            .results
            .iter()
            .map(|a| match a {
                core::Atom::Var(v) => self.env[v].clone(),
                core::Atom::Const(c) => Val::Scalar(Atom::Const(*c)),
            })
            .collect();
        let frame = self.pop_frame();
        (values, frame.lets)
    }
}
