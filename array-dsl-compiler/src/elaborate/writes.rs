//! What parallel loops write into arrays.
//!
//! While the body of a parallel loop is elaborated, `a[ix] += v` and `a[ix] = v` change nothing: each leaves a `Write`, whose
//! indices and value are atoms of the body. Leaving a branch, they are chosen with the branch (not taken: the write
//! does not happen); leaving a loop, they become arrays over the loop's axis, unless they are the axis itself or
//! do not vary along it. Outside the loop that owns the array, a write is a `Scatter` over all axes that it left:
//!
//! ```text
//! for i in 0..n { let b = f(i); for j in 0..m { a[b][j] += g(i, j); } }
//! after    bs = build(n, |i| f(i));  vs = build(n, |i| build(m, |j| g(i, j)))
//!          a' = scatter(add) into a over p < n, q < m at [bs[p], q] of vs[p, q]
//! ```
//!
//! An index outside the array is an error, as for every assignment: the scatter reads the old element first.

use proc_macro2::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Elaborator;
use super::effects::{self, negated};
use super::scope::Slot;
use super::value::Value;
use crate::core::{Atom, Axis, Body, Exp, Placing, Reducer, Stm, Type, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{Binary, Expr};
use crate::ty::{Const, Elem, Name};

/// An index, a value or a condition of a write.
#[derive(Clone)]
pub(super) enum Part {
    /// The index of one of the write's axes.
    Axis(usize),
    /// An atom, an array over these axes of the write.
    Value { atom: Atom, along: Vec<usize> },
}

/// One assignment to elements of an array.
#[derive(Clone)]
pub(super) struct Write {
    /// The variable.
    pub slot: Slot,
    /// Which of the arrays that it consists of: the only one, unless it is a tuple or a record.
    pub part: usize,
    /// How values are combined; `None`: written.
    pub reducer: Option<Reducer>,
    /// The loops that it left so far, and the dimensions of the row it writes, outermost first.
    pub axes: Vec<(Dim, Name)>,
    /// An index for each dimension of the array.
    pub at: Vec<Part>,
    /// The value.
    pub value: Part,
    /// It happens where all these hold, or do not hold (`false`).
    pub when: Vec<(Part, bool)>,
    /// Where it stands.
    pub span: Span,
}

impl Part {
    fn scalar(atom: Atom) -> Part {
        Part::Value { atom, along: Vec::new() }
    }

    /// The variable, if it is one of these.
    fn bound(&self, vars: &FxHashSet<Var>) -> Option<Atom> {
        match self {
            Part::Value { atom: Atom::Var(v), .. } if vars.contains(v) => Some(Atom::Var(*v)),
            _ => None,
        }
    }
}

impl Write {
    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.at.iter().chain([&self.value]).chain(self.when.iter().map(|(p, _)| p))
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        self.at.iter_mut().chain([&mut self.value]).chain(self.when.iter_mut().map(|(p, _)| p))
    }

    /// Whether every index is certainly one of an array of these dimensions.
    fn is_inside(&self, dims: &[Dim]) -> bool {
        self.at.iter().zip(dims).all(|(p, d)| match p {
            Part::Axis(k) => self.axes[*k].0 == *d,
            Part::Value { atom: Atom::Const(c), .. } => {
                (c.raw() as i64) >= 0 && d.sub(&Dim::constant(c.raw() as i64 + 1)).is_nonnegative()
            }
            Part::Value { .. } => false,
        })
    }

    /// Takes what the choice gives for the parts that were bound in the branch, and its condition.
    pub(super) fn leave_branch(
        &mut self,
        bound: &FxHashSet<Var>,
        chosen: &mut impl Iterator<Item = Atom>,
        condition: Atom,
        yes: bool,
    ) {
        for p in self.parts_mut() {
            if p.bound(bound).is_some()
                && let Part::Value { atom, .. } = p
            {
                *atom = chosen.next().unwrap_or(*atom);
            }
        }
        self.when.push((Part::scalar(condition), yes));
    }

    /// Puts a loop's axis in front. `arrays` has those for the parts that vary along it.
    pub(super) fn leave_loop(&mut self, extent: Dim, name: Name, index: Var, arrays: &FxHashMap<Atom, Atom>) {
        self.axes.insert(0, (extent, name));
        for p in self.parts_mut() {
            match p {
                Part::Axis(k) => *k += 1,
                Part::Value { atom, .. } if *atom == Atom::Var(index) => *p = Part::Axis(0),
                Part::Value { atom, along } => {
                    along.iter_mut().for_each(|k| *k += 1);
                    if let (Atom::Var(_), Some(array)) = (&atom, arrays.get(atom)) {
                        *atom = *array;
                        along.insert(0, 0);
                    }
                }
            }
        }
    }
}

