//! Memory, whole and by element, and the sizes it has.

use super::{Machine, Memory};
use crate::bulk::{ArrayId, Atom};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{ArrayInfo, Home};
use crate::ty::Loc;
use crate::value::{Fault, Scalar, Value, work};

impl Machine<'_> {
    pub(super) fn root(&self, a: ArrayId) -> ArrayId {
        self.p.root(a)
    }

    pub(super) fn set(&mut self, a: ArrayId, data: Memory) {
        let root = self.root(a);
        self.held += data.len();
        let old = self.memory[root.0 as usize].replace(data);
        self.held -= old.map_or(0, |d| d.len());
        self.counts.most = self.counts.most.max(self.held);
    }

    /// The memory of an array with a home of its own, which loses it.
    pub(super) fn take(&mut self, root: ArrayId) -> Option<Memory> {
        let data = self.memory[root.0 as usize].take();
        self.held -= data.as_ref().map_or(0, Vec::len);
        data
    }

    pub(super) fn dim(&self, d: &Dim) -> Result<i64, Fault> {
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

    pub(super) fn trips(&self, d: &Dim) -> Result<usize, Fault> {
        Ok(usize::try_from(self.dim(d)?).unwrap_or(0))
    }

    pub(super) fn shape(&self, a: ArrayId) -> Result<Vec<usize>, Fault> {
        self.p.arrays[a.0 as usize].dims.iter().map(|d| self.trips(d)).collect()
    }

    /// Whether an array has a negative dimension.
    fn has_negative_dim(&self, a: ArrayId) -> Result<bool, Fault> {
        let dims: Vec<i64> =
            self.p.arrays[a.0 as usize].dims.iter().map(|d| self.dim(d)).collect::<Result<_, _>>()?;
        Ok(dims.iter().any(|n| *n < 0))
    }

    /// All of an array that has memory.
    pub(super) fn whole(&self, a: ArrayId) -> Result<Value, Fault> {
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

    pub(super) fn atom(&self, a: Atom) -> Result<Scalar, Fault> {
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

    pub(super) fn update(
        &mut self,
        a: ArrayId,
        index: &[Atom],
        inside: bool,
        f: impl FnOnce(Option<Scalar>) -> Result<Scalar, Fault>,
    ) -> Result<(), Fault> {
        let index = self.index(index)?;
        self.counts.writes += u64::from(!index.is_empty());
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

    /// That an index is inside.
    pub(super) fn inside(&self, index: &[Atom], dims: &[Dim], loc: Loc) -> Result<Scalar, Fault> {
        for (index, d) in self.index(index)?.into_iter().zip(dims) {
            let len = self.dim(d)?;
            if !(0..len).contains(&index) {
                return Err(Fault::IndexOutOfRange { index, len, loc });
            }
        }
        Ok(Scalar::Bool(true))
    }

    pub(super) fn read(
        &mut self,
        a: ArrayId,
        index: &[Atom],
        checked: bool,
        loc: Loc,
    ) -> Result<Scalar, Fault> {
        let index = self.index(index)?;
        self.counts.reads += u64::from(!index.is_empty());
        let (memory, shape) = self.memory(a)?;
        let element = place(&index, &shape).map(|at| memory.get(at).copied());
        let ArrayInfo { name, elem, .. } = &self.p.arrays[a.0 as usize];
        match element {
            Ok(Some(Some(value))) => Ok(value),
            Ok(Some(None)) => Err(Fault::internal(format!("`{name}.{}` is read before it is written", a.0))),
            Ok(None) => Err(Fault::internal(format!("a view of nothing is read: `{name}.{}`", a.0))),
            Err((index, len)) if checked => Err(Fault::IndexOutOfRange { index, len, loc }),
            Err(_) if self.had_failed => Ok(Scalar::zero(*elem)),
            Err(_) => Err(Fault::internal(format!("unchecked read outside: {index:?} of {shape:?}"))),
        }
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
