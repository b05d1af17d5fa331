//! Bulk executed statement by statement: the oracle for everything after it, and a meter of the work a program
//! does. The program is one that `verify` accepts.
//!
//! Points of a nest are visited in row-major order, so float sums have one order. A reduction over nothing gives the
//! neutral element (`ArgMin` and `ArgMax`: 0); `Accumulate` and `Write` ignore indices outside; of
//! several writes to one place the last is kept. A negative extent counts as zero. An unchecked read outside its array is a
//! mistake of the compiler and reported as an internal fault.

mod control;
mod extremes;
mod order;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::control::Control;
pub use self::extremes::Extremes;
use self::order::in_order;
use super::{
    ArrayId, Atom, Block, Check, CheckKind, Exp, Item, Let, Nest, Prefix, Program, Reducer, Repeat, Scan,
    Stm, Strip, Trips, Var, YieldKind,
};
use crate::dim::{Dim, SizeAtom, told};
use crate::scalar::Op;
use crate::ty::{Const, Loc, Name};
use crate::value::{Fault, Recovery, Scalar, Value, apply, combine, improves, work};

/// The work a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scalar functions executed, and the combinations of reductions and contractions. Of an associative scan what an execution
    /// in order needs: see `order`.
    pub scalar_ops: u64,
    /// Scalar functions that are loop control and addresses, which are not in `scalar_ops`: see `control`.
    pub control: u64,
    /// Scalar functions and reads that an associative scan needs only to be regrouped.
    pub regrouping: u64,
    /// Elements read. A read of an array of rank 0 is none: it is a scalar, which generated code has in a variable.
    pub reads: u64,
    /// Values accumulated or written, also where the index was outside.
    pub updates: u64,
    /// Elements of all arrays that statements made; parameters and reshapes are not counted.
    pub elements_allocated: u64,
    /// Elements of the largest of these arrays.
    pub largest: u64,
}

/// The results (the leaves of the result's structure) for these arguments (the leaves of the parameters).
pub fn run(p: &Program, args: &[Value]) -> Result<Vec<Value>, Fault> {
    run_counted(p, args).map(|(values, _)| values)
}

/// As [`run`], with the work done.
pub fn run_counted(p: &Program, args: &[Value]) -> Result<(Vec<Value>, Counts), Fault> {
    work::begin();
    let mut m = Machine::new(p);
    Ok((m.results(args)?, m.counts))
}

/// The numbers that a run meets.
pub fn extremes(p: &Program, args: &[Value]) -> Result<Extremes, Fault> {
    work::begin();
    let mut m = Machine::new(p);
    m.results(args)?;
    Ok(m.extremes)
}

/// The results of a program that is a part of another one, within the work that is left to that, and with its recovery.
pub(crate) fn run_inside(
    p: &Program,
    args: &[Value],
    recovery: &mut Option<Recovery>,
) -> Result<Vec<Value>, Fault> {
    let mut m = Machine { recovery: recovery.take(), ..Machine::new(p) };
    let results = m.results(args);
    *recovery = m.recovery;
    results
}

struct Machine<'a> {
    p: &'a Program,
    /// If the run goes on after faults.
    recovery: Option<Recovery>,
    sizes: FxHashMap<Name, i64>,
    arrays: Vec<Option<Value>>,
    /// Views that have a shape and no elements: see `has_negative_dim`.
    unreadable: FxHashSet<ArrayId>,
    vars: Vec<Scalar>,
    /// The states of scans after the last point, by their first variable.
    states: FxHashMap<Var, Vec<Scalar>>,
    /// Whether the point is the first along the last axis.
    first: bool,
    control: Control,
    /// Of the scans of the current nest.
    in_order: Rc<FxHashMap<Var, Block>>,
    counts: Counts,
    extremes: Extremes,
}

/// A result of a nest while the nest runs.
struct Target {
    value: Value,
    /// For `ArgMin` and `ArgMax`: the best value so far for each element.
    best: Vec<Scalar>,
    /// For `Reduce`: how many points make one element.
    over: usize,
    /// For `Write`: the places that were written.
    written: FxHashSet<usize>,
}