/// The variables that statements bind.
pub(super) fn bound_by(stms: &[Stm]) -> FxHashSet<Var> {
    stms.iter().flat_map(|s| s.vars.iter().copied()).collect()
}

/// The parts of writes that are bound inside and must get out.
pub(super) fn inner_parts(writes: &[Write], bound: &FxHashSet<Var>) -> Vec<Atom> {
    writes.iter().flat_map(Write::parts).filter_map(|p| p.bound(bound)).collect()
}

impl Elaborator<'_> {
    /// An assignment to elements of an array that a parallel loop around owns.
    pub(super) fn scattered_assignment(
        &mut self,
        slot: Slot,
        reducer: Option<Reducer>,
        target: &Expr,
        op: Option<Binary>,
        value: &Expr,
        span: Span,
    ) -> Option<Value> {
        let value = match reducer {
            Some(_) => {
                let u = effects::update(target, op, value)?;
                if u.negated { negated(u.value) } else { u.value }
            }
            None => value.clone(),
        };
        let v = self.expr(&value)?;
        let at = effects::indices(target)?.into_iter().map(|i| self.place(i)).collect::<Option<Vec<_>>>()?;
        self.write(slot, reducer, &at, v, span)?;
        Some(Value::unit())
    }

    /// Records a write of a row at leading indices, to each array of a variable.
    pub(super) fn write(
        &mut self,
        slot: Slot,
        reducer: Option<Reducer>,
        at: &[Atom],
        v: Value,
        span: Span,
    ) -> Option<()> {
        let value = self.scope.variable(slot).value.clone();
        if let Value::Atom(array) = value {
            return self.write_part((slot, 0), array, reducer, at, v, span);
        }
        let arrays = value.atoms()?;
        for (part, (array, v)) in arrays.into_iter().zip(v.atoms()?).enumerate() {
            self.write_part((slot, part), array, reducer, at, Value::Atom(v), span)?;
        }
        Some(())
    }

    fn write_part(
        &mut self,
        (slot, part): (Slot, usize),
        array: Atom,
        reducer: Option<Reducer>,
        at: &[Atom],
        v: Value,
        span: Span,
    ) -> Option<()> {
        let ty = self.atom_type(array);
        if ty.rank() < at.len() {
            // Records that there are too many.
            let at: Vec<Value> = at.iter().map(|i| Value::Atom(*i)).collect();
            self.index_at(array, "the array", &at, span)?;
            return None;
        }
        let row = Type { elem: ty.elem, dims: ty.dims[at.len()..].to_vec() };
        let value = match v {
            // `a[i] += x` adds a number to each element of the row.
            Value::Atom(v) if reducer.is_some() && self.rank(v) < row.rank() => {
                let have = self.atom_type(v);
                let first = row.rank() - have.rank();
                self.unify(have.elem, ty.elem, span, "the assignment to this part of an array")?;
                Part::Value {
                    atom: self.coerce(v, &row.dims[first..], span, "the assignment", false)?,
                    along: (first..row.rank()).collect(),
                }
            }
            v => {
                let cell = Value::Atom(self.row_model(&row, span));
                let Value::Atom(atom) = self.fit(&cell, v, "this part of an array", span)? else {
                    return None;
                };
                Part::Value { atom, along: (0..row.rank()).collect() }
            }
        };
        let axes = row.dims.iter().map(|d| (d.clone(), Name::from("j"))).collect();
        let at = at.iter().copied().map(Part::scalar).chain((0..row.rank()).map(Part::Axis)).collect();
        self.writes.push(Write { slot, part, reducer, axes, at, value, when: Vec::new(), span });
        Some(())
    }

    /// An atom of a type, for its type only.
    fn row_model(&mut self, ty: &Type, span: Span) -> Atom {
        if ty.dims.is_empty() {
            return Atom::Const(self.constant_of(ty.elem, 0));
        }
        self.filled(&ty.dims, self.constant_of(ty.elem, 0), span)
    }

    /// A small number as a constant of a type that may not be settled.
    pub(super) fn constant_of(&self, elem: Elem, value: i64) -> Const {
        let elem = self.inference.resolve(elem);
        if self.inference.is_differentiable(elem) {
            Const::float(elem, value as f64)
        } else {
            Const::of(elem, value)
        }
    }

    /// An array of one constant.
    pub(super) fn filled(&mut self, dims: &[Dim], c: Const, span: Span) -> Atom {
        let axes: Vec<Axis> = dims
            .iter()
            .map(|d| Axis { var: self.new_var("i", Type::scalar(Elem::I64)), extent: d.clone() })
            .collect();
        let ty = Type { elem: c.elem, dims: dims.to_vec() };
        let body = Body { stms: Vec::new(), results: vec![Atom::Const(c)] };
        self.emit("filled", ty, Exp::Build(axes, body), span)
    }

    /// Adds to the results of a choice what the writes of one branch need outside of it; the other branch gives zeros.
    /// `swapped`: the branch of the writes is the second.
    pub(super) fn writes_in_branch(
        &mut self,
        writes: &[Write],
        own: &mut [Stm],
        other: &mut Vec<Stm>,
        swapped: bool,
        pairs: &mut Vec<(Atom, Atom)>,
        span: Span,
    ) {
        let bound = bound_by(own);
        for atom in inner_parts(writes, &bound) {
            let ty = self.atom_type(atom);
            let zero = self.constant_of(ty.elem, 0);
            let zero = if ty.dims.is_empty() {
                Atom::Const(zero)
            } else {
                self.bodies.push(std::mem::take(other));
                let filled = self.filled(&ty.dims, zero, span);
                *other = self.close_body();
                filled
            };
            pairs.push(if swapped { (zero, atom) } else { (atom, zero) });
        }
    }

    /// Emits a write as a scatter; the array after it.
    pub(super) fn scatter_write(&mut self, array: Atom, w: &Write) -> Option<Atom> {
        let Atom::Var(dest) = array else { return None };
        let ty = self.atom_type(array);
        let span = w.span;
        let axes: Vec<Axis> = w
            .axes
            .iter()
            .map(|(extent, name)| Axis {
                var: self.new_var(name, Type::scalar(Elem::I64)),
                extent: extent.clone(),
            })
            .collect();
        let ix: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let depth = self.frame.len();
        self.frame.extend(w.axes.iter().cloned());
        let body = self.in_body(|e| {
            let when = e.write_condition(w, &ix);
            let mut at: Vec<Atom> = w.at.iter().map(|p| e.part_at(p, &ix, span)).collect();
            let mut value = e.part_at(&w.value, &ix, span);
            if !w.is_inside(&ty.dims) {
                value = e.probed(array, &at, value, when, span)?;
            }
            if let Some(c) = when {
                let nowhere = e.int(-1);
                at[0] = e.op(Op::Select, &[c, at[0], nowhere], span);
            }
            at.push(value);
            Some(at)
        });
        self.frame.truncate(depth);
        let (stms, results) = body?;
        let name = self.vars[dest.0 as usize].name.clone();
        let how = w.reducer.map_or(Placing::Only, Placing::Combined);
        let exp = Exp::Scatter { how, dest, axes, body: Body { stms, results } };
        Some(self.emit(&name, ty, exp, span))
    }

    /// A part of a write at a point of its axes.
    fn part_at(&mut self, p: &Part, ix: &[Atom], span: Span) -> Atom {
        match p {
            Part::Axis(k) => ix[*k],
            Part::Value { atom, along } => {
                let at: Vec<Atom> = along.iter().map(|k| ix[*k]).collect();
                self.index(*atom, &at, span)
            }
        }
    }

    /// Whether a write happens at a point, if it does not everywhere.
    fn write_condition(&mut self, w: &Write, ix: &[Atom]) -> Option<Atom> {
        let mut when: Option<Atom> = None;
        for (p, yes) in &w.when {
            let c = self.part_at(p, ix, w.span);
            let c = if *yes { c } else { self.op(Op::Not, &[c], w.span) };
            when = Some(match when {
                Some(d) => self.op(Op::And, &[d, c], w.span),
                None => c,
            });
        }
        when
    }

    /// The value that is written, after a read of the old element: nothing depends on that, but it reports an index outside.
    fn probed(
        &mut self,
        array: Atom,
        at: &[Atom],
        value: Atom,
        when: Option<Atom>,
        span: Span,
    ) -> Option<Atom> {
        let probe = |e: &mut Self| {
            let old = e.index(array, at, span);
            let always = Atom::Const(Const::bool(true));
            e.op(Op::Select, &[always, value, old], span)
        };
        let Some(c) = when else { return Some(probe(self)) };
        let zero = Value::Atom(Atom::Const(self.constant_of(self.atom_type(array).elem, 0)));
        let written =
            self.choice(c, span, &mut |e| Some(Value::Atom(probe(e))), &mut |_| Some(zero.clone()))?;
        written.atoms()?.first().copied()
    }
}
