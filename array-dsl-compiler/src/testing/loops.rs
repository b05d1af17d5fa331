//! Loops executed as they stand: what a schedule means, to be compared with the Bulk program it was made from.
//!
//! * Memory starts out undefined, and reading what was not written is a fault: so is reading what another point of the
//!   parallel axes of the same tree writes, unless it comes earlier. The points are visited in **reverse** order, so
//!   that whatever relies on the usual one is found. (Not in a tree whose points overwrite what is not their own:
//!   of several values for one place the last is kept, as in the other interpreters.)
//! * A row array belongs to one point of the parallel axes and of its `depth` leading axes; at another point it is
//!   undefined again.
//! * `Accumulate` and `Write` ignore indices outside. Any other index outside is a fault. As in compiled code a fault does not
//!   end the tree that it is in: a checked read outside gives zero, as does a division by zero, and what is executed meanwhile must be
//!   as careful; an unchecked read outside ends the run as an internal fault. On a CPU the tree is the last one then. On a GPU the steps
//!   after it are executed, and all that it keeps is that their reads are not outside of memory.

mod bands;
mod memory;
mod tree;

use rustc_hash::FxHashMap;

use crate::bulk::{ArrayId, CheckKind, Reducer, Strip, Trips, Var};
use crate::dim::{Dim, told};
use crate::loops::{Check, Contract, Operand, Program, Repeat, Sorted, Step};
use crate::target::Target;
use crate::ty::Name;
use crate::value::{Fault, Scalar, Value, apply, combine, work};

/// The results (the leaves of the result's structure) for these arguments (the leaves of the parameters), of loops for `target`.
pub fn run(p: &Program, target: Target, args: &[Value]) -> Result<Vec<Value>, Fault> {
    run_measured(p, target, args).map(|(values, _)| values)
}

/// What a run took. Loop control is not counted, nor are addresses: operations are those on floats, reads and writes those of
/// arrays that are no single numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scalar functions of floats, and the combinations of folds, accumulations and contractions.
    pub operations: u64,
    /// Elements read.
    pub reads: u64,
    /// Elements stored, written or added to; not those that are filled or copied.
    pub writes: u64,
    /// The most elements that the program's own arrays had at once.
    pub most: usize,
}

impl Counts {
    /// All that is done, each as one.
    pub fn work(&self) -> u64 {
        self.operations + self.reads + self.writes
    }
}

/// As [`run`], with what it took.
pub fn run_measured(p: &Program, target: Target, args: &[Value]) -> Result<(Vec<Value>, Counts), Fault> {
    work::begin();
    let mut m = Machine {
        p,
        target,
        sizes: FxHashMap::default(),
        memory: vec![None; p.arrays.len()],
        held: 0,
        counts: Counts::default(),
        rows: FxHashMap::default(),
        vars: vec![None; p.vars.len()],
        states: FxHashMap::default(),
        axes: Vec::new(),
        parallel: 0,
        fault: None,
        had_failed: false,
    };
    m.params(args)?;
    p.steps.iter().try_for_each(|s| m.step(s))?;
    if let Some(fault) = m.fault {
        return Err(fault);
    }
    let values = p.result.leaves().into_iter().map(|a| m.whole(*a)).collect::<Result<_, _>>()?;
    Ok((values, m.counts))
}

/// The elements of an array; `None` where nothing has been written.
type Memory = Vec<Option<Scalar>>;

struct Machine<'a> {
    p: &'a Program,
    target: Target,
    sizes: FxHashMap<Name, i64>,
    memory: Vec<Option<Memory>>,
    /// The elements in memory but for the parameters'.
    held: usize,
    counts: Counts,
    /// Row arrays, and the point they belong to.
    rows: FxHashMap<ArrayId, (Vec<i64>, Memory)>,
    vars: Vec<Option<Scalar>>,
    /// The states of scans after the last trip, by their first scalar.
    states: FxHashMap<Var, Vec<Scalar>>,
    /// The values of the axes around the current place, of which the first are parallel.
    axes: Vec<i64>,
    parallel: usize,
    /// What has gone wrong so far.
    fault: Option<Fault>,
    /// Whether something had before this tree.
    had_failed: bool,
}

