//! Which elements the code of a nest reads, as polynomials.

use super::{Affine, Facts, Types};
use crate::bulk::{ArrayId, Atom, Branch, Exp, Item, Let, Nest, Var};

/// Where an element is: the components of its index of which it is certain what they are.
pub(crate) type Place = Vec<Option<Affine>>;

/// A read.
pub(crate) struct Read {
    pub array: ArrayId,
    /// What it binds.
    pub var: Var,
    pub place: Place,
}

impl Facts {
    /// The place of an index.
    pub fn place(&self, index: &[Atom]) -> Place {
        index.iter().map(|a| self.form(*a).filter(|f| self.exact(f))).collect()
    }

    /// The reads of a nest's code, about whose axes these facts are. They gain what the code says at its end.
    pub fn reads(&mut self, t: Types<'_>, n: &Nest) -> Vec<Read> {
        let mut out = Vec::new();
        for i in &n.body.items {
            match i {
                Item::Let(l) => self.reads_of(t, l, &mut out),
                Item::Scan(s) => self.reads_of_branch(t, &s.step, None, &mut out),
            }
        }
        out
    }

    fn reads_of(&mut self, t: Types<'_>, l: &Let, out: &mut Vec<Read>) {
        match &l.exp {
            Exp::Read { array, index, .. } => {
                out.push(Read { array: *array, var: l.vars[0], place: self.place(index) });
            }
            Exp::If(c, yes, no) => {
                self.reads_of_branch(t, yes, Some((*c, true)), out);
                self.reads_of_branch(t, no, Some((*c, false)), out);
            }
            _ => {}
        }
        self.learn(t, l);
    }

    fn reads_of_branch(&mut self, t: Types<'_>, b: &Branch, when: Option<(Atom, bool)>, out: &mut Vec<Read>) {
        let scope = self.scope();
        when.into_iter().for_each(|(c, when)| self.assume(c, when));
        b.block.lets.iter().for_each(|l| self.reads_of(t, l, out));
        self.leave(scope);
    }
}
