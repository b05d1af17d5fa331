//! Core executed as it stands: what a kernel means. Everything after it is compared with this, so it has no
//! cleverness; the function is one that `verify` accepts.
//!
//! * Points are visited in row-major order, so float sums have one order.
//! * A reduction over nothing gives the neutral element; `argmin` and `argmax` of nothing are faults. Of equal extrema
//!   the first is taken, and NaN never is.
//! * A scatter ignores indices outside; of several writes to one place the last is kept.
//! * The extent of a `Build` must not be negative; other loops of a negative extent make no trips.
//! * Folds by operators start with the neutral element and go from the left. A loop whose condition stays true does
//!   not end here either.
//! * The branch of an `if` that is not taken does not run.
//! * Complex numbers are the two that they become: arguments and results have their parts in one more dimension.
//! * A fault has the place of the innermost statement that failed.

mod derivative;
mod sequence;

use rustc_hash::{FxHashMap, FxHashSet};

use super::complex::split;
use super::{Atom, Axis, Body, Check, CheckKind, Exp, Function, Mode, Placing, Reducer, Stm, Var};
use crate::dim::{Dim, SizeAtom, told};
use crate::ty::{Const, Elem, Loc, Name};
use crate::value::{Fault, Recovery, Scalar, Value, apply, combine, improves, work};

/// The results of a function, and its derivative by its first parameters, for which the last arguments are the tangents or cotangents.
pub type Differentiate = fn(&Function, &Mode, &[Value], &mut Option<Recovery>) -> Result<Vec<Value>, Fault>;

/// The results (the leaves of the result's structure) for these arguments (the leaves of the parameters).
pub fn run(f: &Function, args: &[Value], differentiate: Differentiate) -> Result<Vec<Value>, Fault> {
    let real = split(f);
    Machine::new(real.as_ref().unwrap_or(f), args, differentiate)?.results()
}

/// The results of a run that goes on after faults, and these: what failed gives `instead`. Sizes that are wrong end it.
pub fn run_recovering(
    f: &Function,
    args: &[Value],
    instead: i64,
    differentiate: Differentiate,
) -> (Result<Vec<Value>, Fault>, Vec<Fault>) {
    let real = split(f);
    match Machine::new(real.as_ref().unwrap_or(f), args, differentiate) {
        Ok(mut m) => {
            m.recovery = Some(Recovery { instead, faults: Vec::new() });
            let results = m.results();
            let faults = m.recovery.into_iter().flat_map(|r| r.faults);
            let all = faults.chain(results.as_ref().err().cloned()).collect();
            (results, all)
        }
        Err(fault) => (Err(fault.clone()), vec![fault]),
    }
}

struct Machine<'a> {
    f: &'a Function,
    differentiate: Differentiate,
    recovery: Option<Recovery>,
    sizes: FxHashMap<Name, i64>,
    vars: Vec<Option<Value>>,
}

impl<'a> Machine<'a> {
    /// With the arguments bound.
    fn new(f: &'a Function, args: &[Value], differentiate: Differentiate) -> Result<Machine<'a>, Fault> {
        work::begin();
        let (sizes, vars) = (FxHashMap::default(), vec![None; f.vars.len()]);
        let mut m = Machine { f, differentiate, recovery: None, sizes, vars };
        m.bind_params(args)?;
        Ok(m)
    }
}

impl Machine<'_> {
    fn results(&mut self) -> Result<Vec<Value>, Fault> {
        let results = self.body(&self.f.body)?;
        let leaf = |i: &usize| {
            results.get(*i).cloned().ok_or_else(|| Fault::internal(format!("there is no result {i}")))
        };
        self.f.result.leaves().into_iter().map(leaf).collect()
    }

