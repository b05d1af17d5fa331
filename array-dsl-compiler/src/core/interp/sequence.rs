//! Scans, folds by operators, and loops.

use super::{Machine, integer};
use crate::core::{Axis, Body, Loop, Operator, Prefix, Reducer, Stm, Trips};
use crate::value::{Fault, Scalar, Value, combine, work};

/// What an operator makes of the values so far and the next ones.
type Combine<'a, M> = dyn FnMut(&mut M, &[Scalar], &[Scalar]) -> Result<Vec<Scalar>, Fault> + 'a;

impl Machine<'_> {
    pub(super) fn scan(
        &mut self,
        s: &Stm,
        reducers: &[Reducer],
        prefix: Prefix,
        axis: &Axis,
        body: &Body,
    ) -> Result<Vec<Value>, Fault> {
        let neutral: Vec<Scalar> = reducers
            .iter()
            .zip(&body.results)
            .map(|(r, a)| r.neutral(self.f.atom_type(*a).elem).into())
            .collect();
        self.sequence(s, Some(prefix), axis, body, neutral, &mut |_, left, right| {
            reducers
                .iter()
                .zip(left.iter().zip(right))
                .map(|(r, (x, y))| combine(*r, *x, *y).map_err(|f| f.at(s.loc)))
                .collect()
        })
    }

    pub(super) fn fold(
        &mut self,
        s: &Stm,
        operator: &Operator,
        prefix: Option<Prefix>,
        axis: &Axis,
        body: &Body,
    ) -> Result<Vec<Value>, Fault> {
        let neutral: Result<Vec<Scalar>, Fault> = operator.neutral.iter().map(|a| self.scalar(*a)).collect();
        let neutral = neutral.map_err(|f| f.at(s.loc))?;
        self.sequence(s, prefix, axis, body, neutral, &mut |m, left, right| {
            for (v, x) in operator.left.iter().zip(left).chain(operator.right.iter().zip(right)) {
                m.bind(*v, Value::scalar(*x));
            }
            m.scalars(&operator.body)
        })
    }

    /// From the left: what is so far, or all that was on the way.
    fn sequence(
        &mut self,
        s: &Stm,
        prefix: Option<Prefix>,
        axis: &Axis,
        body: &Body,
        neutral: Vec<Scalar>,
        combine: &mut Combine<'_, Self>,
    ) -> Result<Vec<Value>, Fault> {
        let n = self.trips(axis).map_err(|f| f.at(s.loc))?;
        work::spend(n as u64)?;
        let mut so_far = neutral;
        let mut on_the_way: Vec<Vec<Scalar>> = vec![Vec::with_capacity(n); so_far.len()];
        let keep = |so_far: &[Scalar], on_the_way: &mut [Vec<Scalar>]| {
            on_the_way.iter_mut().zip(so_far).for_each(|(data, x)| data.push(*x));
        };
        for i in 0..n {
            self.bind(axis.var, Value::scalar(Scalar::I64(i as i64)));
            let next = self.scalars(body)?;
            if prefix == Some(Prefix::Exclusive) {
                keep(&so_far, &mut on_the_way);
            }
            so_far = combine(self, &so_far, &next)?;
            if prefix == Some(Prefix::Inclusive) {
                keep(&so_far, &mut on_the_way);
            }
        }
        if prefix.is_none() {
            return Ok(so_far.into_iter().map(Value::scalar).collect());
        }
        let array = |(data, x): (Vec<Scalar>, &Scalar)| Value::new(x.elem(), vec![n], data);
        on_the_way.into_iter().zip(&so_far).map(array).collect()
    }

    pub(super) fn repeat(&mut self, l: &Loop) -> Result<Vec<Value>, Fault> {
        let mut state: Vec<Value> =
            l.state.iter().map(|(_, start)| self.atom(*start)).collect::<Result<_, _>>()?;
        let count = match &l.trips {
            Trips::For(_, count) => integer(self.scalar(*count)?)?,
            Trips::While(_) => i64::MAX,
        };
        for trip in 0..count {
            work::spend(1)?;
            for ((v, _), value) in l.state.iter().zip(&state) {
                self.bind(*v, value.clone());
            }
            match &l.trips {
                Trips::For(var, _) => self.bind(*var, Value::scalar(Scalar::I64(trip))),
                Trips::While(condition) => {
                    if self.scalars(condition)? != [Scalar::Bool(true)] {
                        break;
                    }
                }
            }
            state = self.body(&l.body)?;
        }
        Ok(state)
    }
}
