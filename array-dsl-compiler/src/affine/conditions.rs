//! What enclosing conditions say of integers. One that data decide, or that may have wrapped, is a **name**: it stands for itself, like an
//! axis of unknown range, and conditions are all that is known of it. So do the **ends** of windows, `min(n, i + 4)`, of which it is known
//! besides that they are beyond neither of two counts, so that sums of them do not wrap.

use super::{Affine, Facts};
use crate::bulk::{Atom, Var};
use crate::dim::Dim;
use crate::scalar::Op;

impl Facts {
    /// An end of a window.
    pub(super) fn end(&mut self, v: Var, op: Op, args: &[Atom]) {
        let counts = args.iter().map(|a| self.counted(*a, None)).collect::<Option<Vec<_>>>();
        let Some(counts) = counts else { return };
        self.names.push(v);
        self.ends.push(v);
        let v = Affine::axis(v);
        let room = |c: &Affine| if op == Op::Min { c.sub(&v) } else { v.sub(c) };
        self.here.extend(counts.iter().map(room));
    }

    /// The polynomial that an integer certainly is, over axes, sizes and ends of windows, where a loop of this extent has trips.
    fn counted(&self, a: Atom, extent: Option<&Dim>) -> Option<Affine> {
        let form = self.form(a).or_else(|| self.named(a, 6))?;
        let known = form.axes.keys().all(|v| self.extents.contains_key(v) || self.ends.contains(v));
        (known && self.exact_in(&form, extent)).then_some(form)
    }

    /// The polynomial an integer is; one that data decide is its own name, which is like an axis of unknown range: conditions on
    /// it say what is known.
    pub(super) fn form_or_name(&self, a: Atom) -> Option<Affine> {
        self.form(a).or(match a {
            Atom::Var(v) => Some(Affine::axis(v)),
            Atom::Const(_) => None,
        })
    }

    fn less_than_size(&mut self, a: Atom, b: Atom) {
        if let (Atom::Var(a), Some(b)) = (a, self.form(b))
            && let Some(d) = b.as_dim()
        {
            self.less.push((a, d.clone()));
        }
    }

    /// The integer as an exact polynomial, where a loop of this extent has trips; from here on as its own name, if it may have wrapped.
    pub(super) fn certain(&mut self, a: Atom, extent: Option<&Dim>) -> Option<Affine> {
        match (self.counted(a, extent), a) {
            (Some(form), _) => Some(form),
            (None, Atom::Var(v)) => {
                self.names.push(v);
                Some(Affine::axis(v))
            }
            (None, Atom::Const(_)) => None,
        }
    }

    /// The polynomial an integer is over the names among what it is computed from by a few operations.
    pub(super) fn named(&self, a: Atom, operations: usize) -> Option<Affine> {
        let Atom::Var(v) = a else { return self.form(a) };
        if self.names.contains(&v) {
            return Some(Affine::axis(v));
        }
        match self.definitions.get(&v).filter(|_| operations > 0) {
            Some((op @ (Op::Add | Op::Sub), a, b)) => {
                let (a, b) = (self.named(*a, operations - 1)?, self.named(*b, operations - 1)?);
                Some(if *op == Op::Add { a.add(&b) } else { a.sub(&b) })
            }
            _ => self.form_or_name(a),
        }
    }

    /// At the start of a branch taken when `c` is `when`.
    pub fn assume(&mut self, c: Atom, when: bool) {
        let Atom::Var(v) = c else { return };
        let Some((op, a, b)) = self.conditions.get(&v).copied() else { return };
        match (op, when) {
            (Op::And, true) | (Op::Or, false) => {
                self.assume(a, when);
                self.assume(b, when);
                return;
            }
            (Op::Not, _) => return self.assume(a, !when),
            (Op::Lt, true) | (Op::Ge, false) => self.less_than_size(a, b),
            (Op::Gt, true) | (Op::Le, false) => self.less_than_size(b, a),
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, _) => {}
            _ => return,
        }
        let [Some(a), Some(b)] = [a, b].map(|a| self.certain(a, None)) else { return };
        let one = Affine::constant(Dim::constant(1));
        let (lt, le) = (|a: &Affine, b: &Affine| b.sub(a).sub(&one), |a: &Affine, b: &Affine| b.sub(a));
        match (op, when) {
            (Op::Lt, true) | (Op::Ge, false) => self.here.push(lt(&a, &b)),
            (Op::Le, true) | (Op::Gt, false) => self.here.push(le(&a, &b)),
            (Op::Gt, true) | (Op::Le, false) => self.here.push(lt(&b, &a)),
            (Op::Ge, true) | (Op::Lt, false) => self.here.push(le(&b, &a)),
            (Op::Eq, true) | (Op::Ne, false) => self.here.extend([le(&a, &b), le(&b, &a)]),
            // What is not equal to the least that it can be is more.
            (Op::Eq, false) | (Op::Ne, true) => {
                let sides = [(&a, &b), (&b, &a)];
                let beyond = sides.into_iter().find(|(a, b)| self.nonnegative(&le(a, b)));
                self.here.extend(beyond.map(|(a, b)| lt(a, b)));
            }
            _ => {}
        }
    }
}
