//! Equal dimensions, and the checks that remain for the running program.
//!
//! Two dimensions are equal when their polynomials are. If they differ by a constant, or are two size names of
//! the signature, the program is wrong. Otherwise one check is made, hoisted to depth 0 and guarded by the trip
//! counts of the loops and by the conditions it was hoisted out of; the value then takes the other dimension (a free `Reshape`).
//!
//! A kernel's checks stand before everything else that can stand after them ([`first`]): sizes are compared before the loops, and
//! every loop may rely on them.
//!
//! **Code in a branch.** What a check says must hold where the code around is executed, and is compared only there:
//!
//! | condition | the check is made |
//! |---|---|
//! | compares named sizes | where it holds: its differences guard the check |
//! | can be computed at depth 0 | where it holds: it guards the check as a number, 0 or 1 |
//! | depends on a point or a trip | always, but for what is known of its indices: a point that takes the branch would need the size |
//!
//! Equalities are made under the first only, as types rest on them whether the branch is taken or not. That a slice is
//! within its array is left out in the last: its elements are compared where they are read.

use std::collections::HashMap;

use proc_macro2::Span;

use super::Elaborator;
use crate::core::{Atom, Body, Check, CheckKind, Exp, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// A branch around the current place, or the body of a loop that may make no trips.
#[derive(Clone)]
pub(super) struct Branch {
    /// The condition, and what it is where the branch is taken; `None`: a loop whose trips are no size.
    condition: Option<(Atom, bool)>,
    /// Dimensions that are all positive exactly where it is taken; `None`: the condition is none on named sizes.
    sizes: Option<Vec<Dim>>,
}

impl Branch {
    /// The body of a loop of which nothing tells before whether it makes trips.
    pub fn trips() -> Branch {
        Branch { condition: None, sizes: None }
    }

    /// Whether it is decided by named sizes.
    pub fn is_of_sizes(&self) -> bool {
        self.sizes.is_some()
    }
}

/// When a check is made, of those under a condition that depends on a point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    /// Always: types rest on it.
    Types,
    /// Always, as far as sizes tell: what is wrong would not be noticed.
    Sizes,
    /// Never: what is wrong is noticed where an element is read.
    Reads,
}

