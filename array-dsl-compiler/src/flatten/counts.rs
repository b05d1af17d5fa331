//! How many trips loops make: for all points of the frame, or at most.
//!
//! A number that differs from point to point, as that of `for j in i + 1..n` at point `i`, is bounded by a polynomial if it is a sum of
//! indices and sizes, or the least or greatest of such: upper and lower forms are found from what it is computed of, and taken at the
//! corners of the frame's axes. The trips beyond a point's own do nothing.
//!
//! ```text
//! n - (i + 1)                     at most n - 1
//! min(n, i + 2) - max(0, i - 1)   at most n, n + 1, n + 1 and 3: 3
//! ```
//!
//! A loop that begins at a greatest of several integers, as a window does, has trips from one of these on, so that its counter is a sum of
//! axes, of which reads and their adjoints have more to say:
//!
//! ```text
//! j in max(0, i - 3)..min(n, i + 4)    =    k < 7, j = i - 3 + k, where j >= 0 and j < n and j >= i - 3 and j < i + 4
//! ```
//!
//! What may be much greater than any number of trips, a number of the user or a product of sizes, bounds nothing. So the trips that do
//! nothing are a few times the others: as many again in a triangle.
//!
//! A number that data decide, as that of `for k in start[i]..start[i + 1]`, is computed for all points before the loop, and the greatest
//! of them is a size, if the states are scalars. Here the trips that do nothing may be most of them: loops end at their point's own
//! (`lower::ends`), but what is stored of each trip takes memory for all.

use super::Flatten;
use super::values::Val;
use crate::affine::Affine;
use crate::bulk::build::int;
use crate::bulk::uses::scalars;
use crate::bulk::{Atom, Check, CheckKind, Exp, Reducer, Stm, Var};
use crate::core;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// The most forms of one integer that are looked at.
const MOST_FORMS: usize = 8;

/// The end on which a form bounds an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

impl End {
    fn other(self) -> End {
        match self {
            End::Lower => End::Upper,
            End::Upper => End::Lower,
        }
    }
}

/// A loop whose trips are counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// The number of the trip.
    pub index: core::Var,
    /// So many, at most.
    pub most: Dim,
    /// Which ones a point makes, if that differs.
    pub own: Option<Own>,
}

/// Which trips a point makes.
#[derive(Clone, Debug)]
pub(super) enum Own {
    /// So many.
    Count(core::Atom),
    /// Those whose counter is in a range.
    Range {
        /// What the first trip would count: at most where the range begins. The range begins there if there is no such form.
        first: Option<Affine>,
        from: Atom,
        to: Atom,
    },
}

