//! Loops that carry arrays, or whose steps need array operations; updates of arrays.
//!
//! ```text
//! loop i < n with s from a { b }        = repeat i < n with S: F.. = A { b }              n: a size, or the same for all of F
//! under a frame where it differs        = repeat i < m with .. { where i < n { b } }                             m: n at most
//! loop while c with s from a { b }      = repeat while C with C = c(A), S = A { b; => c(s'), s' }
//! under a frame with axes               = repeat while on with on = c(A), .. { where on { b }; => on and c(s'), .. }
//! update a[ix] with v                   = A' = nest F,.. write into A at [F, ix, ..] of v
//! ```
//!
//! The loop is interchanged with the `Build`s around it: states are arrays over the frame. If the number of trips differs from
//! point to point and is bounded, or that of a loop of scalars is counted before (`counts`), each point does nothing in the trips beyond
//! its own; else it has a switch, and ends when it is off. A point that is off writes nothing.
//!
//! An index of an update that is outside is an error: the element is read with a check.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Flatten;
use super::choice::Side;
use super::counts::Counted;
use super::nest::Frame;
use super::values::Val;
use crate::bulk::build::int;
use crate::bulk::{ArrayId, Atom, Block, Branch, Carried, Exp, Repeat, Stm, Trips, Var, YieldKind};
use crate::core;
use crate::internal::at;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name};

/// What the surroundings of a loop's body get back after it.
struct Outside {
    stms: Vec<Stm>,
    stored: FxHashMap<Var, (ArrayId, Vec<Var>)>,
    size_scalars: FxHashMap<core::Var, ArrayId>,
    checks: usize,
}