impl Elaborator<'_> {
    /// Requires an array to have these dimensions; the array under exactly them. With `asked`, names that
    /// differ are checked when running instead of refused.
    pub(super) fn coerce(
        &mut self,
        a: Atom,
        dims: &[Dim],
        span: Span,
        what: &str,
        asked: bool,
    ) -> Option<Atom> {
        let ty = self.atom_type(a);
        let mut same = true;
        for (have, want) in ty.dims.iter().zip(dims) {
            if have != want {
                self.equal(have, want, span, what, asked)?;
                same = false;
            }
        }
        match a {
            Atom::Var(v) if !same => {
                let name = self.vars[v.0 as usize].name.clone();
                let ty = Type { elem: ty.elem, dims: dims.to_vec() };
                Some(self.emit(&name, ty, Exp::Reshape(v, dims.to_vec()), span))
            }
            _ => Some(a),
        }
    }

    /// Requires two dimensions to be equal.
    pub(super) fn equal(&mut self, a: &Dim, b: &Dim, span: Span, what: &str, asked: bool) -> Option<()> {
        for d in [a, b] {
            self.fitting(d.clone(), span)?;
        }
        let difference = a.sub(b);
        let what = self.subject(what);
        let (sa, sb) = (self.show(a), self.show(b));
        match difference.as_constant() {
            Some(0) => return Some(()),
            Some(_) => {
                self.error(
                    Code::SizeMismatch,
                    span,
                    format!("{what}: expected size {sb}, found {sa}"),
                    "these sizes differ in every run; take a slice, or change one of them",
                );
                return None;
            }
            None => {}
        }
        let user = |d: &Dim| match d.as_atom() {
            Some(SizeAtom::Name(n)) => !n.starts_with('#'),
            _ => false,
        };
        if user(a) && user(b) && !asked && !self.holds_here(a, b) {
            self.error(
                Code::SizeNames,
                span,
                format!("{what}: the sizes `{sa}` and `{sb}` are used as one"),
                format!(
                    "give both one name in the signature, or ask for a check when running: `let y: [_; {sa}] = y;` \
                     for an array y of size `{sb}`"
                ),
            );
            return None;
        }
        self.check(CheckKind::Equal(a.clone(), b.clone()), span);
        Some(())
    }

    /// Whether an enclosing condition says that two dimensions are equal.
    fn holds_here(&self, a: &Dim, b: &Dim) -> bool {
        let one = Dim::constant(1);
        let positive =
            |d: Dim| self.branches.iter().flat_map(|b| &b.sizes).flatten().any(|known| *known == d);
        positive(a.sub(b).add(&one)) && positive(b.sub(a).add(&one))
    }

    /// Emits a check at depth 0, guarded by the trip counts of the enclosing loops and by enclosing conditions.
    pub(super) fn check(&mut self, kind: CheckKind, span: Span) {
        let under = if matches!(kind, CheckKind::Equal(..)) { Under::Types } else { Under::Sizes };
        self.check_under(kind, under, span);
    }

    /// As [`Self::check`], that a slice is within its array.
    pub(super) fn check_slice(&mut self, kind: CheckKind, span: Span) {
        self.check_under(kind, Under::Reads, span);
    }

    /// Unless a check that says as much is there.
    fn check_under(&mut self, kind: CheckKind, under: Under, span: Span) {
        let mut guards: Vec<Dim> = self.frame.iter().map(|(d, _)| d.clone()).collect();
        for branch in self.branches.clone() {
            match (branch.sizes, branch.condition) {
                (Some(sizes), _) => guards.extend(sizes),
                (None, _) if under == Under::Types => {}
                (None, condition) => {
                    let decided = condition.and_then(|(c, when)| self.decided_before(c, when, span));
                    match (decided, condition) {
                        (Some(guard), _) => guards.push(guard),
                        (None, _) if under == Under::Reads => return,
                        (None, Some((c, when))) => guards.extend(self.positive_at_points(c, when)),
                        (None, None) => {}
                    }
                }
            }
        }
        guards.retain(|d| d.as_constant().is_none_or(|c| c <= 0));
        guards.dedup();
        let loc = self.loc(span);
        let check = Check { kind, guards };
        let known = self.bodies[0].iter().any(|s| matches!(&s.exp, Exp::Check(c) if c.implies(&check)));
        if !known {
            self.bodies[0].push(Stm { vars: Vec::new(), exp: Exp::Check(check), loc });
        }
    }

    /// The branch that is taken where a condition is `when`.
    pub(super) fn branch_where(&self, c: Atom, when: bool) -> Branch {
        Branch { condition: Some((c, when)), sizes: self.positive_where(c, when) }
    }

    /// What is 1 where a condition is `when` and else 0, if that can be computed at depth 0.
    fn decided_before(&mut self, c: Atom, when: bool, span: Span) -> Option<Dim> {
        let c = match c {
            Atom::Const(k) => return Some(Dim::constant(i64::from(k.as_bool() == when))),
            Atom::Var(v) if self.is_outermost(v) => c,
            Atom::Var(v) => self.copied_out(v, span)?,
        };
        let number = self.computed_once(Op::Cast(Elem::I64), &[c], span);
        let d = self.size_of(number)?;
        Some(if when { d } else { Dim::constant(1).sub(&d) })
    }

    /// Dimensions that are all positive exactly where a condition is `when`, if it is one on named sizes: those are too small for
    /// their differences to overflow.
    fn positive_where(&self, c: Atom, when: bool) -> Option<Vec<Dim>> {
        self.positive_in(&[], c, when)
    }

    /// As [`Self::positive_where`], for a condition that may be bound by `stms`.
    fn positive_in(&self, stms: &[Stm], c: Atom, when: bool) -> Option<Vec<Dim>> {
        let (op, args) = match self.computing(stms, c)? {
            Exp::If(left, yes, no) => {
                let (left, right) = conjunction(*left, yes, no, when)?;
                let left = self.positive_in(stms, left, when)?;
                let right = self.positive_in(&right.stms, *right.results.first()?, when)?;
                return Some([left, right].concat());
            }
            Exp::Op(Op::Not, args) => return self.positive_in(stms, args[0], !when),
            Exp::Op(op, args) => (op, args),
            _ => return None,
        };
        let a = self.named_size(*args.first()?)?;
        let b = self.named_size(*args.get(1)?)?;
        positive_differences(*op, when, (&Some(a.clone()), &Some(a)), (&Some(b.clone()), &Some(b)))
    }

    /// Dimensions that are positive if a condition is `when` at any point: what it says of sizes and of what is no less than 0, as
    /// indices are.
    fn positive_at_points(&self, c: Atom, when: bool) -> Vec<Dim> {
        self.at_points_in(&[], c, when).unwrap_or_default()
    }

    fn at_points_in(&self, stms: &[Stm], c: Atom, when: bool) -> Option<Vec<Dim>> {
        match self.computing(stms, c)? {
            Exp::If(left, yes, no) => {
                let (left, right) = conjunction(*left, yes, no, when)?;
                let left = self.at_points_in(stms, left, when);
                let right = self.at_points_in(&right.stms, *right.results.first()?, when);
                Some([left, right].into_iter().flatten().flatten().collect())
            }
            Exp::Op(Op::Not, args) => self.at_points_in(stms, args[0], !when),
            Exp::Op(op, args) => {
                let ends = |a: Option<&Atom>| match self.named_size(*a?) {
                    Some(d) => Some((Some(d.clone()), Some(d))),
                    None => Some((self.is_index(*a?).then(|| Dim::constant(0)), None)),
                };
                let ((l, m), (n, o)) = (ends(args.first())?, ends(args.get(1))?);
                positive_differences(*op, when, (&l, &m), (&n, &o))
            }
            _ => None,
        }
    }

    /// What computes a condition; bound by `stms` or around.
    fn computing<'a>(&'a self, stms: &'a [Stm], c: Atom) -> Option<&'a Exp> {
        let Atom::Var(v) = c else { return None };
        stms.iter().find(|s| s.vars == [v]).or_else(|| self.definition(v)).map(|s| &s.exp)
    }

    /// An `i64` that is a polynomial over named sizes.
    fn named_size(&self, a: Atom) -> Option<Dim> {
        let d = self.known_int(a).filter(|_| self.elem(a) == Elem::I64)?;
        d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(_))).then_some(d)
    }

    /// Checks that a computed size is not negative, unless that is certain.
    pub(super) fn check_extent(&mut self, d: &Dim, span: Span) -> Option<()> {
        self.fitting(d.clone(), span)?;
        if let Some(c) = d.as_constant()
            && c < 0
        {
            self.error(
                Code::SizeMismatch,
                span,
                format!("the size {c} is negative"),
                "sizes are zero or more",
            );
            return None;
        }
        if !d.is_nonnegative() {
            self.check(CheckKind::NonNegative(d.clone()), span);
        }
        Some(())
    }
}