impl Flatten<'_> {
    /// How many trips a loop makes, if that is known or bounded.
    pub(super) fn trips(&mut self, index: core::Var, count: core::Atom) -> Option<Counted> {
        match self.known_trips(count) {
            Some(most) => Some(Counted { index, most, own: None }),
            None => {
                let (most, own) = self.most_trips(count)?;
                Some(Counted { index, most, own: Some(own) })
            }
        }
    }

    /// How many trips a loop makes that only data tell.
    pub(super) fn trips_of_data(&mut self, index: core::Var, count: core::Atom, loc: Loc) -> Option<Counted> {
        let core::Atom::Var(v) = count else { return None };
        let Some(Val::Scalar(x)) = self.env.get(&v).cloned() else { return None };
        let counts = self.store_nest(&[(x, "trips".into())], loc)[0];
        let most = self.p.reduced("trips", Reducer::Max, counts, loc);
        // With a trip for all there is a state after the loop, which nobody has to ask for.
        let most = self.p.store("trips", Elem::I64, &[], loc, |p, code, _| {
            let most = code.read(p, most, &[]);
            code.op(p, Op::Max, &[most, int(1)])
        });
        let most = Dim::atom(SizeAtom::Scalar(most.0));
        let kind = CheckKind::AtLeast(Dim::constant(1), most.clone());
        self.p.stms.push(Stm::Check(Check { kind, guards: Vec::new() }, loc));
        Some(Counted { index, most, own: Some(Own::Count(count)) })
    }

    /// The number of trips as a size, if it is the same for all points of the frame.
    fn known_trips(&mut self, trips: core::Atom) -> Option<Dim> {
        match trips {
            core::Atom::Const(c) => Some(Dim::constant(c.as_i64())),
            core::Atom::Var(v) => match (self.sizes.get(&v), self.env.get(&v)) {
                (Some(d), _) => Some(d.clone()),
                (None, Some(Val::Scalar(Atom::Var(x)))) if self.is_of_host_level(*x) => {
                    let x = *x;
                    let count = self.dim(&Dim::atom(SizeAtom::Scalar(v.0)));
                    Some(if self.is_bounded(Atom::Var(x)) { count } else { self.only_where_taken(x, count) })
                }
                (None, Some(Val::Scalar(Atom::Const(c)))) => Some(Dim::constant(c.as_i64())),
                (None, Some(Val::Scalar(x))) => self.polynomial(*x),
                _ => None,
            },
        }
    }

    /// A size that the number of trips is at most at each point of the frame.
    fn most_trips(&self, trips: core::Atom) -> Option<(Dim, Own)> {
        let core::Atom::Var(v) = trips else { return None };
        let Some(Val::Scalar(x)) = self.env.get(&v) else { return None };
        let range = match x.var().and_then(|v| self.definition(v)) {
            Some(Exp::Op(Op::Sub, ends)) => Some((ends[0], ends[1])),
            _ => None,
        };
        let mut bounds = Vec::new();
        let mut add = |f: Affine, own: Own| {
            bounds.extend(self.at_corner(&f).filter(|d| self.is_small(d)).map(|d| (d, own)));
        };
        match range {
            Some((to, from)) => {
                let exact = self.forms(from, End::Upper);
                for first in self.forms(from, End::Lower) {
                    for end in self.forms(to, End::Upper) {
                        let moved = Some(&first).filter(|f| !exact.contains(f)).cloned();
                        add(end.sub(&first), Own::Range { first: moved, from, to });
                    }
                }
            }
            None => self.forms(*x, End::Upper).into_iter().for_each(|f| add(f, Own::Count(trips))),
        }
        let least = |(d, _): &&(Dim, Own)| bounds.iter().all(|(e, _)| e.sub(d).is_nonnegative());
        let constants = bounds.iter().filter(|(d, _)| d.as_constant().is_some());
        let constant = constants.min_by_key(|(d, _)| d.as_constant());
        constant.or_else(|| bounds.iter().find(least)).or(bounds.first()).cloned()
    }

    /// Whether a point makes this trip; binds what the loop counts.
    pub(super) fn is_trip(&mut self, index: core::Var, number: Atom, own: &Own, loc: Loc) -> Atom {
        let (counter, from, to) = match own {
            Own::Count(own) => {
                let own = self.atom(*own);
                return self.bind(Elem::Bool, Exp::Op(Op::Lt, vec![number, own]), loc);
            }
            Own::Range { first: None, from, to } => {
                let counter = self.bind(Elem::I64, Exp::Op(Op::Add, vec![*from, number]), loc);
                (counter, None, *to)
            }
            Own::Range { first: Some(first), from, to } => {
                let first = self.computed(first, loc);
                let counter = self.bind(Elem::I64, Exp::Op(Op::Add, vec![first, number]), loc);
                // What the range counts from its own begin: added to that, it is the counter again.
                let trip = self.bind(Elem::I64, Exp::Op(Op::Sub, vec![counter, *from]), loc);
                self.env.insert(index, Val::Scalar(trip));
                (counter, Some(*from), *to)
            }
        };
        let mut ends = Vec::new();
        from.into_iter().for_each(|from| self.parts(from, Op::Max, &mut ends));
        let begins = ends.len();
        self.parts(to, Op::Min, &mut ends);
        let mut is_trip = None;
        for (k, end) in ends.into_iter().enumerate() {
            let compare = if k < begins { Op::Ge } else { Op::Lt };
            let is_inside = self.bind(Elem::Bool, Exp::Op(compare, vec![counter, end]), loc);
            is_trip = Some(match is_trip {
                Some(c) => self.bind(Elem::Bool, Exp::Op(Op::And, vec![c, is_inside]), loc),
                None => is_inside,
            });
        }
        is_trip.unwrap_or(Atom::Const(Const::bool(true)))
    }

    /// What an integer is the least or greatest of.
    fn parts(&self, a: Atom, which: Op, out: &mut Vec<Atom>) {
        match a.var().and_then(|v| self.definition(v)) {
            Some(Exp::Op(op, args)) if *op == which => args.iter().for_each(|a| self.parts(*a, which, out)),
            _ => out.push(a),
        }
    }

    /// Code that computes a form.
    fn computed(&mut self, f: &Affine, loc: Loc) -> Atom {
        let mut sum = self.bind(Elem::I64, Exp::Size(f.rest.clone()), loc);
        for (v, c) in &f.axes {
            let c = self.bind(Elem::I64, Exp::Size(c.clone()), loc);
            let term = self.bind(Elem::I64, Exp::Op(Op::Mul, vec![Atom::Var(*v), c]), loc);
            sum = self.bind(Elem::I64, Exp::Op(Op::Add, vec![term, sum]), loc);
        }
        sum
    }

    /// Forms over axes and sizes of which each is at least, or at most, the integer.
    fn forms(&self, a: Atom, end: End) -> Vec<Affine> {
        let v = match a {
            Atom::Const(c) => return vec![Affine::constant(Dim::constant(c.as_i64()))],
            Atom::Var(v) => v,
        };
        if let Some(d) = self.polynomial(a) {
            return vec![Affine::constant(d)];
        }
        if self.frames.iter().flat_map(|f| &f.axes).any(|x| x.var == v) {
            return vec![Affine::axis(v)];
        }
        let Some(Exp::Op(op, args)) = self.definition(v) else { return Vec::new() };
        let sums = |x: Vec<Affine>, y: Vec<Affine>| {
            let sums = x.iter().flat_map(|x| y.iter().map(|y| x.add(y)));
            sums.take(MOST_FORMS).collect()
        };
        let negated = |x: Atom| -> Vec<Affine> {
            self.forms(x, end.other()).iter().map(|f| f.scale(&Dim::constant(-1))).collect()
        };
        match (op, &args[..], end) {
            (Op::Neg, [x], _) => negated(*x),
            (Op::Add, [x, y], _) => sums(self.forms(*x, end), self.forms(*y, end)),
            (Op::Sub, [x, y], _) => sums(self.forms(*x, end), negated(*y)),
            (Op::Mul, [x, y], _) => match (self.polynomial(*x), self.polynomial(*y)) {
                (Some(d), _) => self.multiples(&d, *y, end),
                (_, Some(d)) => self.multiples(&d, *x, end),
                _ => Vec::new(),
            },
            // Either of them bounds the least, and the greatest.
            (Op::Min, [x, y], End::Upper) | (Op::Max, [x, y], End::Lower) => {
                let both = self.forms(*x, end).into_iter().chain(self.forms(*y, end));
                both.take(MOST_FORMS).collect()
            }
            _ => Vec::new(),
        }
    }

    fn multiples(&self, d: &Dim, x: Atom, end: End) -> Vec<Affine> {
        let end = match (d.is_nonnegative(), d.scale(-1).is_nonnegative()) {
            (true, _) => end,
            (_, true) => end.other(),
            _ => return Vec::new(),
        };
        self.forms(x, end).iter().map(|f| f.scale(d)).collect()
    }

    /// The greatest value of a form over the axes of the frame, which are not empty where anything is computed.
    fn at_corner(&self, f: &Affine) -> Option<Dim> {
        let mut most = f.rest.clone();
        for (v, c) in &f.axes {
            let axis = self.frames.iter().flat_map(|f| &f.axes).find(|a| a.var == *v)?;
            if c.is_nonnegative() {
                most = most.add(&c.mul(&axis.extent.sub(&Dim::constant(1))));
            } else if !c.scale(-1).is_nonnegative() {
                return None;
            }
        }
        Some(most)
    }

    /// What a template scalar is computed by.
    fn definition(&self, v: Var) -> Option<&Exp> {
        self.frames.iter().flat_map(|f| &f.lets).find(|l| l.vars == [v]).map(|l| &l.exp)
    }

    /// An integer that is one polynomial over sizes and numbers of trips for all points of the frame.
    fn polynomial(&self, a: Atom) -> Option<Dim> {
        let v = match a {
            Atom::Const(c) => return Some(Dim::constant(c.as_i64())),
            Atom::Var(v) => v,
        };
        match self.definition(v)? {
            Exp::Size(d) => Some(d.clone()),
            Exp::Read { array, .. } if self.counters.contains(array) => {
                Some(Dim::atom(SizeAtom::Scalar(array.0)))
            }
            Exp::Op(Op::Neg, args) => Some(self.polynomial(args[0])?.scale(-1)),
            Exp::Op(op @ (Op::Add | Op::Sub | Op::Mul), args) => {
                let (a, b) = (self.polynomial(args[0])?, self.polynomial(args[1])?);
                Some(match op {
                    Op::Add => a.add(&b),
                    Op::Sub => a.sub(&b),
                    _ => a.mul(&b),
                })
            }
            _ => None,
        }
    }

    /// Whether a polynomial is not large where sizes are not: it is a sum of these and of numbers of trips.
    fn is_small(&self, d: &Dim) -> bool {
        scalars(d).all(|s| self.counters.contains(&s)) && d.terms().all(|(m, _)| m.len() <= 1)
    }

    /// Whether an integer is not large where sizes are not: a sum of these and of numbers of trips, or less than one. A loop in a branch
    /// that is not taken may make so many trips, in which it does nothing.
    fn is_bounded(&self, a: Atom) -> bool {
        let Atom::Var(v) = a else { return true };
        let all = |args: &[Atom]| args.iter().all(|a| self.is_bounded(*a));
        match self.definition(v) {
            Some(Exp::Size(d)) => self.is_small(d),
            Some(Exp::Op(Op::Add | Op::Sub | Op::Neg | Op::Max, args)) => all(args),
            Some(Exp::Op(Op::Min, args)) => args.iter().any(|a| self.is_bounded(*a)),
            Some(Exp::Op(Op::Select, args)) => all(&args[1..]),
            Some(Exp::Read { array, index, .. }) => index.is_empty() && self.counters.contains(array),
            _ => false,
        }
    }

    /// A number of trips that is none in a branch that is not taken: whatever it would be there, nobody waits for it. The check, which
    /// always holds, says what it is elsewhere.
    fn only_where_taken(&mut self, x: Var, count: Dim) -> Dim {
        // At the points of a frame conditions differ.
        let guarded = self.frames.iter().any(|f| f.guard.is_some());
        if !guarded || self.frames.iter().any(|f| !f.axes.is_empty()) {
            return count;
        }
        let trips = self.store_nest(&[(Atom::Var(x), "trips".into())], Loc::default())[0];
        let trips = Dim::atom(SizeAtom::Scalar(trips.0));
        let check = Check { kind: CheckKind::AtLeast(trips.clone(), count), guards: vec![trips.clone()] };
        self.p.stms.push(Stm::Check(check, Loc::default()));
        trips
    }

    /// Whether a scalar is computed once, or once for each trip of the loops around. In a branch that is not taken it is stored as zero.
    fn is_of_host_level(&self, x: Var) -> bool {
        let around = |home: &usize| self.frames[..=*home].iter();
        self.home.get(&x).is_some_and(|h| around(h).all(|f| f.axes.is_empty()))
    }
}
