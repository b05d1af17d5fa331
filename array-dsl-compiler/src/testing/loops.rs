//! Loops executed as they stand: what a schedule means, to be compared with the Bulk program it was made from.
//!
//! * Memory starts out undefined, and reading what was not written is a fault: so is reading what another point of the
//!   parallel axes of the same tree writes, unless it comes earlier. The points are visited in **reverse** order, so
//!   that whatever relies on the usual one is found. (Not in a tree with `Write` nodes: of several values for one place
//!   the last is kept, as in the other interpreters.)
//! * A row array belongs to one point of the parallel axes and of its `depth` leading axes; at another point it is
//!   undefined again.
//! * `Accumulate` and `Write` ignore indices outside. Any other index outside is a fault. As in compiled code a fault does not
//!   end the run: a checked read outside gives zero, as does a division by zero, and the first fault is reported at
//!   the end. What is executed meanwhile must be as careful; an unchecked read outside ends the run as an internal
//!   fault.

use std::collections::HashMap;

use crate::bulk::{ArrayId, Atom, Block, CheckKind, Exp, Let, Prefix, Reducer, Scan, Strip, Trips, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{
    ArrayInfo, Check, Contract, Home, Loop, Middle, Node, Program, Recurrence, Repeat, Rounds, Sorted, State,
    Step, Tree,
};
use crate::target::Target;
use crate::ty::{Elem, Loc, Name};
use crate::value::{Fault, Scalar, Value, apply, combine, improves, work};

/// The results (the leaves of the result's structure) for these arguments (the leaves of the parameters), of loops for `target`.
pub fn run(p: &Program, target: Target, args: &[Value]) -> Result<Vec<Value>, Fault> {
    run_measured(p, target, args).map(|(values, _)| values)
}

/// As [`run`], with the most elements that the program's own arrays had at once.
pub fn run_measured(p: &Program, target: Target, args: &[Value]) -> Result<(Vec<Value>, usize), Fault> {
    work::begin();
    let mut m = Machine {
        p,
        target,
        sizes: HashMap::new(),
        memory: vec![None; p.arrays.len()],
        held: 0,
        most: 0,
        rows: HashMap::new(),
        vars: vec![None; p.vars.len()],
        states: HashMap::new(),
        axes: Vec::new(),
        parallel: 0,
        fault: None,
    };
    m.params(args)?;
    p.steps.iter().try_for_each(|s| m.step(s))?;
    if let Some(fault) = m.fault {
        return Err(fault);
    }
    let values = p.result.leaves().into_iter().map(|a| m.whole(*a)).collect::<Result<_, _>>()?;
    Ok((values, m.most))
}

/// The elements of an array; `None` where nothing has been written.
type Memory = Vec<Option<Scalar>>;

struct Machine<'a> {
    p: &'a Program,
    target: Target,
    sizes: HashMap<Name, i64>,
    memory: Vec<Option<Memory>>,
    /// The elements in memory but for the parameters', and the most that there were.
    held: usize,
    most: usize,
    /// Row arrays, and the point they belong to.
    rows: HashMap<ArrayId, (Vec<i64>, Memory)>,
    vars: Vec<Option<Scalar>>,
    /// The states of scans after the last trip, by their first scalar.
    states: HashMap<Var, Vec<Scalar>>,
    /// The values of the axes around the current place, of which the first are parallel.
    axes: Vec<i64>,
    parallel: usize,
    /// What has gone wrong so far.
    fault: Option<Fault>,
}

/// Whether nodes overwrite elements.
fn writes(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Write { .. } => true,
        Node::Loop(l) => writes(&l.body),
        Node::Recurrence(r) => writes(&r.body),
        _ => false,
    })
}

/// Whether a trip of a loop executes its middle.
fn in_middle(m: &Middle, trip: i64, trips: usize) -> bool {
    trip >= m.margin && trip < trips as i64 - m.margin
}