/// The two conditions that both are `when` if `left && right` or `left || right` is: `true` for `&&`, `false` for `||`.
fn conjunction<'a>(left: Atom, yes: &'a Body, no: &'a Body, when: bool) -> Option<(Atom, &'a Body)> {
    // The right side is evaluated only where the left one does not decide.
    let (decided, right) = if when { (no, yes) } else { (yes, no) };
    let [Atom::Const(decided)] = decided.results[..] else { return None };
    (decided.as_bool() != when).then_some((left, right))
}

/// What is positive where a comparison of two integers is `when`, of which the least and the most values are given, where known:
/// exactly there, if both are one value.
fn positive_differences(
    op: Op,
    when: bool,
    (a, most_a): (&Option<Dim>, &Option<Dim>),
    (b, most_b): (&Option<Dim>, &Option<Dim>),
) -> Option<Vec<Dim>> {
    let one = Dim::constant(1);
    let less = || Some(most_b.as_ref()?.sub(a.as_ref()?));
    let more = || Some(most_a.as_ref()?.sub(b.as_ref()?));
    let positive = match (op, when) {
        (Op::Lt, true) | (Op::Ge, false) => vec![less()?],
        (Op::Gt, true) | (Op::Le, false) => vec![more()?],
        (Op::Le, true) | (Op::Gt, false) => vec![less()?.add(&one)],
        (Op::Ge, true) | (Op::Lt, false) => vec![more()?.add(&one)],
        (Op::Eq, true) | (Op::Ne, false) => {
            [less(), more()].into_iter().flatten().map(|d| d.add(&one)).collect()
        }
        _ => return None,
    };
    positive.iter().all(|d| !d.is_too_large()).then_some(positive)
}

/// The statements of depth 0 with every check where the last integer that it compares is bound; in order, where several stand at
/// one place.
pub(super) fn first(stms: Vec<Stm>) -> Vec<Stm> {
    let mut start: Vec<Stm> = Vec::new();
    let mut rest: Vec<(Stm, Vec<Stm>)> = Vec::new();
    // After which of the others a variable is bound; not those that are bound before all of them.
    let mut bound: HashMap<Var, usize> = HashMap::new();
    for s in stms {
        let Exp::Check(c) = &s.exp else {
            bound.extend(s.vars.iter().map(|v| (*v, rest.len())));
            rest.push((s, Vec::new()));
            continue;
        };
        let last = c.dims().into_iter().flat_map(Dim::atoms).filter_map(|a| match a {
            SizeAtom::Scalar(v) => bound.get(&Var(v)).copied(),
            SizeAtom::Name(_) => None,
        });
        match last.max() {
            Some(at) => rest[at].1.push(s),
            None => start.push(s),
        }
    }
    start.extend(rest.into_iter().flat_map(|(s, checks)| std::iter::once(s).chain(checks)));
    start
}
