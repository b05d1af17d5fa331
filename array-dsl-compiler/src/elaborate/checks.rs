//! Equal dimensions, and the checks that remain for the running program.
//!
//! Two dimensions are equal when their polynomials are. If they differ by a constant, or are two size names of
//! the signature, the program is wrong. Otherwise one check is made, hoisted to depth 0 and guarded by the trip
//! counts of the loops and by the conditions it was hoisted out of; the value then takes the other dimension (a free `Reshape`).
//!
//! A kernel's checks stand before everything else that can stand after them ([`first`]): sizes are compared before the loops, and
//! every loop may rely on them.

use std::collections::HashMap;

use proc_macro2::Span;

use super::Elaborator;
use crate::core::{Atom, Check, CheckKind, Exp, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

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
        let positive = |d: Dim| self.branches.iter().flatten().flatten().any(|known| *known == d);
        positive(a.sub(b).add(&one)) && positive(b.sub(a).add(&one))
    }

    /// Emits a check at depth 0, guarded by the trip counts of the enclosing loops and by enclosing conditions, unless one that
    /// says as much is there. Under a condition that is none on sizes only equalities are checked, which types rest on: a branch
    /// that is not taken must not fail, and a negative extent there means no trips.
    pub(super) fn check(&mut self, kind: CheckKind, span: Span) {
        if self.branches.iter().any(Option::is_none) && !matches!(kind, CheckKind::Equal(..)) {
            return;
        }
        let trips = self.frame.iter().map(|(d, _)| d);
        let mut guards: Vec<Dim> = trips
            .chain(self.branches.iter().flatten().flatten())
            .filter(|d| d.as_constant().is_none_or(|c| c <= 0))
            .cloned()
            .collect();
        guards.dedup();
        let loc = self.loc(span);
        let check = Check { kind, guards };
        let known = self.bodies[0].iter().any(|s| matches!(&s.exp, Exp::Check(c) if c.implies(&check)));
        if !known {
            self.bodies[0].push(Stm { vars: Vec::new(), exp: Exp::Check(check), loc });
        }
    }

    /// Dimensions that are all positive exactly where a condition is `when`, if it is one on named sizes: those are too small for
    /// their differences to overflow.
    pub(super) fn positive_where(&self, c: Atom, when: bool) -> Option<Vec<Dim>> {
        self.positive_in(&[], c, when)
    }

    /// As [`Self::positive_where`], for a condition that may be bound by `stms`.
    fn positive_in(&self, stms: &[Stm], c: Atom, when: bool) -> Option<Vec<Dim>> {
        let Atom::Var(v) = c else { return None };
        let definition = stms.iter().find(|s| s.vars == [v]).or_else(|| self.definition(v))?;
        let (op, args) = match &definition.exp {
            // `&&` and `||`: the right side is evaluated only where the left one does not decide.
            Exp::If(left, yes, no) => {
                let (decided, right) = if when { (no, yes) } else { (yes, no) };
                let [Atom::Const(decided)] = decided.results[..] else { return None };
                if decided.as_bool() == when {
                    return None;
                }
                let left = self.positive_in(stms, *left, when)?;
                let right = self.positive_in(&right.stms, *right.results.first()?, when)?;
                return Some([left, right].concat());
            }
            Exp::Op(Op::Not, args) => return self.positive_in(stms, args[0], !when),
            Exp::Op(op, args) => (op, args),
            _ => return None,
        };
        let named = |a: &Atom| {
            let d = self.known_int(*a).filter(|_| self.elem(*a) == Elem::I64)?;
            d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(_))).then_some(d)
        };
        let (a, b) = (named(args.first()?)?, named(args.get(1)?)?);
        let (less, more, one) = (b.sub(&a), a.sub(&b), Dim::constant(1));
        let positive = match (op, when) {
            (Op::Lt, true) | (Op::Ge, false) => vec![less],
            (Op::Gt, true) | (Op::Le, false) => vec![more],
            (Op::Le, true) | (Op::Gt, false) => vec![less.add(&one)],
            (Op::Ge, true) | (Op::Lt, false) => vec![more.add(&one)],
            (Op::Eq, true) | (Op::Ne, false) => vec![less.add(&one), more.add(&one)],
            _ => return None,
        };
        positive.iter().all(|d| !d.is_too_large()).then_some(positive)
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
