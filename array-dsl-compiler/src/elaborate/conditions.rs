//! Where branches are taken, as dimensions that are all positive there: what guards the checks of the code in them.
//!
//! | a condition | what guards |
//! |---|---|
//! | compares named sizes | their differences, which are too small to overflow |
//! | can be computed at depth 0 | the condition as a number, 0 or 1 |
//! | compares an index with a size | what that says of the size: an index is no less than 0 |
//! | depends on a point or a trip otherwise | nothing: the check is made for all points |
//!
//! Of `a && b`, and of `a || b` where it is false, both conditions guard. Equalities are guarded by the first only, as types rest on
//! them whether the branch is taken or not. That a slice is within its array is not checked under the last two: its elements are
//! compared where they are read.

use proc_macro2::Span;

use super::Elaborator;
use crate::core::{Atom, Body, Exp, Stm};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// A branch around the current place, or the body of a loop that may make no trips.
#[derive(Clone)]
pub(super) struct Branch {
    /// Its condition; `None`: a loop whose trips are no size.
    condition: Option<Conjunct>,
    /// Dimensions that are all positive exactly where it is taken; `None`: its condition is none on named sizes.
    sizes: Option<Vec<Dim>>,
}

impl Branch {
    /// The body of a loop of which nothing tells before whether it makes trips.
    pub fn trips() -> Branch {
        Branch { condition: None, sizes: None }
    }

    /// What is positive exactly where it is taken, if named sizes decide that.
    pub fn sizes(&self) -> Option<&[Dim]> {
        self.sizes.as_deref()
    }
}

/// One of the conditions that all hold where a branch is taken.
#[derive(Clone)]
struct Conjunct {
    condition: Atom,
    /// What it is there.
    when: bool,
    /// Statements on the way to it, besides those of the bodies under construction.
    path: Vec<Stm>,
}

/// What is positive where a branch is taken.
pub(super) struct Guards {
    /// All of these.
    pub positive: Vec<Dim>,
    /// And only there.
    pub is_exact: bool,
}

/// An integer, as far as it is known.
struct Bounds {
    lower: Option<Dim>,
    upper: Option<Dim>,
}

