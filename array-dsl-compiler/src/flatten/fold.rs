//! Scans, folds and sequential loops: nests whose last axis is executed in order.
//!
//! ```text
//! scan (add) i < n { b }                  = nest [F, i < n] { b; s = scan [l = 0] [r = b] { l + r } } store s
//! fold (l, r) from e with { c } i { b }   = nest [F, i < n] { b; s.. = scan [l.. = e..] [r.. = b..] { c } }
//!                                           reduce(last) s, and e where n is 0
//! loop for t < n with x.. from a.. { b }  = nest [F, t < n] { s.. = scan [x.. = a..] [] { b } } reduce(last) s
//! ```
//!
//! The part of a loop's body that does not depend on its state is code of the points, outside the step; array operations in it
//! become nests over the loop's axis. Guards of branches around make the step do nothing.

use rustc_hash::FxHashSet;

use super::Flatten;
use super::counts::Counted;
use super::nest::Frame;
use super::values::Val;
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::uses::depending;
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Item, Let, Prefix, Reducer, Scan, Var, YieldKind};
use crate::core;
use crate::dim::Dim;
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name};

/// A step as template code: what a scan does at each point.
struct Step {
    left: Vec<Var>,
    right: Vec<Var>,
    start: Vec<Atom>,
    values: Vec<Atom>,
    lets: Vec<Let>,
    results: Vec<Atom>,
}

impl Step {
    /// What the step uses of the frames, which becomes code of its nest: what may differ from point to point, and what is the same
    /// along the scan's axis. The latter is where the scan starts, and all that an associative step uses; as whether the step does
    /// anything, it does not depend on the guards of the values.
    fn free(&self) -> (Vec<Atom>, Vec<Atom>) {
        let mut bound: FxHashSet<Var> = self.left.iter().chain(&self.right).copied().collect();
        for l in &self.lets {
            bound_inside(&l.exp, &mut bound);
            bound.extend(&l.vars);
        }
        let note = |a: Atom, list: &mut Vec<Atom>| {
            if matches!(a, Atom::Var(v) if !bound.contains(&v)) && !list.contains(&a) {
                list.push(a);
            }
        };
        let (mut varying, mut fixed) = (Vec::new(), Vec::new());
        self.start.iter().for_each(|a| note(*a, &mut fixed));
        self.lets.iter().for_each(|l| l.exp.visit_atoms(&mut |a| note(a, &mut varying)));
        self.results.iter().for_each(|a| note(*a, &mut varying));
        varying.retain(|a| !fixed.contains(a));
        if !self.right.is_empty() {
            fixed.append(&mut varying);
        }
        (varying, fixed)
    }

    /// A scan of these values, with new names in the step, which does nothing unless `condition` holds.
    fn scan(
        &self,
        t: &mut Flatten<'_>,
        prefix: Prefix,
        values: &[Atom],
        mut map: Renaming,
        condition: Option<Atom>,
        loc: Loc,
    ) -> Scan {
        let start: Vec<Atom> = self.start.iter().map(|a| renamed(&map, *a)).collect();
        let left = t.p.copy_vars(&self.left, &mut map);
        let right = t.p.copy_vars(&self.right, &mut map);
        let lets = t.p.copy_lets(&self.lets, &mut map);
        let results = self.results.iter().map(|a| renamed(&map, *a)).collect();
        let mut step = Branch { block: Block { lets }, results };
        if let Some(condition) = condition {
            step = guard(t, step, condition, &left, loc);
        }
        let vars = t.p.copy_vars(&left, &mut Renaming::default());
        Scan { vars, prefix, left, start, right, values: values.to_vec(), step, loc }
    }
}