impl<'a> Machine<'a> {
    fn new(p: &'a Program) -> Machine<'a> {
        Machine {
            p,
            recovery: None,
            sizes: FxHashMap::default(),
            arrays: vec![None; p.arrays.len()],
            unreadable: FxHashSet::default(),
            vars: vec![Scalar::Bool(false); p.vars.len()],
            states: FxHashMap::default(),
            first: true,
            control: Control::new(p),
            in_order: Rc::default(),
            counts: Counts::default(),
            extremes: Extremes::default(),
        }
    }

    fn results(&mut self, args: &[Value]) -> Result<Vec<Value>, Fault> {
        self.bind_params(args)?;
        for stm in &self.p.stms {
            self.stm(stm)?;
        }
        self.p.result.leaves().into_iter().map(|a| self.array(*a).cloned()).collect()
    }

    /// What a scalar that failed is, if the run goes on.
    fn recovered(&mut self, v: Var, fault: Fault) -> Result<Scalar, Fault> {
        let instead = Recovery::after(&mut self.recovery, fault)?;
        Ok(Const::of(self.p.vars[v.0 as usize], instead).into())
    }

    fn bind_params(&mut self, args: &[Value]) -> Result<(), Fault> {
        let params = || self.p.params.iter().flat_map(|p| p.arrays.leaves().into_iter().map(|a| (*a, p.loc)));
        if params().count() != args.len() {
            return Err(Fault::internal(format!(
                "{} arguments for {} parameters",
                args.len(),
                params().count()
            )));
        }
        let params: Vec<(ArrayId, Loc)> = params().collect();
        let p = self.p;
        let (mut dims, mut found) = (Vec::new(), Vec::new());
        for (&(a, loc), arg) in params.iter().zip(args) {
            let info = p.array(a);
            if arg.elem() != info.elem || arg.shape().len() != info.dims.len() {
                let message = format!("argument `{}` is of another type", info.name);
                return Err(Fault::internal(message).at(loc));
            }
            dims.extend(&info.dims);
            found.extend(arg.shape().iter().map(|n| (*n as i64, loc)));
            self.arrays[a.0 as usize] = Some(arg.clone());
        }
        for t in told(&dims) {
            let (n, loc) = found[t.at];
            let rest = self.dim(&t.rest).map_err(|f| f.at(loc))?;
            let message = || format!("there is no size `{}` with {} = {n}", t.size, dims[t.at]);
            let size = t.value(n, rest).ok_or_else(|| Fault::size(message()).at(loc))?;
            self.sizes.insert(t.size, size);
        }
        for (a, loc) in params {
            let info = self.p.array(a);
            let found = self.array(a)?.shape();
            let expected: Result<Vec<i64>, Fault> = info.dims.iter().map(|d| self.dim(d)).collect();
            let expected = expected.map_err(|f| f.at(loc))?;
            if !found.iter().map(|n| *n as i64).eq(expected.iter().copied()) {
                let message = format!("argument `{}` has shape {found:?}, expected {expected:?}", info.name);
                return Err(Fault::size(message).at(loc));
            }
        }
        for s in &self.p.strips {
            let (width, trips) = Strip::narrow(self.dim(&s.total)?);
            self.sizes.insert(s.width.clone(), width);
            self.sizes.insert(s.trips.clone(), trips);
        }
        Ok(())
    }

    fn array(&self, a: ArrayId) -> Result<&Value, Fault> {
        let bound = self.arrays.get(a.0 as usize).and_then(|v| v.as_ref());
        bound.ok_or_else(|| Fault::internal(format!("array {} is not bound", a.0)))
    }

    /// Binds an array that a statement has made.
    fn bind(&mut self, a: ArrayId, value: Value) {
        self.counts.elements_allocated += value.data().len() as u64;
        self.counts.largest = self.counts.largest.max(value.data().len() as u64);
        self.arrays[a.0 as usize] = Some(value);
    }

    fn dim(&self, d: &Dim) -> Result<i64, Fault> {
        let mut unknown = None;
        let value = d.eval(&mut |atom| {
            let value = match atom {
                SizeAtom::Name(n) => self.sizes.get(n).copied(),
                SizeAtom::Scalar(s) => {
                    self.array(ArrayId(*s)).ok().and_then(|v| v.item()).and_then(|v| v.as_i64())
                }
            };
            value.unwrap_or_else(|| {
                unknown = Some(format!("{atom:?} has no value"));
                0
            })
        });
        match unknown {
            Some(message) => Err(Fault::internal(message)),
            None => value.ok_or_else(|| Fault::size(format!("{d} is too large"))),
        }
    }

    /// The numbers of dimensions. A negative one is that of a branch that is not taken, or of rows where there are none: nothing
    /// of that size is ever made, and it counts as zero.
    fn shape(&self, dims: &[Dim]) -> Result<Vec<usize>, Fault> {
        dims.iter().map(|d| Ok(usize::try_from(self.dim(d)?).unwrap_or(0))).collect()
    }

    /// Whether a dimension is negative, as it may be in a branch that is not taken, where nobody has refused it. Such an array has
    /// no elements; a view of it may have as many as two negative numbers make, none of which may be read.
    fn has_negative_dim(&self, a: ArrayId) -> Result<bool, Fault> {
        let dims: Vec<i64> = self.p.array(a).dims.iter().map(|d| self.dim(d)).collect::<Result<_, _>>()?;
        Ok(dims.iter().any(|n| *n < 0))
    }

    fn stm(&mut self, stm: &'a Stm) -> Result<(), Fault> {
        match stm {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => {
                let shape = self.shape(&self.p.array(*result).dims)?;
                let refused = self.has_negative_dim(*source)? || self.has_negative_dim(*result)?;
                self.arrays[result.0 as usize] = Some(if refused || self.unreadable.contains(source) {
                    work::spend_elements(&shape)?;
                    self.unreadable.insert(*result);
                    Value::filled(shape, Scalar::zero(self.p.array(*source).elem))
                } else {
                    self.unreadable.remove(result);
                    self.array(*source)?.reshape(shape)?
                });
                Ok(())
            }
            Stm::Repeat(r) => self.repeat(r),
            Stm::Sort(s) => {
                self.arrays[s.result.0 as usize] = Some(self.array(s.keys)?.argsort()?);
                Ok(())
            }
            Stm::Call(c) => {
                let args = c.args.iter().map(|a| self.array(*a)).collect::<Result<Vec<&Value>, Fault>>()?;
                for (result, value) in c.results.iter().zip(c.routine.eval(&args)?) {
                    self.arrays[result.0 as usize] = Some(value);
                }
                Ok(())
            }
            Stm::Custom(c) => {
                for (result, value) in c.results.iter().zip(&c.values) {
                    self.arrays[result.0 as usize] = Some(self.array(*value)?.clone());
                }
                Ok(())
            }
            Stm::Check(c, loc) => self.check(c).map_err(|f| f.at(*loc)),
        }
    }

    /// In-place updates are not counted as copies: what a target starts from is the state that is not used again.
    fn repeat(&mut self, r: &'a Repeat) -> Result<(), Fault> {
        for c in &r.carried {
            self.arrays[c.state.0 as usize] = Some(self.array(c.start)?.clone());
        }
        let mut trip = 0;
        loop {
            match &r.trips {
                Trips::For(index, count) => {
                    if trip >= self.dim(count)? {
                        break;
                    }
                    self.arrays[index.0 as usize] = Some(Value::scalar(Scalar::I64(trip)));
                }
                Trips::While(state) => {
                    if !self.array(*state)?.data().contains(&Scalar::Bool(true)) {
                        break;
                    }
                }
            }
            trip += 1;
            work::spend(1)?;
            for s in &r.body {
                self.stm(s)?;
            }
            let next: Vec<Value> =
                r.carried.iter().map(|c| self.array(c.next).cloned()).collect::<Result<_, _>>()?;
            for (c, value) in r.carried.iter().zip(next) {
                self.arrays[c.state.0 as usize] = Some(value);
            }
        }
        for c in &r.carried {
            self.arrays[c.result.0 as usize] = Some(self.array(c.state)?.clone());
        }
        Ok(())
    }

    fn check(&self, c: &Check) -> Result<(), Fault> {
        for g in &c.guards {
            if self.dim(g)? <= 0 {
                return Ok(());
            }
        }
        let (holds, message) = match &c.kind {
            CheckKind::Equal(a, b) => {
                let (x, y) = (self.dim(a)?, self.dim(b)?);
                (x == y, format!("sizes differ: {a} = {x}, {b} = {y}"))
            }
            CheckKind::NonNegative(d) => {
                let x = self.dim(d)?;
                (0 <= x, format!("a size is negative: {d} = {x}"))
            }
            CheckKind::AtLeast(lo, d) => {
                let (x, y) = (self.dim(lo)?, self.dim(d)?);
                (x <= y, format!("a size is too small: {d} = {y}, expected at least {lo} = {x}"))
            }
        };
        if holds { Ok(()) } else { Err(Fault::size(message)) }
    }

    fn nest(&mut self, n: &'a Nest) -> Result<(), Fault> {
        let extents: Vec<Dim> = n.axes.iter().map(|x| x.extent.clone()).collect();
        let extents = self.shape(&extents).map_err(|f| f.at(n.loc))?;
        work::spend_elements(&extents)?;
        let targets: Result<Vec<Target>, Fault> =
            n.yields.iter().map(|y| self.target(&y.kind, &extents)).collect();
        let mut targets = targets.map_err(|f| f.at(n.loc))?;
        let points: usize = extents.iter().product();
        let mut at = vec![0usize; extents.len()];
        self.in_order = Rc::new(in_order(n));
        for point in 0..points {
            for (axis, &i) in n.axes.iter().zip(&at) {
                self.vars[axis.var.0 as usize] = Scalar::I64(i as i64);
            }
            self.first = at.last() == Some(&0);
            for i in &n.body.items {
                match i {
                    Item::Let(l) => self.binding(l)?,
                    Item::Scan(s) => self.scan(s)?,
                }
            }
            for (y, target) in n.yields.iter().zip(&mut targets) {
                self.point(&y.kind, target, point).map_err(|f| f.at(n.loc))?;
            }
            for (i, extent) in at.iter_mut().zip(&extents).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
        }
        for (y, target) in n.yields.iter().zip(targets) {
            if let YieldKind::Reduce { .. } = y.kind {
                target.value.data().iter().for_each(|x| self.extremes.result(*x));
            }
            self.bind(y.array, target.value);
        }
        Ok(())
    }

    /// A result before the first point.
    fn target(&self, kind: &YieldKind, extents: &[usize]) -> Result<Target, Fault> {
        let plain = |value| Target { value, best: Vec::new(), over: 1, written: FxHashSet::default() };
        Ok(match kind {
            YieldKind::Store(v) => plain(Value::filled(extents.to_vec(), Scalar::zero(self.p.elem(*v)))),
            YieldKind::Reduce { reducer, over, value } => {
                let (outer, inner) = extents.split_at(extents.len().saturating_sub(*over));
                let over = inner.iter().product();
                let neutral = Scalar::from(reducer.neutral(self.p.elem(*value)));
                if !reducer.is_extremum() {
                    return Ok(Target {
                        value: Value::filled(outer.to_vec(), neutral),
                        best: Vec::new(),
                        over,
                        written: FxHashSet::default(),
                    });
                }
                let value = Value::filled(outer.to_vec(), Scalar::I64(0));
                let best = vec![neutral; value.data().len()];
                Target { value, best, over, written: FxHashSet::default() }
            }
            YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                let into = self.array(*into)?;
                work::spend_elements(into.shape())?;
                plain(into.clone())
            }
        })
    }