impl Flatten<'_> {
    /// A loop. One of scalars whose trips are counted, or bounded, before it begins is a scan.
    pub(super) fn repeat(&mut self, s: &core::Stm, l: &core::Loop) {
        let is_scan = l.state.iter().all(|(v, _)| self.f.ty(*v).rank() == 0) && is_scalar_code(self.f, l);
        let counted = match l.trips {
            core::Trips::For(index, count) => match self.trips(index, count) {
                None if is_scan => self.trips_of_data(index, count, s.loc),
                counted => counted,
            },
            core::Trips::While(_) => None,
        };
        match counted {
            Some(trips) if is_scan => self.sequential(s, l, trips),
            counted => {
                self.store_what_a_trip_needs(s);
                match counted {
                    Some(trips) => self.counted(s, l, trips),
                    None => self.switched(s, l),
                }
            }
        }
    }

    /// Stores the expensive scalars that the body of a loop needs: what is computed before a loop is not computed in each trip.
    fn store_what_a_trip_needs(&mut self, s: &core::Stm) {
        let mut atoms = Vec::new();
        used(&s.exp, &mut atoms);
        let scalar = |a: &core::Atom| match a {
            core::Atom::Var(v) => match self.env.get(v)? {
                Val::Scalar(x) => Some((*x, Const::of(self.p.elem(*x), 0))),
                Val::View(_) => None,
            },
            core::Atom::Const(_) => None,
        };
        let values: Vec<(Atom, Const)> = atoms.iter().filter_map(scalar).collect();
        self.store_expensive(self.frames.len(), self.frames.len(), &values);
    }

    /// A loop whose number of trips is known, or bounded.
    fn counted(&mut self, s: &core::Stm, l: &core::Loop, trips: Counted) {
        let mut carried = self.new_states(l, s.loc);
        let outside = self.enter();
        self.bind_states(l, &carried, |c| c.state, s.loc);
        let number = self.p.new_array(self.name(trips.index), Elem::I64, Vec::new());
        self.counters.insert(number);
        let read = Exp::Read { array: number, index: Vec::new(), checked: false };
        let i = self.bind(Elem::I64, read, s.loc);
        self.env.insert(trips.index, Val::Scalar(i));
        let results = match trips.own {
            Some(own) => {
                let on = self.is_trip(trips.index, i, &own, s.loc);
                self.body_where(on, l, s.loc)
            }
            None => {
                self.body(&l.body);
                l.body.results.iter().map(|a| self.value(*a)).collect()
            }
        };
        self.next_states(l, &mut carried, results, s.loc);
        self.close(s, Trips::For(number, trips.most), carried, outside);
    }

    /// A loop whose points stop at different times: each has a switch, and its own number of the trip if it counts them.
    fn switched(&mut self, s: &core::Stm, l: &core::Loop) {
        let loc = s.loc;
        let mut carried = self.new_states(l, loc);
        let mut number = None;
        if let core::Trips::For(index, _) = l.trips {
            let zero = self.over_frame(core::Atom::Const(Const::int(Elem::I64, 0)), loc);
            number = Some((index, self.new_state(self.name(index), zero)));
        }
        self.bind_states(l, &carried, |c| c.start, loc);
        if let Some((index, n)) = number {
            self.bind_array(index, n.start, loc);
        }
        let on = self.test(l, None, loc);
        let mut on = self.new_state("on".into(), on);

        let outside = self.enter();
        self.bind_states(l, &carried, |c| c.state, loc);
        if let Some((index, n)) = number {
            self.bind_array(index, n.state, loc);
        }
        let index = self.frame_index();
        let is_on = self.bind(Elem::Bool, Exp::Read { array: on.state, index, checked: false }, loc);
        let results = self.body_where(is_on, l, loc);
        self.next_states(l, &mut carried, results, loc);
        if let Some((index, mut n)) = number {
            let k = self.atom(core::Atom::Var(index));
            let k = self.bind(Elem::I64, Exp::Op(Op::Add, vec![k, int(1)]), loc);
            self.env.insert(index, Val::Scalar(k));
            n.next = self.over_frame(core::Atom::Var(index), loc);
            carried.push(n);
        }
        on.next = self.test(l, Some(on.state), loc);
        carried.push(on);
        self.close(s, Trips::While(on.state), carried, outside);
    }

    /// The states after a trip: those of the body at points that are `on`, the old ones elsewhere.
    fn body_where(&mut self, on: Atom, l: &core::Loop, loc: Loc) -> Vec<Val> {
        let values = l.state.iter().map(|(v, _)| self.env[v].clone()).collect();
        let old = Side { values, lets: Vec::new() };
        let new = self.branch(on, true, &l.body);
        let vars: Vec<core::Var> = l.state.iter().map(|(v, _)| *v).collect();
        self.merged(on, &new, &old, &vars, loc)
    }

    /// Arrays for the states of a loop.
    fn new_states(&mut self, l: &core::Loop, loc: Loc) -> Vec<Carried> {
        let starts: Vec<ArrayId> = l.state.iter().map(|(_, a)| self.over_frame(*a, loc)).collect();
        for ((v, _), start) in l.state.iter().zip(&starts) {
            if self.f.ty(*v).rank() > 0 {
                self.store_reads(*start);
            }
        }
        l.state.iter().zip(starts).map(|((v, _), start)| self.new_state(self.name(*v), start)).collect()
    }

    fn next_states(&mut self, l: &core::Loop, carried: &mut [Carried], results: Vec<Val>, loc: Loc) {
        for (((v, _), c), value) in l.state.iter().zip(carried).zip(results) {
            self.env.insert(*v, value);
            c.next = self.over_frame(core::Atom::Var(*v), loc);
        }
    }

    /// Ends the body of a loop, and binds what the loop gives.
    fn close(&mut self, s: &core::Stm, trips: Trips, carried: Vec<Carried>, outside: Outside) {
        let body = self.leave(outside);
        for c in &carried {
            if self.started_from(c.next, |a| a == c.state).is_some() {
                self.updated.insert(c.result, c.start);
            }
        }
        let results: Vec<ArrayId> = carried.iter().take(s.vars.len()).map(|c| c.result).collect();
        self.p.stms.push(Stm::Repeat(Repeat { trips, carried, body, loc: s.loc }));
        for (v, array) in s.vars.iter().zip(results) {
            self.bind_array(*v, array, s.loc);
        }
    }

    /// Arrays for a state with this start.
    fn new_state(&mut self, name: Name, start: ArrayId) -> Carried {
        let info = self.p.array(start).clone();
        let state = self.p.new_array(name.clone(), info.elem, info.dims.clone());
        let result = self.p.new_array(name, info.elem, info.dims);
        Carried { state, start, next: state, result }
    }

    /// Binds the states to their arrays: those before the loop, or before a trip.
    fn bind_states(&mut self, l: &core::Loop, carried: &[Carried], array: fn(&Carried) -> ArrayId, loc: Loc) {
        for ((v, _), c) in l.state.iter().zip(carried) {
            self.bind_array(*v, array(c), loc);
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
                let Side { values, lets } = self.branch(on, true, test);
                let Some(Val::Scalar(result)) = values.first().cloned() else {
                    panic!("the condition of a `while` is no scalar{}", at(&self.f.places, loc))
                };
                let off = Branch { block: Block::default(), results: vec![Atom::Const(Const::bool(false))] };
                let tested = Branch { block: Block { lets }, results: vec![result] };
                self.bind(Elem::Bool, Exp::If(on, tested, off), loc)
            }
        };
        self.store_nest(&[(goes_on, "on".into())], loc)[0]
    }

    /// Begins a list of statements of its own. What is stored in it is not known after it.
    fn enter(&mut self) -> Outside {
        let outside = Outside {
            stms: std::mem::take(&mut self.p.stms),
            stored: self.stored.clone(),
            size_scalars: self.size_scalars.clone(),
            checks: self.checks.len(),
        };
        self.push_frame(Frame::default());
        outside
    }

    fn leave(&mut self, outside: Outside) -> Vec<Stm> {
        self.pop_frame();
        self.stored = outside.stored;
        self.size_scalars = outside.size_scalars;
        self.checks.truncate(outside.checks);
        std::mem::replace(&mut self.p.stms, outside.stms)
    }

    pub(super) fn update(
        &mut self,
        s: &core::Stm,
        array: core::Var,
        index: &[core::Atom],
        value: core::Atom,
    ) {
        let loc = s.loc;
        let into = self.over_frame(core::Atom::Var(array), loc);
        self.store_reads(into);
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
        let index: Vec<Atom> = frame_index.iter().chain(&place).copied().collect();
        let old = self.bind(info.elem, Exp::Read { array: into, index, checked: true }, loc);
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
        self.bind_array(s.vars[0], result, loc);
    }
}