impl Flatten<'_> {
    pub(super) fn scan(
        &mut self,
        s: &core::Stm,
        reducers: &[Reducer],
        prefix: Prefix,
        axis: &core::Axis,
        body: &core::Body,
    ) {
        let axes = self.core_axes(std::slice::from_ref(axis));
        self.push_frame(Frame { axes, ..Frame::default() });
        self.body(body);
        let mut made = Vec::new();
        for ((reducer, value), v) in reducers.iter().zip(&body.results).zip(&s.vars) {
            let value = self.atom(*value);
            let elem = self.p.elem(value);
            let (left, right) = (self.p.new_var(elem), self.p.new_var(elem));
            let mut code = Code::new(s.loc);
            let op = expect(reducer.op(), || format!("a scan by `{}`", reducer.name()));
            let sum = code.op(&mut self.p, op, &[Atom::Var(left), Atom::Var(right)]);
            let step = Step {
                left: vec![left],
                right: vec![right],
                start: vec![Atom::Const(reducer.neutral(elem))],
                values: vec![value],
                lets: code.lets,
                results: vec![sum],
            };
            made.extend(self.ordered(step, prefix, true, &[self.name(*v)], s.loc));
        }
        self.pop_frame();
        for (v, a) in s.vars.iter().zip(made) {
            self.bind_array(*v, a, s.loc);
        }
    }

    pub(super) fn fold(
        &mut self,
        s: &core::Stm,
        operator: &core::Operator,
        prefix: Option<Prefix>,
        axis: &core::Axis,
        body: &core::Body,
    ) {
        let start: Vec<Atom> = operator.neutral.iter().map(|a| self.atom(*a)).collect();
        let axes = self.core_axes(std::slice::from_ref(axis));
        let extent = axes[0].extent.clone();
        self.push_frame(Frame { axes, ..Frame::default() });
        self.body(body);
        let values: Vec<Atom> = body.results.iter().map(|a| self.atom(*a)).collect();
        let left = self.state(&operator.left);
        let right = self.state(&operator.right);
        let (lets, results) = self.step_code(&operator.body);
        let step = Step { left, right, start: start.clone(), values, lets, results };
        let names: Vec<Name> = s.vars.iter().map(|v| self.name(*v)).collect();
        let made = self.ordered(step, prefix.unwrap_or(Prefix::Inclusive), prefix.is_some(), &names, s.loc);
        self.pop_frame();
        match prefix {
            Some(_) => {
                for (v, a) in s.vars.iter().zip(made) {
                    self.bind_array(*v, a, s.loc);
                }
            }
            None => self.last_or_start(s, &extent, &made, &start),
        }
    }

    /// A loop of scalars whose trips are counted before it begins.
    pub(super) fn sequential(&mut self, s: &core::Stm, l: &core::Loop, trips: Counted) {
        let start: Vec<Atom> = l.state.iter().map(|(_, a)| self.atom(*a)).collect();
        let axis = core::Axis { var: trips.index, extent: Dim::default() };
        let mut axes = self.core_axes(&[axis]);
        axes[0].extent = trips.most.clone();
        let number = Atom::Var(axes[0].var);
        self.push_frame(Frame { axes, ..Frame::default() });
        // Where it is not one of a point's own trips the states stay as they are.
        let guard = trips.own.map(|own| (self.is_trip(trips.index, number, &own, s.loc), true));
        self.push_frame(Frame { guard, ..Frame::default() });
        let state: Vec<core::Var> = l.state.iter().map(|(v, _)| *v).collect();
        let left = self.state(&state);
        let (lets, results) = self.step_code(&l.body);
        // What does not depend on the state is the same whatever came before.
        let (step_lets, point_lets) = depending(lets, left.iter().copied(), |_| false);
        self.add_lets(point_lets);
        let step = Step {
            left,
            right: Vec::new(),
            start: start.clone(),
            values: Vec::new(),
            lets: step_lets,
            results,
        };
        let names: Vec<Name> = s.vars.iter().map(|v| self.name(*v)).collect();
        let made = self.ordered(step, Prefix::Inclusive, false, &names, s.loc);
        self.pop_frame();
        self.pop_frame();
        self.last_or_start(s, &trips.most, &made, &start);
    }

    /// Template scalars for the state.
    fn state(&mut self, vars: &[core::Var]) -> Vec<Var> {
        vars.iter()
            .map(|v| {
                let new = self.p.new_var(self.f.ty(*v).elem);
                self.env.insert(*v, Val::Scalar(Atom::Var(new)));
                new
            })
            .collect()
    }

    /// The template code of a step and its results.
    fn step_code(&mut self, body: &core::Body) -> (Vec<Let>, Vec<Atom>) {
        self.push_frame(Frame::default());
        self.body(body);
        let results = body.results.iter().map(|a| self.atom(*a)).collect();
        (self.pop_frame().lets, results)
    }

    /// A nest over the current frame with a scan along its last axis; the arrays of all prefixes, or of the last ones.
    fn ordered(&mut self, step: Step, prefix: Prefix, all: bool, names: &[Name], loc: Loc) -> Vec<ArrayId> {
        let (varying, fixed) = step.free();
        let guarded = self.frames.iter().any(|f| f.guard.is_some());
        let or_zero = |a: &Atom| (*a, Const::of(self.p.elem(*a), 0));
        let at_points: Vec<(Atom, Const)> = step.values.iter().chain(&varying).map(or_zero).collect();
        let along_axis: Vec<(Atom, Const)> = fixed.iter().map(or_zero).collect();
        let condition = [(Atom::Const(Const::bool(true)), Const::bool(false))];
        let free = [varying, fixed].concat();
        let mut dims = self.frame_extents();
        if !all {
            dims.pop();
        }
        let elems: Vec<Elem> = step.start.iter().map(|a| self.p.elem(*a)).collect();
        let arrays: Vec<ArrayId> =
            elems.iter().zip(names).map(|(e, n)| self.p.new_array(n.clone(), *e, dims.clone())).collect();
        // Without guards there is nothing to keep apart. A guard within the axis may differ along it.
        let together = [at_points.as_slice(), &along_axis].concat();
        let frames = self.frames.len();
        let axis = self.frames.iter().rposition(|f| !f.axes.is_empty()).map_or(frames, |k| k + 1);
        let apart = [(frames, at_points.as_slice()), (axis, &along_axis), (frames, &condition)];
        let groups: &[(usize, &[(Atom, Const)])] = if guarded { &apart } else { &[(frames, &together)] };
        self.nest_with_code(groups, loc, |t, body, atoms| {
            let (values, rest) = atoms.split_at(step.values.len());
            let renaming = free.iter().zip(rest).filter_map(|(old, new)| match old {
                Atom::Var(v) => Some((*v, *new)),
                Atom::Const(_) => None,
            });
            let condition = atoms.last().copied().filter(|_| guarded);
            let scan = step.scan(t, prefix, values, renaming.collect(), condition, loc);
            let kind = |v: Var| match all {
                true => YieldKind::Store(Atom::Var(v)),
                false => YieldKind::Reduce { reducer: Reducer::Last, over: 1, value: Atom::Var(v) },
            };
            let yields = arrays.iter().zip(&scan.vars).map(|(a, v)| (*a, kind(*v))).collect();
            body.items.push(Item::Scan(scan));
            yields
        });
        arrays
    }

    /// Binds the results of a fold: the last state, or the first where there was no point.
    fn last_or_start(&mut self, s: &core::Stm, extent: &Dim, last: &[ArrayId], start: &[Atom]) {
        let index = self.frame_index();
        let elems: Vec<Elem> = start.iter().map(|a| self.p.elem(*a)).collect();
        let mut reads = Code::new(s.loc);
        let results = last.iter().map(|a| reads.read(&mut self.p, *a, &index)).collect();
        let some = Branch { block: Block { lets: reads.lets }, results };
        let none = Branch { block: Block::default(), results: start.to_vec() };
        let trips = self.bind(Elem::I64, Exp::Size(extent.clone()), s.loc);
        let any = self.bind(Elem::Bool, Exp::Op(Op::Gt, vec![trips, int(0)]), s.loc);
        let vars = self.bind_several(&elems, Exp::If(any, some, none), s.loc);
        for (v, x) in s.vars.iter().zip(vars) {
            self.env.insert(*v, Val::Scalar(Atom::Var(x)));
        }
    }
}

/// A step that leaves the state as it is unless `condition` holds.
fn guard(t: &mut Flatten<'_>, step: Branch, condition: Atom, left: &[Var], loc: Loc) -> Branch {
    let elems: Vec<Elem> = left.iter().map(|v| t.p.vars[v.0 as usize]).collect();
    let vars: Vec<Var> = elems.iter().map(|e| t.p.new_var(*e)).collect();
    let kept = Branch { block: Block::default(), results: left.iter().map(|v| Atom::Var(*v)).collect() };
    let exp = Exp::If(condition, step, kept);
    let results = vars.iter().map(|v| Atom::Var(*v)).collect();
    Branch { block: Block { lets: vec![Let { vars, exp, loc }] }, results }
}

/// The scalars bound inside an expression.
fn bound_inside(e: &Exp, out: &mut FxHashSet<Var>) {
    if let Exp::If(_, x, y) = e {
        for l in x.block.lets.iter().chain(&y.block.lets) {
            bound_inside(&l.exp, out);
            out.extend(&l.vars);
        }
    }
}
