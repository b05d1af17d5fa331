//! Loops that carry arrays, or whose steps need array operations; updates of arrays.
//!
//! ```text
//! loop i < n with s from a { b }        = repeat i < n with S: F.. = A { b }              n: a size
//! loop while c with s from a { b }      = repeat while C with C = c(A), S = A { b; => c(s'), s' }
//! under a frame with axes               = repeat while any(on) with on = c(A), .. { where on { b }; => on and c(s'), .. }
//! update a[ix] with v                   = A' = nest F,.. write into A at [F, ix, ..] of v
//! ```
//!
//! The loop is interchanged with the `Build`s around it: states are arrays over the frame. If the number of trips differs from
//! point to point, each point has a switch, and the loop ends when all are off. A point that is off writes nothing.
//!
//! An index of an update that is outside is an error: the element is read with a check.

use std::collections::{HashMap, HashSet};

use super::nest::Frame;
use super::{Flatten, Val, View};
use crate::bulk::build::int;
use crate::bulk::{
    ArrayId, Atom, Block, Branch, Carried, Exp, Let, Nest, Reducer, Repeat, Stm, Trips, Var, Yield, YieldKind,
};
use crate::core;
use crate::dim::{Dim, SizeAtom};
use crate::internal::{at, expect};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name};

/// What the surroundings of a loop's body get back after it.
struct Outside {
    stms: Vec<Stm>,
    stored: HashMap<Var, (ArrayId, Vec<Var>)>,
    host: HashMap<core::Var, ArrayId>,
    checks: usize,
}