impl Elaborator<'_> {
    /// The branch that is taken where a condition is `when`.
    pub(super) fn branch_where(&self, condition: Atom, when: bool) -> Branch {
        let condition = Conjunct { condition, when, path: Vec::new() };
        let of_sizes =
            |part: &Conjunct| self.guards_of_comparison(part).filter(|t| t.is_exact).map(|t| t.positive);
        let sizes: Option<Vec<_>> = self.conjuncts(&condition).iter().map(of_sizes).collect();
        Branch { condition: Some(condition), sizes: sizes.map(|all| all.concat()) }
    }

    /// Whether an enclosing condition says that two dimensions are equal.
    pub(super) fn holds_here(&self, a: &Dim, b: &Dim) -> bool {
        let one = Dim::constant(1);
        let positive =
            |d: Dim| self.branches.iter().filter_map(Branch::sizes).flatten().any(|known| *known == d);
        positive(a.sub(b).add(&one)) && positive(b.sub(a).add(&one))
    }

    /// Where a branch is taken whose condition is none on named sizes.
    pub(super) fn guards_of(&mut self, branch: &Branch, span: Span) -> Guards {
        let mut guards = Guards { positive: Vec::new(), is_exact: branch.condition.is_some() };
        let Some(condition) = &branch.condition else { return guards };
        if let Some(guard) = self.indicator(condition, span) {
            guards.positive.push(guard);
            return guards;
        }
        for part in self.conjuncts(condition) {
            let compared = self.guards_of_comparison(&part);
            if let Some(exact) = compared.as_ref().filter(|t| t.is_exact) {
                guards.positive.extend_from_slice(&exact.positive);
            } else if let Some(guard) = self.indicator(&part, span) {
                guards.positive.push(guard);
            } else {
                guards.positive.extend(compared.into_iter().flat_map(|t| t.positive));
                guards.is_exact = false;
            }
        }
        guards
    }

    /// The conditions that all hold where one does, itself if it is no conjunction.
    fn conjuncts(&self, of: &Conjunct) -> Vec<Conjunct> {
        let Conjunct { when, ref path, .. } = *of;
        match self.definition_of(of) {
            Some(Exp::If(left, yes, no)) => match conjunction(*left, yes, no, when) {
                Some((left, right, stms)) => {
                    let deeper = [&path[..], &stms[..]].concat();
                    let mut all = self.conjuncts(&Conjunct { condition: left, when, path: path.clone() });
                    all.extend(self.conjuncts(&Conjunct { condition: right, when, path: deeper }));
                    all
                }
                None => vec![of.clone()],
            },
            Some(Exp::Op(Op::Not, args)) => {
                self.conjuncts(&Conjunct { condition: args[0], when: !when, path: path.clone() })
            }
            _ => vec![of.clone()],
        }
    }

    /// What computes a condition.
    fn definition_of<'a>(&'a self, part: &'a Conjunct) -> Option<&'a Exp> {
        let Atom::Var(v) = part.condition else { return None };
        part.path.iter().find(|s| s.vars == [v]).or_else(|| self.definition(v)).map(|s| &s.exp)
    }

    /// What a comparison of sizes and indices says.
    fn guards_of_comparison(&self, part: &Conjunct) -> Option<Guards> {
        let Some(Exp::Op(op, args)) = self.definition_of(part) else { return None };
        let (a, b) = (self.known_bounds(*args.first()?), self.known_bounds(*args.get(1)?));
        let positive = positive_differences(*op, part.when, &a, &b)?;
        Some(Guards { positive, is_exact: a.upper.is_some() && b.upper.is_some() })
    }

    /// The bounds of an `i64`: a polynomial over named sizes is one number, an index has no greatest that is known here.
    fn known_bounds(&self, a: Atom) -> Bounds {
        let named = |d: &Dim| d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(_)));
        match self.known_int(a).filter(|d| self.elem(a) == Elem::I64 && named(d)) {
            Some(d) => Bounds { lower: Some(d.clone()), upper: Some(d) },
            None => Bounds { lower: self.is_index(a).then(|| Dim::constant(0)), upper: None },
        }
    }

    /// What is 1 where a condition is what it is in the branch and else 0, if that can be computed at depth 0.
    fn indicator(&mut self, part: &Conjunct, span: Span) -> Option<Dim> {
        let condition = match part.condition {
            Atom::Const(c) => return Some(Dim::constant(i64::from(c.as_bool() == part.when))),
            Atom::Var(v) => self.copied_to_depth_0(v, &part.path, span)?,
        };
        let number = self.computed_once(Op::Cast(Elem::I64), &[condition], span);
        let d = self.size_of(number)?;
        Some(if part.when { d } else { Dim::constant(1).sub(&d) })
    }
}

/// The two conditions that both are `when` if `left && right`, or `left || right` where it is false, is: the right one with the statements
/// for it.
fn conjunction<'a>(
    left: Atom,
    yes: &'a Body,
    no: &'a Body,
    when: bool,
) -> Option<(Atom, Atom, &'a Vec<Stm>)> {
    // The right side is evaluated only where the left one does not decide.
    let (decided, right) = if when { (no, yes) } else { (yes, no) };
    let ([Atom::Const(decided)], [result]) = (&decided.results[..], &right.results[..]) else { return None };
    (decided.as_bool() != when).then_some((left, *result, &right.stms))
}

/// What is positive where a comparison of two integers is `when`.
fn positive_differences(op: Op, when: bool, a: &Bounds, b: &Bounds) -> Option<Vec<Dim>> {
    let one = Dim::constant(1);
    let less = || Some(b.upper.as_ref()?.sub(a.lower.as_ref()?));
    let more = || Some(a.upper.as_ref()?.sub(b.lower.as_ref()?));
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
