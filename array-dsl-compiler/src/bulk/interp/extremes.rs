//! The numbers that a run meets, for tests that have to know where results mean nothing.

use crate::bulk::Atom;
use crate::scalar::Op;
use crate::value::Scalar;

/// What may cost a program's results their meaning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extremes {
    /// The greatest number among the results of scalar functions and reductions, the constants that they take, and the quotients
    /// of which they give the remainder: numbers of size 1 that it is added to lose their digits. What is no number is infinite.
    pub greatest: f64,
    /// A finite number that is not zero was multiplied by one that is not finite.
    pub infinite_product: bool,
}

impl Extremes {
    /// Notes a result.
    pub(super) fn result(&mut self, x: Scalar) {
        if let Scalar::F32(_) | Scalar::F64(_) = x {
            let size = x.as_f64().abs();
            self.greatest = if size.is_nan() { f64::INFINITY } else { self.greatest.max(size) };
        }
    }

    /// Notes a scalar function.
    pub(super) fn op(&mut self, op: Op, args: &[Atom], values: &[Scalar], result: Scalar) {
        self.result(result);
        if let (Op::Rem | Op::RemEuclid, [Scalar::F64(x), Scalar::F64(y)]) = (op, values) {
            self.result(Scalar::F64(x / y));
        }
        for a in args {
            if let Atom::Const(c) = a
                && c.as_f64().is_finite()
            {
                self.greatest = self.greatest.max(c.as_f64().abs());
            }
        }
        if matches!(op, Op::Mul | Op::Scale) {
            let finite = |x: &Scalar| x.as_f64().is_finite();
            let other = |x: &Scalar| finite(x) && x.as_f64() != 0.0;
            self.infinite_product |= values.iter().any(other) && !values.iter().all(finite);
        }
    }
}
