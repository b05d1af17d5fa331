//! Arrays read in steps and around. The step is any integer: no index is made of a sum or product that wraps.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::Value;
use crate::core::{Atom, CheckKind};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;

impl Elaborator<'_> {
    /// `step_by(a, k)`: as many elements as a Rust iterator gives, where the last step may be incomplete. That is
    /// `(n + k - 1) / k`; a step that may be large is cut to `n` first, which changes nothing.
    pub(super) fn step_by(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let [a, k] = args else { return None };
        let n = self.length_of("`step_by`", a, span)?;
        let step = self.dim_of(k, span)?;
        let one = Dim::constant(1);
        match step.as_constant() {
            Some(k) if k < 1 => {
                let message = format!("`step_by`: the step {k} is not positive");
                self.error(Code::SizeMismatch, span, message, "write 1 or more; `reverse` goes backwards");
                return None;
            }
            Some(_) => {}
            None => self.check(CheckKind::AtLeast(one.clone(), step.clone()), span),
        }
        let (length, mut k) = (self.size_value(&n, span), self.size_value(&step, span));
        if !is_small(&step) {
            let one = self.int(1);
            let most = self.op(Op::Max, &[length, one], span);
            k = self.op(Op::Min, &[k, most], span);
            // The division is there also where the check has failed.
            k = self.op(Op::Max, &[k, one], span);
        }
        let one = self.int(1);
        let sum = self.op(Op::Add, &[length, k], span);
        let sum = self.op(Op::Sub, &[sum, one], span);
        let count = self.op(Op::Div, &[sum, k], span);
        let extent = self.dim_of(&Value::Atom(count), span)?;
        self.check_extent(&extent, span)?;
        self.build("step_by", &[extent], &[], span, |e, ix| {
            let at = e.op(Op::Mul, &[ix[0], k], span);
            e.elements(a, at, span)
        })
    }

    /// `rotate(a, k)` is `a[(i + k) mod n]`.
    pub(super) fn rotate(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let [a, k] = args else { return None };
        let n = self.length_of("`rotate`", a, span)?;
        let k = self.plain_atoms("`rotate`", std::slice::from_ref(k), span)?;
        self.lift("`rotate`", &[0], &k, span, &mut |e, k| {
            e.unify(e.elem(k[0]), crate::ty::Elem::I64, span, "what `rotate` turns by")?;
            let small = e.known_int(k[0]).is_some_and(|k| is_small(&k));
            e.build("rotate", std::slice::from_ref(&n), &[], span, |e, ix| {
                let length = e.size_value(&n, span);
                let k = if small { k[0] } else { e.op(Op::RemEuclid, &[k[0], length], span) };
                let sum = e.op(Op::Add, &[ix[0], k], span);
                let at = e.op(Op::RemEuclid, &[sum, length], span);
                e.elements(a, at, span)
            })
        })
    }

    /// The first dimension of an array, or of each part of an array of tuples.
    fn length_of(&mut self, what: &str, a: &Value, span: Span) -> Option<Dim> {
        let first = a.atoms().and_then(|atoms| Some(self.atom_type(*atoms.first()?)));
        let length = first.and_then(|ty| ty.dims.first().cloned());
        if length.is_none() {
            let found = self.describe(a);
            self.error(
                Code::Rank,
                span,
                format!("{what} expects an array, found {found}"),
                "scalars have no length",
            );
        }
        length
    }

    /// The element at an index of each part.
    fn elements(&mut self, a: &Value, at: Atom, span: Span) -> Option<Value> {
        match a {
            Value::Atom(array) => self.index_at(*array, "the array", &[Value::Atom(at)], span),
            Value::Tuple(vs) => {
                let parts = vs.iter().map(|v| self.elements(v, at, span));
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            Value::Record(r, vs) => {
                let parts = vs.iter().map(|v| self.elements(v, at, span));
                Some(Value::Record(r.clone(), parts.collect::<Option<_>>()?))
            }
            Value::Function(_) => None,
        }
    }
}

/// Whether sums and products of an integer with sizes and indices cannot wrap.
pub(super) fn is_small(d: &Dim) -> bool {
    const SMALL: i64 = 1 << 40;
    let named = d.atoms().iter().all(|a| matches!(a, crate::dim::SizeAtom::Name(_)));
    named && !d.is_too_large() && d.terms().all(|(_, c)| (-SMALL..=SMALL).contains(&c))
}
