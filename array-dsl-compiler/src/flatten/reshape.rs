//! Reshapes.
//!
//! ```text
//! vec F (reshape a d)          = reshape of all of `a`, its leading dimensions kept
//!   .. only equal where F runs = `a` itself where its dimensions are those of `d` one by one,
//!                                else nest over F,d reading the element of that number
//! ```
//!
//! A check made for code inside a `Build` holds only if the `Build` has points. An array from outside it is there in any case,
//! and may then have another number of elements, so it must not be reshaped as a whole.

use super::Flatten;
use super::values::{Val, View};
use crate::bulk::verify::same_product;
use crate::bulk::{Atom, Exp, Stm};
use crate::core::{self, Check, CheckKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

impl Flatten<'_> {
    pub(super) fn reshape(&mut self, s: &core::Stm, v: core::Var, dims: &[Dim]) {
        let view = self.view(v);
        let info = self.p.array(view.array).clone();
        let (outer, have) = info.dims.split_at(view.prefix.len());
        let want: Vec<Dim> = dims.iter().map(|d| self.dim(d)).collect();
        let all = [outer, &want].concat();
        if same_product(&all, &info.dims, &self.checks) {
            let result = self.p.new_array(self.name(s.vars[0]), info.elem, all);
            self.p.stms.push(Stm::Reshape { result, source: view.array });
            self.env.insert(s.vars[0], Val::View(View { array: result, ..view }));
            return;
        }
        let equal = |a: &Dim, b: &Dim| {
            let checked = |c: &Check| match &c.kind {
                CheckKind::Equal(x, y) => (a, b) == (x, y) || (b, a) == (x, y),
                _ => false,
            };
            a == b || self.checks.iter().any(checked)
        };
        if have.len() == want.len() && have.iter().zip(&want).all(|(a, b)| equal(a, b)) {
            self.env.insert(s.vars[0], Val::View(view));
            return;
        }
        let have = have.to_vec();
        let array = self.elementwise(dims, self.name(s.vars[0]), s.loc, |t, index| {
            let number = t.number(index, &want, s.loc);
            let at = t.place(number, &have, s.loc);
            t.read(&view, &at, s.loc)
        });
        self.bind_array(s.vars[0], array, s.loc);
    }

    /// The number of the element at `index`, counted in row-major order.
    fn number(&mut self, index: &[Atom], dims: &[Dim], loc: Loc) -> Atom {
        let mut number = Atom::Const(Const::int(Elem::I64, 0));
        for (i, d) in index.iter().zip(dims) {
            let size = self.bind(Elem::I64, Exp::Size(d.clone()), loc);
            let before = self.integer(Op::Mul, number, size, loc);
            number = self.integer(Op::Add, before, *i, loc);
        }
        number
    }

    /// Where the element of that number is.
    fn place(&mut self, number: Atom, dims: &[Dim], loc: Loc) -> Vec<Atom> {
        let mut rest = number;
        let mut at = Vec::new();
        for d in dims.iter().skip(1).rev() {
            let size = self.bind(Elem::I64, Exp::Size(d.clone()), loc);
            at.push(self.integer(Op::Rem, rest, size, loc));
            rest = self.integer(Op::Div, rest, size, loc);
        }
        if !dims.is_empty() {
            at.push(rest);
        }
        at.reverse();
        at
    }

    fn integer(&mut self, op: Op, a: Atom, b: Atom, loc: Loc) -> Atom {
        self.bind(Elem::I64, Exp::Op(op, vec![a, b]), loc)
    }
}