    /// Binds the arguments, and the sizes as dimensions tell them; then all dimensions must be as declared.
    fn bind_params(&mut self, args: &[Value]) -> Result<(), Fault> {
        let params: Vec<(Var, Loc)> =
            self.f.params.iter().flat_map(|p| p.vars.leaves().into_iter().map(|v| (*v, p.loc))).collect();
        if params.len() != args.len() {
            return Err(Fault::internal(format!("{} arguments for {} parameters", args.len(), params.len())));
        }
        let f = self.f;
        let (mut dims, mut found) = (Vec::new(), Vec::new());
        for (&(v, loc), arg) in params.iter().zip(args) {
            let info = &f.vars[v.0 as usize];
            if arg.elem() != info.ty.elem || arg.shape().len() != info.ty.rank() {
                let message = format!("argument `{}` is of another type", info.name);
                return Err(Fault::internal(message).at(loc));
            }
            dims.extend(&info.ty.dims);
            found.extend(arg.shape().iter().map(|n| (*n as i64, loc)));
            self.bind(v, arg.clone());
        }
        for t in told(&dims) {
            let (n, loc) = found[t.at];
            let rest = self.dim(&t.rest).map_err(|f| f.at(loc))?;
            let size = t.value(n, rest).ok_or_else(|| {
                let d = self.show(dims[t.at]);
                Fault::size(format!("there is no size `{}` with {d} = {n}", t.size)).at(loc)
            })?;
            self.sizes.insert(t.size, size);
        }
        for (&(v, loc), arg) in params.iter().zip(args) {
            let info = &self.f.vars[v.0 as usize];
            for (i, (d, &found)) in info.ty.dims.iter().zip(arg.shape()).enumerate() {
                let expected = self.dim(d).map_err(|f| f.at(loc))?;
                if expected != found as i64 {
                    let (name, d) = (&info.name, self.show(d));
                    let message =
                        format!("argument `{name}`, dimension {i}: expected {d} = {expected}, found {found}");
                    return Err(Fault::size(message).at(loc));
                }
            }
        }
        Ok(())
    }

    fn bind(&mut self, v: Var, value: Value) {
        self.vars[v.0 as usize] = Some(value);
    }

    fn var(&self, v: Var) -> Result<&Value, Fault> {
        let value = self.vars.get(v.0 as usize).and_then(|v| v.as_ref());
        value.ok_or_else(|| Fault::internal(format!("variable {} has no value", v.0)))
    }

