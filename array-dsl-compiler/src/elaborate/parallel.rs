//! `for` loops whose trips may run in any order.
//!
//! Each trip of the body is elaborated as if it were alone: a variable that the loop combines into starts from the neutral
//! element, so that what it is at the end is the trip's contribution; of an array whose row each trip has for itself,
//! the row is a variable; writes to elements are collected (`writes`). Then
//!
//! ```text
//! s += e(i)          s' = s + reduce(add, |i| e(i))
//! m = m.max(e(i))    m' = m.max(reduce(max, |i| e(i)))
//! v += row(i)        v' = v + columns of build(n, |i| row(i)) reduced
//! a[i] = e(a[i])     a' = build(n, |i| e(a[i]))
//! h[ix(i)] += e(i)   h' = scatter(add) into h at ix(i) of e(i)
//! ```
//!
//! What an `if` around such an assignment does follows: the contribution of a trip that does not take it is neutral.

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::effects::Class;
use super::loops::{Plan, Range};
use super::rows;
use super::scope::{Role, Slot};
use super::space::{Shift, Space};
use super::value::Value;
use super::writes::{Write, bound_by, inner_parts};
use crate::core::{Atom, Axis, Body, Exp, Reducer, Stm, Type, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{Expr, For};
use crate::ty::{Const, Elem, Name};

/// A row that a trip has for itself.
struct TripRow {
    slot: Slot,
    /// The name of the row in the body.
    name: Name,
    offset: i64,
    /// The loop's axis is the array's first dimension.
    aligned: bool,
}

/// A loop that is being elaborated.
struct ParallelLoop<'a> {
    e: &'a For,
    range: &'a Range,
    /// Its body, with rows that the trips have for themselves as variables.
    body: Expr,
    space: Space,
    /// The index of the axis, and its name.
    k: Var,
    name: Name,
    rows: Vec<TripRow>,
    /// The variables that the loop combines into.
    totals: Vec<(Slot, Reducer)>,
}