    /// What one point contributes to a result.
    fn point(&mut self, kind: &YieldKind, target: &mut Target, point: usize) -> Result<(), Fault> {
        let place = point / target.over;
        match kind {
            YieldKind::Store(v) => target.value.data_mut()[point] = self.atom(*v),
            YieldKind::Reduce { reducer, value, .. } => {
                let value = self.atom(*value);
                self.counts.scalar_ops += 1;
                let element = &mut target.value.data_mut()[place];
                if *reducer == Reducer::Last {
                    *element = value;
                } else if reducer.op().is_some() {
                    *element = combine(*reducer, *element, value)?;
                } else if improves(*reducer, value, target.best[place]) {
                    target.best[place] = value;
                    *element = Scalar::I64((point % target.over) as i64);
                }
            }
            YieldKind::Accumulate { reducer, index, value, .. } => {
                self.update(&mut target.value, Some(*reducer), index, *value)?;
            }
            YieldKind::Write { index, value, contested, .. } => {
                let place = self.update(&mut target.value, None, index, *value)?;
                if !contested && place.is_some_and(|place| !target.written.insert(place)) {
                    return Err(Fault::internal("two points write to one place"));
                }
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        into: &mut Value,
        how: Option<Reducer>,
        index: &[Atom],
        value: Atom,
    ) -> Result<Option<usize>, Fault> {
        self.counts.updates += 1;
        let value = self.atom(value);
        let Ok(place) = self.place(into, index)? else { return Ok(None) };
        let element = &mut into.data_mut()[place];
        *element = match how {
            Some(reducer) => combine(reducer, *element, value)?,
            None => value,
        };
        Ok(Some(place))
    }

    /// Where an element is in row-major order; `Err` of the index and the dimension where it is outside.
    fn place(&self, array: &Value, index: &[Atom]) -> Result<Result<usize, (i64, usize)>, Fault> {
        let mut place = 0;
        for (a, &len) in index.iter().zip(array.shape()) {
            let i = self.atom(*a).as_i64().ok_or_else(|| Fault::internal("an index is no integer"))?;
            match usize::try_from(i) {
                Ok(i) if i < len => place = place * len + i,
                _ => return Ok(Err((i, len))),
            }
        }
        Ok(Ok(place))
    }

    fn atom(&self, a: Atom) -> Scalar {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.into(),
        }
    }

    fn block(&mut self, b: &Block) -> Result<(), Fault> {
        b.lets.iter().try_for_each(|l| self.binding(l))
    }

    fn binding(&mut self, l: &Let) -> Result<(), Fault> {
        work::spend(1)?;
        let value = match &l.exp {
            Exp::If(condition, yes, no) => {
                let branch = if self.atom(*condition) == Scalar::Bool(true) { yes } else { no };
                self.block(&branch.block)?;
                for (v, a) in l.vars.iter().zip(&branch.results) {
                    self.vars[v.0 as usize] = self.atom(*a);
                }
                return Ok(());
            }
            Exp::Op(op, args) => {
                let control = self.control.is(l.vars[0]);
                *(if control { &mut self.counts.control } else { &mut self.counts.scalar_ops }) += 1;
                self.op(*op, args)
            }
            Exp::Size(d) => self.dim(d).map(Scalar::I64),
            Exp::Read { array, index, checked } => {
                self.counts.reads += u64::from(!index.is_empty());
                self.read(*array, index, *checked)
            }
            Exp::Inside { index, dims, .. } => self.inside(index, dims),
            Exp::StopGradient(a) => Ok(self.atom(*a)),
        };
        let value = match value {
            Ok(value) => value,
            Err(fault) => self.recovered(l.vars[0], fault.at(l.loc))?,
        };
        for v in &l.vars {
            self.vars[v.0 as usize] = value;
        }
        Ok(())
    }

    /// The states live from one point of the last axis to the next; points come in order, the last axis fastest.
    fn scan(&mut self, s: &Scan) -> Result<(), Fault> {
        work::spend(1)?;
        let before: Vec<Scalar> = match self.states.get(&s.vars[0]).filter(|_| !self.first) {
            Some(states) => states.clone(),
            None => s.start.iter().map(|a| self.atom(*a)).collect(),
        };
        for (v, x) in s.left.iter().zip(&before) {
            self.vars[v.0 as usize] = *x;
        }
        for (v, a) in s.right.iter().zip(&s.values) {
            self.vars[v.0 as usize] = self.atom(*a);
        }
        let counts = self.counts;
        self.block(&s.step.block)?;
        let after: Vec<Scalar> = s.step.results.iter().map(|a| self.atom(*a)).collect();
        if let Some(needed) = Rc::clone(&self.in_order).get(&s.vars[0]) {
            let all = std::mem::replace(&mut self.counts, counts);
            self.block(needed)?;
            let work = |c: &Counts| c.scalar_ops + c.control + c.reads;
            self.counts.regrouping += work(&all) - work(&self.counts);
        }
        let given = if s.prefix == Prefix::Inclusive { &after } else { &before };
        for (v, x) in s.vars.iter().zip(given) {
            self.vars[v.0 as usize] = *x;
        }
        self.states.insert(s.vars[0], after);
        Ok(())
    }

    fn op(&mut self, op: Op, args: &[Atom]) -> Result<Scalar, Fault> {
        let mut values = [Scalar::Bool(false); 3];
        let count = args.len().min(values.len());
        for (value, a) in values.iter_mut().zip(args) {
            *value = self.atom(*a);
        }
        let result = apply(op, &values[..count])?;
        self.extremes.op(op, args, &values[..count], result);
        Ok(result)
    }

    fn inside(&self, index: &[Atom], dims: &[Dim]) -> Result<Scalar, Fault> {
        for (i, d) in index.iter().zip(dims) {
            let index = self.atom(*i).as_i64().ok_or_else(|| Fault::internal("an index is no integer"))?;
            let len = self.dim(d)?;
            if !(0..len).contains(&index) {
                return Err(Fault::IndexOutOfRange { index, len, loc: Loc::default() });
            }
        }
        Ok(Scalar::Bool(true))
    }

    fn read(&self, array: ArrayId, index: &[Atom], checked: bool) -> Result<Scalar, Fault> {
        let value = self.array(array)?;
        match self.place(value, index)? {
            Ok(_) if self.unreadable.contains(&array) => {
                let name = &self.p.array(array).name;
                Err(Fault::internal(format!("a view of negative dimensions is read: `{name}`")))
            }
            Ok(place) => Ok(value.data()[place]),
            Err((index, len)) if checked => {
                Err(Fault::IndexOutOfRange { index, len: len as i64, loc: Loc::default() })
            }
            Err((index, len)) => {
                let name = &self.p.array(array).name;
                Err(Fault::internal(format!(
                    "unchecked read out of range: index {index} of {len} in `{name}`"
                )))
            }
        }
    }
}
