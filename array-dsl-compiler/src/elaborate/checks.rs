//! Equal dimensions, and the checks that remain for the running program.
//!
//! Two dimensions are equal when their polynomials are. If they differ by a constant, or are two size names of
//! the signature, the program is wrong. Otherwise one check is made, hoisted to depth 0 and guarded by the trip
//! counts of the loops and by the conditions it was hoisted out of; the value then takes the other dimension (a free `Reshape`).
//!
//! A kernel's checks stand before everything else that can stand after them ([`earliest`]): sizes are compared before the loops, and
//! every loop may rely on them.
//!
//! What a check says must hold where the code around is executed, and is compared only there, as far as that can be told before
//! (`conditions`).

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use crate::core::{Atom, Check, CheckKind, Exp, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};

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
            match branch.sizes() {
                Some(sizes) => guards.extend_from_slice(sizes),
                None if under == Under::Types => {}
                None => {
                    let of_branch = self.guards_of(&branch, span);
                    if under == Under::Reads && !of_branch.is_exact {
                        return;
                    }
                    guards.extend(of_branch.positive);
                }
            }
        }
        guards.retain(|d| d.as_constant().is_none_or(|c| c <= 0));
        guards.dedup();
        let loc = self.loc(span);
        let check = Check { kind, guards };
        let known = self.outermost().any(|s| matches!(&s.exp, Exp::Check(c) if c.implies(&check)));
        if !known {
            self.bodies[0].push(Stm { vars: Vec::new(), exp: Exp::Check(check), loc });
        }
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
pub(super) fn earliest(stms: Vec<Stm>) -> Vec<Stm> {
    let mut taken = Taken::default();
    let stms = taken.from(stms);
    let mut start: Vec<Stm> = Vec::new();
    let mut after: Vec<Vec<Stm>> = vec![Vec::new(); taken.others];
    for s in taken.checks {
        let Exp::Check(c) = &s.exp else { continue };
        let last = c.dims().into_iter().flat_map(Dim::atoms).filter_map(|a| match a {
            SizeAtom::Scalar(v) => taken.bound.get(&Var(v)).copied(),
            SizeAtom::Name(_) => None,
        });
        match last.max() {
            Some(at) => after[at].push(s),
            None => start.push(s),
        }
    }
    start.extend(placed(stms, &mut after.into_iter()));
    start
}

/// What statements of depth 0 are, those of derivatives there included.
#[derive(Default)]
struct Taken {
    checks: Vec<Stm>,
    /// How many others there are.
    others: usize,
    /// After which of these a variable is bound; not those that are bound before all of them.
    bound: FxHashMap<Var, usize>,
}

impl Taken {
    /// The statements without the checks.
    fn from(&mut self, stms: Vec<Stm>) -> Vec<Stm> {
        let mut out = Vec::new();
        for mut s in stms {
            match &mut s.exp {
                Exp::Check(_) => {
                    self.checks.push(s);
                    continue;
                }
                Exp::Derivative(d) => d.body.stms = self.from(std::mem::take(&mut d.body.stms)),
                _ => {}
            }
            self.bound.extend(s.vars.iter().map(|v| (*v, self.others)));
            self.others += 1;
            out.push(s);
        }
        out
    }
}

/// The statements, each with the next of the lists of checks after it.
fn placed(stms: Vec<Stm>, checks: &mut std::vec::IntoIter<Vec<Stm>>) -> Vec<Stm> {
    let mut out = Vec::new();
    for mut s in stms {
        if let Exp::Derivative(d) = &mut s.exp {
            d.body.stms = placed(std::mem::take(&mut d.body.stms), checks);
        }
        out.push(s);
        out.extend(checks.next().into_iter().flatten());
    }
    out
}