impl Elaborator<'_> {
    /// Elaborates a loop by its plan. `foreign`: its body also writes to arrays of a parallel loop around it.
    pub(super) fn parallel(
        &mut self,
        e: &For,
        plan: &Plan,
        foreign: bool,
        range: &Range,
        span: Span,
    ) -> Option<()> {
        let space = self.space(plan, foreign, range, span)?;
        let before = self.scope.clone();
        let mark = self.writes.len();
        let t = self.parallel_loop(e, plan, range, space, span)?;
        let depth = self.frame.len();
        self.frame.push((t.space.extent.clone(), t.name.clone()));
        let trip = self.in_body(|s| {
            let mark = s.scope.enter();
            let values = s.trip(&t, span);
            s.scope.leave(mark);
            values
        });
        self.frame.truncate(depth);
        let after = std::mem::replace(&mut self.scope, before);
        let mut writes = self.writes.split_off(mark.min(self.writes.len()));
        let (stms, kept) = trip?;
        let totals = t.totals.iter();
        let contributions: Vec<Atom> =
            totals.filter_map(|(s, _)| after.variable(*s).value.atoms()?.first().copied()).collect();
        let expanded = self.expanded(t.k, &stms, &contributions, &kept, &writes);
        let (arrays, folded) = self.over_axis(&t, stms, &expanded, contributions, span)?;
        for w in &mut writes {
            w.leave_loop(t.space.extent.clone(), t.name.clone(), t.k, &arrays);
        }
        self.set_rows(&t, &kept, &arrays, span)?;
        self.set_totals(&t, folded, span)?;
        self.set_elements(plan, writes)
    }

    /// Gives the variables that a loop changes the roles that they have in its body.
    fn parallel_loop<'a>(
        &mut self,
        e: &'a For,
        plan: &Plan,
        range: &'a Range,
        space: Space,
        span: Span,
    ) -> Option<ParallelLoop<'a>> {
        let mut body = e.body.clone();
        let (mut rows, mut totals) = (Vec::new(), Vec::new());
        for (name, slot, class) in plan {
            match class {
                Class::Private(offset) => {
                    let row = Name::from(format!("#{name}"));
                    body = rows::with_row(&body, name, &row);
                    let aligned = matches!(space.shift, Shift::Constant(c) if c == -offset)
                        && self.leading(*slot).is_some_and(|d| d == space.extent);
                    rows.push(TripRow { slot: *slot, name: row, offset: *offset, aligned });
                }
                Class::Combined { reducer, at: true } => {
                    self.scope.set_role(*slot, Role::Scattered(Some(*reducer)));
                }
                Class::Combined { reducer, at: false } => {
                    self.start(*slot, *reducer, span);
                    totals.push((*slot, *reducer));
                }
                Class::Written => self.scope.set_role(*slot, Role::Scattered(None)),
                Class::Carried(..) => return None,
            }
        }
        let name = Self::trip_name(e);
        let k = self.new_var(&name, Type::scalar(Elem::I64));
        Some(ParallelLoop { e, range, body, space, k, name, rows, totals })
    }

    /// Which atoms of a trip must be there as arrays over the axis: parts of writes, rows, and if there are any arrays, what is
    /// folded as well.
    fn expanded(
        &self,
        k: Var,
        stms: &[Stm],
        contributions: &[Atom],
        kept: &[Value],
        writes: &[Write],
    ) -> Vec<Atom> {
        let mut bound = bound_by(stms);
        let mut expanded = inner_parts(writes, &bound);
        expanded.extend(kept.iter().filter_map(Value::atoms).flatten());
        bound.insert(k);
        let is_array = |a: &Atom| self.rank(*a) > 0;
        if !expanded.is_empty() || contributions.iter().any(is_array) {
            let varies = |a: &&Atom| matches!(a, Atom::Var(v) if bound.contains(v)) || is_array(a);
            expanded.extend(contributions.iter().filter(varies));
        }
        expanded
    }

    /// All trips of a loop: the arrays of what is expanded, and the folded contributions.
    fn over_axis(
        &mut self,
        t: &ParallelLoop<'_>,
        stms: Vec<Stm>,
        expanded: &[Atom],
        contributions: Vec<Atom>,
        span: Span,
    ) -> Option<(FxHashMap<Atom, Atom>, Vec<Atom>)> {
        let axis = Axis { var: t.k, extent: t.space.extent.clone() };
        if expanded.is_empty() {
            let folded = self.reduce(&t.totals, axis, Body { stms, results: contributions }, span);
            return Some((FxHashMap::default(), folded));
        }
        let arrays = self.expand(expanded, axis, stms, span);
        let folded = self.reduce_arrays(&t.totals, &contributions, &arrays, &t.space.extent, span)?;
        Some((arrays, folded))
    }

    /// The arrays of which each trip has its row.
    fn set_rows(
        &mut self,
        t: &ParallelLoop<'_>,
        kept: &[Value],
        arrays: &FxHashMap<Atom, Atom>,
        span: Span,
    ) -> Option<()> {
        for (row, value) in t.rows.iter().filter(|r| r.aligned).zip(kept) {
            let atoms = value.atoms().unwrap_or_default();
            let new = value.with_atoms(&mut atoms.iter().map(|a| arrays.get(a).copied().unwrap_or(*a)));
            let old = self.scope.variable(row.slot).value.clone();
            let new = self.fit(&old, new, "the array", span)?;
            self.scope.set(row.slot, new);
        }
        Some(())
    }

    /// The variables that the loop combines into.
    fn set_totals(&mut self, t: &ParallelLoop<'_>, folded: Vec<Atom>, span: Span) -> Option<()> {
        for ((slot, reducer), total) in t.totals.iter().zip(folded) {
            let old = self.scope.variable(*slot).value.clone();
            let new = self.combine(&old, *reducer, total, span)?;
            self.scope.set(*slot, new);
        }
        Some(())
    }

    /// The arrays whose elements the loop writes; writes to those of a loop around it are left to that.
    fn set_elements(&mut self, plan: &Plan, writes: Vec<Write>) -> Option<()> {
        for w in writes {
            if plan.iter().any(|(_, slot, _)| *slot == w.slot) {
                let value = self.scope.variable(w.slot).value.clone();
                let mut arrays = value.atoms()?;
                arrays[w.part] = self.scatter_write(arrays[w.part], &w)?;
                self.scope.set(w.slot, value.with_atoms(&mut arrays.into_iter()));
            } else {
                self.writes.push(w);
            }
        }
        Some(())
    }

    /// One trip: the body at the point `k`. The values of the aligned rows after it.
    fn trip(&mut self, t: &ParallelLoop<'_>, span: Span) -> Option<Vec<Value>> {
        let k = Atom::Var(t.k);
        let i = match t.space.shift {
            Shift::Constant(0) => k,
            Shift::Constant(c) => {
                let c = self.int(c);
                self.op(Op::Add, &[k, c], span)
            }
            Shift::From(lo) => self.op(Op::Add, &[lo, k], span),
        };
        let mut slots = Vec::new();
        for row in t.rows.iter().filter(|r| r.aligned) {
            let cell = self.row(row.slot, k, span);
            slots.push(self.scope.bind_mutable(row.name.clone(), cell));
        }
        let mut condition: Option<Atom> = None;
        for (op, bound) in &t.space.guards {
            let bound = self.size_value(bound, span);
            let c = self.op(*op, &[k, bound], span);
            condition = Some(match condition {
                Some(d) => self.op(Op::And, &[d, c], span),
                None => c,
            });
        }
        let mut run = |s: &mut Self| {
            let mark = s.scope.enter();
            let done = s.run(t, i, span);
            s.scope.leave(mark);
            done.map(|()| Value::unit())
        };
        match condition {
            Some(c) => self.choice(c, span, &mut run, &mut |_| Some(Value::unit()))?,
            None => run(self)?,
        };
        Some(slots.into_iter().map(|s| self.scope.variable(s).value.clone()).collect())
    }

    /// The body for the index `i`. Rows that are not aligned are read before and written after it.
    fn run(&mut self, t: &ParallelLoop<'_>, i: Atom, span: Span) -> Option<()> {
        self.bind_trip(t.e, t.range, i, span)?;
        let mut kept = Vec::new();
        for row in t.rows.iter().filter(|r| !r.aligned) {
            let at = match row.offset {
                0 => i,
                c => {
                    let c = self.int(c);
                    self.op(Op::Add, &[i, c], span)
                }
            };
            let cell = self.row(row.slot, at, span);
            kept.push((row.slot, at, self.scope.bind_mutable(row.name.clone(), cell)));
        }
        self.statement(&t.body)?;
        for (slot, at, row) in kept {
            let value = self.scope.variable(row).value.clone();
            self.write(slot, None, &[at], value, span)?;
        }
        Some(())
    }

    /// The row of an array (or of each array of a tuple) at an index.
    fn row(&mut self, slot: Slot, at: Atom, span: Span) -> Value {
        let value = self.scope.variable(slot).value.clone();
        let cells: Vec<Atom> =
            value.atoms().unwrap_or_default().into_iter().map(|a| self.index(a, &[at], span)).collect();
        value.with_atoms(&mut cells.into_iter())
    }

    /// The first dimension of the arrays of a variable, if they have one.
    pub(super) fn leading(&self, slot: Slot) -> Option<Dim> {
        let atoms = self.scope.variable(slot).value.atoms()?;
        let first = self.atom_type(*atoms.first()?).dims.first()?.clone();
        atoms.iter().all(|a| self.atom_type(*a).dims.first() == Some(&first)).then_some(first)
    }

    /// Lets each trip start from the neutral element. Where that is not known yet (the least integer of a type that is
    /// still open), from the old value: minimum and maximum may take it any number of times.
    fn start(&mut self, slot: Slot, r: Reducer, span: Span) {
        let Value::Atom(old) = self.scope.variable(slot).value else { return };
        let ty = self.atom_type(old);
        let Some(c) = self.neutral(r, ty.elem) else { return };
        let start = if ty.dims.is_empty() { Atom::Const(c) } else { self.filled(&ty.dims, c, span) };
        self.scope.set(slot, Value::Atom(start));
        self.scope.set_role(slot, Role::Combined(r, start));
    }

    fn neutral(&self, r: Reducer, elem: Elem) -> Option<Const> {
        match self.inference.resolve(elem) {
            e @ Elem::Infer(_) if self.inference.is_float(e) => {
                Some(Const::float(e, r.neutral(Elem::F64).as_f64()))
            }
            Elem::Infer(_) if matches!(r, Reducer::Min | Reducer::Max) => None,
            e => Some(r.neutral(e)),
        }
    }

    /// Folds the contributions of all trips.
    fn reduce(&mut self, totals: &[(Slot, Reducer)], axis: Axis, body: Body, span: Span) -> Vec<Atom> {
        if totals.is_empty() {
            return Vec::new();
        }
        let loc = self.loc(span);
        let reducers: Vec<Reducer> = totals.iter().map(|t| t.1).collect();
        let types: Vec<Type> = body.results.iter().map(|a| self.atom_type(*a)).collect();
        let vars: Vec<Var> = reducers.iter().zip(types).map(|(r, ty)| self.new_var(r.name(), ty)).collect();
        self.push(Stm { vars: vars.clone(), exp: Exp::Reduce(reducers, axis, body), loc });
        vars.into_iter().map(Atom::Var).collect()
    }

    /// Arrays over the axis of atoms of the body.
    fn expand(&mut self, atoms: &[Atom], axis: Axis, stms: Vec<Stm>, span: Span) -> FxHashMap<Atom, Atom> {
        let mut arrays = FxHashMap::default();
        let (mut results, mut vars) = (Vec::new(), Vec::new());
        for a in atoms {
            if results.contains(a) {
                continue;
            }
            let ty = self.atom_type(*a);
            let name = match a {
                Atom::Var(v) => self.vars[v.0 as usize].name.clone(),
                Atom::Const(_) => "filled".into(),
            };
            let dims = [axis.extent.clone()].into_iter().chain(ty.dims).collect();
            let var = self.new_var(&name, Type { elem: ty.elem, dims });
            results.push(*a);
            vars.push(var);
            arrays.insert(*a, Atom::Var(var));
        }
        let loc = self.loc(span);
        self.push(Stm { vars, exp: Exp::Build(vec![axis], Body { stms, results }), loc });
        arrays
    }

    /// Folds contributions that are there as arrays.
    fn reduce_arrays(
        &mut self,
        totals: &[(Slot, Reducer)],
        contributions: &[Atom],
        arrays: &FxHashMap<Atom, Atom>,
        extent: &Dim,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let mut out = Vec::new();
        for (total, c) in totals.iter().zip(contributions) {
            let all = arrays.get(c).copied();
            let dims = self.atom_type(*c).dims;
            let fold = |s: &mut Self, at: &[Atom]| {
                let var = s.new_var("k", Type::scalar(Elem::I64));
                s.bodies.push(Vec::new());
                let cell = match all {
                    Some(all) => s.index(all, &[&[Atom::Var(var)], at].concat(), span),
                    None => *c,
                };
                let stms = s.close_body();
                let body = Body { stms, results: vec![cell] };
                let axis = Axis { var, extent: extent.clone() };
                s.reduce(std::slice::from_ref(total), axis, body, span)[0]
            };
            out.push(if dims.is_empty() {
                fold(self, &[])
            } else {
                let v = self.build("sum", &dims, &[], span, |s, ix| Some(Value::Atom(fold(s, ix))))?;
                v.atoms()?[0]
            });
        }
        Some(out)
    }

    /// The old value and the contributions of all trips.
    fn combine(&mut self, old: &Value, r: Reducer, total: Atom, span: Span) -> Option<Value> {
        if let Value::Atom(Atom::Const(c)) = old
            && self.neutral(r, c.elem).is_some_and(|n| n.raw() == c.raw())
        {
            return self.fit(old, Value::Atom(total), "this", span);
        }
        let op = r.op()?;
        let new =
            self.apply_operator(op, &format!("`{}`", r.name()), &[old.clone(), Value::Atom(total)], span)?;
        self.fit(old, new, "this", span)
    }
}
