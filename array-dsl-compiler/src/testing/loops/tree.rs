//! Trees, point by point: what stands in them, and their scalars.

use super::Machine;
use crate::bulk::{ArrayId, Atom, Block, Exp, Let, Prefix, Reducer, Scan, Var};
use crate::loops::own::overwrites_in_order;
use crate::loops::{Home, Loop, Node, Plan, Recurrence, Rounds, State, Tree, Which};
use crate::ty::Elem;
use crate::value::{Fault, Scalar, apply, combine, improves, work};

impl Machine<'_> {
    /// The code of a trip, and what it folds if that differs.
    fn code<'a>(
        &self,
        plan: &'a Plan,
        body: &'a [Node],
        trip: i64,
        trips: usize,
    ) -> Result<(&'a [Node], &'a [Atom]), Fault> {
        // As the emitted code has them: no border is before an earlier one.
        let mut from = i64::MIN;
        for (which, code, values) in plan.form.codes() {
            let is_here = match which {
                Which::Away(margin) => trip >= margin && trip < trips as i64 - margin,
                Which::Between(_, Some(to)) => {
                    let axis = to.axis.map(|v| self.atom(Atom::Var(v))).transpose()?;
                    let offset = self.dim(&to.offset)?;
                    from = from.max(axis.and_then(Scalar::as_i64).unwrap_or(0).saturating_add(offset));
                    trip < from
                }
                Which::Between(_, None) => true,
            };
            if is_here {
                return Ok((code, values));
            }
        }
        Ok((body, &[]))
    }

    pub(super) fn tree(&mut self, t: &Tree) -> Result<(), Fault> {
        let extents: Vec<usize> = t.axes.iter().map(|a| self.trips(&a.extent)).collect::<Result<_, _>>()?;
        work::spend_elements(&extents)?;
        self.prepare(&t.body)?;
        self.parallel = t.axes.len();
        self.rows.clear();
        let count = extents.iter().product::<usize>();
        let in_order = overwrites_in_order(self.p, t);
        for i in 0..count {
            let mut rest = if in_order { i } else { count - 1 - i };
            self.axes = vec![0; extents.len()];
            for (p, n) in self.axes.iter_mut().zip(&extents).rev() {
                (*p, rest) = ((rest % n) as i64, rest / n);
            }
            // Scalars belong to one point.
            self.vars.fill(None);
            for (a, x) in t.axes.iter().zip(&self.axes) {
                self.vars[a.var.0 as usize] = Some(Scalar::I64(*x));
            }
            let (code, _) = match (self.axes.first(), extents.first()) {
                (Some(trip), Some(trips)) => self.code(&t.plan, &t.body, *trip, *trips)?,
                _ => (&t.body[..], &[][..]),
            };
            self.nodes(code)?;
        }
        self.axes.clear();
        Ok(())
    }

    /// Memory for what a tree stores.
    fn prepare(&mut self, body: &[Node]) -> Result<(), Fault> {
        for n in body {
            match n {
                Node::Loop(l) => self.prepare(&l.body)?,
                Node::Recurrence(r) => self.prepare(&r.body)?,
                Node::Store { array, .. } | Node::Write { array, .. } | Node::Accumulate { array, .. }
                    if self.is_prepared(*array, matches!(n, Node::Store { .. })) =>
                {
                    let shape = self.shape(*array)?;
                    work::spend_elements(&shape)?;
                    self.set(*array, vec![None; shape.iter().product()]);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether memory for an array is there when a tree begins: what is changed otherwise than by stores has been filled.
    fn is_prepared(&self, array: ArrayId, is_stored: bool) -> bool {
        match self.p.arrays[array.0 as usize].home {
            Home::Row { .. } => false,
            Home::Scratch => true,
            Home::Heap | Home::Param | Home::View(_) | Home::Band(_) | Home::Nowhere => is_stored,
        }
    }

    fn nodes(&mut self, body: &[Node]) -> Result<(), Fault> {
        for n in body {
            match n {
                Node::Let(l) => self.binding(l)?,
                Node::Scan(s) => self.scan(s)?,
                Node::Loop(l) => self.sequential(l)?,
                Node::Recurrence(r) => self.recurrence(r)?,
                Node::Store { array, index, value } => {
                    let value = self.atom(*value)?;
                    self.update(*array, index, true, |_| Ok(value))?;
                }
                Node::Accumulate { array, reducer, index, value } => {
                    let value = self.atom(*value)?;
                    self.counts.operations += u64::from(value.elem().is_float());
                    self.update(*array, index, false, |old| {
                        let old = old.ok_or_else(|| Fault::internal("accumulation into nothing"))?;
                        combine(*reducer, old, value)
                    })?;
                }
                Node::Write { array, index, value, checked } => {
                    let value = self.atom(*value)?;
                    self.update(*array, index, !checked, |_| Ok(value))?;
                }
            }
        }
        Ok(())
    }

    fn recurrence(&mut self, r: &Recurrence) -> Result<(), Fault> {
        let values = |m: &Self, at: fn(&State) -> Atom| -> Result<Vec<Scalar>, Fault> {
            r.states.iter().map(|s| m.atom(at(s))).collect()
        };
        let mut states = values(self, |s| s.start)?;
        let trips = match &r.rounds {
            Rounds::For(a, until) => {
                let until = until.map(|u| self.atom(u)).transpose()?.and_then(Scalar::as_i64);
                Some((self.trips(&a.extent)? as i64).min(until.unwrap_or(i64::MAX)))
            }
            Rounds::While(_) => None,
        };
        for trip in 0.. {
            for (s, x) in r.states.iter().zip(&states) {
                self.vars[s.state.0 as usize] = Some(*x);
            }
            let goes_on = match &r.rounds {
                Rounds::For(a, _) => {
                    self.vars[a.var.0 as usize] = Some(Scalar::I64(trip));
                    trips.is_some_and(|n| trip < n)
                }
                Rounds::While(on) => self.atom(Atom::Var(*on))? == Scalar::Bool(true),
            };
            if !goes_on {
                break;
            }
            work::spend(1)?;
            self.nodes(&r.body)?;
            states = values(self, |s| s.next)?;
        }
        for (s, x) in r.states.iter().zip(states) {
            self.vars[s.result.0 as usize] = Some(x);
        }
        Ok(())
    }

    fn sequential(&mut self, l: &Loop) -> Result<(), Fault> {
        let extents: Vec<usize> = l.axes().map(|a| self.trips(&a.extent)).collect::<Result<_, _>>()?;
        let mut folded: Vec<(Option<Scalar>, i64)> = vec![(None, 0); l.folds.len()];
        let outside = self.axes.len();
        let end = |m: &Self, a: Option<Atom>| -> Result<Option<usize>, Fault> {
            let end = a.map(|a| m.atom(a)).transpose()?.and_then(Scalar::as_i64);
            Ok(end.map(|i| i.max(0) as usize))
        };
        let all: usize = extents.iter().product();
        let from = end(self, l.range.from)?.unwrap_or(0);
        let to = end(self, l.range.to)?.unwrap_or(all).min(all);
        // The first trip may be a later one than that of the last time.
        for s in l.scans() {
            self.states.remove(&s.vars[0]);
        }
        for i in from..to {
            work::spend(1)?;
            let mut rest = i;
            self.axes.resize(outside + extents.len(), 0);
            for (k, n) in extents.iter().enumerate().rev() {
                (self.axes[outside + k], rest) = ((rest % n) as i64, rest / n);
            }
            for (a, x) in l.axes().zip(&self.axes[outside..]) {
                self.vars[a.var.0 as usize] = Some(Scalar::I64(*x));
            }
            let (code, values) = self.code(&l.plan, &l.body, i as i64, extents[0])?;
            self.nodes(code)?;
            for (k, (fold, (best, place))) in l.folds.iter().zip(&mut folded).enumerate() {
                let value = self.atom(values.get(k).copied().unwrap_or(fold.value))?;
                self.counts.operations += u64::from(value.elem().is_float() && fold.reducer != Reducer::Last);
                let old = best.unwrap_or_else(|| fold.reducer.neutral(value.elem()).into());
                if fold.reducer == Reducer::Last {
                    *best = Some(value);
                } else if fold.reducer.op().is_some() {
                    *best = Some(combine(fold.reducer, old, value)?);
                } else if improves(fold.reducer, value, old) {
                    (*best, *place) = (Some(value), i as i64);
                }
            }
        }
        self.axes.truncate(outside);
        for (fold, (best, place)) in l.folds.iter().zip(folded) {
            let extremum = fold.reducer.is_extremum();
            let elem = match fold.value {
                Atom::Var(v) => self.p.vars[v.0 as usize],
                Atom::Const(c) => c.elem,
            };
            let neutral = || Scalar::from(fold.reducer.neutral(elem));
            let result = if extremum { Scalar::I64(place) } else { best.unwrap_or_else(neutral) };
            self.vars[fold.result.0 as usize] = Some(result);
        }
        Ok(())
    }

    /// A value, or zero after a fault of the running program.
    fn recovered(&mut self, value: Result<Scalar, Fault>, elem: Elem) -> Result<Scalar, Fault> {
        match value {
            Err(fault @ (Fault::IndexOutOfRange { .. } | Fault::DivisionByZero { .. })) => {
                self.fault.get_or_insert(fault);
                Ok(Scalar::zero(elem))
            }
            value => value,
        }
    }

    /// The state goes from trip to trip of the loop that the scan stands in.
    fn scan(&mut self, s: &Scan) -> Result<(), Fault> {
        work::spend(1)?;
        let key = s.vars[0];
        let first = self.axes.last() == Some(&0);
        let before: Vec<Scalar> = match self.states.get(&key).filter(|_| !first) {
            Some(states) => states.clone(),
            None => s.start.iter().map(|a| self.atom(*a)).collect::<Result<_, _>>()?,
        };
        for (v, x) in s.left.iter().zip(&before) {
            self.vars[v.0 as usize] = Some(*x);
        }
        for (v, a) in s.right.iter().zip(&s.values) {
            self.vars[v.0 as usize] = Some(self.atom(*a)?);
        }
        self.block(&s.step.block)?;
        let after: Vec<Scalar> = s.step.results.iter().map(|a| self.atom(*a)).collect::<Result<_, _>>()?;
        let given = if s.prefix == Prefix::Inclusive { &after } else { &before };
        self.bind(&s.vars, given.clone())?;
        self.states.insert(key, after);
        Ok(())
    }

    fn block(&mut self, b: &Block) -> Result<(), Fault> {
        b.lets.iter().try_for_each(|l| self.binding(l))
    }

    fn binding(&mut self, l: &Let) -> Result<(), Fault> {
        work::spend(1)?;
        let values = match &l.exp {
            Exp::Op(op, args) => {
                let args: Vec<Scalar> = args.iter().map(|a| self.atom(*a)).collect::<Result<_, _>>()?;
                let on_floats = args.iter().any(|a| a.elem().is_float());
                self.counts.operations +=
                    u64::from(on_floats || self.p.vars[l.vars[0].0 as usize].is_float());
                let value = apply(*op, &args).map_err(|f| f.at(l.loc));
                vec![self.recovered(value, self.p.vars[l.vars[0].0 as usize])?]
            }
            Exp::Size(d) => vec![Scalar::I64(self.dim(d)?)],
            Exp::Read { array, index, checked } => {
                let value = self.read(*array, index, *checked, l.loc);
                vec![self.recovered(value, self.p.vars[l.vars[0].0 as usize])?]
            }
            Exp::Inside { index, dims, .. } => {
                let inside = self.inside(index, dims, l.loc);
                vec![self.recovered(inside, Elem::Bool)?]
            }
            Exp::StopGradient(a) => vec![self.atom(*a)?],
            Exp::If(c, x, y) => {
                let side = if self.atom(*c)?.as_bool() == Some(true) { x } else { y };
                self.block(&side.block)?;
                side.results.iter().map(|a| self.atom(*a)).collect::<Result<_, _>>()?
            }
        };
        self.bind(&l.vars, values)
    }

    fn bind(&mut self, vars: &[Var], values: Vec<Scalar>) -> Result<(), Fault> {
        for (v, x) in vars.iter().zip(values) {
            let declared: Elem = self.p.vars[v.0 as usize];
            if declared != x.elem() {
                return Err(Fault::internal(format!("scalar %{} is {declared} and gets {x}", v.0)));
            }
            self.vars[v.0 as usize] = Some(x);
        }
        Ok(())
    }
}