impl Flatten<'_> {
    pub(super) fn looped(&mut self, s: &core::Stm, l: &core::Loop) {
        let count = match &l.trips {
            core::Trips::For(_, count) => self.known_trips(*count),
            core::Trips::While(_) => None,
        };
        let scalars = l.state.iter().all(|(v, _)| self.f.ty(*v).rank() == 0);
        match count {
            Some(count) if scalars && is_scalar_code(self.f, l) => self.sequential(s, l, count),
            count => self.repeat(s, l, count),
        }
    }

    /// The number of trips as a size, if it is the same for all points of the frame.
    fn known_trips(&mut self, trips: core::Atom) -> Option<Dim> {
        match trips {
            core::Atom::Const(c) => Some(Dim::constant(c.as_i64())),
            core::Atom::Var(v) => match (self.sizes.get(&v), self.env.get(&v)) {
                (Some(d), _) => Some(d.clone()),
                (None, Some(Val::Scalar(Atom::Var(x)))) if self.home.get(x) == Some(&0) => {
                    Some(self.dim(&Dim::atom(SizeAtom::Scalar(v.0))))
                }
                (None, Some(Val::Scalar(Atom::Const(c)))) => Some(Dim::constant(c.as_i64())),
                _ => None,
            },
        }
    }

    fn repeat(&mut self, s: &core::Stm, l: &core::Loop, count: Option<Dim>) {
        let loc = s.loc;
        // Points that stop at different times, a number of trips of their own among them.
        let switched = count.is_none();
        let starts: Vec<ArrayId> = l.state.iter().map(|(_, a)| self.whole(*a, loc)).collect();
        let mut carried: Vec<Carried> = Vec::new();
        for ((v, _), start) in l.state.iter().zip(&starts) {
            carried.push(self.new_state(self.name(*v), *start));
        }
        let mut condition = None;
        let mut number = None;
        if switched {
            if let core::Trips::For(index, _) = &l.trips {
                let zero = self.whole(core::Atom::Const(Const::int(Elem::I64, 0)), loc);
                number = Some(self.new_state(self.name(*index), zero));
            }
            self.bind_states(l, &starts, number.map(|n| n.start), loc);
            let on = self.test(l, None, loc);
            let on = self.new_state("on".into(), on);
            condition = Some((on, self.any(on.start, loc)));
        }

        let outside = self.enter();
        let states: Vec<ArrayId> = carried.iter().map(|c| c.state).collect();
        self.bind_states(l, &states, number.map(|n| n.state), loc);
        let counted = match (&l.trips, count) {
            (core::Trips::For(index, _), Some(count)) => {
                let array = self.p.new_array(self.name(*index), Elem::I64, Vec::new());
                let read = Exp::Read { array, index: Vec::new(), checked: false };
                let x = self.bind(Elem::I64, read, loc);
                self.env.insert(*index, Val::Scalar(x));
                Some(Trips::For(array, count))
            }
            _ => None,
        };
        let results: Vec<Val> = match condition {
            None => {
                self.body(&l.body);
                l.body.results.iter().map(|a| self.value(*a)).collect()
            }
            Some((on, _)) => {
                let index = self.frame_index();
                let on = self.bind(Elem::Bool, Exp::Read { array: on.state, index, checked: false }, loc);
                let old: Vec<Val> = l.state.iter().map(|(v, _)| self.env[v].clone()).collect();
                let (new, lets) = self.branch(on, true, &l.body);
                let types: Vec<core::Type> = l.state.iter().map(|(v, _)| self.f.ty(*v).clone()).collect();
                let names: Vec<Name> = l.state.iter().map(|(v, _)| self.name(*v)).collect();
                self.merged(on, (&new, &lets), (&old, &Vec::new()), &types, &names, loc)
            }
        };
        for (((v, _), c), value) in l.state.iter().zip(&mut carried).zip(&results) {
            self.env.insert(*v, value.clone());
            c.next = self.whole(core::Atom::Var(*v), loc);
        }
        let mut condition_of_all = None;
        if let Some((mut on, first)) = condition {
            if let (Some(n), core::Trips::For(index, _)) = (&mut number, &l.trips) {
                let k = self.atom(core::Atom::Var(*index));
                let k = self.bind(Elem::I64, Exp::Op(Op::Add, vec![k, int(1)]), loc);
                self.env.insert(*index, Val::Scalar(k));
                n.next = self.whole(core::Atom::Var(*index), loc);
                carried.push(*n);
            }
            on.next = self.test(l, Some(on.state), loc);
            let mut any = self.new_state("any".into(), first);
            any.next = self.any(on.next, loc);
            condition_of_all = Some(Trips::While(any.state));
            carried.extend([on, any]);
        }
        let trips = expect(condition_of_all.or(counted), || {
            format!("a loop without an end{}", at(&self.f.places, loc))
        });
        let body = self.leave(outside);
        let results: Vec<ArrayId> = carried.iter().take(s.vars.len()).map(|c| c.result).collect();
        self.p.stms.push(Stm::Repeat(Repeat { trips, carried, body, loc }));
        for (v, array) in s.vars.iter().zip(results) {
            self.bind_array(*v, array, loc);
        }
    }

    /// Arrays for a state with this start.
    fn new_state(&mut self, name: Name, start: ArrayId) -> Carried {
        let info = self.p.array(start).clone();
        let state = self.p.new_array(name.clone(), info.elem, info.dims.clone());
        let result = self.p.new_array(name, info.elem, info.dims);
        Carried { state, start, next: state, result }
    }

    /// A Core variable as the element or sub-array of an array over the frame.
    pub(super) fn bind_array(&mut self, v: core::Var, array: ArrayId, loc: Loc) {
        let index = self.frame_index();
        let ty = self.f.ty(v);
        let value = if ty.rank() == 0 {
            let elem = ty.elem;
            Val::Scalar(self.bind(elem, Exp::Read { array, index, checked: false }, loc))
        } else {
            Val::View(View::of(array, index))
        };
        self.env.insert(v, value);
    }

    fn bind_states(&mut self, l: &core::Loop, arrays: &[ArrayId], number: Option<ArrayId>, loc: Loc) {
        for ((v, _), a) in l.state.iter().zip(arrays) {
            self.bind_array(*v, *a, loc);
        }
        if let (core::Trips::For(index, _), Some(a)) = (&l.trips, number) {
            self.bind_array(*index, a, loc);
        }
    }

    /// Whether each point goes on, as an array over the frame; only those that are still `on` are asked.
    fn test(&mut self, l: &core::Loop, on: Option<ArrayId>, loc: Loc) -> ArrayId {
        let index = self.frame_index();
        let on = match on {
            Some(array) => self.bind(Elem::Bool, Exp::Read { array, index, checked: false }, loc),
            None => Atom::Const(Const::bool(true)),
        };
        let goes_on = match &l.trips {
            core::Trips::For(index, count) => {
                let (i, n) = (self.atom(core::Atom::Var(*index)), self.atom(*count));
                let less = self.bind(Elem::Bool, Exp::Op(Op::Lt, vec![i, n]), loc);
                self.bind(Elem::Bool, Exp::Op(Op::And, vec![on, less]), loc)
            }
            core::Trips::While(test) => {
                let (values, lets) = self.branch(on, true, test);
                let Some(Val::Scalar(result)) = values.first().cloned() else {
                    panic!("the condition of a `while` is no scalar{}", at(&self.f.places, loc))
                };
                let off = Branch { block: Block::default(), results: vec![Atom::Const(Const::bool(false))] };
                let taken = Branch { block: Block { lets }, results: vec![result] };
                self.bind(Elem::Bool, Exp::If(on, taken, off), loc)
            }
        };
        self.store_nest(&[(goes_on, "on".into())], loc)[0]
    }

    /// Whether any element of an array over the frame is true.
    fn any(&mut self, array: ArrayId, loc: Loc) -> ArrayId {
        let dims = self.p.array(array).dims.clone();
        if dims.is_empty() {
            return array;
        }
        let axes = self.axes(dims);
        let over = axes.len();
        let var = self.p.new_var(Elem::Bool);
        let index = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let lets = vec![Let { vars: vec![var], exp: Exp::Read { array, index, checked: false }, loc }];
        let any = self.p.new_array("any", Elem::Bool, Vec::new());
        let kind = YieldKind::Reduce { reducer: Reducer::Or, over, value: Atom::Var(var) };
        let yields = vec![Yield { array: any, kind }];
        self.p.stms.push(Stm::Nest(Nest { axes, body: Block { lets }, yields, loc }));
        any
    }

    /// Begins a list of statements of its own. What is stored in it is not known after it.
    fn enter(&mut self) -> Outside {
        let outside = Outside {
            stms: std::mem::take(&mut self.p.stms),
            stored: self.stored.clone(),
            host: self.host.clone(),
            checks: self.checks.len(),
        };
        self.push_frame(Frame::default());
        outside
    }

    fn leave(&mut self, outside: Outside) -> Vec<Stm> {
        self.pop_frame();
        self.stored = outside.stored;
        self.host = outside.host;
        self.checks.truncate(outside.checks);
        std::mem::replace(&mut self.p.stms, outside.stms)
    }

    pub(super) fn value(&self, a: core::Atom) -> Val {
        match a {
            core::Atom::Var(v) => self.env[&v].clone(),
            core::Atom::Const(c) => Val::Scalar(Atom::Const(c)),
        }
    }

    pub(super) fn update(
        &mut self,
        s: &core::Stm,
        array: core::Var,
        index: &[core::Atom],
        value: core::Atom,
    ) {
        let loc = s.loc;
        let into = self.whole(core::Atom::Var(array), loc);
        let outer = self.frame_index().len();
        let at: Vec<Atom> = index.iter().map(|a| self.atom(*a)).collect();
        let info = self.p.array(into).clone();
        // The rest of the dimensions, where a sub-array is replaced.
        let axes = self.axes(info.dims[outer + at.len()..].to_vec());
        let rest: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let frame_index = self.frame_index();
        self.push_frame(Frame { axes, ..Frame::default() });
        let value = match self.value(value) {
            Val::Scalar(a) => a,
            Val::View(view) => self.read(&view, &rest, loc),
        };
        let place: Vec<Atom> = at.iter().chain(&rest).copied().collect();
        let whole: Vec<Atom> = frame_index.iter().chain(&place).copied().collect();
        let old = self.bind(info.elem, Exp::Read { array: into, index: whole, checked: true }, loc);
        let mut wanted: Vec<(Atom, Const)> = place.iter().map(|a| (*a, Const::int(Elem::I64, -1))).collect();
        wanted.extend([value, old].map(|a| (a, Const::of(info.elem, 0))));
        let result = self.p.new_array(self.name(s.vars[0]), info.elem, info.dims);
        let count = place.len();
        self.nest(&wanted, loc, |atoms, axes| {
            let index = axes[..outer].iter().chain(&atoms[..count]).copied().collect();
            vec![(result, YieldKind::Write { into, index, value: atoms[count], contested: false })]
        });
        self.pop_frame();
        self.updated.insert(result, into);
        self.bind_whole(s.vars[0], result);
    }
}

