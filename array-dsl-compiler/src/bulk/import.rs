//! The statements of another program in this one.

use rustc_hash::FxHashMap;

use super::walk::Rewriter;
use super::{ArrayId, Atom, Program, Stm, Var};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Loc, Name};

impl Program {
    /// The statements of `other` as they would be here, with its arrays, scalars, places and rules after those of this program.
    /// `sizes` says what its named sizes are here. Also the arrays of its parameters and of its result, which the statements do
    /// not bind and do bind.
    pub fn import(
        &mut self,
        other: &Program,
        sizes: &FxHashMap<Name, Dim>,
    ) -> (Vec<Stm>, Vec<ArrayId>, Vec<ArrayId>) {
        let mut shift = Shift {
            arrays: self.arrays.len() as u32,
            vars: self.vars.len() as u32,
            places: self.places.len() as u32,
            rules: self.rules.len(),
            sizes,
        };
        for a in &other.arrays {
            let mut dims = a.dims.clone();
            dims.iter_mut().for_each(|d| shift.dim(d));
            self.new_array(a.name.clone(), a.elem, dims);
        }
        self.vars.extend(&other.vars);
        self.places.extend(other.places.iter().cloned());
        self.rules.extend(other.rules.iter().cloned());
        let mut stms = other.stms.clone();
        stms.iter_mut().for_each(|s| shift.stm(s));
        let params = other.params.iter().flat_map(|q| q.arrays.leaves()).map(|a| shift.name(*a)).collect();
        let results = other.result.leaves().into_iter().map(|a| shift.name(*a)).collect();
        (stms, params, results)
    }
}

/// By how much the numbers of another program are larger here.
struct Shift<'a> {
    arrays: u32,
    vars: u32,
    places: u32,
    rules: usize,
    sizes: &'a FxHashMap<Name, Dim>,
}

impl Shift<'_> {
    fn name(&self, a: ArrayId) -> ArrayId {
        ArrayId(a.0 + self.arrays)
    }
}

impl Rewriter for Shift<'_> {
    fn bound_array(&mut self, a: &mut ArrayId) {
        *a = self.name(*a);
    }

    fn array(&mut self, a: &mut ArrayId) {
        *a = self.name(*a);
    }

    fn bound_var(&mut self, v: &mut Var) {
        v.0 += self.vars;
    }

    fn atom(&mut self, a: &mut Atom) {
        if let Atom::Var(v) = a {
            v.0 += self.vars;
        }
    }

    fn dim(&mut self, d: &mut Dim) {
        *d = d.substitute(&mut |a| match a {
            SizeAtom::Name(n) => self.sizes.get(n).cloned().unwrap_or_else(|| Dim::atom(a.clone())),
            SizeAtom::Scalar(s) => Dim::atom(SizeAtom::Scalar(s + self.arrays)),
        });
    }

    fn loc(&mut self, l: &mut Loc) {
        l.0 += self.places;
    }

    fn rule(&mut self, rule: &mut usize) {
        *rule += self.rules;
    }
}