impl Machine<'_> {
    fn params(&mut self, args: &[Value]) -> Result<(), Fault> {
        let params: Vec<ArrayId> = self.p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
        if params.len() != args.len() {
            return Err(Fault::internal(format!("{} arguments for {} parameters", args.len(), params.len())));
        }
        for (a, arg) in params.iter().zip(args) {
            for (d, n) in self.p.arrays[a.0 as usize].dims.iter().zip(arg.shape()) {
                if let Some(SizeAtom::Name(name)) = d.as_atom() {
                    self.sizes.entry(name.clone()).or_insert(*n as i64);
                }
            }
            self.memory[a.0 as usize] = Some(arg.data().iter().copied().map(Some).collect());
        }
        for (a, arg) in params.iter().zip(args) {
            if self.shape(*a)? != arg.shape() {
                return Err(Fault::size(format!(
                    "argument `{}` has another shape",
                    self.p.arrays[a.0 as usize].name
                )));
            }
        }
        for s in &self.p.strips {
            let (width, trips) = Strip::narrow(self.dim(&s.total)?);
            self.sizes.insert(s.width.clone(), width);
            self.sizes.insert(s.trips.clone(), trips);
        }
        Ok(())
    }

    fn root(&self, a: ArrayId) -> ArrayId {
        self.p.root(a)
    }

    fn set(&mut self, a: ArrayId, data: Memory) {
        let root = self.root(a);
        self.held += data.len();
        let old = self.memory[root.0 as usize].replace(data);
        self.held -= old.map_or(0, |d| d.len());
        self.most = self.most.max(self.held);
    }

    /// The memory of an array with a home of its own, which loses it.
    fn take(&mut self, root: ArrayId) -> Option<Memory> {
        let data = self.memory[root.0 as usize].take();
        self.held -= data.as_ref().map_or(0, Vec::len);
        data
    }

    fn dim(&self, d: &Dim) -> Result<i64, Fault> {
        let mut unknown = false;
        let value = d.eval(&mut |atom| {
            let value = match atom {
                SizeAtom::Name(n) => self.sizes.get(n).copied(),
                SizeAtom::Scalar(s) => {
                    let memory = self.memory[self.root(ArrayId(*s)).0 as usize].as_ref();
                    memory.and_then(|m| m.first().copied().flatten()).and_then(Scalar::as_i64)
                }
            };
            unknown |= value.is_none();
            value.unwrap_or(0)
        });
        if unknown {
            return Err(Fault::internal(format!("a part of the size {d} has no value")));
        }
        value.ok_or_else(|| Fault::size(format!("the size {d} is too large")))
    }

    fn trips(&self, d: &Dim) -> Result<usize, Fault> {
        Ok(usize::try_from(self.dim(d)?).unwrap_or(0))
    }

    fn shape(&self, a: ArrayId) -> Result<Vec<usize>, Fault> {
        self.p.arrays[a.0 as usize].dims.iter().map(|d| self.trips(d)).collect()
    }

    /// Whether an array has a negative dimension.
    fn has_negative_dim(&self, a: ArrayId) -> Result<bool, Fault> {
        let dims: Vec<i64> =
            self.p.arrays[a.0 as usize].dims.iter().map(|d| self.dim(d)).collect::<Result<_, _>>()?;
        Ok(dims.iter().any(|n| *n < 0))
    }

    /// All of an array that has memory.
    fn whole(&self, a: ArrayId) -> Result<Value, Fault> {
        let info = &self.p.arrays[a.0 as usize];
        let undefined = || Fault::internal(format!("`{}.{}` is used before it is written", info.name, a.0));
        let memory = self.memory[self.root(a).0 as usize].as_ref();
        let shape = self.shape(a)?;
        if memory.is_none() && shape.contains(&0) {
            return Value::new(info.elem, shape, Vec::new());
        }
        // A view of negative dimensions, which a routine that moves memory finds empty.
        if self.root(a) != a && (self.has_negative_dim(a)? || self.has_negative_dim(self.root(a))?) {
            work::spend_elements(&shape)?;
            return Ok(Value::filled(shape, Scalar::zero(info.elem)));
        }
        let data: Option<Vec<Scalar>> = memory.ok_or_else(undefined)?.iter().copied().collect();
        Value::new(info.elem, shape, data.ok_or_else(undefined)?)
    }

    fn step(&mut self, s: &Step) -> Result<(), Fault> {
        match s {
            Step::Tree(t) => self.tree(t),
            Step::Contract(c) => self.contract(c),
            Step::Check(c, loc) => self.check(c).map_err(|f| f.at(*loc)),
            Step::Fill { array, value } => {
                let shape = self.shape(*array)?;
                work::spend_elements(&shape)?;
                self.set(*array, vec![Some((*value).into()); shape.iter().product()]);
                Ok(())
            }
            Step::Move { array, source } => {
                let root = self.root(*source);
                let data = self.take(root);
                let undefined =
                    || Fault::internal(format!("array {} is moved before it is written", source.0));
                self.set(*array, data.ok_or_else(undefined)?);
                Ok(())
            }
            Step::Repeat(r) => self.repeat(r),
            Step::Sort(s) => {
                let keys = self.whole(s.keys)?;
                let value = match s.gives {
                    Sorted::Positions => keys.argsort()?,
                    Sorted::Values => keys.sorted()?,
                };
                self.set(s.result, value.data().iter().copied().map(Some).collect());
                Ok(())
            }
            Step::Copy { array, source } => {
                let data = self.whole(*source)?.data().iter().copied().map(Some).collect();
                self.set(*array, data);
                Ok(())
            }
        }
    }

    fn repeat(&mut self, r: &Repeat) -> Result<(), Fault> {
        let taken = |m: &mut Self, a: ArrayId, takes: bool| -> Result<Memory, Fault> {
            if takes {
                let undefined = || Fault::internal(format!("array {} is used before it is written", a.0));
                let root = m.root(a);
                return m.take(root).ok_or_else(undefined);
            }
            Ok(m.whole(a)?.data().iter().copied().map(Some).collect())
        };
        for c in &r.carried {
            let start = taken(self, c.arrays.start, c.takes.0)?;
            self.set(c.arrays.state, start);
        }
        let (mut trip, mut too_many) = (0, 0);
        loop {
            match &r.trips {
                Trips::For(index, count) => {
                    if trip >= self.dim(count)? {
                        return Ok(());
                    }
                    self.set(*index, vec![Some(Scalar::I64(trip))]);
                }
                // Some trips too many, as a GPU may make them, change nothing.
                Trips::While(state) => {
                    if self.whole(*state)?.item() != Some(Scalar::Bool(true)) {
                        if too_many == 2 {
                            return Ok(());
                        }
                        too_many += 1;
                    }
                }
            }
            trip += 1;
            work::spend(1)?;
            r.steps.iter().try_for_each(|s| self.step(s))?;
            let next: Vec<Memory> =
                r.carried.iter().map(|c| taken(self, c.arrays.next, c.takes.1)).collect::<Result<_, _>>()?;
            for (c, data) in r.carried.iter().zip(next) {
                self.set(c.arrays.state, data);
            }
        }
    }

    fn check(&self, c: &Check) -> Result<(), Fault> {
        for guard in &c.guards {
            if self.dim(guard)? <= 0 {
                return Ok(());
            }
        }
        let holds = match &c.kind {
            CheckKind::Equal(a, b) => self.dim(a)? == self.dim(b)?,
            CheckKind::NonNegative(d) => self.dim(d)? >= 0,
            CheckKind::AtLeast(lo, d) => self.dim(lo)? <= self.dim(d)?,
        };
        if holds { Ok(()) } else { Err(Fault::size(format!("{c:?}"))) }
    }

    fn contract(&mut self, c: &Contract) -> Result<(), Fault> {
        let extents: Vec<usize> = c.extents.iter().map(|d| self.trips(d)).collect::<Result<_, _>>()?;
        work::spend_elements(&extents)?;
        let (a, b) = (self.whole(c.a.0)?, self.whole(c.b.0)?);
        let shape: Vec<usize> = c.out.iter().map(|x| extents[*x]).collect();
        let elem = self.p.arrays[c.result.0 as usize].elem;
        let mut out = Value::filled(shape, Scalar::zero(elem));
        let mut point = vec![0i64; extents.len()];
        for i in 0..extents.iter().product::<usize>() {
            let mut rest = i;
            for (p, n) in point.iter_mut().zip(&extents).rev() {
                (*p, rest) = ((rest % n) as i64, rest / n);
            }
            let at = |list: &[usize]| -> Vec<i64> { list.iter().map(|x| point[*x]).collect() };
            let (x, y) = (a.range(&at(&c.a.1))?.start, b.range(&at(&c.b.1))?.start);
            let product = apply(crate::scalar::Op::Mul, &[a.data()[x], b.data()[y]])?;
            let place = out.range(&at(&c.out))?.start;
            let sum = combine(Reducer::Add, out.data()[place], product)?;
            out.data_mut()[place] = sum;
        }
        self.set(c.result, out.data().iter().copied().map(Some).collect());
        Ok(())
    }

    fn tree(&mut self, t: &Tree) -> Result<(), Fault> {
        let extents: Vec<usize> = t.axes.iter().map(|a| self.trips(&a.extent)).collect::<Result<_, _>>()?;
        work::spend_elements(&extents)?;
        self.prepare(&t.body)?;
        self.parallel = t.axes.len();
        self.rows.clear();
        let count = extents.iter().product::<usize>();
        let writes = writes(&t.body);
        for i in 0..count {
            let mut rest = if writes { i } else { count - 1 - i };
            self.axes = vec![0; extents.len()];
            for (p, n) in self.axes.iter_mut().zip(&extents).rev() {
                (*p, rest) = ((rest % n) as i64, rest / n);
            }
            // Scalars belong to one point.
            self.vars.fill(None);
            for (a, x) in t.axes.iter().zip(&self.axes) {
                self.vars[a.var.0 as usize] = Some(Scalar::I64(*x));
            }
            let middle = t.plan.form.middle().filter(|m| in_middle(m, self.axes[0], extents[0]));
            self.nodes(middle.map_or(&t.body, |m| &m.body))?;
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
                Node::Store { array, .. }
                    if !matches!(self.p.arrays[array.0 as usize].home, Home::Row { .. }) =>
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
                    self.update(*array, index, false, |old| {
                        let old = old.ok_or_else(|| Fault::internal("accumulation into nothing"))?;
                        combine(*reducer, old, value)
                    })?;
                }
                Node::Write { array, index, value } => {
                    let value = self.atom(*value)?;
                    self.update(*array, index, false, |_| Ok(value))?;
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
        for i in 0..extents.iter().product() {
            work::spend(1)?;
            let mut rest = i;
            self.axes.resize(outside + extents.len(), 0);
            for (k, n) in extents.iter().enumerate().rev() {
                (self.axes[outside + k], rest) = ((rest % n) as i64, rest / n);
            }
            for (a, x) in l.axes().zip(&self.axes[outside..]) {
                self.vars[a.var.0 as usize] = Some(Scalar::I64(*x));
            }
            let middle = l.plan.form.middle().filter(|m| in_middle(m, i as i64, extents[0]));
            self.nodes(middle.map_or(&l.body, |m| &m.body))?;
            for (k, (fold, (best, place))) in l.folds.iter().zip(&mut folded).enumerate() {
                let value = self.atom(middle.map_or(fold.value, |m| m.values[k]))?;
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

    fn atom(&self, a: Atom) -> Result<Scalar, Fault> {
        match a {
            Atom::Const(c) => Ok(c.into()),
            Atom::Var(v) => self.vars[v.0 as usize]
                .ok_or_else(|| Fault::internal(format!("scalar %{} has no value", v.0))),
        }
    }

    /// The memory that indices into `a` mean now, and its shape.
    fn memory(&mut self, a: ArrayId) -> Result<(&mut Memory, Vec<usize>), Fault> {
        let shape = self.shape(a)?;
        let root = self.root(a);
        if let Home::Row { depth } = self.p.arrays[root.0 as usize].home {
            let shape = shape[depth.min(shape.len())..].to_vec();
            let point = self.axes[..depth.max(self.parallel).min(self.axes.len())].to_vec();
            let row = self.rows.entry(root).or_default();
            if row.0 != point || row.1.is_empty() {
                work::spend_elements(&shape)?;
                *row = (point, vec![None; shape.iter().product()]);
            }
            return Ok((&mut row.1, shape));
        }
        let undefined = || Fault::internal(format!("array {} has no memory", root.0));
        Ok((self.memory[root.0 as usize].as_mut().ok_or_else(undefined)?, shape))
    }

    fn update(
        &mut self,
        a: ArrayId,
        index: &[Atom],
        inside: bool,
        f: impl FnOnce(Option<Scalar>) -> Result<Scalar, Fault>,
    ) -> Result<(), Fault> {
        let index = self.index(index)?;
        let (memory, shape) = self.memory(a)?;
        match place(&index, &shape) {
            Ok(at) => memory[at] = Some(f(memory[at])?),
            Err(_) if inside => {
                return Err(Fault::internal(format!("a store outside: {index:?} of {shape:?}")));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn index(&self, index: &[Atom]) -> Result<Vec<i64>, Fault> {
        index
            .iter()
            .map(|a| self.atom(*a)?.as_i64().ok_or_else(|| Fault::internal("an index is no integer")))
            .collect()
    }

    fn read(&mut self, a: ArrayId, index: &[Atom], checked: bool, loc: Loc) -> Result<Scalar, Fault> {
        let index = self.index(index)?;
        let (memory, shape) = self.memory(a)?;
        let element = place(&index, &shape).map(|at| memory.get(at).copied());
        let ArrayInfo { name, elem, .. } = &self.p.arrays[a.0 as usize];
        match element {
            Ok(Some(Some(value))) => Ok(value),
            Ok(Some(None)) => Err(Fault::internal(format!("`{name}.{}` is read before it is written", a.0))),
            Ok(None) => match self.target {
                // A sorting network looks at its keys, and a buffer's end stops it: see `has_negative_dim` of Bulk's interpreter.
                Target::Gpu if self.has_negative_dim(a)? || self.has_negative_dim(self.root(a))? => {
                    Ok(Scalar::zero(*elem))
                }
                _ => Err(Fault::internal(format!("a view of nothing is read: `{name}.{}`", a.0))),
            },
            Err((index, len)) if checked => Err(Fault::IndexOutOfRange { index, len, loc }),
            Err(_) => Err(Fault::internal(format!("unchecked read outside: {index:?} of {shape:?}"))),
        }
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
                let value = apply(*op, &args).map_err(|f| f.at(l.loc));
                vec![self.recovered(value, self.p.vars[l.vars[0].0 as usize])?]
            }
            Exp::Size(d) => vec![Scalar::I64(self.dim(d)?)],
            Exp::Read { array, index, checked } => {
                let value = self.read(*array, index, *checked, l.loc);
                vec![self.recovered(value, self.p.vars[l.vars[0].0 as usize])?]
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

/// The position of an element in row-major order; `Err` of the index and the dimension where it is outside.
fn place(index: &[i64], shape: &[usize]) -> Result<usize, (i64, i64)> {
    let mut at = 0;
    for (&i, &n) in index.iter().zip(shape) {
        match usize::try_from(i) {
            Ok(k) if k < n => at = at * n + k,
            _ => return Err((i, n as i64)),
        }
    }
    Ok(at)
}
