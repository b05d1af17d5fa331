//! Arithmetic of complex numbers as that of their parts. A part that is the constant 0 is not computed with.

use super::{Atom, Const, Exp, Op, Pair, Split, Var, expect, is_zero};

impl Split<'_> {
    /// A function of complex numbers, or one that gives one.
    pub(super) fn operation(&mut self, op: Op, args: &[Atom], v: Var) {
        match (op, args) {
            (Op::Re | Op::Im, [z]) => {
                let [re, im] = self.pair(*z);
                self.bind(vec![v], Exp::Atom(if op == Op::Re { re } else { im }));
            }
            (Op::Eq | Op::Ne, [a, b]) => {
                let (a, b) = (self.pair(*a), self.pair(*b));
                let parts = [0, 1].map(|k| self.op(op, &[a[k], b[k]]));
                let both = if op == Op::Eq { Op::And } else { Op::Or };
                self.bind(vec![v], Exp::Op(both, parts.to_vec()));
            }
            _ => {
                let [re, im] = self.parts_of(op, args, v);
                self.bind(vec![v], Exp::Atom(re));
                self.imaginary.insert(v, im);
            }
        }
    }

    /// The parts of what a function gives for `v`.
    fn parts_of(&mut self, op: Op, args: &[Atom], v: Var) -> Pair {
        let part = self.vars[v.0 as usize].ty.elem;
        match (op, args) {
            (Op::Complex, [re, im]) => [*re, *im],
            (Op::Add, [a, b]) => {
                let (a, b) = (self.pair(*a), self.pair(*b));
                let im = match (is_zero(a[1]), is_zero(b[1])) {
                    (true, _) => b[1],
                    (_, true) => a[1],
                    _ => self.op(op, &[a[1], b[1]]),
                };
                [self.op(op, &[a[0], b[0]]), im]
            }
            (Op::Sub, [a, b]) => {
                let (a, b) = (self.pair(*a), self.pair(*b));
                // Of a real number 0 - b.im, as in num-complex: the sign of a zero says on which side of a branch cut it is.
                let im = if is_zero(b[1]) { a[1] } else { self.op(op, &[a[1], b[1]]) };
                [self.op(op, &[a[0], b[0]]), im]
            }
            (Op::Mul, [a, b]) => self.product(self.pair(*a), self.pair(*b)),
            (Op::Div, [a, b]) => self.quotient(self.pair(*a), self.pair(*b)),
            (Op::Neg, [a]) => {
                let [re, im] = self.pair(*a);
                [self.op(op, &[re]), if is_zero(im) { im } else { self.op(op, &[im]) }]
            }
            (Op::Select, [c, a, b]) => {
                let (a, b) = (self.pair(*a), self.pair(*b));
                [0, 1].map(|k| self.op(op, &[*c, a[k], b[k]]))
            }
            (Op::Cast(_), [z]) if self.is_complex(*z) => self.pair(*z).map(|x| self.op(Op::Cast(part), &[x])),
            (Op::Cast(_), [x]) => {
                let is_one = self.type_of(*x).elem == part;
                let re = if is_one { *x } else { self.op(Op::Cast(part), &[*x]) };
                [re, Atom::Const(Const::float(part, 0.0))]
            }
            _ => expect(None, || format!("`{}` of complex numbers", op.name())),
        }
    }

    fn product(&mut self, a: Pair, b: Pair) -> Pair {
        match (is_zero(a[1]), is_zero(b[1])) {
            (true, true) => [self.op(Op::Mul, &[a[0], b[0]]), a[1]],
            (false, true) => a.map(|x| self.op(Op::Mul, &[x, b[0]])),
            (true, false) => b.map(|y| self.op(Op::Mul, &[a[0], y])),
            (false, false) => {
                let [rr, ii] = [0, 1].map(|k| self.op(Op::Mul, &[a[k], b[k]]));
                let [ri, ir] = [0, 1].map(|k| self.op(Op::Mul, &[a[k], b[1 - k]]));
                [self.op(Op::Sub, &[rr, ii]), self.op(Op::Add, &[ri, ir])]
            }
        }
    }

    /// `a / b = a (b.re - i b.im) / |b|^2`, with numerator and denominator divided by the larger part `s` of `b` first, on which the
    /// quotient does not depend, nor its derivative.
    fn quotient(&mut self, a: Pair, b: Pair) -> Pair {
        if is_zero(b[1]) {
            let im = if is_zero(a[1]) { a[1] } else { self.op(Op::Div, &[a[1], b[0]]) };
            return [self.op(Op::Div, &[a[0], b[0]]), im];
        }
        let [x, y] = b.map(|part| self.op(Op::Abs, &[part]));
        let larger = self.op(Op::Max, &[x, y]);
        let elem = self.type_of(larger).elem;
        let s = self.scalar("larger", elem, Exp::StopGradient(larger));
        let [x, y] = b.map(|part| self.op(Op::Div, &[part, s]));
        let [xx, yy] = [self.op(Op::Mul, &[b[0], x]), self.op(Op::Mul, &[b[1], y])];
        let norm = self.op(Op::Add, &[xx, yy]);
        let minus = self.op(Op::Neg, &[y]);
        self.product(a, [x, minus]).map(|part| self.op(Op::Div, &[part, norm]))
    }
}