/// Whether what depends on a loop's state is scalar code. A derivative that does is so only as a whole: of its nests, those that
/// do not depend on the state could not be taken out.
fn is_scalar_code(f: &core::Function, l: &core::Loop) -> bool {
    let mut on: HashSet<core::Var> = l.state.iter().map(|(v, _)| *v).collect();
    let stms = &l.body.stms;
    stms.iter().enumerate().all(|(i, s)| {
        let depends = mentions(&s.exp, &on);
        if depends {
            on.extend(&s.vars);
        }
        let from = match &s.exp {
            core::Exp::Pushforward { point, .. } | core::Exp::Pullback { point, .. } => {
                stms.iter().position(|p| p.vars == *point).unwrap_or(i)
            }
            _ => i,
        };
        !depends || stms[from..=i].iter().all(|s| is_scalar(f, s))
    })
}

/// Whether an expression or the bodies inside mention a variable.
fn mentions(e: &core::Exp, vars: &HashSet<core::Var>) -> bool {
    let is_one = |a: &core::Atom| matches!(a, core::Atom::Var(v) if vars.contains(v));
    e.operands().iter().any(is_one)
        || e.bodies()
            .iter()
            .any(|b| b.results.iter().any(is_one) || b.stms.iter().any(|s| mentions(&s.exp, vars)))
}

/// Whether a statement becomes code of a nest, without nests of its own.
pub(super) fn is_scalar(f: &core::Function, s: &core::Stm) -> bool {
    let scalars = s.vars.iter().all(|v| f.ty(*v).rank() == 0);
    let bodies = s.exp.bodies();
    // A loop is a nest of its own, though one of scalars.
    s.exp.is_scalar_code(scalars)
        && !matches!(s.exp, core::Exp::Loop(_))
        && bodies.iter().all(|b| b.stms.iter().all(|s| is_scalar(f, s)))
}
