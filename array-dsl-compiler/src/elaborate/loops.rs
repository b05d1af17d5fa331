//! `for` and `while`.
//!
//! A loop's state are the variables around it that its body assigns. Where their uses allow it (`effects`), a `for`
//! becomes parallel code (`parallel`); otherwise it is a sequential `Loop` of Core:
//!
//! ```text
//! for i in lo..hi { body }    state' = loop (state) for k < hi - lo { i = lo + k; body }
//! while c { body }            state' = loop (state) while c { body }
//! ```

use proc_macro2::Span;

use super::conditions::Branch;
use super::effects::{self, Class};
use super::rows;
use super::scope::{Role, Slot};
use super::value::Value;
use super::{Elaborator, InOrder};
use crate::core::{Atom, Body, Exp, Loop, Reducer, Stm, Trips, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::syntax::ast::{Expr, For, Over, Pattern};
use crate::ty::{Elem, Name};

/// How the body of a loop uses each variable that it changes.
pub(super) type Plan = Vec<(Name, Slot, Class)>;

/// The body of a sequential loop.
pub(super) struct SequentialBody {
    /// The state inside, and what it is before the first trip.
    state: Vec<(Var, Atom)>,
    /// It gives the next state.
    body: Body,
    /// The variables that the state is of.
    slots: Vec<Slot>,
}

/// What a `for` runs over, evaluated.
pub(super) struct Range {
    /// The first index, `i64`.
    pub lo: Atom,
    /// One beyond the last, `i64`.
    pub hi: Atom,
    /// Last to first.
    pub reversed: bool,
    /// The type of the index.
    pub elem: Elem,
    /// The array (or tuple of arrays) whose elements it gives, with the index if `true`.
    pub array: Option<(Value, bool)>,
    /// `hi - lo`, where that is a size; may be negative.
    pub extent: Option<Dim>,
}

impl Elaborator<'_> {
    /// A `for` loop.
    pub(super) fn for_loop(&mut self, e: &For, span: Span) -> Option<Value> {
        let range = self.range(e, span)?;
        let names = effects::assigned(&e.body, &e.pattern);
        let assignable = names.iter().all(|n| self.scope.is_assignable(n));
        if assignable {
            match self.plan(e, &names, &range) {
                Ok(plan) => {
                    let saved = self.save();
                    let foreign = plan.len() < names.len();
                    match self.parallel(e, &plan, foreign, &range, span) {
                        None if self.declined => {
                            self.restore(saved);
                            self.runs_in_order(
                                e,
                                span,
                                span,
                                "what it writes depends on loops inside that run in order",
                            );
                        }
                        done => return done.map(|()| Value::unit()),
                    }
                }
                Err((why, at)) => self.runs_in_order(e, span, at, &why),
            }
        }
        self.loop_in_order(e, &names, &range, span)?;
        Some(Value::unit())
    }

    /// Why a loop is sequential, for `explain`.
    fn runs_in_order(&mut self, e: &For, of: Span, at: Span, why: &str) {
        let index = e.pattern.names().first().map_or_else(|| "_".into(), |n| n.name.to_string());
        let (of, at) = (self.loc(of), self.loc(at));
        let why = format!("the loop over `{index}` runs in order: {why}");
        self.in_order.push(InOrder { of, at, why });
    }

    /// How each assigned variable is used, or why the loop is sequential.
    fn plan(&mut self, e: &For, names: &[Name], range: &Range) -> Result<Plan, (String, Span)> {
        let mut plan = Vec::new();
        for name in names {
            let Some(slot) = self.scope.slot(name) else { continue };
            let variable = self.scope.variable(slot);
            if let Role::Scattered(_) = variable.role {
                continue;
            }
            let ranks: Option<Vec<usize>> =
                variable.value.atoms().map(|atoms| atoms.iter().map(|a| self.rank(*a)).collect());
            let single = matches!(variable.value, Value::Atom(_));
            let shown = effects::shown(name);
            let class = match rows::rows(e, name) {
                Some(rows) if rows.certain || self.contains(slot, rows.offset, range) => {
                    Class::Private(rows.offset)
                }
                _ => effects::shared(e, name),
            };
            let elem = variable.value.atoms().and_then(|a| a.first().map(|a| self.elem(*a)));
            let suits = |r: &Reducer| match r {
                Reducer::And | Reducer::Or => elem.is_some_and(|e| !self.inference.is_float(e)),
                // A product of complex numbers is no reducer's.
                Reducer::Mul => elem.is_some_and(|e| e != Elem::Bool && !self.inference.is_complex(e)),
                _ => elem != Some(Elem::Bool),
            };
            let fits = match (&class, ranks.unwrap_or_default().as_slice()) {
                (Class::Carried(why, at), _) => {
                    return Err((format!("`{shown}` is carried from trip to trip, as {why}"), *at));
                }
                (Class::Private(_), ranks) => !ranks.is_empty() && ranks.iter().all(|r| *r > 0),
                (Class::Combined { reducer, at }, [rank]) => single && suits(reducer) && (*rank > 0 || !at),
                (Class::Written, [rank]) => single && *rank > 0,
                _ => false,
            };
            if !fits {
                return Err((format!("`{shown}` is carried from trip to trip"), e.body.span));
            }
            plan.push((name.clone(), slot, class));
        }
        if range.extent.is_none() {
            return Err(("its number of trips is no size that is known before".into(), e.body.span));
        }
        Ok(plan)
    }

    /// Evaluates what a loop runs over.
    fn range(&mut self, e: &For, span: Span) -> Option<Range> {
        match &e.over {
            Over::Range { lo, hi, reversed } => {
                let (l, h) = (self.expr(lo), self.expr(hi));
                let (l, h) = (self.bound(l?, lo)?, self.bound(h?, hi)?);
                self.unify(self.elem(h), self.elem(l), hi.span, "the end of a range")?;
                if let Elem::Infer(_) = self.elem(l) {
                    self.unify(self.elem(l), Elem::I64, lo.span, "the start of a range")?;
                }
                let elem = self.elem(l);
                let (lo, hi) = (self.cast(l, Elem::I64, lo.span), self.cast(h, Elem::I64, hi.span));
                let hi = self.end_of_range(lo, hi, span);
                let extent = self.extent_between(lo, hi);
                Some(Range { lo, hi, reversed: *reversed, elem, array: None, extent })
            }
            Over::Array { array, numbered } => {
                let v = self.expr(array)?;
                let atoms = v.atoms().filter(|a| !a.is_empty() && a.iter().all(|a| self.rank(*a) > 0));
                let Some(atoms) = atoms else {
                    let found = self.describe(&v);
                    self.error(
                        Code::Rank,
                        array.span,
                        format!("a `for` runs over a range or an array, found {found}"),
                        "write `for i in 0..n`, or name an array",
                    );
                    return None;
                };
                let extent = self.atom_type(atoms[0]).dims[0].clone();
                let mut aligned = Vec::new();
                for a in atoms {
                    let mut dims = self.atom_type(a).dims;
                    dims[0] = extent.clone();
                    aligned.push(self.coerce(a, &dims, span, "the arrays of a `for`", false)?);
                }
                let v = v.with_atoms(&mut aligned.into_iter());
                let (lo, hi) = (self.int(0), self.size_value(&extent, span));
                let array = Some((v, *numbered));
                Some(Range { lo, hi, reversed: false, elem: Elem::I64, array, extent: Some(extent) })
            }
        }
    }

    /// One end of a range.
    fn bound(&mut self, v: Value, e: &Expr) -> Option<Atom> {
        if let Value::Atom(a) = v {
            self.inference.settle_for_int(self.elem(a));
        }
        match v {
            Value::Atom(a) if self.rank(a) == 0 && self.inference.is_int(self.elem(a)) => Some(a),
            other => {
                let found = self.describe(&other);
                self.error(
                    Code::ElementType,
                    e.span,
                    format!("the ends of a range must be integers, found {found}"),
                    "convert a number with `as usize`",
                );
                None
            }
        }
    }

    /// `hi - lo` as a size.
    fn extent_between(&mut self, lo: Atom, hi: Atom) -> Option<Dim> {
        if let (Some(l), Some(h)) = (self.size_of(lo), self.size_of(hi)) {
            return Some(h.sub(&l)).filter(|d| !d.is_too_large());
        }
        // A window: both ends vary alike.
        let d = self.known_offset(hi)?.sub(&self.known_offset(lo)?);
        if d.is_too_large() {
            return None;
        }
        d.atoms().iter().all(|a| !self.is_index_atom(a)).then_some(d)
    }

    /// The size that an integer is, if it is one; unlike `dim_of` without an error.
    pub(super) fn size_of(&mut self, a: Atom) -> Option<Dim> {
        if let Some(d) = self.known_int(a) {
            return Some(d);
        }
        let Atom::Var(v) = a else { return None };
        if self.elem(a) != Elem::I64 || !self.is_outermost(v) {
            return None;
        }
        let d = Dim::atom(SizeAtom::Scalar(v.0));
        self.known.insert(v, d.clone());
        Some(d)
    }

    /// Binds the index or the element of trip `i` (the index itself, `i64`).
    pub(super) fn bind_trip(&mut self, e: &For, range: &Range, i: Atom, span: Span) -> Option<()> {
        let value = match &range.array {
            None => Value::Atom(self.cast(i, range.elem, span)),
            Some((v, numbered)) => {
                let cells: Vec<Atom> =
                    v.atoms().unwrap_or_default().into_iter().map(|a| self.index(a, &[i], span)).collect();
                let cell = v.with_atoms(&mut cells.into_iter());
                if *numbered { Value::Tuple(vec![Value::Atom(i), cell]) } else { cell }
            }
        };
        self.bind_pattern(&e.pattern, value)
    }

    /// The name of a loop's index, for printed code.
    pub(super) fn trip_name(e: &For) -> Name {
        effects::index_name(e).cloned().unwrap_or_else(|| "i".into())
    }

    /// A loop whose trips run in order.
    fn loop_in_order(&mut self, e: &For, names: &[Name], range: &Range, span: Span) -> Option<()> {
        let zero = self.int(0);
        match &e.checkpoint {
            Some(checkpoint) => self.strip_mined(e, checkpoint, names, range, span),
            None => {
                let trips = self.difference(range.hi, range.lo, span);
                self.sequential(e, names, range, (zero, trips, range.extent.clone()), span)
            }
        }
    }

    /// The trips from `first` on of a loop whose trips run in order; their number is a size, if that is known.
    pub(super) fn sequential(
        &mut self,
        e: &For,
        names: &[Name],
        range: &Range,
        (first, trips, extent): (Atom, Atom, Option<Dim>),
        span: Span,
    ) -> Option<()> {
        let name = Self::trip_name(e);
        let k = self.new_var(&name, Type::scalar(Elem::I64));
        let last = if range.reversed {
            let one = self.int(1);
            Some(self.difference(range.hi, one, span))
        } else {
            None
        };
        let depth = self.frame.len();
        // Where the number of trips is no size, checks cannot depend on it: as in an `if`, there are none.
        let branches = self.branches.len();
        self.branches.extend(extent.is_none().then(Branch::trips));
        self.frame.push((extent.unwrap_or(Dim::constant(1)), name));
        let body = self.carried(names, &mut |s| {
            let k = match first {
                Atom::Const(c) if c.raw() == 0 => Atom::Var(k),
                first => s.op(Op::Add, &[first, Atom::Var(k)], span),
            };
            let i = match (last, range.lo) {
                (Some(last), _) => s.op(Op::Sub, &[last, k], span),
                (None, Atom::Const(c)) if c.raw() == 0 => k,
                (None, lo) => s.op(Op::Add, &[lo, k], span),
            };
            s.bind_trip(e, range, i, span)?;
            s.statement(&e.body)
        });
        self.frame.truncate(depth);
        self.branches.truncate(branches);
        self.finish(body?, Trips::For(k, trips), span)
    }

    /// A loop that a condition ends.
    pub(super) fn while_loop(&mut self, c: &Expr, body: &Expr, span: Span) -> Option<Value> {
        let nothing = Pattern::Wildcard(span);
        if let Some(name) = effects::assigned(c, &nothing).first() {
            self.error(
                Code::Assignment,
                c.span,
                format!("the condition of a `while` assigns to `{}`", effects::shown(name)),
                "assign before the loop and at the end of its body",
            );
            return None;
        }
        let names = effects::assigned(body, &nothing);
        self.branches.push(Branch::trips());
        self.frame.push((Dim::constant(1), "while".into()));
        let mut condition = None;
        let carried = self.carried(&names, &mut |s| {
            condition = Some(s.in_body(|s| s.condition(c))?);
            s.statement(body)
        });
        self.frame.pop();
        self.branches.pop();
        let carried = carried?;
        let (stms, result) = condition?;
        let condition = Body { stms, results: vec![result] };
        self.finish(carried, Trips::While(condition), span)?;
        Some(Value::unit())
    }

    fn condition(&mut self, c: &Expr) -> Option<Atom> {
        match self.expr(c)? {
            Value::Atom(a) if self.rank(a) == 0 => {
                self.unify(self.elem(a), Elem::Bool, c.span, "the condition of a `while`")?;
                Some(a)
            }
            other => {
                let found = self.describe(&other);
                self.error(
                    Code::ElementType,
                    c.span,
                    format!("the condition of a `while` must be one bool, found {found}"),
                    "compare something; for an array of bools use `any` or `all`",
                );
                None
            }
        }
    }

    /// Elaborates the body of a sequential loop: its state before, the body that gives the state after, and the variables.
    pub(super) fn carried(
        &mut self,
        names: &[Name],
        f: &mut dyn FnMut(&mut Self) -> Option<()>,
    ) -> Option<SequentialBody> {
        let slots: Vec<(&Name, Slot)> = names
            .iter()
            .filter(|n| self.scope.is_assignable(n))
            .filter_map(|n| Some((n, self.scope.slot(n)?)))
            .collect();
        if slots.iter().any(|(_, s)| matches!(self.scope.variable(*s).role, Role::Scattered(_))) {
            // The parallel loop around counts on seeing each write, which it does not here.
            self.declined = true;
            return None;
        }
        let before = self.scope.clone();
        let mut state = Vec::new();
        for (name, slot) in &slots {
            let value = self.scope.variable(*slot).value.clone();
            let Some(atoms) = value.atoms() else { continue };
            let name = effects::shown(name);
            let vars: Vec<Var> = atoms.iter().map(|a| self.new_var(name, self.atom_type(*a))).collect();
            self.states.extend(&vars);
            state.extend(vars.iter().copied().zip(atoms));
            self.scope.set(*slot, value.with_atoms(&mut vars.into_iter().map(Atom::Var)));
        }
        let body = self.in_body(|s| {
            let mark = s.scope.enter();
            let done = f(s);
            s.scope.leave(mark);
            done
        });
        let after = std::mem::replace(&mut self.scope, before);
        let (stms, ()) = body?;
        let slots: Vec<Slot> = slots.into_iter().map(|(_, s)| s).collect();
        let results = slots.iter().filter_map(|s| after.variable(*s).value.atoms()).flatten().collect();
        Some(SequentialBody { state, body: Body { stms, results }, slots })
    }

    /// Emits a loop, and gives the variables their values after it.
    pub(super) fn finish(&mut self, carried: SequentialBody, trips: Trips, span: Span) -> Option<()> {
        let SequentialBody { state, body, slots } = carried;
        let loc = self.loc(span);
        let vars: Vec<Var> = state
            .iter()
            .map(|(v, _)| {
                let info = self.vars[v.0 as usize].clone();
                self.new_var(&info.name, info.ty)
            })
            .collect();
        let mut results = vars.clone().into_iter().map(Atom::Var);
        for slot in slots {
            let value = self.scope.variable(slot).value.with_atoms(&mut results);
            self.scope.set(slot, value);
        }
        if !vars.is_empty() {
            self.push(Stm { vars, exp: Exp::Loop(Box::new(Loop { state, trips, body })), loc });
        }
        Some(())
    }

    /// `a - b`, without code where that is plain.
    pub(super) fn difference(&mut self, a: Atom, b: Atom, span: Span) -> Atom {
        match (a, b) {
            (_, Atom::Const(c)) if c.raw() == 0 => a,
            (Atom::Const(x), Atom::Const(y)) => self.int((x.raw() as i64).wrapping_sub(y.raw() as i64)),
            _ => self.op(Op::Sub, &[a, b], span),
        }
    }
}
