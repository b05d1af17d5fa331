//! The statements of another program in this one.

use std::collections::HashMap;

use super::{
    ArrayId, Atom, Block, Branch, CheckKind, Exp, Let, Nest, Program, Repeat, Stm, Trips, Var, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Loc, Name};

impl Program {
    /// The statements of `other` as they would be here, with its arrays, scalars, places and rules after those of this program.
    /// `sizes` says what its named sizes are here. Also the arrays of its parameters and of its result, which the statements do
    /// not bind and do bind.
    pub fn import(
        &mut self,
        other: &Program,
        sizes: &HashMap<Name, Dim>,
    ) -> (Vec<Stm>, Vec<ArrayId>, Vec<ArrayId>) {
        let shift = Shift {
            arrays: self.arrays.len() as u32,
            vars: self.vars.len() as u32,
            places: self.places.len() as u32,
            rules: self.rules.len(),
            sizes,
        };
        for a in &other.arrays {
            let dims = a.dims.iter().map(|d| shift.dim(d)).collect();
            self.new_array(a.name.clone(), a.elem, dims);
        }
        self.vars.extend(&other.vars);
        self.places.extend(other.places.iter().cloned());
        self.rules.extend(other.rules.iter().cloned());
        let mut stms = other.stms.clone();
        stms.iter_mut().for_each(|s| shift.stm(s));
        let params = other.params.iter().flat_map(|q| q.arrays.leaves()).map(|a| shift.array(*a)).collect();
        let results = other.result.leaves().into_iter().map(|a| shift.array(*a)).collect();
        (stms, params, results)
    }
}

/// By how much the numbers of another program are larger here.
struct Shift<'a> {
    arrays: u32,
    vars: u32,
    places: u32,
    rules: usize,
    sizes: &'a HashMap<Name, Dim>,
}

impl Shift<'_> {
    fn array(&self, a: ArrayId) -> ArrayId {
        ArrayId(a.0 + self.arrays)
    }

    fn to(&self, a: &mut ArrayId) {
        *a = self.array(*a);
    }

    fn var(&self, v: &mut Var) {
        v.0 += self.vars;
    }

    fn atom(&self, a: &mut Atom) {
        if let Atom::Var(v) = a {
            self.var(v);
        }
    }

    fn loc(&self, l: &mut Loc) {
        l.0 += self.places;
    }

    fn dim(&self, d: &Dim) -> Dim {
        d.substitute(&mut |a| match a {
            SizeAtom::Name(n) => self.sizes.get(n).cloned().unwrap_or_else(|| Dim::atom(a.clone())),
            SizeAtom::Scalar(s) => Dim::atom(SizeAtom::Scalar(s + self.arrays)),
        })
    }

    fn set(&self, d: &mut Dim) {
        *d = self.dim(d);
    }

    fn stm(&self, s: &mut Stm) {
        match s {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => [result, source].into_iter().for_each(|a| self.to(a)),
            Stm::Contract(c) => {
                [&mut c.result, &mut c.a.0, &mut c.b.0].into_iter().for_each(|a| self.to(a));
                c.extents.iter_mut().for_each(|d| self.set(d));
                self.loc(&mut c.loc);
            }
            Stm::Check(c, loc) => {
                match &mut c.kind {
                    CheckKind::Equal(a, b) | CheckKind::AtLeast(a, b) => {
                        self.set(a);
                        self.set(b);
                    }
                    CheckKind::NonNegative(a) => self.set(a),
                }
                c.guards.iter_mut().for_each(|d| self.set(d));
                self.loc(loc);
            }
            Stm::Repeat(r) => self.repeat(r),
            Stm::Sort(s) => [&mut s.result, &mut s.keys].into_iter().for_each(|a| self.to(a)),
            Stm::Custom(c) => {
                c.results.iter_mut().chain(&mut c.values).chain(&mut c.args).for_each(|a| self.to(a));
                c.rule += self.rules;
                self.loc(&mut c.loc);
            }
        }
    }

    fn repeat(&self, r: &mut Repeat) {
        match &mut r.trips {
            Trips::For(index, count) => {
                self.to(index);
                self.set(count);
            }
            Trips::While(state) => self.to(state),
        }
        for c in &mut r.carried {
            [&mut c.state, &mut c.start, &mut c.next, &mut c.result].into_iter().for_each(|a| self.to(a));
        }
        r.body.iter_mut().for_each(|s| self.stm(s));
        self.loc(&mut r.loc);
    }

    fn nest(&self, n: &mut Nest) {
        for a in &mut n.axes {
            self.var(&mut a.var);
            self.set(&mut a.extent);
        }
        self.block(&mut n.body);
        for y in &mut n.yields {
            self.to(&mut y.array);
            match &mut y.kind {
                YieldKind::Store(v) | YieldKind::Reduce { value: v, .. } => self.atom(v),
                YieldKind::Accumulate { into, index, value, .. }
                | YieldKind::Write { into, index, value, .. } => {
                    self.to(into);
                    index.iter_mut().for_each(|a| self.atom(a));
                    self.atom(value);
                }
            }
        }
        self.loc(&mut n.loc);
    }

    fn block(&self, b: &mut Block) {
        b.lets.iter_mut().for_each(|l| self.statement(l));
    }

    fn branch(&self, b: &mut Branch) {
        self.block(&mut b.block);
        b.results.iter_mut().for_each(|a| self.atom(a));
    }

    fn statement(&self, l: &mut Let) {
        l.vars.iter_mut().for_each(|v| self.var(v));
        self.loc(&mut l.loc);
        match &mut l.exp {
            Exp::Op(_, args) => args.iter_mut().for_each(|a| self.atom(a)),
            Exp::Size(d) => self.set(d),
            Exp::Read { array, index, .. } => {
                self.to(array);
                index.iter_mut().for_each(|a| self.atom(a));
            }
            Exp::StopGradient(a) => self.atom(a),
            Exp::If(c, x, y) => {
                self.atom(c);
                self.branch(x);
                self.branch(y);
            }
            Exp::Scan(s) => {
                s.left.iter_mut().chain(&mut s.right).for_each(|v| self.var(v));
                s.start.iter_mut().chain(&mut s.values).for_each(|a| self.atom(a));
                self.branch(&mut s.step);
            }
        }
    }
}