    fn atom(&self, a: Atom) -> Result<Value, Fault> {
        match a {
            Atom::Var(v) => self.var(v).cloned(),
            Atom::Const(c) => Ok(Value::scalar(c.into())),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Result<Vec<Value>, Fault> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    fn scalar(&self, a: Atom) -> Result<Scalar, Fault> {
        match a {
            Atom::Var(v) => item(self.var(v)?),
            Atom::Const(c) => Ok(c.into()),
        }
    }

    fn show(&self, d: &Dim) -> String {
        d.show(&|v| self.f.vars.get(v as usize).map_or_else(|| format!("%{v}"), |i| i.name.to_string()))
    }

    fn dim(&self, d: &Dim) -> Result<i64, Fault> {
        let mut unknown = false;
        let value = d.eval(&mut |atom| {
            let value = match atom {
                SizeAtom::Name(n) => self.sizes.get(n).copied(),
                SizeAtom::Scalar(s) => self.var(Var(*s)).ok().and_then(Value::item).and_then(Scalar::as_i64),
            };
            unknown |= value.is_none();
            value.unwrap_or(0)
        });
        if unknown {
            return Err(Fault::internal(format!("a part of the size {} has no value", self.show(d))));
        }
        value.ok_or_else(|| Fault::size(format!("the size {} is too large", self.show(d))))
    }

    /// The numbers of dimensions. Inside an empty outer dimension a negative one is empty too: nothing of that
    /// size is ever made.
    fn shape<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> Result<Vec<usize>, Fault> {
        let mut empty = false;
        let extent = |d: &Dim| {
            let n = self.dim(d)?;
            let n = if empty { n.max(0) } else { n };
            empty |= n == 0;
            usize::try_from(n)
                .map_err(|_| Fault::size(format!("a dimension is negative: {} = {n}", self.show(d))))
        };
        dims.into_iter().map(extent).collect()
    }

    fn body(&mut self, b: &Body) -> Result<Vec<Value>, Fault> {
        for s in &b.stms {
            work::spend(1)?;
            let values = match &s.exp {
                Exp::Derivative(d) => self.derivative(s, d)?,
                Exp::Custom { values, .. } => self.atoms(values)?,
                _ => match self.exp(s) {
                    Ok(values) => values,
                    Err(fault) => self.recovered(s, fault)?,
                },
            };
            for (v, value) in s.vars.iter().zip(values) {
                work::spend_elements(value.shape())?;
                self.bind(*v, value);
            }
        }
        self.atoms(&b.results)
    }

    /// What a statement that failed gives, if the run goes on.
    fn recovered(&mut self, s: &Stm, fault: Fault) -> Result<Vec<Value>, Fault> {
        let instead = Recovery::after(&mut self.recovery, fault)?;
        let value = |v: &Var| {
            let ty = self.f.ty(*v);
            Ok(Value::filled(self.shape(&ty.dims)?, Const::of(ty.elem, instead).into()))
        };
        s.vars.iter().map(value).collect()
    }

    /// The results of a body that gives scalars.
    fn scalars(&mut self, b: &Body) -> Result<Vec<Scalar>, Fault> {
        self.body(b)?.iter().map(item).collect()
    }

    fn exp(&mut self, s: &Stm) -> Result<Vec<Value>, Fault> {
        match &s.exp {
            Exp::If(condition, yes, no) => {
                let condition = self.scalar(*condition)?.as_bool();
                self.body(if condition == Some(true) { yes } else { no })
            }
            Exp::Build(axes, body) => self.build(s, axes, body),
            Exp::Reduce(reducers, axis, body) => self.reduce(reducers, axis, body, s.loc),
            Exp::Scatter { how, dest, axes, body } => Ok(vec![self.scatter(*how, *dest, axes, body, s.loc)?]),
            Exp::Scan(reducers, prefix, axis, body) => self.scan(s, reducers, *prefix, axis, body),
            Exp::Fold(operator, prefix, axis, body) => self.fold(s, operator, *prefix, axis, body),
            Exp::Loop(l) => self.repeat(l),
            Exp::Check(c) => self.check(c).map(|()| Vec::new()).map_err(|f| f.at(s.loc)),
            exp => Ok(vec![self.simple(exp).map_err(|f| f.at(s.loc))?]),
        }
    }

    /// An expression without bodies that has one value.
    fn simple(&self, exp: &Exp) -> Result<Value, Fault> {
        match exp {
            Exp::Atom(a) | Exp::StopGradient(a) => self.atom(*a),
            Exp::Op(op, args) => {
                let args: Result<Vec<Scalar>, Fault> = args.iter().map(|a| self.scalar(*a)).collect();
                Ok(Value::scalar(apply(*op, &args?)?))
            }
            Exp::Size(d) => Ok(Value::scalar(Scalar::I64(self.dim(d)?))),
            Exp::Index(a, index) => {
                let index: Result<Vec<i64>, Fault> =
                    index.iter().map(|i| integer(self.scalar(*i)?)).collect();
                self.var(*a)?.index(&index?)
            }
            Exp::Update(a, index, x) => {
                let index: Result<Vec<i64>, Fault> =
                    index.iter().map(|i| integer(self.scalar(*i)?)).collect();
                let (mut array, x) = (self.var(*a)?.clone(), self.atom(*x)?);
                let range = array.range(&index?)?;
                if array.shape()[array.shape().len() - x.shape().len()..] != *x.shape() {
                    return Err(Fault::internal(format!("an update by an array of shape {:?}", x.shape())));
                }
                array.data_mut()[range].copy_from_slice(x.data());
                Ok(array)
            }
            Exp::Reshape(a, dims) => {
                let (value, shape) = (self.var(*a)?, self.shape(dims)?);
                if shape.iter().product::<usize>() != value.data().len() {
                    return Err(Fault::size(format!(
                        "an array of shape {:?} reshaped to {shape:?}",
                        value.shape()
                    )));
                }
                value.reshape(shape)
            }
            Exp::Argsort(a) => self.var(*a)?.argsort(),
            exp => Err(Fault::internal(format!("an expression with a body: {exp:?}"))),
        }
    }

    fn check(&self, c: &Check) -> Result<(), Fault> {
        for guard in &c.guards {
            if self.dim(guard)? <= 0 {
                return Ok(());
            }
        }
        let zero = Dim::default();
        let (left, relation, right) = match &c.kind {
            CheckKind::Equal(a, b) => (a, "==", b),
            CheckKind::NonNegative(d) => (&zero, "<=", d),
            CheckKind::AtLeast(lo, d) => (lo, "<=", d),
        };
        let (x, y) = (self.dim(left)?, self.dim(right)?);
        if x == y || (relation == "<=" && x < y) {
            return Ok(());
        }
        Err(Fault::size(format!(
            "expected {} {relation} {}, found {x} and {y}",
            self.show(left),
            self.show(right)
        )))
    }

    /// Runs `f` at every point of the axes in row-major order, with the indices bound.
    fn points(
        &mut self,
        axes: &[Axis],
        extents: &[usize],
        f: &mut impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (Some((axis, axes)), Some((n, extents))) = (axes.split_first(), extents.split_first()) else {
            return f(self);
        };
        for i in 0..*n {
            work::spend(1)?;
            self.bind(axis.var, Value::scalar(Scalar::I64(i as i64)));
            self.points(axes, extents, f)?;
        }
        Ok(())
    }

    /// Trips of a loop that makes none if its extent is negative.
    fn trips(&self, axis: &Axis) -> Result<usize, Fault> {
        Ok(usize::try_from(self.dim(&axis.extent)?).unwrap_or(0))
    }

    fn build(&mut self, s: &Stm, axes: &[Axis], body: &Body) -> Result<Vec<Value>, Fault> {
        let extents = self.shape(axes.iter().map(|a| &a.extent)).map_err(|f| f.at(s.loc))?;
        let mut data: Vec<Vec<Scalar>> = vec![Vec::new(); s.vars.len()];
        self.points(axes, &extents, &mut |m| {
            for (data, value) in data.iter_mut().zip(m.body(body)?) {
                data.extend_from_slice(value.data());
            }
            Ok(())
        })?;
        let array = |(v, data): (&Var, Vec<Scalar>)| {
            let ty = self.f.ty(*v);
            Value::new(ty.elem, self.shape(&ty.dims)?, data).map_err(|f| f.at(s.loc))
        };
        s.vars.iter().zip(data).map(array).collect()
    }

    fn reduce(
        &mut self,
        reducers: &[Reducer],
        axis: &Axis,
        body: &Body,
        loc: Loc,
    ) -> Result<Vec<Value>, Fault> {
        let n = self.trips(axis).map_err(|f| f.at(loc))?;
        if n == 0 && reducers.iter().any(|r| r.op().is_none()) {
            return Err(Fault::EmptyExtremum { loc });
        }
        let types: Vec<Elem> = body.results.iter().map(|a| self.f.atom_type(*a).elem).collect();
        let neutral = |(r, e): (&Reducer, &Elem)| Scalar::from(r.neutral(*e));
        let mut folded: Vec<Scalar> = reducers.iter().zip(&types).map(neutral).collect();
        let mut places = vec![0; reducers.len()];
        for i in 0..n {
            work::spend(1)?;
            self.bind(axis.var, Value::scalar(Scalar::I64(i as i64)));
            for (k, value) in self.scalars(body)?.into_iter().enumerate() {
                if reducers[k].op().is_some() {
                    folded[k] = combine(reducers[k], folded[k], value).map_err(|f| f.at(loc))?;
                } else if improves(reducers[k], value, folded[k]) {
                    (folded[k], places[k]) = (value, i as i64);
                }
            }
        }
        let result = |(k, r): (usize, &Reducer)| {
            Value::scalar(if r.op().is_some() { folded[k] } else { Scalar::I64(places[k]) })
        };
        Ok(reducers.iter().enumerate().map(result).collect())
    }

    fn scatter(
        &mut self,
        how: Placing,
        dest: Var,
        axes: &[Axis],
        body: &Body,
        loc: Loc,
    ) -> Result<Value, Fault> {
        let extents: Result<Vec<usize>, Fault> = axes.iter().map(|a| self.trips(a)).collect();
        let extents = extents.map_err(|f| f.at(loc))?;
        let mut out = self.var(dest)?.clone();
        let mut written = FxHashSet::default();
        self.points(axes, &extents, &mut |m| {
            let mut index = m.scalars(body)?;
            let value = index.pop().ok_or_else(|| Fault::internal("a scatter without a value").at(loc))?;
            let index: Result<Vec<i64>, Fault> = index.into_iter().map(integer).collect();
            let place = match out.range(&index?) {
                Ok(range) => range.start,
                Err(Fault::IndexOutOfRange { .. }) => return Ok(()),
                Err(fault) => return Err(fault.at(loc)),
            };
            let old = &mut out.data_mut()[place];
            *old = match how {
                Placing::Combined(r) => combine(r, *old, value).map_err(|f| f.at(loc))?,
                Placing::Only if !written.insert(place) => {
                    return Err(Fault::internal("values meet that never should").at(loc));
                }
                Placing::Only | Placing::Last => value,
            };
            Ok(())
        })?;
        Ok(out)
    }
}

fn item(v: &Value) -> Result<Scalar, Fault> {
    v.item()
        .ok_or_else(|| Fault::internal(format!("an array of shape {:?} where a scalar belongs", v.shape())))
}

fn integer(x: Scalar) -> Result<i64, Fault> {
    x.as_i64().ok_or_else(|| Fault::internal(format!("{x} where an integer belongs")))
}

#[cfg(test)]
mod tests;