/// What an expression and the bodies inside use, with what is bound there.
fn used(e: &core::Exp, out: &mut Vec<core::Atom>) {
    out.extend(e.operands());
    for b in e.bodies() {
        out.extend(&b.results);
        b.stms.iter().for_each(|s| used(&s.exp, out));
    }
}

/// Whether what depends on a loop's state is scalar code.
fn is_scalar_code(f: &core::Function, l: &core::Loop) -> bool {
    let mut on: FxHashSet<core::Var> = l.state.iter().map(|(v, _)| *v).collect();
    l.body.stms.iter().all(|s| {
        let depends = mentions(&s.exp, &on);
        if depends {
            on.extend(&s.vars);
        }
        !depends || is_scalar(f, s)
    })
}

/// Whether an expression or the bodies inside mention a variable.
fn mentions(e: &core::Exp, vars: &FxHashSet<core::Var>) -> bool {
    let mut atoms = Vec::new();
    used(e, &mut atoms);
    atoms.iter().any(|a| matches!(a, core::Atom::Var(v) if vars.contains(v)))
}

/// Whether a statement becomes code of a nest, without nests of its own.
pub(super) fn is_scalar(f: &core::Function, s: &core::Stm) -> bool {
    // A loop is a nest of its own, though one of scalars.
    s.is_scalar_code(|v| f.ty(v).rank() == 0)
        && !matches!(s.exp, core::Exp::Loop(_))
        && s.exp.bodies().iter().all(|b| b.stms.iter().all(|s| is_scalar(f, s)))
}