impl Machine<'_> {
    fn params(&mut self, args: &[Value]) -> Result<(), Fault> {
        let params: Vec<ArrayId> = self.p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
        if params.len() != args.len() {
            return Err(Fault::internal(format!("{} arguments for {} parameters", args.len(), params.len())));
        }
        let p = self.p;
        let dims: Vec<&Dim> = params.iter().flat_map(|a| &p.arrays[a.0 as usize].dims).collect();
        let found: Vec<usize> = args.iter().flat_map(|arg| arg.shape()).copied().collect();
        for (a, arg) in params.iter().zip(args) {
            self.memory[a.0 as usize] = Some(arg.data().iter().copied().map(Some).collect());
        }
        for t in told(&dims) {
            let rest = self.dim(&t.rest)?;
            let size = t.value(found[t.at] as i64, rest);
            let size =
                size.ok_or_else(|| Fault::size(format!("there is no size `{}` for the arguments", t.size)))?;
            self.sizes.insert(t.size, size);
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

    fn step(&mut self, s: &Step) -> Result<(), Fault> {
        match s {
            Step::Tree(t) => {
                self.had_failed = self.fault.is_some();
                self.tree(t)?;
                match (self.target, &self.fault) {
                    (Target::Cpu, Some(fault)) => Err(fault.clone()),
                    _ => Ok(()),
                }
            }
            Step::Contract(c) => self.contract(c),
            Step::Check(c, loc) => self.check(c).map_err(|f| f.at(*loc)),
            Step::Fill { array, value } => {
                let shape = self.shape(*array)?;
                work::spend_elements(&shape)?;
                self.set(*array, vec![value.map(Into::into); shape.iter().product()]);
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
            Step::Bands(b) => self.bands(b),
            Step::Sort(s) => {
                let keys = self.whole(s.keys)?;
                let value = match s.gives {
                    Sorted::Positions => keys.argsort()?,
                    Sorted::Values => keys.sorted()?,
                };
                self.set(s.result, value.data().iter().copied().map(Some).collect());
                Ok(())
            }
            Step::Call(c) => {
                let args = c.args.iter().map(|a| self.whole(*a)).collect::<Result<Vec<Value>, Fault>>()?;
                let results = c.routine.eval(&args.iter().collect::<Vec<_>>())?;
                for (a, value) in c.results.iter().zip(results) {
                    self.set(*a, value.data().iter().copied().map(Some).collect());
                }
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
                // Where a target makes some trips too many they change nothing.
                Trips::While(state) => {
                    if self.whole(*state)?.item() != Some(Scalar::Bool(true)) {
                        if self.target.can().exact_trips || too_many == 2 {
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

    /// The index of an operand's element at a point of the axes.
    fn part(&self, o: &Operand, point: &[i64]) -> Result<Vec<i64>, Fault> {
        o.places.iter().map(|(x, from)| Ok(x.map_or(0, |x| point[x]) + self.dim(from)?)).collect()
    }

    fn contract(&mut self, c: &Contract) -> Result<(), Fault> {
        let extents: Vec<usize> = c.extents.iter().map(|d| self.trips(d)).collect::<Result<_, _>>()?;
        work::spend_elements(&extents)?;
        let (a, b) = (self.whole(c.a.array)?, self.whole(c.b.array)?);
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
            let (x, y) =
                (a.range(&self.part(&c.a, &point)?)?.start, b.range(&self.part(&c.b, &point)?)?.start);
            self.counts.operations += 2;
            self.counts.reads += 2;
            let product = apply(crate::scalar::Op::Mul, &[a.data()[x], b.data()[y]])?;
            let place = out.range(&at(&c.out))?.start;
            let sum = combine(Reducer::Add, out.data()[place], product)?;
            out.data_mut()[place] = sum;
        }
        self.counts.writes += out.data().len() as u64;
        self.set(c.result, out.data().iter().copied().map(Some).collect());
        Ok(())
    }
}
